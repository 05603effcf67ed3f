package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// TestSkim feeds the same to a core and to one that never passes a run over without asking the allocator and remembers nothing that
// did not fit, with a line of many runs that do not fit: they decide the same, and the first one does pass runs over.
func TestSkim(t *testing.T) {
	skipped := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := dovetail.DefaultConfig()
		cfg.Policy = "fifo-backfill"
		cfg.Alloc = rapid.SampledFrom([]string{"rigid", "malleable", "flexible"}).Draw(t, "alloc")
		cfg.Replan = dovetail.Duration(3 * time.Second)
		targets := rapid.Bool().Draw(t, "targets") // ceilings, which move, in place of limits
		var cores [2]*Core
		for i := range cores {
			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			cores[i] = c
		}
		now, next := epoch, dovetail.RunID(1)
		apply := func(e dovetail.Event) {
			for _, c := range cores {
				if err := c.Apply(now, e); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range []string{"n1", "n2", "n3"} {
			apply(dovetail.NodeUp{Node: dovetail.Node{Name: name, Capacity: genUnits(t, 20, 40)}})
		}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			now = now.Add(time.Second)
			for range rapid.IntRange(0, 6).Draw(t, "arrivals") {
				n := rapid.IntRange(1, 8).Draw(t, "core")
				app := &dovetail.Application{Name: "a", Kind: dovetail.Batch, Components: []dovetail.Component{{
					Name: "c", Count: n, Max: n + rapid.IntRange(0, 4).Draw(t, "elastic"), Resources: genUnits(t, 1, 4), Ends: "run",
				}}}
				if rapid.Bool().Draw(t, "two") { // the first may be placed, and taken back because the second does not fit
					app.Components = append(app.Components, dovetail.Component{Name: "d", Count: n, Resources: genUnits(t, 1, 4)})
				}
				if targets && rapid.IntRange(0, 2).Draw(t, "target") == 0 {
					app.Priority = rapid.IntRange(0, 1).Draw(t, "priority")
					app.Target = &dovetail.Target{Runtime: dovetail.Duration(time.Duration(rapid.IntRange(1, 100).Draw(t, "runtime")) * time.Second)}
				}
				apply(dovetail.Submitted{Run: &dovetail.Run{ID: next, Name: "a", Class: genClass(t), App: app}})
				next++
			}
			if targets && rapid.IntRange(0, 3).Draw(t, "outlook") == 0 {
				apply(dovetail.Fitted{Outlook: genOutlook(t)})
			}
			if serving := cores[0].Serving(); len(serving) > 0 && rapid.Bool().Draw(t, "departure") {
				apply(dovetail.Cancelled{Run: rapid.SampledFrom(serving).Draw(t, "run")})
			}
			if waiting := cores[0].queued(); len(waiting) > 0 {
				id := rapid.SampledFrom(waiting).Draw(t, "waiting run")
				switch rapid.IntRange(0, 12).Draw(t, "what becomes of it") {
				case 0:
					apply(dovetail.Cancelled{Run: id})
				case 1, 2:
					apply(dovetail.Held{Run: id})
				case 3, 4:
					apply(dovetail.Released{Run: id})
				case 5:
					apply(dovetail.Reprioritised{Run: id, Priority: rapid.IntRange(0, 1).Draw(t, "priority")})
				}
			}
			for i := range cores[1].line.sorted {
				e := &cores[1].line.sorted[i]
				e.fitsAt, e.r.app.shut = 0, 0
				for _, class := range e.r.app.class {
					*class = place.Class{Each: class.Each}
				}
			}
			plan, plain := cores[0].Decide(now), cores[1].Decide(now)
			if again := cores[0].Decide(now); !cmp.Equal(plan, again) {
				t.Fatalf("what is remembered of the first decision changes the second:\n%s", cmp.Diff(plan, again))
			}
			if !cmp.Equal(plan, plain) {
				t.Fatalf("passing runs over changes the decision:\n%s", cmp.Diff(plain, plan))
			}
			if !plan.Empty() {
				apply(dovetail.Decided{Plan: plan})
			}
			for _, change := range surplus(cores[0]) {
				apply(change)
			}
			if cap(cores[0].scratch.skipped) > 0 {
				skipped++
			}
		}
	})
	if skipped == 0 {
		t.Error("no run was ever passed over")
	}
}

// queued returns the runs that wait, by ID.
func (c *Core) queued() []dovetail.RunID {
	var ids []dovetail.RunID
	for id, r := range c.runs {
		if r.state == dovetail.Queued {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func genUnits(t *rapid.T, low, high int) dovetail.Resources {
	return dovetail.Resources{int64(rapid.IntRange(low, high).Draw(t, "cpu")) * 100, int64(rapid.IntRange(low, high).Draw(t, "memory"))}
}

// surplus is what a back-end reports that starts and stops at once what it was told to.
func surplus(c *Core) []dovetail.Event {
	var events []dovetail.Event
	for _, r := range c.serving {
		for ci := range r.comps {
			for i := range r.comps[ci].cells {
				if k := &r.comps[ci].cells[i]; k.live > k.told {
					n := k.live - k.told
					events = append(events, dovetail.ReplicasDown{Slot: c.slot(r, ci, k), N: n, WasUp: k.up >= n, Exit: dovetail.Exit{Asked: true}})
				} else if k.told > k.up {
					events = append(events, dovetail.ReplicasUp{Slot: c.slot(r, ci, k), N: k.told - k.up})
				}
			}
		}
	}
	return events
}
