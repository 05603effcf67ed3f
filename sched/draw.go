package sched

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// With a method to choose neighbours, the runs of the line are not offered to the allocator in the order of the policy. Among the first
// of them, the window, those that could start are weighed by who they would run beside, and one is drawn (seed 000, section 4.3). If it
// starts the window moves on; if it does not fit after all it is left out, and drawn is among the rest. When nobody of the window can start, a strict
// policy is at its end, and one that backfills goes on behind the window, in its order.
//
// Runs of the window have one priority, and are all interactive or none is: what is strict between runs stays so. A run that waited longer
// than the bound is a window by itself. Who is passed over often enough is due: it alone may start then, and nobody before it does. So nobody
// is passed over by draws more often than the configuration says.

// methodDue is what a draw names as its method when a run had been passed over often enough.
const methodDue = "due"

// pass is how a run was passed over the last time.
type pass struct {
	By          dovetail.RunID `json:"by"`
	At          time.Time      `json:"at"`
	Method      string         `json:"method"`
	Could       bool           `json:"could,omitempty"`       // it was among the options
	Probability float64        `json:"probability,omitempty"` // … of which it had this
}

// contender is a run of the window.
type contender struct {
	r     *run
	out   bool // it cannot start in this round
	fits  bool // … it was placed, and fits
	harms bool // … but only beside a class that it harms, or that harms it
	nodes [][]coloc.ID
	at    []int   // these nodes, and
	lasts float64 // for how many seconds it would be there, if nobody waits but those of the window
}

// window is the runs that a draw is made among, in order of the line.
type window struct {
	runs    []contender
	options []int // those that could start, by their place in runs
	chances []float64
	due     bool // one of them is due
	last    bool // nobody waits but these
}

// drawn is a draw of the draft.
type drawn struct {
	dovetail.Draw
	passed []*run
}

// takes reports whether a run belongs to the window, which has room for so many: a place is left, and it ranks with the first.
func (w *window) takes(c *Core, r *run, now time.Time) bool {
	if len(w.runs) == 0 {
		return true
	}
	first := w.runs[0].r
	if len(w.runs) >= c.window() || c.overdue(first, now) {
		return false
	}
	a, b := c.key(first, now), c.key(r, now)
	return a.priority == b.priority && a.later == b.later
}

// isDue reports whether a run was passed over so often that it goes first.
func (c *Core) isDue(r *run) bool { return r.passes+r.passing >= c.patience() }

// clear empties the window.
func (w *window) clear() {
	clear(w.runs[:cap(w.runs)])
	w.runs, w.due, w.last = w.runs[:0], false, false
}

// drawing is waiting for a core that chooses by neighbours.
func (d *draft) drawing(yield func(*run) bool) {
	w := &d.window
	w.clear()
	behind := false
	for r := range d.c.waiting(d.now) {
		if r.chosen || r.ending || !d.mayEver(r) {
			continue
		}
		for !behind && !w.takes(d.c, r, d.now) {
			started, more := d.drawOne(yield)
			if !more || !started && (!d.c.order.Backfill || w.due) {
				return
			}
			behind = !started
		}
		switch {
		case !behind:
			w.runs = append(w.runs, contender{r: r})
		case d.skims():
			d.skim(yield) // it passes the window again, where nobody fits
			return
		case !d.offer(r, yield):
			return
		}
	}
	w.last = !behind
	for started, more := true, true; !behind && started && more; {
		started, more = d.drawOne(yield)
	}
}

// drawOne lets one run of the window start. It reports whether one did, and whether the allocator wants more.
func (d *draft) drawOne(yield func(*run) bool) (started, more bool) {
	w := &d.window
	if len(w.runs) == 0 {
		return false, true
	}
	if first := w.runs[0].r; d.c.overdue(first, d.now) {
		if more = yield(first); first.chosen {
			w.runs = w.runs[:0]
		}
		return first.chosen, more
	}
	d.near = true
	defer func() { d.near = false }()
	for {
		if d.contend(); len(w.options) == 0 {
			return false, true
		}
		at := w.options[d.cast()]
		r := w.runs[at].r
		d.delays(r) // notes whether it spends what is spare
		if more = yield(r); r.chosen {
			d.drew(at)
			w.runs = slices.Delete(w.runs, at, at+1)
			return true, more
		}
		if !more {
			return false, false
		}
		w.runs[at].out = true
	}
}

