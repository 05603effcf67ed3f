package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// Apply folds the event into the state. An error means that the event contradicts the state, which is then unchanged:
// dovetail.NotFound for an unknown run or node, Conflict for one in the wrong state, Invalid for a malformed event.
func (c *Core) Apply(now time.Time, e dovetail.Event) error {
	if now.Before(c.now) {
		return dovetail.Errorf(dovetail.Invalid, "time goes backwards: %s after %s", now.Format(time.RFC3339Nano), c.now.Format(time.RFC3339Nano))
	}
	err := c.apply(now, e)
	if err != nil {
		return err
	}
	if now.After(c.now) {
		c.before, c.now = c.now, now
	}
	c.foreseen = foresight{}
	switch e.(type) {
	case dovetail.Decided:
		c.stale, c.settled = false, now
	case dovetail.ReplicasUp, dovetail.ReplicasReady, dovetail.ReplicasDown, dovetail.Refused: // replicas that died make it stale
	default:
		c.stale = true
	}
	return nil
}

func (c *Core) apply(now time.Time, e dovetail.Event) error {
	switch e := e.(type) {
	case dovetail.Submitted:
		return c.submitted(now, e.Run)
	case dovetail.Cancelled:
		return c.cancelled(e)
	case dovetail.Held:
		return c.held(now, e.Run, true)
	case dovetail.Released:
		return c.held(now, e.Run, false)
	case dovetail.Suspended:
		return c.suspended(now, e.Run, true)
	case dovetail.Resumed:
		return c.suspended(now, e.Run, false)
	case dovetail.Reprioritised:
		return c.reprioritised(now, e)
	case dovetail.Configured:
		return c.configure(e.Config, now)
	case dovetail.ReplicasUp:
		return c.up(now, e)
	case dovetail.ReplicasReady:
		return c.ready(now, e)
	case dovetail.ReplicasDown:
		return c.down(now, e)
	case dovetail.Refused:
		return c.down(now, dovetail.ReplicasDown{Slot: e.Slot, N: e.N, Exit: dovetail.Exit{Code: 126, Why: e.Why}})
	case dovetail.NodeUp:
		return c.nodeUp(e.Node)
	case dovetail.NodeDown:
		return c.nodeDown(now, e.Node)
	case dovetail.Cordoned:
		return c.cordoned(e)
	case dovetail.Decided:
		return c.decided(now, &e.Plan)
	case dovetail.Fitted:
		return c.fitted(&e.Outlook, now)
	case dovetail.Used:
		return c.used(now, &e)
	case dovetail.Paired:
		return c.paired(now, &e.Evidence)
	case dovetail.Recalled:
		return c.recalled(now, e)
	case dovetail.Forgotten:
		c.taught++
		c.book.Forget(now, e.Class)
		return nil
	case dovetail.Imported, dovetail.Tick:
		return nil
	}
	return dovetail.Errorf(dovetail.Invalid, "event %T is not known", e)
}

func (c *Core) submitted(now time.Time, spec *dovetail.Run) error {
	switch {
	case spec == nil || spec.App == nil || len(spec.App.Components) == 0:
		return dovetail.Errorf(dovetail.Invalid, "submitted: a run needs an application with at least one component")
	case spec.ID < c.next:
		return dovetail.Errorf(dovetail.Conflict, "submitted: run %d was there before; the next is %d", spec.ID, c.next)
	}
	a := c.apps[spec.App]
	if a == nil {
		a = c.appOf(spec.App)
		c.checked = nil
		if a.core == 0 {
			return dovetail.Errorf(dovetail.Invalid, "submitted: application %s has no core replica", spec.App.Name)
		}
		c.apps[spec.App] = a
	}
	a.runs++
	r := &run{
		id: spec.ID, spec: spec, app: a, priority: spec.App.Priority, state: dovetail.Queued, held: spec.Hold,
		submitted: now, waiting: now,
	}
	c.next = spec.ID + 1
	c.runs[r.id] = r
	c.join(r)
	c.size(r)
	r.weigh()
	c.queue(r, now)
	return nil
}

// queue puts a run into the waiting line.
func (c *Core) queue(r *run, now time.Time) {
	c.enter(r, now)
	if r.held {
		r.reason = dovetail.OnHold
	} else {
		r.reason = dovetail.NoReason
		c.mute = append(c.mute, r)
	}
	c.touch(r)
}

