package sched

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/place"
)

// backfillDepth bounds how many runs behind one that does not fit are tried in one decision.
const backfillDepth = 1000

// draft is one decision in the making; a core has one, whose memory every decision uses again. It works on the core's own state and takes back everything it did when the plan is
// written down, so that deciding changes nothing.
type draft struct {
	c       *Core
	now     time.Time
	steps   []step // to take back, last first
	tried   []*run // had steps that were taken back
	runs    []*run // memory for a list of runs
	grants  []dovetail.Assign
	actions []dovetail.Action
	queued  []queue              // memory of inNeed
	heap    queues               // … pointers into it
	used    []dovetail.Resources // per node, what dispatch hands out; zero before and after
	usedOn  []int                // … the nodes on which it is not
	ends    []dovetail.End
	ended   []*run

	line    alloc.Line[*run] // what the allocator is told
	started []*run
	order   []*run // runs in service, in order, or nil if nobody asked yet; not those of Core.ordered if ranks stand still
	round   int    // that applications failed they know of one round; never the same again
	shut    int    // how many steps there were when last it was noted under Space.Grown what does not fit
	passed  bool   // in this round a run was passed over
	again   bool   // what happened in this round may let a run start that was passed over
	blocked []*run // those that are judged, in order
	skipped []*run // without asking the allocator, since the last walk that began at the head of the line
	closed  bool   // in this round the allocator takes nothing back any more for those that wait
	looked  int    // how many were blocked or skipped in this round
	choices []chosen
	head    *run         // the first that did not fit, if the order reserves for it
	held    *reservation // its reservation, once somebody asked
	asked   bool         // … somebody did
	spends  *run         // was let by for what is spare besides

	window  window
	scene   coloc.Scene   // what a choice is made in
	staged  bool          // … its work is that of this decision
	work    []coloc.Share // memory for work
	climate int64         // grows whenever scores of nodes may be others although the same runs are there
	taught  int64         // what it was found by last: see Core.taught
	draws   []drawn
	casts   int  // how often was drawn
	near    bool // it is about the runs of the window: if one cannot start, others may
	trying  bool // a run is placed only to know where it would be
	beside  []coloc.ID
	nodes   [][]coloc.ID // memory of what contenders would be beside
	palate  palate
}

// step is one change of a grant.
type step struct {
	r     *run
	ci    int
	cl    class
	node  int
	delta int
}

// Decide returns what should be done now. It is pure; after Apply(Decided{plan}) it returns an empty plan.
func (c *Core) Decide(now time.Time) dovetail.Plan {
	if now.Before(c.now) {
		now = c.now
	}
	d := c.draft(now)
	defer d.undo()
	d.finish()
	d.relieve()
	if c.stale || !now.Equal(c.settled) || len(d.steps)+len(d.ends) > 0 {
		d.reconsider()
		d.allocate()
	}
	d.bereaved()
	plan := dovetail.Plan{At: now, Ends: d.ends, Assign: d.assigns(), Choices: d.picked(), Draws: d.written()}
	for _, r := range d.ended {
		if r.live > 0 {
			d.actions = append(d.actions, dovetail.StopRun{Run: r.id})
		}
	}
	d.dispatch()
	plan.Actions = copied(d.actions)
	plan.Reasons = d.explain()
	if !plan.Empty() {
		plan.Seq = c.seq + 1
		c.foreseen, c.line.vain = foresight{plan, c.space.Grown(), c.line.vain}, vain{}
	}
	return plan
}

