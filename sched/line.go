package sched

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
	"github.com/dovetail-sched/dovetail/policy"
)

// key orders runs: priority, interactive before others of its priority, the policy's rank, arrival.
type key struct {
	priority int // negated: lowest first
	later    bool
	rank     policy.Rank
	id       dovetail.RunID
}

func (k *key) compare(o *key) int {
	if c := cmp.Compare(k.priority, o.priority); c != 0 {
		return c
	}
	if k.later != o.later {
		if o.later {
			return -1
		}
		return 1
	}
	for i := range k.rank {
		if c := cmp.Compare(k.rank[i], o.rank[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(k.id, o.id)
}

// key returns the run's place in the order at a time.
func (c *Core) key(r *run, now time.Time) key {
	moves := c.order.Moves || c.order.Shrinks && r.serves()
	if r.ranked == c.ranking && !moves {
		return r.rank
	}
	r.ranked = c.ranking
	if moves {
		r.ranked = 0
	}
	job := r.job(now)
	r.rank = key{
		priority: -r.priority,
		later:    c.cfg.InteractiveFirst && r.app.spec.Kind != dovetail.Interactive,
		rank:     c.order.Rank(&job, now),
		id:       r.id,
	}
	return r.rank
}

// standing reports whether the ranks of runs in service stand still.
func (c *Core) standing() bool { return !c.order.Moves && !c.order.Shrinks }

// inStanding returns the runs in service in an order in which ranks stand still. It is kept from one decision to the next.
func (c *Core) inStanding(now time.Time) []*run {
	if c.orderedAt != c.ranking {
		c.orderedAt = c.ranking
		c.ordered = append(c.ordered[:0], c.serving...)
		for _, r := range c.ordered {
			c.key(r, now)
		}
		slices.SortFunc(c.ordered, func(a, b *run) int { return a.rank.compare(&b.rank) })
	}
	return c.ordered
}

// serve keeps the runs in service in order when one enters.
func (c *Core) serve(r *run, now time.Time) {
	if c.orderedAt != c.ranking || !c.standing() {
		c.orderedAt = 0
		return
	}
	own := c.key(r, now)
	i, _ := slices.BinarySearchFunc(c.ordered, &own, func(o *run, k *key) int { return o.rank.compare(k) })
	c.ordered = slices.Insert(c.ordered, i, r)
}

// unserve keeps the runs in service in order when one leaves.
func (c *Core) unserve(r *run) {
	if c.orderedAt != c.ranking || !c.standing() {
		c.orderedAt = 0
		return
	}
	if i, ok := slices.BinarySearchFunc(c.ordered, &r.rank, func(o *run, k *key) int { return o.rank.compare(k) }); ok {
		c.ordered = slices.Delete(c.ordered, i, i+1)
	}
}

// meet files a run that enters service under its job class.
func (c *Core) meet(r *run) {
	same := c.byClass[r.spec.Class]
	i, _ := slices.BinarySearchFunc(same, r.id, byID)
	c.byClass[r.spec.Class] = slices.Insert(same, i, r)
}

// part takes one that leaves service away again.
func (c *Core) part(r *run) {
	same := c.byClass[r.spec.Class]
	i, _ := slices.BinarySearchFunc(same, r.id, byID)
	if same = slices.Delete(same, i, i+1); len(same) == 0 {
		delete(c.byClass, r.spec.Class)
	} else {
		c.byClass[r.spec.Class] = same
	}
}

// entry is a run's place in the waiting line. It is void once the run left the line or entered it anew. What a walk along the line reads
// comes first.
type entry struct {
	r       *run
	class   *place.Class
	asks    int32 // how many of its class must fit at once
	version uint32
	fitsAt  int64              // the version of the cluster for which it is known that its core would fit it, were it empty
	need    dovetail.Resources // of its core
	key     key
	job     policy.Job // while it waits it does not change: ranking afresh reads entries one after the other, and nothing else
	link    bool       // in a front: see there
}

// arrival is when a run began to wait. It is void when the entry is.
type arrival struct {
	r       *run
	version uint32
	since   time.Time
}

func (e *entry) valid() bool   { return e.r.entry == e.version }
func (a *arrival) valid() bool { return a.r.entry == a.version }

// line is the waiting runs. Entries of an order that does not move are kept sorted; of one that moves it has a front. Arrivals is
// sorted by when the runs began to wait, then by ID.
type line struct {
	sorted   []entry // not so if the order moves
	front    front
	fresh    []entry // not sorted in yet
	arrivals []arrival
	n        int  // runs waiting
	vain     vain // see there
	left     int  // how many have left since gaps were closed
}

// enter puts a run at its place in the line.
func (c *Core) enter(r *run, now time.Time) {
	r.entry++
	e := entry{r: r, version: r.entry, key: c.key(r, now), job: r.job(now)}
	c.classify(&e)
	c.line.fresh = append(c.line.fresh, e)
	c.line.arrivals = append(c.line.arrivals, arrival{r: r, version: r.entry, since: r.waiting})
	for a, i := c.line.arrivals, len(c.line.arrivals)-1; i > 0 && a[i-1].since.Equal(r.waiting) && a[i-1].r.id > r.id; i-- {
		a[i-1], a[i] = a[i], a[i-1]
	}
	c.line.n++
}

// leave takes a run out of the line.
func (c *Core) leave(r *run) {
	r.entry++
	c.line.n--
	c.line.vain = vain{}
	c.line.left++
	if max(len(c.line.sorted)+len(c.line.fresh), len(c.line.arrivals)) > 2*c.line.n+1000 {
		c.line.compact()
	}
}

func (l *line) compact() {
	void := func(e entry) bool { return !e.valid() }
	l.sorted = slices.DeleteFunc(l.sorted, void)
	l.fresh = slices.DeleteFunc(l.fresh, void)
	l.arrivals = slices.DeleteFunc(l.arrivals, func(a arrival) bool { return !a.valid() })
}

// closeGaps drops the void entries among the first n valid ones. A line that is backfilled is left near its head, and every walk would
// read the gaps again.
func (l *line) closeGaps(n int) {
	if l.left < 64 {
		return
	}
	end := min(n+l.left, len(l.sorted))
	start := end
	for i := end - 1; i >= 0; i-- {
		if e := &l.sorted[i]; e.valid() {
			start--
			l.sorted[start] = *e
		}
	}
	clear(l.sorted[:start])
	l.sorted, l.left = l.sorted[start:], 0
}

// settle sorts new entries in, or, if the order moves, adds them to its front.
func (l *line) settle(moves bool) {
	for len(l.sorted) > 0 && !l.sorted[0].valid() {
		l.sorted = l.sorted[1:]
	}
	for len(l.arrivals) > 0 && !l.arrivals[0].valid() {
		l.arrivals = l.arrivals[1:]
	}
	if len(l.fresh) == 0 {
		return
	}
	if moves {
		l.sorted = append(l.sorted, l.fresh...)
		l.front.near = append(l.front.near, l.fresh...)
		l.fresh = l.fresh[:0]
		return
	}
	slices.SortFunc(l.fresh, func(a, b entry) int { return a.key.compare(&b.key) })
	if l.vain.covers(&l.fresh[0].key) {
		l.vain = vain{}
	}
	old := len(l.sorted)
	l.sorted = append(l.sorted, l.fresh...)
	for i, j := old-1, len(l.fresh)-1; j >= 0; { // merge from the back: mostly nothing moves
		if i >= 0 && l.sorted[i].key.compare(&l.fresh[j].key) > 0 {
			l.sorted[i+j+1] = l.sorted[i]
			i--
		} else {
			l.sorted[i+j+1] = l.fresh[j]
			j--
		}
	}
	l.fresh = l.fresh[:0]
}

// rerank computes every key anew: the order, or a priority, changed.
func (c *Core) rerank(now time.Time) {
	c.ranking++
	c.line.front, c.line.vain = front{}, vain{}
	c.line.compact()
	c.line.fresh = append(c.line.fresh, c.line.sorted...)
	c.line.sorted = nil
	for i := range c.line.fresh {
		e := &c.line.fresh[i]
		e.key, e.job = c.key(e.r, now), e.r.job(now)
		c.classify(e)
	}
}

// rekey computes the keys of the runs of a job class anew, whose sizes are others than before; all others stand.
func (c *Core) rekey(class string, now time.Time) {
	for _, r := range c.byClass[class] {
		r.ranked, r.app.ranked, c.orderedAt = 0, 0, 0
	}
	l := &c.line
	l.front, l.vain = front{}, vain{}
	renew := func(e *entry) {
		e.r.ranked = 0
		e.key, e.job = c.key(e.r, now), e.r.job(now)
	}
	for i := range l.fresh {
		if e := &l.fresh[i]; e.valid() && e.r.spec.Class == class {
			renew(e)
		}
	}
	l.sorted = slices.DeleteFunc(l.sorted, func(e entry) bool {
		if e.valid() && e.r.spec.Class == class {
			renew(&e)
			l.fresh = append(l.fresh, e)
			return true
		}
		return !e.valid()
	})
}

// overdue reports whether the run has waited longer than the bound.
func (c *Core) overdue(r *run, now time.Time) bool {
	return c.cfg.MaxWait > 0 && !r.held && now.Sub(r.waiting) >= time.Duration(c.cfg.MaxWait)
}

// waiting yields the runs that may be started: overdue ones by the time they began to wait, then the others in order.
func (c *Core) waiting(now time.Time) iter.Seq[*run] {
	c.line.settle(c.order.Moves)
	return func(yield func(*run) bool) {
		if c.cfg.MaxWait > 0 {
			for i := range c.line.arrivals {
				e := &c.line.arrivals[i]
				if !e.valid() || e.r.held {
					continue
				}
				if !c.overdue(e.r, now) {
					break
				}
				if !yield(e.r) {
					return
				}
			}
		}
		for e := range c.inOrder(now) {
			if e.valid() && !e.r.held && !c.overdue(e.r, now) && !yield(e.r) {
				return
			}
		}
	}
}

// inOrder yields the entries of the line in order.
func (c *Core) inOrder(now time.Time) iter.Seq[*entry] {
	if c.order.Moves {
		return c.moving(now)
	}
	return func(yield func(*entry) bool) {
		for i := range c.line.sorted {
			if !yield(&c.line.sorted[i]) {
				return
			}
		}
	}
}

// moving yields the entries of a line that moves in order: from its front, as long as that reaches, and then from all of it.
func (c *Core) moving(now time.Time) iter.Seq[*entry] {
	l := &c.line
	return func(yield func(*entry) bool) {
		var last *key
		more := true
		if l.front.covers(now) {
			last, more = c.ahead(now, nil, yield)
		}
		if more {
			c.scan(now)
			last, more = c.ahead(now, last, yield)
		}
		if !more {
			return
		}
		l.rank(c.order.Rank, now)
		for k := 64; ; k *= 4 {
			first := l.first(k, last)
			for _, i := range first {
				if !yield(&l.sorted[i]) {
					return
				}
			}
			if len(first) < k {
				return
			}
			last = &l.sorted[first[k-1]].key
		}
	}
}

// rank ranks every entry by a time.
func (l *line) rank(rank func(*policy.Job, time.Time) policy.Rank, at time.Time) {
	for i := range l.sorted {
		e := &l.sorted[i]
		e.key.rank = rank(&e.job, at)
	}
}

// first returns where the k entries with the lowest keys above another are, in order; nil: above none. Few are wanted of many, as
// a rule.
func (l *line) first(k int, above *key) []int {
	best := make([]int, 0, k+1)
	for i := range l.sorted {
		e := &l.sorted[i]
		if len(best) == k && e.key.compare(&l.sorted[best[k-1]].key) >= 0 || above != nil && e.key.compare(above) <= 0 || !e.valid() || e.r.held {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, e, func(a int, b *entry) int { return l.sorted[a].key.compare(&b.key) })
		best = slices.Insert(best, at, i)
		best = best[:min(len(best), k)]
	}
	return best
}
