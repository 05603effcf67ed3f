package sched

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// TestEvict: what is taken from a run for the core of another is what a plain look at every number of victims on every node says.
func TestEvict(t *testing.T) {
	evicted := 0
	rapid.Check(t, func(t *rapid.T) {
		c, err := New(dovetail.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		apply := func(e dovetail.Event) {
			if err := c.Apply(epoch, e); err != nil {
				t.Fatal(err)
			}
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			apply(dovetail.NodeUp{Node: dovetail.Node{Name: fmt.Sprintf("n%d", i), Capacity: genUnits(t, 5, 60)}})
		}
		submit := func(id dovetail.RunID, components ...dovetail.Component) {
			app := &dovetail.Application{Name: "a", Kind: dovetail.Batch, Components: components}
			apply(dovetail.Submitted{Run: &dovetail.Run{ID: id, Name: "a", App: app}})
		}
		elastic := func(name string) dovetail.Component {
			return dovetail.Component{Name: name, Max: rapid.IntRange(1, 40).Draw(t, "elastic"), Resources: genUnits(t, 0, 7)}
		}
		submit(1, dovetail.Component{Name: "core", Count: 1, Resources: dovetail.Resources{1, 1}, Ends: "run"}, elastic("x"), elastic("y"))
		if plan := c.Decide(epoch); !plan.Empty() {
			apply(dovetail.Decided{Plan: plan})
		}
		if rapid.Bool().Draw(t, "a node shrinks") { // and holds more than it should
			apply(dovetail.NodeUp{Node: dovetail.Node{Name: "n0", Capacity: genUnits(t, 1, 30)}})
		}
		n := rapid.IntRange(1, 20).Draw(t, "core")
		submit(2, dovetail.Component{Name: "core", Count: n, Resources: genUnits(t, 0, 20), Ends: "run"})
		victim, r := c.runs[1], c.runs[2]
		d := c.draft(epoch)
		defer d.undo()
		f := fitter{d}
		r.outfit()
		if victim.comps == nil {
			return
		}
		f.place(r, 0, n) // what is free first, as CoreBy does
		want := f.plainly(r, n, victim)
		if want.room == 0 {
			return // all of them on a node, or nothing
		}
		evicted++
		f.evict(r, 0, core, n, victim)
		if len(d.steps) != 2 {
			t.Fatalf("%d steps; want one that takes and one that places", len(d.steps))
		}
		took, placed := d.steps[0], d.steps[1]
		if got := (eviction{took.node, took.ci, -took.delta, placed.delta}); got != want || placed.node != took.node {
			t.Fatalf("evicts %+v and places %d on node %d; want %+v", got, placed.delta, placed.node, want)
		}
	})
	if evicted == 0 {
		t.Error("nothing was ever evicted")
	}
}

// plainly is the eviction that evict is to find.
func (f fitter) plainly(r *run, n int, victim *run) (best eviction) {
	for vi := range victim.comps {
		for _, k := range victim.comps[vi].cells {
			if k.class != elastic {
				continue
			}
			free := f.c.space.Node(k.node).Free
			for v := 1; v <= k.want; v++ {
				room := r.app.shapes[0].Each.Count(free.Plus(victim.app.shapes[vi].Each.Times(v)), n)
				if e := (eviction{k.node, vi, v, room}); room > 0 && (best.room == 0 || e.better(best)) {
					best = e
				}
			}
		}
	}
	return best
}