// draft begins a decision. It first drops from the core's sets what no longer belongs there.
func (c *Core) draft(now time.Time) *draft {
	c.foreseen = foresight{}
	c.hungry = slices.DeleteFunc(c.hungry, func(a *app) bool {
		a.listed = a.trim()
		return !a.listed
	})
	c.mute = slices.DeleteFunc(c.mute, func(r *run) bool { return r.state != dovetail.Queued || r.reason != dovetail.NoReason })
	c.strained = slices.DeleteFunc(c.strained, func(i int) bool {
		return !c.overfull(i) && !negative(c.room[i]) && !c.nodes[i].draining
	})
	d := &c.scratch
	if d.c == nil {
		*d = draft{c: c, round: 1}
		d.line = alloc.Line[*run]{
			Serving: d.inNeed,
			Victims: d.victims,
			Jumps:   d.jumps,
			Idle:    d.idle,
			Started: d.start,
			Closed:  func() { d.closed = true },
			Blocked: d.block,
			Mended:  d.topUp,
		}
	}
	d.now, d.staged = now, false
	return d
}

// shift changes a grant for the time of the draft.
func (d *draft) shift(r *run, ci int, cl class, node, delta int) {
	d.c.shift(r, ci, cl, node, delta).delta += delta
	d.steps = append(d.steps, step{r, ci, cl, node, delta})
}

// note records what the space did already.
func (d *draft) note(r *run, ci int, cl class, spots []place.Spot) {
	cells := &r.comps[ci].cells
	if n := len(d.c.idle); *cells == nil && n > 0 {
		*cells, d.c.idle = d.c.idle[n-1], d.c.idle[:n-1]
	}
	*cells = slices.Grow(*cells, len(spots))
	for _, s := range spots {
		d.c.grant(r, ci, cl, s.Node, s.N).delta += s.N
		d.steps = append(d.steps, step{r, ci, cl, s.Node, s.N})
	}
}

// back takes back every step from a mark on.
func (d *draft) back(mark int) {
	grown, only := d.c.space.Grown(), d.shut <= mark
	for len(d.steps) > mark {
		s := d.steps[len(d.steps)-1]
		only = only && s.delta > 0
		d.steps = d.steps[:len(d.steps)-1]
		d.c.shift(s.r, s.ci, s.cl, s.node, -s.delta).delta -= s.delta
		if n := len(d.tried); n == 0 || d.tried[n-1] != s.r {
			d.tried = append(d.tried, s.r)
		}
	}
	if only {
		d.c.space.Rewind(grown)
	}
}

func (d *draft) undo() {
	d.back(0)
	d.unpickAll()
	d.unmade()
	for _, r := range d.tried {
		for ci := range r.comps {
			r.comps[ci].prune()
		}
	}
	for _, r := range d.started {
		r.chosen = false
		r.spare, r.comps = r.comps, nil
	}
	for _, r := range d.ended {
		r.ending = false
		d.c.crave(r)
	}
	d.forget()
	for _, r := range d.blocked {
		r.judged = false
	}
	d.shut = 0
	d.grants, d.actions = d.grants[:0], d.actions[:0]
	clear(d.tried)
	clear(d.started)
	clear(d.ended)
	clear(d.blocked)
	clear(d.skipped)
	clear(d.queued)
	d.skipped = d.skipped[:0]
	d.tried, d.started, d.ended, d.blocked, d.order = d.tried[:0], d.started[:0], d.ended[:0], d.blocked[:0], nil
	d.head, d.held, d.spends = nil, nil, nil
	d.ends = nil // the plan has them
}

// finish ends the runs that facts have ended, and those that have run longer than they may.
func (d *draft) finish() {
	for _, r := range d.c.limited {
		if r.goesOn() && !r.started.IsZero() && !r.limit().After(d.now) {
			why := "ran longer than its maximum of " + r.app.spec.MaxRuntime.String()
			d.end(r, dovetail.End{Run: r.id, Outcome: dovetail.OutcomeTimedOut, Why: why})
		}
	}
	for _, r := range d.c.verdicts {
		if r.state != dovetail.Stopping && r.state != dovetail.Ended {
			d.end(r, *r.verdict)
		}
	}
	slices.SortFunc(d.ends, func(a, b dovetail.End) int { return cmp.Compare(a.Run, b.Run) })
	slices.SortFunc(d.ended, func(a, b *run) int { return cmp.Compare(a.id, b.id) })
}

