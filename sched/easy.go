package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/policy"
	"github.com/dovetail-sched/dovetail/predict"
)

// EASY backfilling (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995): the first run that does not fit gets a reservation, for when the runs in service
// will have ended as far as it takes. A run behind it may start if it will have ended by then, or needs no more than will be left. Runtimes are
// taken at the 90 % quantile of what is predicted; of a run that nothing is predicted of, what its user expects, or else policy.UnknownTime.
//
// The reservation is of sums over all open nodes: that the core of the first run then also fits node by node is likely, not certain. Where elastic
// replicas may be reclaimed for a core they count as free, unless they are guarded. With the malleable allocator, which takes nothing back, elastic replicas that
// runs get later may put the first run off all the same.

// reservation is what the first run that does not fit is to get.
type reservation struct {
	at    time.Time
	spare dovetail.Resources // what will be free then besides
}

// departure is the predicted end of a run, and what becomes free.
type departure struct {
	r    *run
	at   time.Time
	what dovetail.Resources
}

// reserve makes the reservation of a run; nil if all that will end does not make room for it.
func (d *draft) reserve(w *run) *reservation {
	if d.varies(w) {
		d.aim(w)
		defer d.unpick(w)
	}
	need := d.c.whole(w)
	lends := d.c.cfg.Alloc == "flexible" || d.c.cfg.Alloc == "eager"
	free := d.c.space.Free()
	var ends []departure
	see := func(r *run, at time.Time) {
		e := departure{r: r, at: at}
		for ci := range r.comps {
			for _, k := range r.comps[ci].cells {
				if n := d.c.space.Node(k.node); !n.Up || n.Cordoned || k.want == 0 {
					continue
				}
				what := r.app.shapes[ci].Each.Times(k.want)
				if lends && k.class == elastic && r.choice == nil {
					free = free.Plus(what)
				} else {
					e.what = e.what.Plus(what)
				}
			}
		}
		if r.app.spec.Kind != dovetail.Service {
			ends = append(ends, e)
		}
	}
	for _, r := range d.c.serving {
		if r.goesOn() {
			see(r, d.now.Add(d.c.remaining(r, d.now)))
		}
	}
	for _, r := range d.started {
		see(r, d.now.Add(d.c.runtime(r)))
	}
	slices.SortFunc(ends, func(a, b departure) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.r.id, b.r.id)) })
	at := d.now
	for i := 0; !need.Fits(free); i++ {
		if i == len(ends) {
			return nil
		}
		at, free = ends[i].at, free.Plus(ends[i].what)
	}
	return &reservation{at, free.Minus(need)}
}

// delays reports whether the reservation, if there is one, would be put off by a start of w now. If w could only start at the expense of what is
// spare, it is noted: start takes it.
func (d *draft) delays(w *run) bool {
	d.spends = nil
	if d.head == nil || d.head == w {
		return false
	}
	if !d.asked {
		d.asked, d.held = true, d.reserve(d.head)
	}
	if d.held == nil {
		return false
	}
	if d.varies(w) {
		d.aim(w) // with fewer replicas it takes longer
	}
	if !d.now.Add(d.c.runtime(w)).After(d.held.at) {
		return false
	}
	d.spends = w
	return !d.c.whole(w).Fits(d.held.spare)
}

// whole returns what a run is to get to start.
func (c *Core) whole(w *run) dovetail.Resources {
	var need dovetail.Resources
	for ci := range w.app.shapes {
		need = need.Plus(w.app.shapes[ci].Each.Times(c.first(w, ci)))
	}
	return need
}

// expects returns who is expected beside a run, if it has a choice.
func (r *run) expects() []dovetail.Overlap {
	if r.choice == nil {
		return nil
	}
	return r.choice.Overlaps
}

// runtime returns how long at most a run will take that starts with no more than it needs to start.
func (c *Core) runtime(w *run) time.Duration {
	t := policy.UnknownTime
	comp := &w.app.spec.Components[w.app.scaled]
	x := max(1, c.first(w, w.app.scaled))
	if v := c.view(w.spec.Class, w.input()); predict.Known(v.Outlook) {
		t = duration(v.at(x, w.expects()).Quantile(cautiously))
	} else if w.expected > 0 {
		t = time.Duration(float64(w.expected) * float64(comp.Limit()) / float64(x))
	}
	return bounded(w, t)
}

// bounded keeps a runtime to the maximum that the run may take.
func bounded(r *run, t time.Duration) time.Duration {
	if m := time.Duration(r.app.spec.MaxRuntime); m > 0 {
		return min(t, m)
	}
	return t
}

// remaining returns for how long at most a run in service will go on. One that should have ended goes on for a twentieth of the time it has run.
func (c *Core) remaining(r *run, now time.Time) time.Duration {
	since := now
	switch {
	case !r.ready.IsZero():
		since = r.ready
	case !r.started.IsZero():
		since = r.started
	}
	elapsed := now.Sub(since)
	left := max(policy.UnknownTime-elapsed, elapsed/20)
	if v := c.view(r.spec.Class, r.input()); predict.Known(v.Outlook) {
		t := predict.Lasting(v.at(r.scaleOut(), r.expects()), elapsed.Seconds(), cautiously)
		left = duration(t) - elapsed
	} else if r.expected > 0 {
		job := r.job(now)
		held := 0
		for ci := range r.comps {
			held += r.comps[ci].want[core] + r.comps[ci].want[elastic]
		}
		left = time.Duration((1 - job.Done) * float64(r.expected) * float64(r.app.all.Replicas) / float64(max(1, held)))
		left = max(left, elapsed/20)
	}
	if r.app.spec.MaxRuntime > 0 && !r.started.IsZero() {
		left = min(left, max(0, r.limit().Sub(now)))
	}
	return left
}
