package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// assigns returns the net changes of grants, in order of run, component, class and node.
func (d *draft) assigns() []dovetail.Assign {
	if len(d.steps) == 0 {
		return nil
	}
	runs := d.runs[:0]
	for i := range d.steps {
		if r := d.steps[i].r; !r.shifted && !r.ending {
			r.shifted = true
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.id, b.id) })
	for _, r := range runs {
		r.shifted = false
		for ci := range r.comps {
			for i := range r.comps[ci].cells {
				if k := &r.comps[ci].cells[i]; k.delta != 0 {
					d.grants = append(d.grants, dovetail.Assign{Slot: d.c.slot(r, ci, k), N: k.want})
				}
			}
		}
	}
	clear(runs)
	d.runs = runs[:0]
	return copied(d.grants)
}

// copied returns a copy of a list of the draft that a plan may keep; nil if it is empty.
func copied[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

// dispatch adds the actions that bring the back-end nearer to what is granted: fewer replicas at once, more of them as far
// as the node really has room and the components that they come after are ready.
func (d *draft) dispatch() {
	c := d.c
	runs := append(append(d.runs[:0], c.pending...), d.started...)
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.id, b.id) })
	if len(d.used) < len(c.nodes) {
		d.used = make([]dovetail.Resources, len(c.nodes))
	}
	for _, r := range runs {
		if !r.goesOn() && !r.chosen {
			continue
		}
		freeze := r.suspended && !r.sheds()
		for ci := range r.comps {
			may := !r.suspended && r.mayStart(ci)
			guarded := c.strict() && (c.exclusive > 0 || c.touchy(r))
			each := r.app.shapes[ci].Each
			for i := range r.comps[ci].cells {
				k := &r.comps[ci].cells[i]
				n := min(k.told, k.want)
				if may && k.want > k.told && !(guarded && c.lingers(r, k.node)) {
					d.usedOn = append(d.usedOn, k.node)
					more := each.Count(c.room[k.node].Minus(d.used[k.node]), k.want-k.told)
					d.used[k.node] = d.used[k.node].Plus(each.Times(more))
					n = k.told + more
				}
				if n != k.told || freeze != r.frozen && n > 0 {
					d.actions = append(d.actions, dovetail.RunReplicas{Slot: c.slot(r, ci, k), N: n, Frozen: freeze})
				}
			}
		}
	}
	clear(runs)
	d.runs = runs[:0]
	for _, i := range d.usedOn {
		d.used[i] = dovetail.Resources{}
	}
	d.usedOn = d.usedOn[:0]
}

// sheds reports whether elastic replicas of the run are still to stop. Until they are gone its core must not be frozen: it is
// what they hand their work to.
func (r *run) sheds() bool {
	for ci := range r.comps {
		for _, k := range r.comps[ci].cells {
			if k.class == elastic && k.live > k.want {
				return true
			}
		}
	}
	return false
}

// mayStart reports whether the components that component ci comes after are ready.
func (r *run) mayStart(ci int) bool {
	for _, before := range r.app.after[ci] {
		if !r.isReady(before) {
			return false
		}
	}
	return true
}

// decided applies a plan. It checks all of it first.
func (c *Core) decided(now time.Time, p *dovetail.Plan) error {
	if err := c.check(p); err != nil {
		return err
	}
	c.seq = p.Seq
	moved := c.moved(p)
	for i := range p.Ends {
		c.stop(c.runs[p.Ends[i].Run], &p.Ends[i], now)
	}
	for i := range p.Choices {
		c.choose(&p.Choices[i], now)
	}
	for i := range p.Assign {
		c.assign(&p.Assign[i], now)
	}
	for i := range p.Draws {
		c.note(&p.Draws[i])
	}
	for i := range p.Choices {
		c.crave(c.runs[p.Choices[i].Run])
	}
	if len(c.aimed) > 0 && len(moved) > 0 {
		c.regroup(moved, now)
	}
	for _, a := range p.Actions {
		if a, ok := a.(dovetail.RunReplicas); ok {
			c.tell(&a, now)
		}
	}
	for _, reason := range p.Reasons {
		if r := c.run(reason.Run); r != nil {
			r.reason = reason.Code
			c.touch(r)
		}
	}
	c.verdicts = slices.DeleteFunc(c.verdicts, func(r *run) bool { return !r.inService() || r.state == dovetail.Stopping })
	c.pending = slices.DeleteFunc(c.pending, func(r *run) bool {
		r.pending = r.goesOn() && (r.suspended != r.frozen || r.unsettled())
		return !r.pending
	})
	c.line.vain = vain{}
	if c.foreseen.of(p) {
		c.space.Rewind(c.foreseen.grown)
		c.line.vain = c.foreseen.vain
	}
	return nil
}

