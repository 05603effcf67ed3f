package sched

import (
	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// A backfilling order tries, in every decision, up to backfillDepth runs behind those that do not fit. Most of them are ruled out by
// their class, without a look at a node or at anything but their entry, or by the index of nodes. For them the allocator is not asked: as soon as it takes
// nothing back any more for those that wait, all it could do is call them blocked.

// skims reports whether waiting runs may be passed over without asking the allocator: none of them jumps.
func (d *draft) skims() bool {
	return d.c.order.Backfill && !d.c.order.Reserves && !d.c.order.Moves && !d.c.cfg.Preempt && d.c.cfg.MaxWait == 0
}

// skim is waiting for an order that skims.
func (d *draft) skim(yield func(*run) bool) {
	c := d.c
	c.line.settle(false)
	from, grown := d.resume(), c.space.Grown()
	if d.looked >= backfillDepth || from == len(c.line.sorted) {
		return
	}
	last := from
	defer func() { d.walked(&c.line.sorted[last].key, grown) }()
	for i := from; i < len(c.line.sorted); i++ {
		e := &c.line.sorted[i]
		last = i
		r := e.r
		if !e.valid() || r.held || r.chosen || r.ending {
			continue
		}
		if d.closed && e.fitsAt == c.version && (d.rules(e.class, e.asks) || !d.varies(r) && d.lacksRoom(r)) {
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

// rules reports whether a class rules out that n replicas of one of its shapes fit.
func (d *draft) rules(class *place.Class, n int) bool {
	if !d.c.space.Counted(class) {
		d.shut = len(d.steps) // room may be counted now, with all that these steps have taken
	}
	return d.c.space.Rules(class, n)
}

// judge gives the runs that were skipped their reason, if it is another one than they have.
func (d *draft) judge() {
	if len(d.skipped) == 0 && !d.behind && !d.whole {
		return
	}
	mood := d.mood()
	if d.behind && mood != d.c.walk.mood {
		d.revisit()
	}
	d.walk.mood = mood
	for _, r := range d.skipped {
		code := dovetail.NoCapacity
		if mood == 1 || d.c.cfg.Alloc == "flexible" && !d.idle(r) { // as saturated says of one that does not jump
			code = dovetail.Saturated
		}
		if !r.judged && r.reason != code {
			d.because(r, dovetail.NoCapacity)
		}
	}
}

// classify notes in an entry the component of which most replicas must fit at once.
func (c *Core) classify(e *entry) {
	a := e.r.app
	e.fitsAt, e.asks = 0, 0
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