func (d *draft) end(r *run, e dovetail.End) {
	d.ends = append(d.ends, e)
	d.ended = append(d.ended, r)
	r.ending = true
	for ci := range r.comps {
		for cl := range numClasses {
			d.take(r, ci, cl, func(int) bool { return true })
		}
	}
}

// take takes back all grants of a class on the nodes that match.
func (d *draft) take(r *run, ci int, cl class, match func(node int) bool) {
	for i := range r.comps[ci].cells {
		if k := &r.comps[ci].cells[i]; k.class == cl && k.want > 0 && match(k.node) {
			d.shift(r, ci, cl, k.node, -k.want)
		}
	}
}

// overfull reports whether more is granted on a node than it holds.
func (c *Core) overfull(i int) bool { return negative(c.space.Node(i).Free) }

// relieves reports whether taking such a replica away helps an overfull node.
func (c *Core) relieves(i int, each dovetail.Resources) bool {
	free := c.space.Node(i).Free
	for k := range free {
		if free[k] < 0 && each[k] > 0 {
			return true
		}
	}
	return false
}

func negative(r dovetail.Resources) bool {
	for k := range r {
		if r[k] < 0 {
			return true
		}
	}
	return false
}

// relieve takes back elastic replicas of suspended runs, and those on nodes that are drained or shrank, where those of runs with a
// target come last; core replicas there stay if they run.
func (d *draft) relieve() {
	c := d.c
	for _, r := range c.pending {
		if r.suspended && r.goesOn() {
			for ci := range r.comps {
				d.take(r, ci, elastic, func(int) bool { return true })
			}
		}
	}
	if len(c.strained) == 0 {
		return
	}
	for _, guarded := range [...]bool{false, true} {
		for r := range d.backwards() {
			if (r.choice != nil) != guarded {
				continue
			}
			for ci := range r.comps {
				each := r.app.shapes[ci].Each
				d.take(r, ci, elastic, func(n int) bool { return c.nodes[n].draining || c.relieves(n, each) })
			}
		}
	}
	for _, r := range c.serving {
		for ci := range r.comps {
			d.move(r, ci)
		}
	}
}

// move takes back what is granted to the core on a strained node and was not handed to the back-end yet: it is placed anew.
func (d *draft) move(r *run, ci int) {
	each := r.app.shapes[ci].Each
	for i := range r.comps[ci].cells {
		k := &r.comps[ci].cells[i]
		if idle := k.want - k.told; k.class == core && idle > 0 && r.goesOn() && (d.c.nodes[k.node].draining || d.c.relieves(k.node, each)) {
			d.shift(r, ci, core, k.node, -idle)
		}
	}
}

// allocate lets the allocator share capacity, in rounds: what a reclaim left over may serve another run, and a run that was
// passed over may jump those that started after it. A core that could not be repaired is tried again once others have grown:
// what they got can be reclaimed, and where it lies changes which nodes are looked at first.
func (d *draft) allocate() {
	d.line.Waiting = d.waiting()
	for d.again = true; d.again; {
		d.again, d.passed = false, false
		d.forget()
		d.order = nil
		d.closed, d.looked = false, 0
		d.head, d.held, d.asked, d.spends = nil, nil, false, nil
		before, had := len(d.steps), len(d.started)
		d.line.Broken = d.broken()
		d.c.share(fitter{d}, d.line)
		if len(d.steps) != before && slices.ContainsFunc(d.line.Broken, (*run).broken) {
			d.again = true
		}
		if slices.ContainsFunc(d.started[had:], func(r *run) bool { return r.choice != nil && r.isHungry() }) {
			d.again = true // it is topped up
		}
	}
}

// block notes that a run cannot start now, and reports whether those behind it may.
func (d *draft) block(w *run) bool {
	w.comps = nil
	d.passed = true
	d.unpick(w)
	if !d.varies(w) && !d.c.touchy(w) {
		w.app.failed = d.round
	}
	d.because(w, dovetail.NoCapacity)
	d.looked++
	if d.c.order.Reserves && d.head == nil {
		d.head = w
	}
	if d.near {
		return !d.window.due
	}
	return d.c.order.Backfill && d.looked < d.c.depth && !d.c.overdue(w, d.now)
}