// contend finds the runs of the window that could start now: the first that is due alone; else those that are not known not to
// fit, and do not delay one that has a reservation. Who could start beside a harmful class only stands back if another need not.
func (d *draft) contend() {
	w := &d.window
	w.options, d.beside, d.nodes = w.options[:0], d.beside[:0], d.nodes[:0]
	if i := slices.IndexFunc(w.runs, func(x contender) bool { return d.c.isDue(x.r) }); i >= 0 {
		w.due = true
		if !w.runs[i].out {
			w.options = append(w.options, i)
		}
		return
	}
	d.stage()
	tries := d.tries()
	harmless := false
	for i := range w.runs {
		x := &w.runs[i]
		if x.out {
			continue
		}
		if !d.could(i, tries) {
			x.out = true
			d.sitOut(x.r, dovetail.NoCapacity)
			if d.c.order.Reserves && d.head == nil {
				d.head = x.r
			}
			continue
		}
		if d.delays(x.r) {
			d.sitOut(x.r, dovetail.Behind)
			d.scene.Window = d.scene.Window[:len(d.scene.Window)-1]
			continue
		}
		w.options = append(w.options, i)
		harmless = harmless || !x.harms
	}
	if !harmless {
		return
	}
	kept := 0
	for n, i := range w.options {
		if w.runs[i].harms {
			d.sitOut(w.runs[i].r, dovetail.Behind)
			continue
		}
		w.options[kept] = i
		d.scene.Window[kept], d.scene.Window[n] = d.scene.Window[n], d.scene.Window[kept]
		kept++
	}
	w.options, d.scene.Window = w.options[:kept], d.scene.Window[:kept]
}

// sitOut notes why a run of the window does not start.
func (d *draft) sitOut(r *run, why dovetail.ReasonCode) {
	d.unpick(r)
	d.because(r, why)
	d.passed = true
}

// could reports whether a run of the window could start, and puts it on the stage if so. It may be wrong: a run that takes what others have to
// give back has to try, and so has every one if none is to be tried here.
func (d *draft) could(i int, tries bool) bool {
	x := &d.window.runs[i]
	defer d.unpick(x.r)
	x.fits, x.harms, x.nodes, x.at, x.lasts = false, false, nil, nil, 0
	x.fits = !d.lacksRoom(x.r) && (!tries || d.resembles(i) || d.try(x))
	if !x.fits && !d.reclaims(x.r) {
		return false
	}
	d.scene.Window = append(d.scene.Window, coloc.Candidate{
		ID: d.c.id(x.r.kind), Weight: float64(1 + x.r.passes + x.r.passing), Nodes: x.nodes, At: x.at, Seconds: x.lasts,
	})
	return true
}

// resembles reports whether a run of the window is like one before it that was placed and fits: it would be placed in the same way.
func (d *draft) resembles(i int) bool {
	x := &d.window.runs[i]
	for j := range d.window.runs[:i] {
		if o := &d.window.runs[j]; o.fits && !o.out && o.r.app == x.r.app && o.r.kind == x.r.kind && !d.varies(x.r) {
			x.harms, x.nodes, x.at, x.lasts = o.harms, o.nodes, o.at, o.lasts
			return true
		}
	}
	return false
}

// tries reports whether runs are to be placed to know who can be drawn: it matters where, or who must not be beside whom, and there are
// several who may fit.
func (d *draft) tries() bool {
	if !d.c.order.Reserves && d.c.cfg.Colocation.Slowdown == 0 && !d.c.method.Placed && !d.c.strict() {
		return false
	}
	several := false
	for i := range d.window.runs {
		x := &d.window.runs[i]
		if x.out || d.lacksRoom(x.r) && !d.reclaims(x.r) {
			d.unpick(x.r)
			continue
		}
		d.unpick(x.r)
		if several {
			return true
		}
		several = true
	}
	return false
}

// try places a run, notes who is there, and takes it away again. It reports whether it fits.
func (d *draft) try(x *contender) (fits bool) {
	r, f := x.r, fitter{d}
	d.trying = true
	defer func() { d.trying = false }()
	begin := len(d.nodes)
	f.Try(func() bool {
		fits = f.Core(r) && (d.c.cfg.Alloc != "rigid" || f.Grow(r))
		if fits {
			for node := range d.coreOf(r) {
				first := len(d.beside)
				d.beside = d.appendClasses(d.beside, r, node)
				d.nodes = append(d.nodes, d.beside[first:len(d.beside):len(d.beside)])
				x.harms = x.harms || d.harmful(r, node)
				if d.window.last {
					x.at = append(x.at, node)
				}
			}
			x.lasts = d.lasts(r)
		}
		return false
	})
	x.nodes = d.nodes[begin:len(d.nodes):len(d.nodes)]
	for ci := range r.comps {
		r.comps[ci].prune()
	}
	if r.comps != nil {
		r.spare, r.comps = r.comps, nil
	}
	return fits
}

// reclaims reports whether elastic replicas may be reclaimed for a run's core, and are enough for all that is known without trying.
func (d *draft) reclaims(r *run) bool {
	switch d.c.cfg.Alloc {
	case "eager":
	case "flexible":
		if !d.jumps(r) && (d.closed || !d.idle(r)) {
			return false
		}
	default:
		return false
	}
	if d.c.loose == (dovetail.Resources{}) {
		return false
	}
	return r.needs().Fits(d.c.space.Free().Plus(d.c.loose))
}