// unsettled reports whether the back-end was not told yet what is granted, or a part of the core is missing.
func (r *run) unsettled() bool {
	for ci := range r.comps {
		if r.lacks(ci) > 0 {
			return true
		}
		for i := range r.comps[ci].cells {
			if k := &r.comps[ci].cells[i]; k.want != k.told {
				return true
			}
		}
	}
	return false
}

// grants finds what a plan grants in a slot. Actions mostly follow in the order of the grants; only for one that does not, all of
// them are put into a map.
type grants struct {
	plan   []dovetail.Assign
	next   int
	bySlot map[dovetail.Slot]int
	filled bool
}

func (g *grants) find(s dovetail.Slot) (int, bool) {
	if g.next < len(g.plan) && g.plan[g.next].Slot == s {
		g.next++
		return g.plan[g.next-1].N, true
	}
	if !g.filled {
		g.filled = true
		clear(g.bySlot)
		for i := range g.plan {
			g.bySlot[g.plan[i].Slot] = g.plan[i].N
		}
	}
	n, ok := g.bySlot[s]
	return n, ok
}

// check reports whether the plan can be applied as a whole.
func (c *Core) check(p *dovetail.Plan) error {
	bad := func(format string, args ...any) error {
		return dovetail.Errorf(dovetail.Conflict, "plan "+format, append([]any{p.Seq}, args...)...)
	}
	if p.Seq != c.seq+1 {
		return bad("%[1]d follows plan %[2]d", c.seq)
	}
	ends := make(map[dovetail.RunID]bool)
	for _, e := range p.Ends {
		if r := c.runs[e.Run]; r == nil || r.state == dovetail.Stopping || ends[e.Run] {
			return bad("%d ends run %d, which is not there or stops already", e.Run)
		}
		ends[e.Run] = true
	}
	known := func(s dovetail.Slot) bool {
		r := c.run(s.Run)
		_, ok := c.nodeNumber(s.Node)
		return r != nil && ok && r.state != dovetail.Stopping && !ends[s.Run] && s.Component >= 0 && s.Component < len(r.app.shapes)
	}
	for _, a := range p.Assign {
		if !known(a.Slot) || a.N < 0 {
			return bad("%d grants %d replicas in a slot that is not there: %+v", a.N, a.Slot)
		}
		if _, k := c.find(a.Slot); !a.Elastic && k != nil && a.N < k.told {
			return bad("%d takes core replicas from run %d", a.Run)
		}
	}
	if x := c.misdrawn(p, ends); x != nil {
		return bad("%d draws run %d, which does not start by it, or over runs that do not wait", x.Run)
	}
	if x := c.misfit(p, ends); x != nil {
		return bad("%d chooses scale-out %d for run %d, which cannot have it", x.ScaleOut, x.Run)
	}
	granted := grants{plan: p.Assign, bySlot: c.granted}
	for _, a := range p.Actions {
		a, ok := a.(dovetail.RunReplicas)
		if !ok {
			continue
		}
		n, ok := granted.find(a.Slot)
		if !ok {
			if _, k := c.find(a.Slot); k != nil {
				n = k.want
			}
		}
		if !known(a.Slot) || a.N < 0 || a.N > n {
			return bad("%d runs %d replicas where %d are granted: %+v", a.N, n, a.Slot)
		}
	}
	return nil
}

// moved returns the job classes of the runs that a plan gives a place, or takes one from; nil if nobody asks for it.
func (c *Core) moved(p *dovetail.Plan) map[string]bool {
	if len(c.aimed)+len(p.Choices) == 0 {
		return nil
	}
	classes := make(map[string]bool)
	for i := range p.Ends {
		classes[c.runs[p.Ends[i].Run].spec.Class] = true
	}
	for i := range p.Assign {
		classes[c.runs[p.Assign[i].Run].spec.Class] = true
	}
	return classes
}

