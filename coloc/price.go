package coloc

import (
	"cmp"
	"math"
	"slices"
)

const (
	mostKinds = 16   // that the linear program has: those with the most work
	aloneRate = 1.1  // of a class on a node of its own, relative to its usual pace, if no run was seen there (models.md 5.4)
	equal     = 1e-9 // relative difference up to which worths and times are equal
)

// prices is what a unit of work of each class is worth. It is computed once for a scene.
type prices struct {
	ready   bool
	version int       // of the book
	edition int64     // of the scene that it was asked in last
	work    []Share   // that it was computed of
	kinds   []Share   // that the linear program had
	optimum *simplex  // … and its solution
	byID    []float64 // for each class of the book; NaN: not asked for yet
	other   float64   // of a Stranger
}

// priced returns the prices in a scene: the duals of pairing all the work that is left in as little time as possible. Up to 16 classes with the
// most work make the linear program. Any other one costs what it would take to do a little of its work beside its best partner, at these
// prices: min over partners b, itself included, of (1 − λ_b M[b,a]) / M[a,b].
func (b *Book) priced(s *Scene) *prices {
	l := &s.prices
	if s.Edition != 0 && l.edition == s.Edition {
		return l
	}
	if l.ready && l.version == b.version && slices.Equal(l.work, s.Work) {
		l.edition = s.Edition
		return l
	}
	kinds := b.kinds(s.Work)
	n := len(kinds)
	m, work := make([]float64, n*n), make([]float64, n)
	for i, a := range kinds {
		work[i] = a.Amount
		for j, c := range kinds {
			m[i*n+j] = b.pace(a.ID, c.ID)
		}
	}
	optimum := program(m, work)
	*l = prices{
		ready: true, version: b.version, edition: s.Edition, work: append(l.work[:0], s.Work...), kinds: kinds, optimum: optimum,
		byID: slices.Grow(l.byID[:0], len(b.classes))[:len(b.classes)],
	}
	for i := range l.byID {
		l.byID[i] = math.NaN()
	}
	l.other = b.margin(Stranger, l)
	for i, k := range kinds {
		if k.ID == Stranger {
			l.other = optimum.dual[i]
		} else {
			l.byID[k.ID] = optimum.dual[i]
		}
	}
	return l
}

// kinds returns the classes that the linear program has, by name.
func (b *Book) kinds(work []Share) []Share {
	kinds := slices.DeleteFunc(slices.Clone(b.merged(work)), func(w Share) bool { return !(w.Amount > 0) || math.IsInf(w.Amount, 1) })
	if len(kinds) > mostKinds {
		slices.SortStableFunc(kinds, func(x, y Share) int { return cmp.Compare(y.Amount, x.Amount) })
		kinds = kinds[:mostKinds]
		slices.SortFunc(kinds, func(x, y Share) int { return b.rank(x.ID) - b.rank(y.ID) })
	}
	return kinds
}

// margin returns the price of a class that the linear program did not have.
func (b *Book) margin(id ID, l *prices) float64 {
	price := 1 / (2 * b.pace(id, id))
	for i, k := range l.kinds {
		price = min(price, max(0, 1-float64(l.optimum.dual[i]*b.pace(k.ID, id)))/b.pace(id, k.ID))
	}
	return price
}

// of returns the price of a class.
func (l *prices) of(b *Book, id ID) float64 {
	if !b.has(id) {
		return l.other
	}
	if math.IsNaN(l.byID[id]) {
		l.byID[id] = b.margin(id, l)
	}
	return l.byID[id]
}

// pace returns M[a, beside]: how fast runs of a class progress beside another one, which may be a Stranger.
func (b *Book) pace(id, beside ID) float64 {
	if !b.has(id) {
		return 1
	}
	return paceIn(b.paces(id), beside)
}

// paceIn returns the pace beside a class, of those that Book.paces returned.
func paceIn(paces []float64, beside ID) float64 {
	if beside >= 0 && int(beside) < len(paces) && paces[beside] > 0 {
		return paces[beside]
	}
	return 1
}

// paces returns how fast runs of a class of the book progress beside each other one, by ID; 0 if no run was seen there.
func (b *Book) paces(id ID) []float64 {
	c := &b.classes[id]
	if c.paced == b.version && len(c.paces) == len(b.classes) {
		return c.paces
	}
	c.paced, c.alone = b.version, aloneRate
	if r, ok := rateOf(c.evidence, ""); ok && r.Runs > 0 {
		c.alone = r.Rate
	}
	c.paces = slices.Grow(c.paces[:0], len(b.classes))[:len(b.classes)]
	clear(c.paces)
	for i, o := range c.beside {
		if o != Stranger {
			c.paces[o] = max(c.evidence.Rates[i].Rate, slowest)
		}
	}
	return c.paces
}