// forget lets runs of applications that failed be tried again: capacity became free.
func (d *draft) forget() { d.round++ }

// isFull reports whether it is known that not one more replica of a component fits.
func (d *draft) isFull(a *app, ci int) bool { return a.full[ci] == d.c.space.Grown() }

// setFull notes that not one more does, with all that the steps so far have taken: see back.
func (d *draft) setFull(a *app, ci int) { a.full[ci], d.shut = d.c.space.Grown(), len(d.steps) }

// sort sorts runs by the order of the policy now. What was sorted before takes little time.
func (d *draft) sort(runs []*run) {
	for _, r := range runs {
		d.c.key(r, d.now) // brings r.rank up to date
	}
	slices.SortFunc(runs, func(a, b *run) int { return a.rank.compare(&b.rank) })
}

// broken returns the runs in service that miss a part of their core, in order.
func (d *draft) broken() []*run {
	var broken []*run
	for _, r := range d.c.pending {
		if r.goesOn() && r.broken() {
			broken = append(broken, r)
		}
	}
	d.sort(broken)
	return broken
}

// backwards yields the runs in service that hold elastic replicas, last in order first.
func (d *draft) backwards() iter.Seq[*run] {
	return func(yield func(*run) bool) {
		for r := range d.fromLast() {
			if r.elastic > 0 && !yield(r) {
				return
			}
		}
	}
}

// fromLast yields the runs in service that go on, last in order first.
func (d *draft) fromLast() iter.Seq[*run] {
	var kept []*run
	if d.c.standing() {
		kept = d.c.inStanding(d.now)
	}
	if d.order == nil {
		if kept == nil {
			for _, r := range d.c.serving {
				if r.goesOn() {
					d.order = append(d.order, r)
				}
			}
		}
		d.order = append(d.order, d.started...)
		d.sort(d.order)
	}
	return func(yield func(*run) bool) {
		for i, j := len(kept)-1, len(d.order)-1; i >= 0 || j >= 0; {
			var r *run
			if j < 0 || i >= 0 && kept[i].rank.compare(&d.order[j].rank) > 0 {
				r = kept[i]
				i--
			} else {
				r = d.order[j]
				j--
			}
			if r.serves() && !r.ending && r.verdict == nil && r.state != dovetail.Stopping && !yield(r) {
				return
			}
		}
	}
}

// victims yields the runs whose elastic replicas may be reclaimed for w's core, last in order first. If w is in service and
// lost a part of its core, it is one of them. Runs that have a target come last, and only if w's priority is higher.
func (d *draft) victims(w *run) iter.Seq[*run] {
	own := d.c.key(w, d.now)
	return func(yield func(*run) bool) {
		if w.app.failed == d.round || !w.needs().Fits(d.c.space.Free().Plus(d.c.loose)) || !d.c.wouldHold(w) {
			return
		}
		guarded := false
		for v := range d.backwards() {
			if last := d.c.key(v, d.now); d.c.cfg.Reclaim == "lower" && last.compare(&own) < 0 {
				break
			}
			if v.choice != nil {
				guarded = true
			} else if !yield(v) {
				return
			}
		}
		if !guarded {
			return
		}
		for v := range d.backwards() {
			if v.choice != nil && (v == w || v.priority < w.priority) && !yield(v) {
				return
			}
		}
	}
}

// wouldHold reports whether each component of what w's core lacks would fit by itself if every elastic replica were gone.
func (c *Core) wouldHold(w *run) bool {
	for ci := range w.app.shapes {
		if !c.space.Holds(&w.app.shapes[ci], w.lacks(ci), c.looseOn) {
			return false
		}
	}
	return true
}

