package sched

import (
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// walk is how far down the line a backfilling order has looked and found nothing that fits. As long as no node has more room and nobody
// of that part has left the line without being started, there is nothing to look for in it: the next decision begins behind it,
// with those that came since. Otherwise each arrival would look at every run of a long line again.
type walk struct {
	grown  int64 // what Space.Grown returned; 0: nothing is known
	last   key   // of the last run that was looked at
	looked int   // how many of them wait
	mood   int   // which reasons they were given: see draft.mood
}

// covers reports whether a key belongs to the part of the line that was looked at.
func (w *walk) covers(k *key) bool { return w.grown != 0 && k.compare(&w.last) <= 0 }

// resumes reports whether what is known of the line still holds, and nothing is taken back for those that wait.
func (d *draft) resumes() bool {
	return d.closed && d.walk.grown != 0 && d.walk.grown == d.c.space.Grown() &&
		!slices.ContainsFunc(d.ended, func(r *run) bool { return r.state == dovetail.Queued })
}

// resume begins a walk and returns where.
func (d *draft) resume() int {
	d.unsure = false
	if !d.resumes() {
		d.walk, d.whole, d.behind = walk{}, true, false
		d.skipped = d.skipped[:0]
		return 0
	}
	d.behind = !d.whole
	d.looked, d.passed = d.walk.looked, d.walk.looked > 0
	return d.after(&d.walk)
}

// after returns where the first entry behind a walk is.
func (d *draft) after(w *walk) int {
	line := d.c.line.sorted
	at, found := slices.BinarySearchFunc(line, &w.last, func(e entry, k *key) int { return e.key.compare(k) })
	if found {
		at++
	}
	return at
}

// walked notes how far a walk came; grown is what Space.Grown returned when it began.
func (d *draft) walked(last *key, grown int64) {
	if d.unsure || grown != d.c.space.Grown() {
		d.walk = walk{}
		return
	}
	d.walk.grown, d.walk.last, d.walk.looked = grown, *last, d.looked
	d.shut = len(d.steps)
}

// mood is what the reasons of those that were looked at depend on beside their own needs: with the flexible allocator, whether a run
// in service can use more, and if none can, of which kinds nothing is free.
func (d *draft) mood() int {
	if d.c.cfg.Alloc != "flexible" {
		return 0
	}
	if d.anyHungry() {
		return 1
	}
	mood := 0
	for k, free := range d.c.space.Free() {
		if free <= 0 {
			mood |= 2 << k
		}
	}
	return mood
}

// revisit adds to those who were skipped everybody who was looked at before this decision.
func (d *draft) revisit() {
	for i := range d.after(&d.c.walk) {
		if e := &d.c.line.sorted[i]; e.valid() && !e.r.held && !e.r.chosen && !e.r.ending && d.c.fits(e.r.app) {
			d.skipped = append(d.skipped, e.r)
		}
	}
}

// keep remembers what a plan of the draft does not change, or, if the plan is empty, what holds already.
func (d *draft) keep(p *dovetail.Plan) {
	c := d.c
	if d.walk.grown != c.space.Grown() {
		d.walk = walk{}
	}
	if p.Empty() {
		c.walk = d.walk
		return
	}
	c.planned, c.foreseen = *p, d.walk
}

// follow brings what is known of the line up to date when a plan was applied. Only the core's own plan leads to the state that the
// draft was in when it looked.
func (c *Core) follow(p *dovetail.Plan) {
	c.walk = walk{}
	if own := &c.planned; own.Seq == p.Seq && same(own.Ends, p.Ends) && same(own.Assign, p.Assign) && same(own.Choices, p.Choices) && same(own.Draws, p.Draws) &&
		same(own.Actions, p.Actions) && same(own.Reasons, p.Reasons) {
		c.walk = c.foreseen
		if c.walk.grown != 0 {
			c.walk.grown = c.space.Grown()
		}
	}
	c.planned = dovetail.Plan{}
}

// same reports whether two slices are one.
func same[E any](a, b []E) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
