package coloc

import (
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// blockNodes is after how many nodes of one period a row takes π anew.
const blockNodes = 16

// Resident is a class on a node, and how many runs of it are there.
type Resident struct {
	ID   ID
	Runs int
}

// Shared is a node that runs of several classes were on over a whole period, and how it was used.
type Shared struct {
	Use       *dovetail.NodeUse
	Residents []Resident // distinct
}

// observation is one G for one ordered pair.
type observation struct {
	row, newcomer int32 // IDs
	g             float64
	weight        float64
}

// Learn updates the preferences by how nodes were used over a period that ended now: every ordered pair of distinct classes on a node,
// as running class and newcomer (seed 000, equations 1 to 3). For each of its classes a node is one update, which is shared among
// the others there by the number of their runs, Strangers included, of which nothing is learned. A node that was idle, that Check finds something
// wrong with, or with fewer than two distinct classes says nothing.
//
// For each row nodes are taken in the order given. Ḡ is updated before it is used, π is from before the update. If a row has more than 16 nodes
// in a period, π is taken anew after each 16: what is measured at one time is learned from together, which is what makes
// 10,000 nodes cost milliseconds. With up to 16 the difference to the seed, which does not say in which order nodes come, is of second order in γ.
func (b *Book) Learn(now time.Time, nodes []Shared) {
	b.observe(nodes)
	if len(b.seen) == 0 {
		return
	}
	b.learn(now, b.seen)
	b.seen = b.seen[:0]
}

// observe writes what nodes say of pairs to b.seen.
func (b *Book) observe(nodes []Shared) {
	for i := range nodes {
		n := &nodes[i]
		all, classes := 0, 0
		for _, r := range n.Residents {
			if r.Runs > 0 {
				all += r.Runs
				classes++
			}
		}
		if classes < 2 || Check(n.Use) != "" || isIdle(n.Use) {
			continue
		}
		g := Goodness(n.Use)
		for _, r := range n.Residents {
			if r.Runs <= 0 || !b.has(r.ID) {
				continue
			}
			others := float64(all - r.Runs)
			for _, o := range n.Residents {
				if o.ID != r.ID && o.Runs > 0 && b.has(o.ID) {
					b.seen = append(b.seen, observation{int32(r.ID), int32(o.ID), g, float64(o.Runs) / others})
				}
			}
		}
	}
}

// learn updates rows by observations, of each row in the order given.
func (b *Book) learn(now time.Time, seen []observation) {
	b.version++
	n := len(b.classes)
	b.ends = slices.Grow(b.ends[:0], n+1)[:n+1]
	clear(b.ends)
	for i := range seen {
		b.ends[seen[i].row+1]++
	}
	for i := range n {
		b.ends[i+1] += b.ends[i] // where the row begins; once it is filled, where it ends
	}
	b.sorted = slices.Grow(b.sorted[:0], len(seen))[:len(seen)]
	for i := range seen {
		at := &b.ends[seen[i].row]
		b.sorted[*at] = seen[i]
		*at++
	}
	b.at = slices.Grow(b.at[:0], n)[:n]
	from := int32(0)
	for id := range n {
		if to := b.ends[id]; to > from {
			b.learnRow(now, &b.classes[id].row, b.sorted[from:to])
			from = to
		}
	}
}

// learnRow updates one row.
func (b *Book) learnRow(now time.Time, r *row, seen []observation) {
	b.touch(now, r)
	b.meet(r, seen)
	for i := range b.at {
		b.at[i] = -1
	}
	for i, id := range r.ids {
		if id != Stranger {
			b.at[id] = int32(i)
		}
	}
	b.delta = slices.Grow(b.delta[:0], len(r.prefs))[:len(r.prefs)]
	clear(b.delta)
	step, total, nodes := b.step(), 0.0, 0.0
	for i := range seen {
		o := &seen[i]
		at := b.at[o.newcomer]
		p := &r.prefs[at]
		r.updates += o.weight
		r.goodness += (o.g - r.goodness) * o.weight / r.updates
		p.updates += o.weight
		p.goodness += (o.g - p.goodness) * o.weight / p.updates
		d := step * o.weight * (o.g - r.goodness)
		b.delta[at] += d
		total += d
		if nodes += o.weight; nodes > blockNodes-1e-6 || i == len(seen)-1 {
			r.move(b.delta, total, len(b.order))
			clear(b.delta)
			total, nodes = 0, 0
		}
	}
}

// touch lets a row fade up to now, when something is learned of it.
func (b *Book) touch(now time.Time, r *row) {
	if !now.After(r.seen) {
		return
	}
	if left := b.left(r.seen, now); left < 1 {
		r.fadeBy(left)
	}
	r.seen = now
}

// meet makes room in a row for the newcomers that it has not met.
func (b *Book) meet(r *row, seen []observation) {
	for i := range b.at {
		b.at[i] = -1
	}
	for _, id := range r.ids {
		if id != Stranger {
			b.at[id] = 0
		}
	}
	for i := range seen {
		if id := ID(seen[i].newcomer); b.at[id] < 0 {
			b.at[id] = 0
			r.add(b.classes[id].name, id)
		}
	}
	r.trim(rowFactor * b.limit())
}

// move applies equations 2 and 3 for a sum of γ(G − Ḡ) for each newcomer, and for all together: H(a) gains its own less π(a) times that of all. The
// rest, of which each class loses π(rest) times that of all, stays at 0: that is added to the others instead.
func (r *row) move(delta []float64, total float64, classes int) {
	z := r.partition(classes)
	sum := 0.0
	for i := range r.prefs {
		p := &r.prefs[i]
		if p.id == Stranger {
			continue
		}
		h := p.h + delta[i] - float64(total*((p.e-1)/z))
		p.h = max(-bound, min(bound, h))
		p.e = math.Exp(p.h)
		sum += p.e
	}
	r.sum = sum
}

// Likes returns π(newcomer | running): the probability with which runs of one class want the other for their next neighbour, among all
// classes that the book holds (seed 000 §4.3), as of the last time that something was learned of the running class. For a Stranger it is that of a class
// that the running one has not met.
func (b *Book) Likes(newcomer, running ID) float64 {
	classes := max(len(b.order), 1)
	if !b.has(running) {
		return 1 / float64(classes)
	}
	r := &b.classes[running].row
	e := 1.0
	if i := r.index(newcomer); i >= 0 {
		e = r.prefs[i].e
	}
	return e / r.partition(classes)
}