// misfit returns a choice that cannot be applied: of a run that is not in service after the plan, or outside of the scale-outs that it can
// have.
func (c *Core) misfit(p *dovetail.Plan, ends map[dovetail.RunID]bool) *dovetail.Choice {
	if len(p.Choices) == 0 {
		return nil
	}
	starts := make(map[dovetail.RunID]bool)
	for i := range p.Assign {
		starts[p.Assign[i].Run] = true
	}
	for i := range p.Choices {
		x := &p.Choices[i]
		r := c.runs[x.Run]
		if r == nil || r.state == dovetail.Stopping || ends[x.Run] || r.state == dovetail.Queued && !starts[x.Run] {
			return x
		}
		if low, high := r.app.scales(); x.ScaleOut < low || x.ScaleOut > high {
			return x
		}
	}
	return nil
}

// begin notes that the first replica of a run is handed over.
func (c *Core) begin(r *run, now time.Time) {
	r.started = now
	if r.choice != nil {
		choice := *r.choice
		choice.Deadline = r.goal(now)
		r.choice = &choice
	}
	r.forecast = c.forecast(r, now)
}

// heldBy notes that a node of this class held a replica of the run.
func (r *run) heldBy(class string) {
	if i, ok := slices.BinarySearch(r.machines, class); !ok {
		r.machines = slices.Insert(slices.Clone(r.machines), i, class)
	}
}

// stop ends a run: it keeps no grants, and is gone when its last replica is.
func (c *Core) stop(r *run, e *dovetail.End, now time.Time) {
	if r.state == dovetail.Queued {
		c.leave(r)
	}
	r.state, r.reason, r.verdict = dovetail.Stopping, dovetail.NoReason, e
	for ci := range r.comps {
		for i := range r.comps[ci].cells {
			k := &r.comps[ci].cells[i]
			k.told = 0
			if k.want > 0 {
				c.shift(r, ci, k.class, k.node, -k.want)
			}
		}
		r.comps[ci].prune()
	}
	c.touch(r)
	if r.live == 0 {
		c.end(r, now)
	}
}

// assign grants replicas. The first grant takes a run from the waiting line into service.
func (c *Core) assign(a *dovetail.Assign, now time.Time) {
	r := c.run(a.Run)
	if r.state == dovetail.Queued {
		c.leave(r)
		r.state, r.reason, r.workedAt = dovetail.Starting, dovetail.NoReason, now
		r.outfit()
		i, _ := slices.BinarySearchFunc(c.serving, r.id, byID)
		c.serving = slices.Insert(c.serving, i, r)
		c.serve(r, now)
		c.meet(r)
		c.enrol(r.kind)
		if r.app.spec.MaxRuntime > 0 {
			c.limited = append(c.limited, r)
		}
	}
	node, _ := c.nodeNumber(a.Node)
	cl := classOf(a.Elastic)
	k := r.comps[a.Component].cell(cl, node)
	delta := a.N - k.want
	c.shift(r, a.Component, cl, node, delta)
	if cl == elastic && delta < 0 && !r.suspended && c.cfg.Regrow > 0 && r.craves(a.Component) > 0 {
		c.cool(r, now.Add(time.Duration(c.cfg.Regrow)))
	}
	r.comps[a.Component].tidy(cl, node)
	c.touch(r)
}

// tell notes what the back-end is told.
func (c *Core) tell(a *dovetail.RunReplicas, now time.Time) {
	r := c.run(a.Run)
	node, _ := c.nodeNumber(a.Node)
	k := r.comps[a.Component].cell(classOf(a.Elastic), node)
	if more := a.N - k.told; more > 0 {
		k.live += more
		r.live += more
		c.room[node] = c.room[node].Minus(r.app.shapes[a.Component].Each.Times(more))
		c.dwell(r, node, more, 0, now)
		if r.started.IsZero() {
			c.begin(r, now)
		}
		r.heldBy(c.nodes[node].class)
	}
	k.told = a.N
	if r.frozen != a.Frozen {
		c.accrue(r, now)
		c.freeze(r, a.Frozen, now)
	}
	r.comps[a.Component].tidy(classOf(a.Elastic), node)
	c.touch(r)
}
