package sched

import (
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// A backfilling order tries, in every decision, up to Core.depth runs behind those that do not fit. Nearly all of them are ruled
// out by what is free in all or by the class of what they ask for: for them the walk along the line reads one entry after the other
// and of the run its first bytes, and asks neither the nodes nor the allocator. As soon as the allocator takes nothing back any more
// for those that wait, all it could do is call them blocked.

// skims reports whether waiting runs may be passed over without asking the allocator: none of them jumps.
func (d *draft) skims() bool {
	return d.c.order.Backfill && !d.c.order.Reserves && !d.c.order.Moves && !d.c.cfg.Preempt && d.c.cfg.MaxWait == 0
}

// skim is waiting for an order that skims. It begins behind those that were looked at in vain, if that still holds.
func (d *draft) skim(yield func(*run) bool) {
	c := d.c
	c.line.settle(false)
	c.line.closeGaps(c.depth)
	i, grown, why, sure := d.resume(), c.space.Grown(), d.uniform(), c.method == nil // with one, runs of the window failed before
	for goOn := true; goOn && i < len(c.line.sorted) && d.looked < c.depth; i++ {
		e := &c.line.sorted[i]
		r := e.r
		switch {
		case !e.valid() || r.held || r.chosen || r.ending:
		case d.closed && e.fitsAt == c.version && d.ruledOut(e):
			d.passed = true
			d.looked++
			if why == dovetail.NoReason || r.reason != why {
				d.skipped = append(d.skipped, r)
			}
		case d.mayEver(r):
			e.fitsAt = c.version
			open := d.mayLater(r)
			goOn = yield(r)
			sure = sure && (r.chosen || !open)
		}
	}
	c.line.vain = vain{}
	if sure && i > 0 && why != dovetail.NoReason {
		c.line.vain = vain{grown: grown, last: c.line.sorted[i-1].key, looked: d.looked}
	}
}

// mayLater reports whether a run that cannot start now may start when there is less room: it then has another ceiling, or its first
// component lies elsewhere, so that the next one fits.
func (d *draft) mayLater(r *run) bool {
	return d.varies(r) || len(r.app.shapes) > 1 && !d.lacksRoom(r)
}

// vain is the part of the line in which nobody could start. As long as no node has more room, and nobody of that part left the line
// without being started, the next walk begins behind it. Otherwise each arrival would look at every run of a long line again.
type vain struct {
	grown  int64 // what Space.Grown returned when the walk began; 0: nothing is known
	last   key
	looked int // how many there count towards Core.depth: not those that are held, or fit no open node
}

// covers reports whether a key belongs to that part.
func (v *vain) covers(k *key) bool { return v.grown != 0 && k.compare(&v.last) <= 0 }

// resume begins a walk and returns where. Those who were skipped in an earlier round of the decision, and are not looked at again, still
// get their reason.
func (d *draft) resume() int {
	known := &d.c.line.vain
	if known.grown != d.c.space.Grown() || !d.closed {
		d.skipped = d.skipped[:0]
		return 0
	}
	d.looked, d.passed = known.looked, known.looked > 0
	i, _ := slices.BinarySearchFunc(d.c.line.sorted, &known.last, func(e entry, last *key) int {
		if e.key.compare(last) <= 0 { // several have the same key if a run was held and released
			return -1
		}
		return 1
	})
	return i
}

// foresight is what a draft knew at its end. If its plan is applied next, the cluster is as the draft left it, and what did not fit then
// does not fit now. Any other event ends it, and any other draft: that one may note what does not fit in less room.
type foresight struct {
	plan  dovetail.Plan
	grown int64 // what Space.Grown returned
	vain  vain
}

// of reports whether it belongs to this very plan.
func (f *foresight) of(p *dovetail.Plan) bool {
	return f.plan.Seq == p.Seq && same(f.plan.Ends, p.Ends) && same(f.plan.Assign, p.Assign) && same(f.plan.Reasons, p.Reasons)
}

// same reports whether two slices are one.
func same[E any](a, b []E) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// ruledOut reports whether a run cannot fit: by the sum of free capacity, by class, or because one component by itself does not.
func (d *draft) ruledOut(e *entry) bool {
	s := d.c.space
	known := s.Counted(e.class) && s.Rules(e.class, int(e.asks)) // so it is with most
	return known || !e.need.Fits(s.Free()) || d.rules(e.class, int(e.asks)) || !d.varies(e.r) && d.lacksRoom(e.r)
}

// rules reports whether a class rules out that n replicas of one of its shapes fit.
func (d *draft) rules(class *place.Class, n int) bool {
	if !d.c.space.Counted(class) {
		d.shut = len(d.steps) // room is counted with all that these steps have taken
	}
	return d.c.space.Rules(class, n)
}

// judge gives the runs that were skipped their reason, if it is another one than they have.
func (d *draft) judge() {
	if len(d.skipped) == 0 {
		return
	}
	why := d.uniform()
	for _, r := range d.skipped {
		code := why
		if code == dovetail.NoReason {
			code = dovetail.NoCapacity
			if !d.idle(r) { // as saturated says of one that does not jump
				code = dovetail.Saturated
			}
		}
		if !r.judged && r.reason != code {
			d.because(r, dovetail.NoCapacity)
		}
	}
}

// uniform returns the reason of all who are passed over; NoReason if it depends on the run: with the flexible allocator when nobody in
// service is hungry.
func (d *draft) uniform() dovetail.ReasonCode {
	switch {
	case d.c.cfg.Alloc != "flexible":
		return dovetail.NoCapacity
	case d.anyHungry():
		return dovetail.Saturated
	}
	return dovetail.NoReason
}

// classify notes in an entry what its run needs in all, and the component of which most replicas must fit at once.
func (c *Core) classify(e *entry) {
	a := e.r.app
	e.fitsAt, e.asks, e.need = 0, 0, a.need
	for ci := range a.class {
		n := c.asks(a, ci)
		if a.aims {
			n = a.spec.Components[ci].Count // its ceiling is not chosen yet
		}
		if n = min(n, math.MaxInt32); n > int(e.asks) {
			e.class, e.asks = a.class[ci], int32(n)
		}
	}
}