// cast draws one of the options and returns its place among them. Each draw of a decision has its own stream of random numbers.
func (d *draft) cast() int {
	w := &d.window
	w.chances = append(w.chances[:0], make([]float64, len(w.options))...)
	if len(w.options) == 1 {
		w.chances[0] = 1
		return 0
	}
	d.attend()
	d.c.method.Weigh(d.c.book, &d.scene, w.chances)
	u := random(d.c.cfg.Colocation.Seed, d.c.seq+1, d.casts)
	d.casts++
	last := 0
	for i, p := range w.chances {
		if p <= 0 {
			continue
		}
		if last = i; u < p {
			break
		}
		u -= p
	}
	return last
}

// random returns the number in [0,1) that belongs to one draw of one decision.
func random(seed uint64, decision int64, cast int) float64 {
	var g rand.PCG
	g.Seed(seed, uint64(decision)<<16^uint64(cast))
	return float64(g.Uint64()>>11) / (1 << 53)
}

// drew writes down that the run at a place of the window was drawn and started.
func (d *draft) drew(at int) {
	w := &d.window
	r := w.runs[at].r
	x := drawn{Draw: dovetail.Draw{Run: r.id, At: d.now, Method: d.c.cfg.Colocation.Choose}}
	if w.due {
		x.Method, w.due = methodDue, false
	}
	for i, o := range w.options {
		x.Options = append(x.Options, dovetail.Option{Run: w.runs[o].r.id, Probability: w.chances[i]})
	}
	for _, o := range w.runs[:at] {
		x.passed = append(x.passed, o.r)
		o.r.passing++
	}
	x.Beside, x.Score = d.company(r)
	d.draws = append(d.draws, x)
}

// written returns the draws that the plan has: those among several runs, and those that let others wait. Who started in the same decision
// after all was not passed over.
func (d *draft) written() []dovetail.Draw {
	var all []dovetail.Draw
	for i := range d.draws {
		x := &d.draws[i]
		for _, r := range x.passed {
			if !r.chosen {
				x.Passed = append(x.Passed, r.id)
			}
		}
		if len(x.Options) > 1 || len(x.Passed) > 0 {
			all = append(all, x.Draw)
		}
	}
	return all
}

// unmade takes back what the draws of the draft did.
func (d *draft) unmade() {
	for i := range d.draws {
		for _, r := range d.draws[i].passed {
			r.passing = 0
		}
	}
	clear(d.draws)
	d.draws, d.casts = d.draws[:0], 0
	d.window.clear()
}

// misdrawn returns a draw that cannot be applied: of a run that does not start by the plan, or was not among its options, or that passes over one
// that does not wait.
func (c *Core) misdrawn(p *dovetail.Plan, ends map[dovetail.RunID]bool) *dovetail.Draw {
	if len(p.Draws) == 0 {
		return nil
	}
	starts := make(map[dovetail.RunID]bool)
	for i := range p.Assign {
		starts[p.Assign[i].Run] = true
	}
	seen := make(map[dovetail.RunID]bool)
	for i := range p.Draws {
		x := &p.Draws[i]
		waits := func(id dovetail.RunID) bool {
			r := c.runs[id]
			return r != nil && r.state == dovetail.Queued && !ends[id]
		}
		if !waits(x.Run) || !starts[x.Run] || seen[x.Run] || !(x.Probability() > 0 && x.Probability() <= 1) || x.Closed != "" {
			return x
		}
		seen[x.Run] = true
		for _, id := range x.Passed {
			if !waits(id) || starts[id] {
				return x
			}
		}
	}
	return nil
}

// note applies a draw of a plan.
func (c *Core) note(x *dovetail.Draw) {
	draw := *x
	r := c.runs[x.Run]
	r.draw = &draw
	c.touch(r)
	for _, id := range x.Passed {
		o := c.runs[id]
		o.passes++
		o.passed = &pass{By: x.Run, At: x.At, Method: x.Method}
		for _, p := range x.Options {
			if p.Run == id {
				o.passed.Could, o.passed.Probability = true, p.Probability
			}
		}
		c.touch(o)
	}
}

// settle says how a draw turned out when its run ends.
func (r *run) settle() {
	if r.draw == nil || r.verdict == nil {
		return
	}
	x := *r.draw
	switch r.verdict.Outcome {
	case dovetail.OutcomeSucceeded:
		x.Closed = "succeeded"
	case dovetail.OutcomeCancelled:
		x.Closed = "abandoned"
	case dovetail.OutcomeFailed, dovetail.OutcomeTimedOut, dovetail.OutcomeLost:
		x.Closed = "failed"
	}
	r.draw = &x
}
