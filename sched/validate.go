package sched

import (
	"fmt"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// Violation is a broken invariant, by its number in docs/invariants.md.
type Violation struct {
	Number int
	Text   string
}

// String writes "invariant 3: …".
func (v Violation) String() string { return fmt.Sprintf("invariant %d: %s", v.Number, v.Text) }

// audit collects violations.
type audit struct {
	c     *Core
	found []Violation
}

func (a *audit) require(ok bool, number int, format string, args ...any) {
	if !ok {
		a.found = append(a.found, Violation{number, fmt.Sprintf(format, args...)})
	}
}

// Validate returns every broken invariant. It costs time in proportion to the whole state.
func (c *Core) Validate() []Violation {
	a := &audit{c: c}
	want := make([]dovetail.Resources, len(c.nodes))
	live := make([]dovetail.Resources, len(c.nodes))
	var loose dovetail.Resources
	last := dovetail.RunID(0)
	for _, r := range c.serving {
		a.require(r.id > last && c.runs[r.id] == r, 4, "run %d is not in service exactly once", r.id)
		last = r.id
		a.inService(r)
		for ci := range r.comps {
			each := r.app.shapes[ci].Each
			for _, k := range r.comps[ci].cells {
				want[k.node] = want[k.node].Plus(each.Times(k.want))
				live[k.node] = live[k.node].Plus(each.Times(k.live))
				if k.class == elastic {
					loose = loose.Plus(each.Times(k.want))
				}
			}
		}
	}
	a.nodes(want, live)
	a.require(loose == c.loose, 9, "elastic replicas are granted %v, counted %v", loose, c.loose)
	waiting := 0
	for id, r := range c.runs { //dovetail:anyorder every run is checked
		a.require(r.id == id && id < c.next, 4, "run %d is filed as %d", r.id, id)
		if r.state == dovetail.Queued {
			waiting++
			a.require(r.choice == nil, 17, "run %d waits and has a choice", id)
			a.require(r.draw == nil, 50, "run %d waits and has been drawn", id)
			a.require(r.live == 0 && r.elastic == 0 && r.comps == nil, 5, "run %d waits and holds replicas", id)
		}
	}
	a.choices()
	a.neighbours()
	a.require(waiting == c.line.n, 4, "%d runs wait, counted %d", waiting, c.line.n)
	a.require(waiting+len(c.serving) == len(c.runs), 4, "%d runs wait, %d are in service, %d are known", waiting, len(c.serving), len(c.runs))
	return a.found
}

// choices checks those of runs in service and of those that have ended since anybody asked.
func (a *audit) choices() {
	for _, r := range a.c.gone {
		a.require(r.choice == nil || r.choice.Closed != "", 17, "run %d has ended and its choice is open", r.id)
	}
	for i, r := range a.c.aimed {
		a.require(i == 0 || a.c.aimed[i-1].id < r.id, 9, "run %d is not among those with a choice once", r.id)
		a.require(r.choice != nil && a.c.runs[r.id] == r, 9, "run %d is among those with a choice", r.id)
	}
	for _, r := range a.c.serving {
		_, filed := slices.BinarySearchFunc(a.c.byClass[r.spec.Class], r.id, byID)
		a.require(filed, 9, "run %d is in service and not filed under its class", r.id)
		_, listed := slices.BinarySearchFunc(a.c.aimed, r.id, byID)
		a.require(listed == (r.choice != nil), 9, "run %d has a choice and nobody knows, or none", r.id)
		if r.choice == nil {
			continue
		}
		low, high := r.app.scales()
		a.require(r.choice.Run == r.id && r.choice.Closed == "", 17, "run %d is in service and its choice is %+v", r.id, *r.choice)
		a.require(low <= r.choice.ScaleOut && r.choice.ScaleOut <= high, 18, "run %d: scale-out %d is not in %d..%d", r.id, r.choice.ScaleOut, low, high)
		n := r.comps[r.app.scaled].want[elastic]
		a.require(n <= r.mayUse(r.app.scaled), 18, "run %d: %d elastic replicas are above its ceiling of %d", r.id, n, r.choice.ScaleOut)
		a.require(r.done >= 0, 19, "run %d has done %g of its work", r.id, r.done)
	}
}

// nodes checks what nodes hold against what runs hold.
func (a *audit) nodes(want, live []dovetail.Resources) {
	c := a.c
	strained := make(map[int]bool)
	for _, i := range c.strained {
		strained[i] = true
	}
	for i := range c.nodes {
		n := c.space.Node(i)
		a.require(n.Capacity.Minus(n.Free) == want[i], 9, "node %s: %v is granted, counted %v", c.nodes[i].Name, want[i], n.Capacity.Minus(n.Free))
		a.require(n.Capacity.Minus(c.room[i]) == live[i], 9, "node %s: %v is occupied, counted %v", c.nodes[i].Name, live[i], n.Capacity.Minus(c.room[i]))
		if strained[i] {
			continue
		}
		for k := range dovetail.NumResources {
			a.require(n.Free[k] >= 0, 1, "node %s: more %s is granted than there is", c.nodes[i].Name, k)
			a.require(c.room[i][k] >= 0, 2, "node %s: more %s is occupied than there is", c.nodes[i].Name, k)
		}
	}
}

// inService checks one run in service.
func (a *audit) inService(r *run) {
	a.require(r.inService(), 4, "run %d is %s among the runs in service", r.id, r.state)
	var total, live int
	for ci := range r.comps {
		p, comp := &r.comps[ci], &r.app.spec.Components[ci]
		var want, up, ready [numClasses]int
		for _, k := range p.cells {
			want[k.class] += k.want
			up[k.class] += k.up
			ready[k.class] += k.ready
			live += k.live
			a.require(k.told <= k.want, 6, "run %d %s: told to run %d of %d granted", r.id, comp.Name, k.told, k.want)
			a.require(k.told <= k.live && k.up <= k.live && k.ready <= k.live, 6, "run %d %s: %+v", r.id, comp.Name, k)
		}
		a.require(want == p.want && up == p.up && ready == p.ready, 9, "run %d %s: counts differ from its cells", r.id, comp.Name)
		a.require(want[elastic] <= comp.Elastic(), 7, "run %d %s: %d elastic replicas of %d", r.id, comp.Name, want[elastic], comp.Elastic())
		a.require(want[core] <= comp.Count, 7, "run %d %s: %d core replicas of %d", r.id, comp.Name, want[core], comp.Count)
		if r.goesOn() {
			a.require(r.lacks(ci) >= 0, 3, "run %d %s: more of its core is granted or done than it has", r.id, comp.Name)
			a.require(r.lacks(ci) == 0 || r.pending, 3, "run %d %s: a part of its core is missing and nobody replaces it", r.id, comp.Name)
		}
		total += want[elastic]
	}
	a.require(r.elastic == total && r.live == live, 9, "run %d: %d elastic, %d live, counted %d, %d", r.id, total, live, r.elastic, r.live)
	a.require(r.state != dovetail.Stopping || r.live > 0, 8, "run %d stops and nothing of it is left", r.id)
	a.require(!r.isHungry() || r.hungry, 9, "run %d is hungry and nobody knows", r.id)
}