// jumps reports whether w may be served although the runs in service are not satisfied: it is overdue, or preemption is on
// and it ranks before the last run in service (Algorithm 1, lines 2-7: the auxiliary line W is those that wait and jump).
func (d *draft) jumps(w *run) bool {
	if d.c.overdue(w, d.now) {
		return true
	}
	if !d.c.cfg.Preempt {
		return false
	}
	for last := range d.fromLast() {
		own, tail := d.c.key(w, d.now), d.c.key(last, d.now)
		return own.compare(&tail) < 0
	}
	return false
}

// idle reports whether something of every kind that w's core needs is free.
func (d *draft) idle(w *run) bool {
	free := d.c.space.Free()
	for k, n := range w.app.need {
		if n > 0 && free[k] <= 0 {
			return false
		}
	}
	return true
}

// waiting yields the waiting runs whose core would fit the empty cluster, in order.
func (d *draft) waiting() iter.Seq[*run] {
	switch {
	case d.c.method != nil:
		return d.drawing
	case d.skims():
		return d.skim
	}
	return func(yield func(*run) bool) {
		for w := range d.c.waiting(d.now) {
			if !w.chosen && !w.ending && d.mayEver(w) && !d.offer(w, yield) {
				return
			}
		}
	}
}

// offer lets the allocator try a waiting run, unless that would delay one that has a reservation. It reports whether to go on.
func (d *draft) offer(w *run, yield func(*run) bool) bool {
	if d.delays(w) {
		return !d.passBy(w)
	}
	return yield(w)
}

// mayEver reports whether a run's core would fit the open nodes, were they empty.
func (d *draft) mayEver(w *run) bool {
	if d.c.fits(w.app) {
		return true
	}
	if w.reason != dovetail.NoNode {
		d.because(w, dovetail.NoNode)
	}
	return false
}

// passBy notes that a waiting run was passed over for the sake of a reservation, and reports whether those were enough.
func (d *draft) passBy(w *run) bool {
	d.unpick(w)
	d.because(w, dovetail.Behind)
	d.passed = true
	d.looked++
	return d.looked >= d.c.depth
}

func (d *draft) start(w *run) {
	w.chosen = true
	if d.spends == w {
		d.held.spare = d.held.spare.Minus(d.c.whole(w))
	}
	d.again = d.again || d.passed
	d.started = append(d.started, w)
	d.order = nil
	d.aim(w)
	d.c.crave(w)
	d.because(w, dovetail.NoReason)
}

// saturated reports whether the runs in service can use all that is left of what w's core needs, so that nothing is
// reclaimed for it.
func (d *draft) saturated(w *run) bool {
	if d.c.cfg.Alloc != "flexible" || d.jumps(w) {
		return false
	}
	return !d.idle(w) || d.anyHungry()
}

// anyHungry reports whether some run in service can use more elastic replicas.
func (d *draft) anyHungry() bool { return slices.ContainsFunc(d.c.hungry, (*app).isHungry) }

func (d *draft) because(w *run, code dovetail.ReasonCode) {
	if !w.judged {
		w.judged = true
		d.blocked = append(d.blocked, w)
	}
	w.why = code
}

// explain returns the reasons that changed, by run.
func (d *draft) explain() []dovetail.Reason {
	d.judge()
	behind := dovetail.Behind
	for _, w := range d.blocked {
		if w.why != dovetail.NoReason && d.c.overdue(w, d.now) {
			behind = dovetail.WaitOverdue
			break
		}
	}
	for _, r := range d.c.mute {
		if !r.judged && !r.held && !r.ending {
			d.because(r, behind)
		}
	}
	var changed []dovetail.Reason
	for _, w := range d.blocked {
		if w.chosen {
			continue
		}
		if w.why == dovetail.NoCapacity && d.saturated(w) {
			w.why = dovetail.Saturated
		}
		if w.why != w.reason {
			changed = append(changed, dovetail.Reason{Run: w.id, Code: w.why})
		}
	}
	slices.SortFunc(changed, func(a, b dovetail.Reason) int { return cmp.Compare(a.Run, b.Run) })
	return changed
}