// alonePace returns how fast runs of a class progress on a node of their own.
func (b *Book) alonePace(id ID) float64 {
	if !b.has(id) {
		return aloneRate
	}
	b.paces(id)
	return b.classes[id].alone
}

// worth returns by how much price-weighted progress per time changes on a node if a newcomer joins the runs there:
// λ_a Π_r M[a,r] + Σ_r λ_r ρ_r (M[r,a] − 1), where ρ_r is the product of M[r,·] over the other runs there. With one run that is
// λ_a M[a,b] + λ_b M[b,a] − λ_b of models.md 5.4; more of them slow each other down as if independently. On an empty node it is λ_a times
// the pace alone.
func (b *Book) worth(l *prices, newcomer ID, residents []ID) float64 {
	price := l.of(b, newcomer)
	if len(residents) == 0 {
		return price * b.alonePace(newcomer)
	}
	own, change := price, 0.0
	for i, r := range residents {
		own *= b.pace(newcomer, r)
		if !b.has(r) {
			continue // a Stranger is not slowed down
		}
		paces := b.paces(r)
		slower := paceIn(paces, newcomer) - 1
		if slower == 0 {
			continue
		}
		before := l.of(b, r)
		for j, o := range residents {
			if j != i {
				before *= paceIn(paces, o)
			}
		}
		change += float64(before * slower)
	}
	return own + change
}

// planned returns for how long the optimum holds pairs of a newcomer and the runs on nodes, summed.
func (l *prices) planned(newcomer ID, nodes [][]ID) float64 {
	a, time := l.kind(newcomer), 0.0
	for _, residents := range nodes {
		for _, r := range residents {
			if c := l.kind(r); a >= 0 && c >= 0 {
				time += l.optimum.time(a, c)
			}
		}
	}
	return time
}

// kind returns which kind of the linear program a class is, or −1.
func (l *prices) kind(id ID) int {
	return slices.IndexFunc(l.kinds, func(k Share) bool { return k.ID == id })
}

// weighPrice picks the run with the largest mean worth over its nodes. Prices cannot tell the pairs apart that are in the optimum: all of
// them are worth what they cost. Of these, and of others that are equal up to rounding, it picks the one that the optimum holds longest, and
// then the first in line. The weight of a run does not count: who is passed over is due after a number of times. If there is no evidence of
// any run of the window beside those that it would meet, prices have nothing to say, and one is drawn by weight: the first in line is often
// more of the same, beside which nothing is learned. At the end of the line those with which all would be done later do not count: see late.
func weighPrice(b *Book, s *Scene, p []float64) {
	if !b.triedAny(s.Window) {
		weighRandom(b, s, p)
		return
	}
	l := b.priced(s)
	late := b.late(s, l)
	pick, best, longest := 0, math.Inf(-1), 0.0
	for i := range s.Window {
		if len(late) > 0 && late[i] {
			continue
		}
		c := &s.Window[i]
		worth := 0.0
		for _, residents := range c.Nodes {
			worth += b.worth(l, c.ID, residents)
		}
		worth /= float64(max(len(c.Nodes), 1))
		rounding := equal * (math.Abs(worth) + l.of(b, c.ID))
		if worth < best-rounding {
			continue
		}
		time := l.planned(c.ID, c.Nodes) / float64(max(len(c.Nodes), 1))
		if worth > best+rounding || time > longest*(1+equal) {
			pick, longest = i, time
		}
		best = max(best, worth)
	}
	surely(p, pick)
}

// scorePrice compares the worth of a newcomer on a node with that on an empty node, d being the difference: 0.5 + 0.5 d / (|d| + λ). A node
// with runs beside which no run of its class, nor they beside one of it, was seen, is like an empty one.
func scorePrice(b *Book, s *Scene, newcomer ID, residents []ID) float64 {
	if len(residents) == 0 || !b.tried(newcomer, residents) {
		return 0.5
	}
	l := b.priced(s)
	d := b.worth(l, newcomer, residents) - b.worth(l, newcomer, nil)
	if d == 0 {
		return 0.5
	}
	return 0.5 + 0.5*d/(math.Abs(d)+l.of(b, newcomer))
}

// triedAny reports whether there is evidence of some run of a window and some of the runs that it would meet.
func (b *Book) triedAny(window []Candidate) bool {
	for i := range window {
		for _, residents := range window[i].Nodes {
			if b.tried(window[i].ID, residents) {
				return true
			}
		}
	}
	return false
}

// tried reports whether there is evidence of a newcomer and some of the runs on a node.
func (b *Book) tried(newcomer ID, residents []ID) bool {
	if !b.has(newcomer) {
		return false
	}
	for _, r := range residents {
		if b.has(r) && (b.paces(newcomer)[r] > 0 || b.paces(r)[newcomer] > 0) {
			return true
		}
	}
	return false
}
