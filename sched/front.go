package sched

import (
	"math"
	"time"

	"github.com/dovetail-sched/dovetail/policy"
)

// front is the part of a moving line that may come first for a while: the entries near, and those that entered since. To rank the
// whole line afresh in every decision would cost time in proportion to its length, and a decision asks for the first few only.
//
// The ranks of a moving order are linear in time (policy.Order). So the least rank among all other entries is concave: between
// two moments it is never below the straight line between the least rank at the one and the least rank at the other. An entry
// that is near and below this line comes before every other. When none is left, or the second moment is past, the line is
// ranked afresh.
//
// Runs that were submitted together and are equal in size have the same rank for ever; they are served by number. One that is not
// near and equal to some that are comes after them, whatever the straight line says: the last of those is a link to it, and when the
// link is used up, so is the front.
type front struct {
	near  []entry // copies: the line may move its own
	size  int     // how many were near when the line was ranked
	whole bool    // every waiting entry is near
	from  time.Time
	until time.Time
	span  time.Duration // from one to the other; follows how long the front lasts
	floor key           // the others are of this priority and kind, or come after; rank[0] is their least at from
	least float64       // … and at until
	heap  []*entry      // near, in the making of an order
	last  key           // of the entry yielded last
}

// slack is how much of a rank may be lost to rounding, relative to it; the true figure is below 1e-15.
const slack = 1e-12

// covers reports whether the front says what comes first now.
func (f *front) covers(now time.Time) bool {
	if len(f.near) > 2*f.size+64 {
		return false // too many have entered
	}
	return f.size > 0 && (f.whole || !now.Before(f.from) && !now.After(f.until))
}

// bar returns a key that no entry which is not near can be below.
func (f *front) bar(now time.Time) key {
	share := float64(now.Sub(f.from)) / float64(f.until.Sub(f.from))
	low := f.floor.rank[0]*(1-share) + f.least*share
	low -= slack * max(math.Abs(f.floor.rank[0]), math.Abs(f.least))
	bar := f.floor
	bar.rank = policy.Rank{low, -math.MaxFloat64}
	return bar
}

// ahead yields the entries that certainly come first, in order, as long as they come after a key; nil: from the beginning. It
// returns the key of the last one, and whether more are asked for and may be there.
func (c *Core) ahead(now time.Time, after *key, yield func(*entry) bool) (last *key, more bool) {
	f := &c.line.front
	if !f.prune() {
		return after, true
	}
	f.heap = f.heap[:0]
	for i := range f.near {
		e := &f.near[i]
		e.key.rank = c.order.Rank(&e.job, now)
		if after == nil || e.key.compare(after) > 0 {
			f.heap = append(f.heap, e)
		} else if e.link {
			return after, true
		}
	}
	for i := len(f.heap)/2 - 1; i >= 0; i-- {
		sink(f.heap, i)
	}
	for bar := f.bar(now); len(f.heap) > 0; {
		e := f.heap[0]
		if !f.whole && e.key.compare(&bar) >= 0 {
			return after, true
		}
		f.last, after = e.key, &f.last
		if !yield(e) {
			return after, false
		}
		if e.link {
			return after, true
		}
		end := len(f.heap) - 1
		f.heap[0] = f.heap[end]
		f.heap = f.heap[:end]
		sink(f.heap, 0)
	}
	return after, !f.whole
}

// prune drops entries that are void. It reports whether the front still holds: no link was among them.
func (f *front) prune() bool {
	valid, holds := f.near[:0], true
	for i := range f.near {
		if e := &f.near[i]; e.valid() {
			valid = append(valid, *e)
		} else if e.link {
			holds = false
		}
	}
	clear(f.near[len(valid):])
	f.near = valid
	if !holds {
		f.size = 0
	}
	return holds
}

// sink restores the heap below position i.
func sink(h []*entry, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].key.compare(&h[least].key) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// scan ranks the whole line, by now and by the end of a span, and makes a front of those that lead at the one or the other. A
// front that did not last its span was too short for it, or its straight line too far below the ranks: the next span is shorter.
func (c *Core) scan(now time.Time) {
	l := &c.line
	f := &l.front
	switch {
	case f.span == 0:
		f.span = time.Minute
	case now.After(f.until):
		f.span = min(2*f.span, 1000*time.Hour)
	case now.After(f.from):
		f.span = max(2*now.Sub(f.from), time.Millisecond)
	}
	f.from, f.until = now, now.Add(f.span)
	leaders := 16 + int(math.Sqrt(float64(l.n)))
	marked := make([]bool, len(l.sorted))
	for _, at := range [...]time.Time{f.until, now} {
		l.rank(c.order.Rank, at)
		for _, i := range l.first(leaders, nil) {
			marked[i] = true
			f.floor = l.sorted[i].key // in the end: the last of those that lead now
		}
	}
	l.divide(marked, c.order.Rank)
}

// divide puts the marked entries near, and takes the floor of the others. Their ranks are those of now.
func (l *line) divide(marked []bool, rank func(*policy.Job, time.Time) policy.Rank) {
	f := &l.front
	clear(f.near)
	f.near, f.whole = f.near[:0], true
	last := make(map[policy.Rank]int) // near, of those with a rank: the one with the highest number
	for i := range l.sorted {
		if e := &l.sorted[i]; marked[i] {
			if at, ok := last[e.key.rank]; !ok || f.near[at].r.id < e.r.id {
				last[e.key.rank] = len(f.near)
			}
			f.near = append(f.near, *e)
		}
	}
	f.size = max(len(f.near), 1)
	f.floor.rank[0], f.least = math.MaxFloat64, math.MaxFloat64
	for i := range l.sorted {
		e := &l.sorted[i]
		if marked[i] || !e.valid() || e.r.held {
			continue
		}
		f.whole = false
		if e.key.priority != f.floor.priority || e.key.later != f.floor.later {
			continue
		}
		if at, ok := last[e.key.rank]; ok && f.near[at].leads(e) {
			f.near[at].link = true
			continue
		}
		f.floor.rank[0] = min(f.floor.rank[0], e.key.rank[0])
		f.least = min(f.least, rank(&e.job, f.until)[0])
	}
}

// leads reports whether o comes after e for ever.
func (e *entry) leads(o *entry) bool {
	return e.r.id < o.r.id && e.key.priority == o.key.priority && e.key.later == o.key.later && e.job == o.job
}