// known returns the run, or an error that says that there is none.
func (c *Core) known(id dovetail.RunID) (*run, error) {
	if r := c.run(id); r != nil {
		return r, nil
	}
	if id > 0 && id < c.next {
		return nil, dovetail.Errorf(dovetail.Conflict, "run %d has ended", id)
	}
	return nil, dovetail.Errorf(dovetail.NotFound, "there is no run %d", id)
}

func (c *Core) cancelled(e dovetail.Cancelled) error {
	r, err := c.known(e.Run)
	if err != nil {
		return err
	}
	why := "cancelled"
	if e.By != "" {
		why += " by " + e.By
	}
	c.judge(r, dovetail.OutcomeCancelled, why)
	return nil
}

// judge notes how a run is to end; the next plan ends it. The first verdict stands.
func (c *Core) judge(r *run, o dovetail.Outcome, why string) {
	if r.verdict == nil {
		r.verdict = &dovetail.End{Run: r.id, Outcome: o, Why: why}
		c.verdicts = append(c.verdicts, r)
		if r.state == dovetail.Queued {
			c.line.vain = vain{}
		}
		c.touch(r)
	}
}

func (c *Core) held(now time.Time, id dovetail.RunID, hold bool) error {
	r, err := c.known(id)
	switch {
	case err != nil:
		return err
	case r.state != dovetail.Queued:
		return dovetail.Errorf(dovetail.Conflict, "run %d is %s; only a queued run can be held or released (a run in service can be suspended)", id, r.state)
	case r.held == hold:
		return nil
	}
	r.held = hold
	r.waiting = now
	c.leave(r)
	c.queue(r, now)
	return nil
}

func (c *Core) suspended(now time.Time, id dovetail.RunID, suspend bool) error {
	r, err := c.known(id)
	switch {
	case err != nil:
		return err
	case r.state == dovetail.Queued:
		return c.held(now, id, suspend)
	case r.state == dovetail.Stopping:
		return dovetail.Errorf(dovetail.Conflict, "run %d is stopping", id)
	}
	r.suspended = suspend
	c.regroup(map[string]bool{r.spec.Class: true}, now)
	c.crave(r)
	c.await(r)
	c.touch(r)
	return nil
}

func (c *Core) reprioritised(now time.Time, e dovetail.Reprioritised) error {
	r, err := c.known(e.Run)
	if err != nil {
		return err
	}
	r.priority = e.Priority
	r.ranked, r.app.ranked, c.orderedAt = 0, 0, 0
	if r.state == dovetail.Queued {
		c.rerank(now)
	}
	c.touch(r)
	return nil
}

func (c *Core) up(now time.Time, e dovetail.ReplicasUp) error {
	r, k := c.find(e.Slot)
	if k == nil || e.N < 1 || k.up+e.N > k.live {
		return c.contradiction(e.Slot, "up", e.N)
	}
	c.accrue(r, now)
	k.up += e.N
	r.comps[e.Component].up[k.class] += e.N
	c.dwell(r, k.node, 0, e.N, now)
	c.progressed(r, now)
	return nil
}

func (c *Core) ready(now time.Time, e dovetail.ReplicasReady) error {
	r, k := c.find(e.Slot)
	if k == nil || e.N < 1 || k.ready+e.N > k.live {
		return c.contradiction(e.Slot, "ready", e.N)
	}
	k.ready += e.N
	r.comps[e.Component].ready[k.class] += e.N
	c.progressed(r, now)
	return nil
}

// progressed notes that replicas came up or ready: the run may be running, and others may be waiting for them.
func (c *Core) progressed(r *run, now time.Time) {
	if r.state == dovetail.Starting && r.allReady() {
		r.state, r.ready, r.doneAt = dovetail.Running, now, now
	}
	c.await(r)
	c.touch(r)
}

func (c *Core) contradiction(s dovetail.Slot, what string, n int) error {
	return dovetail.Errorf(dovetail.Conflict, "run %d has no %d replicas of component %d (elastic: %t) on node %q that could be %s",
		s.Run, n, s.Component, s.Elastic, s.Node, what)
}

func (c *Core) down(now time.Time, e dovetail.ReplicasDown) error {
	r, k := c.find(e.Slot)
	ups, readies := 0, 0
	if e.WasUp {
		ups = e.N
	}
	if e.WasReady {
		readies = e.N
	}
	if k == nil || e.N < 1 || e.N > k.live || ups > k.up || readies > k.ready {
		return c.contradiction(e.Slot, "down", e.N)
	}
	c.fall(r, e.Component, k, e.N, ups, readies, e.Exit, now)
	c.settleRun(r, now)
	return nil
}

