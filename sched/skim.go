package sched

import (
	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// A backfilling order tries, in every decision, up to backfillDepth runs behind those that do not fit. Nearly all of them are ruled
// out by what is free in all or by the class of what they ask for: for them the walk along the line reads one entry after the other
// and of the run its first bytes, and asks neither the nodes nor the allocator. As soon as the allocator takes nothing back any more
// for those that wait, all it could do is call them blocked.

// skims reports whether waiting runs may be passed over without asking the allocator: none of them jumps.
func (d *draft) skims() bool {
	return d.c.order.Backfill && !d.c.order.Reserves && !d.c.order.Moves && !d.c.cfg.Preempt && d.c.cfg.MaxWait == 0
}

// skim is waiting for an order that skims.
func (d *draft) skim(yield func(*run) bool) {
	c := d.c
	c.line.settle(false)
	c.line.closeGaps(backfillDepth)
	d.skipped = d.skipped[:0]
	for i := range c.line.sorted {
		e := &c.line.sorted[i]
		r := e.r
		if !e.valid() || r.held || r.chosen || r.ending {
			continue
		}
		if d.closed && e.fitsAt == c.version && d.ruledOut(e) {
			d.passed = true
			d.skipped = append(d.skipped, r)
			if d.looked++; d.looked >= backfillDepth {
				return
			}
			continue
		}
		if !d.mayEver(r) {
			continue
		}
		e.fitsAt = c.version
		if !yield(r) {
			return
		}
	}
}

// ruledOut reports whether a run cannot fit: by the sum of free capacity, by class, or because one component by itself does not.
func (d *draft) ruledOut(e *entry) bool {
	s := d.c.space
	known := s.Counted(e.class) && s.Rules(e.class, e.asks) // so it is with most
	return known || !e.need.Fits(s.Free()) || d.rules(e.class, e.asks) || !d.varies(e.r) && d.lacksRoom(e.r)
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
	flexible := d.c.cfg.Alloc == "flexible"
	hungry := flexible && d.anyHungry()
	for _, r := range d.skipped {
		code := dovetail.NoCapacity
		if hungry || flexible && !d.idle(r) { // as saturated says of one that does not jump
			code = dovetail.Saturated
		}
		if !r.judged && r.reason != code {
			d.because(r, dovetail.NoCapacity)
		}
	}
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
		if n > e.asks {
			e.class, e.asks = a.class[ci], n
		}
	}
}