// fall takes n replicas off a cell and draws the consequences: were they asked to stop, did they finish, or did they die?
func (c *Core) fall(r *run, ci int, k *cell, n, ups, readies int, exit dovetail.Exit, now time.Time) {
	p, node, cl := &r.comps[ci], k.node, k.class
	c.accrue(r, now)
	k.live -= n
	k.up -= ups
	k.ready -= readies
	r.live -= n
	p.up[cl] -= ups
	p.ready[cl] -= readies
	c.dwell(r, node, -n, -ups, now)
	c.room[node] = c.room[node].Plus(r.app.shapes[ci].Each.Times(n))
	died := k.told - k.live // more than were asked to stop are gone
	if died > 0 {
		c.stale = true
		k.told = k.live
		c.shift(r, ci, cl, node, -min(died, p.cell(cl, node).want))
	}
	p.tidy(cl, node)
	if died > 0 && r.verdict == nil {
		c.died(r, ci, cl, died, exit, now)
	}
	c.crave(r)
	c.await(r)
	c.touch(r)
}

// died draws the consequences of replicas that ended without being asked to.
func (c *Core) died(r *run, ci int, cl class, n int, exit dovetail.Exit, now time.Time) {
	comp := &r.app.spec.Components[ci]
	switch {
	case exit.OK():
		r.comps[ci].done[cl] += n
		if r.comps[ci].done[core] >= comp.Count && comp.Count > 0 && (comp.Ends != "" || !r.app.ends && r.finished()) {
			c.judge(r, dovetail.OutcomeSucceeded, "")
		}
	case exit.Asked: // it was stopped in place of another; it is replaced
	case cl == elastic:
		if now.Sub(r.lastDeath) > 10*time.Minute {
			r.deaths = 0
		}
		r.deaths++
		r.lastDeath = now
		c.cool(r, now.Add(min(5*time.Minute, time.Second<<min(r.deaths, 10))))
	case r.retries+n > comp.Restart.Retries:
		outcome := dovetail.OutcomeFailed
		if exit.Lost {
			outcome = dovetail.OutcomeLost
		}
		c.judge(r, outcome, fmt.Sprintf("component %s %s", comp.Name, describeExit(exit)))
	default:
		r.retries += n
	}
}

func describeExit(e dovetail.Exit) string {
	s := fmt.Sprintf("exited with code %d", e.Code)
	switch {
	case e.Lost:
		s = "was lost"
	case e.OOM:
		s = "was killed for using more memory than it asked for"
	case e.Signal != "":
		s = "was killed by " + e.Signal
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// finished reports whether every core replica of every component has ended well.
func (r *run) finished() bool {
	for ci := range r.comps {
		if r.comps[ci].done[core] < r.app.spec.Components[ci].Count {
			return false
		}
	}
	return true
}

// cool keeps a run from getting elastic replicas until a time.
func (c *Core) cool(r *run, until time.Time) {
	if until.After(r.regrow) {
		r.regrow = until
		c.cooling = append(c.cooling, r)
	}
}

// settleRun ends a stopping run whose last replica is gone, and notes when a run became ready.
func (c *Core) settleRun(r *run, now time.Time) {
	if r.state == dovetail.Stopping && r.live == 0 {
		c.end(r, now)
		return
	}
	c.progressed(r, now)
}

// end forgets a run.
func (c *Core) end(r *run, now time.Time) {
	r.state, r.reason, r.ended = dovetail.Ended, dovetail.NoReason, now
	r.close()
	r.settle()
	for ci := range r.comps {
		if cells := r.comps[ci].cells; len(cells) == 0 && cap(cells) > 0 && len(c.idle) < 64 {
			c.idle, r.comps[ci].cells = append(c.idle, cells), nil
		}
	}
	if i, ok := slices.BinarySearchFunc(c.aimed, r.id, byID); ok {
		c.aimed = slices.Delete(c.aimed, i, i+1)
	}
	delete(c.runs, r.id)
	if c.recent == r {
		c.recent = nil
	}
	if r.app.runs--; r.app.runs == 0 {
		delete(c.apps, r.app.spec)
	}
	if r.hungry {
		r.app.sated()
	}
	if i, ok := slices.BinarySearchFunc(c.serving, r.id, byID); ok {
		c.serving = slices.Delete(c.serving, i, i+1)
		c.unserve(r)
		c.part(r)
		c.retire(r.kind)
	}
	c.quit(r)
	c.gone = append(c.gone, r)
}

func byID(r *run, id dovetail.RunID) int { return cmp.Compare(r.id, id) }

func (c *Core) nodeUp(n dovetail.Node) error {
	if n.Name == "" {
		return dovetail.Errorf(dovetail.Invalid, "a node needs a name")
	}
	for k := range n.Capacity {
		if n.Capacity[k] < 0 {
			return dovetail.Errorf(dovetail.Invalid, "node %s: capacity must not be negative", n.Name)
		}
	}
	c.version++
	class := n.Labels["class"]
	if class == "" {
		class = n.Capacity.String()
	}
	i, ok := c.nodeByID[n.Name]
	if !ok {
		c.nodeByID[n.Name] = len(c.nodes)
		c.nodes = append(c.nodes, node{Node: n, class: class})
		c.room = append(c.room, n.Capacity)
		c.looseOn = append(c.looseOn, dovetail.Resources{})
		c.space.Add(place.Node{Capacity: n.Capacity, Labels: n.Labels, Up: true})
		return nil
	}
	c.room[i] = c.room[i].Plus(n.Capacity).Minus(c.nodes[i].Capacity)
	c.strained = append(c.strained, i)
	c.nodes[i].Node, c.nodes[i].class = n, class
	c.space.Update(i, func(p *place.Node) { p.Capacity, p.Labels, p.Up = n.Capacity, n.Labels, true })
	return nil
}

func (c *Core) nodeDown(now time.Time, name string) error {
	i, ok := c.nodeByID[name]
	if !ok {
		return dovetail.Errorf(dovetail.NotFound, "there is no node %q", name)
	}
	c.version++
	c.space.Update(i, func(p *place.Node) { p.Up = false })
	for _, r := range slices.Clone(c.serving) {
		for ci := range r.comps {
			for _, cl := range [...]class{core, elastic} {
				c.lose(r, ci, cl, i, now)
			}
		}
		c.settleRun(r, now)
	}
	c.regroup(nil, now)
	return nil
}

// lose drops all replicas of a class that a run has on a node that is gone, and what was granted to it there.
func (c *Core) lose(r *run, ci int, cl class, node int, now time.Time) {
	k := r.comps[ci].cell(cl, node)
	if n := k.live; n > 0 {
		c.fall(r, ci, k, n, k.up, k.ready, dovetail.Exit{Lost: true, Why: "node " + c.nodes[node].Name + " is gone"}, now)
		k = r.comps[ci].cell(cl, node)
	}
	if k.want > 0 {
		c.shift(r, ci, cl, node, -k.want)
	}
	r.comps[ci].tidy(cl, node)
}

func (c *Core) cordoned(e dovetail.Cordoned) error {
	i, ok := c.nodeByID[e.Node]
	if !ok {
		return dovetail.Errorf(dovetail.NotFound, "there is no node %q", e.Node)
	}
	c.version++
	c.nodes[i].draining = e.On && e.Drain
	c.strained = append(c.strained, i)
	c.space.Update(i, func(p *place.Node) { p.Cordoned = e.On })
	return nil
}

// shift changes how many replicas are granted, here and in the space, and returns the cell.
func (c *Core) shift(r *run, ci int, cl class, node, delta int) *cell {
	c.space.Take(node, r.app.shapes[ci].Each, delta)
	return c.grant(r, ci, cl, node, delta)
}

// grant notes in the run what the space was told.
func (c *Core) grant(r *run, ci int, cl class, node, delta int) *cell {
	p := &r.comps[ci]
	k := p.cell(cl, node)
	k.want += delta
	p.want[cl] += delta
	if cl == elastic {
		r.elastic += delta
		n := r.app.shapes[ci].Each.Times(delta)
		c.loose, c.looseOn[node] = c.loose.Plus(n), c.looseOn[node].Plus(n)
	}
	if c.keeps && delta != 0 {
		c.lodge(r, node, delta)
	}
	c.crave(r)
	c.await(r)
	return k
}

// crave puts a run that can use more elastic replicas into its application's list of hungry ones.
func (c *Core) crave(r *run) {
	if !r.hungry && r.isHungry() {
		r.hungry = true
		r.app.hungry, r.app.ranked = append(r.app.hungry, r), 0
		if !r.app.listed {
			r.app.listed = true
			c.hungry = append(c.hungry, r.app)
		}
	}
}

// await puts a run into the list of those to look at when dispatching.
func (c *Core) await(r *run) {
	if !r.pending && r.inService() {
		r.pending = true
		c.pending = append(c.pending, r)
	}
}
