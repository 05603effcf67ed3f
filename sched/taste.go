package sched

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/place"
)

// What a run wants of nodes, and how its scorers are weighed: what it says itself counts more than anything that was learned.
const (
	neighbourWeight = 1
	preferWeight    = 2
)

// palate is what the draft asks for a run; the run changes, the functions stay.
type palate struct {
	d     *draft
	r     *run
	fresh bool // r is granted nothing yet
	wants place.Taste
	all   []place.Scorer // neighbours, preferred
	ids   []coloc.ID
}

// taste returns what a run wants of nodes beside room and labels, or nil if that is nothing. It is valid until the next call.
func (d *draft) taste(r *run) *place.Taste {
	c := d.c
	if !c.keeps {
		return nil
	}
	p := &d.palate
	if p.d == nil {
		p.d = d
		p.wants.Own = p.own
		p.all = []place.Scorer{{Name: "neighbours", Weight: neighbourWeight, Score: p.likes}, {Name: "preferred", Weight: preferWeight, Score: p.preferred}}
	}
	p.r, p.fresh = r, !slices.ContainsFunc(r.comps, comp.granted)
	t := &p.wants
	t.Allows, t.Shuns, t.Hints, t.Scorers = nil, nil, t.Hints[:0], nil
	prefers := r.app.spec.Colocation != nil && len(r.app.spec.Colocation.Prefer) > 0
	switch likes := c.method != nil && c.method.Score != nil; {
	case likes && prefers:
		t.Scorers = p.all
	case likes:
		t.Scorers = p.all[:1]
	case prefers:
		t.Scorers = p.all[1:]
	}
	if c.method != nil && c.method.Score != nil {
		d.survey()
	}
	if prefers {
		t.Hints = c.friends(r, t.Hints)
	}
	if c.touchy(r) || c.exclusive > 0 {
		t.Allows = p.allows
	}
	if c.cfg.Colocation.Slowdown > 0 {
		t.Shuns = p.shuns
	}
	if t.Allows == nil && t.Shuns == nil && t.Scorers == nil {
		return nil
	}
	return t
}

func (p *palate) allows(node int) bool { return p.d.c.rival(p.r, node) == nil }
func (p *palate) shuns(node int) bool  { return p.d.harmful(p.r, node) }
func (p *palate) own(node int) int {
	if p.fresh {
		return 0
	}
	return p.d.c.nodes[node].grantedTo(p.r)
}

// memory is how many scores a node remembers.
const memory = 8

// liking is the score of a node for a job class, as long as nothing that it depends on has changed: who is there, what is known, what work
// is left, and the time if knowledge fades.
type liking struct {
	kind    *kind
	climate int64
	score   float64
}

// likes returns the score of a node by the method.
func (p *palate) likes(node int) float64 {
	c, n := p.d.c, &p.d.c.nodes[node]
	alone := p.own(node) == 0 // otherwise who is there beside the run differs from who is there
	for i := range n.liked {
		if l := &n.liked[i]; alone && l.kind == p.r.kind && l.climate == p.d.climate {
			return l.score
		}
	}
	p.ids = p.d.appendClasses(p.ids[:0], p.r, node)
	score := c.method.Score(c.book, &p.d.scene, c.id(p.r.kind), p.ids)
	if alone {
		n.liked[n.likedAt] = liking{p.r.kind, p.d.climate, score}
		n.likedAt = (n.likedAt + 1) % memory
	}
	return score
}

func (p *palate) preferred(node int) float64 {
	for i := range p.d.c.nodes[node].tenants {
		if t := &p.d.c.nodes[node].tenants[i]; t.want > 0 && t.r != p.r && p.r.prefers(t.r) {
			return 1
		}
	}
	return 0
}

// friends appends the nodes that runs which r prefers are granted something on, ascending.
func (c *Core) friends(r *run, nodes []int) []int {
	for i := range c.nodes {
		for j := range c.nodes[i].tenants {
			if t := &c.nodes[i].tenants[j]; t.want > 0 && t.r != r && r.prefers(t.r) {
				nodes = append(nodes, i)
				break
			}
		}
	}
	return nodes
}

// grantedTo returns how many replicas a run is granted on a node.
func (n *node) grantedTo(r *run) int {
	for i := range n.tenants {
		if t := &n.tenants[i]; t.r == r {
			return t.want
		}
	}
	return 0
}

// appendClasses appends the classes of the other runs that are granted something on a node, each once for each run, in order of run.
func (d *draft) appendClasses(ids []coloc.ID, r *run, node int) []coloc.ID {
	for i := range d.c.nodes[node].tenants {
		if t := &d.c.nodes[node].tenants[i]; t.want > 0 && t.r != r {
			ids = append(ids, d.c.id(t.r.kind))
		}
	}
	return ids
}

// harmful reports whether r's class and another on a node are proven to slow one another down beyond the bound.
func (d *draft) harmful(r *run, node int) bool {
	bound := d.c.cfg.Colocation.Slowdown
	if bound <= 0 {
		return false
	}
	for i := range d.c.nodes[node].tenants {
		if t := &d.c.nodes[node].tenants[i]; t.want > 0 && t.r != r && d.c.book.Harms(d.c.id(r.kind), d.c.id(t.r.kind), bound) {
			return true
		}
	}
	return false
}

// granted reports whether replicas of the component are granted anywhere.
func (p comp) granted() bool { return p.want != [numClasses]int{} }

// coreOf yields the nodes on which a run is granted core replicas, each once.
func (d *draft) coreOf(r *run) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ci := range r.comps {
			for i := range r.comps[ci].cells {
				k := &r.comps[ci].cells[i]
				if k.class != core || k.want == 0 || slices.ContainsFunc(r.comps[:ci], func(p comp) bool { return p.hasCore(k.node) }) {
					continue
				}
				if !yield(k.node) {
					return
				}
			}
		}
	}
}

// hasCore reports whether core replicas of the component are granted on a node.
func (p *comp) hasCore(node int) bool {
	i, ok := p.find(core, node)
	return ok && p.cells[i].want > 0
}

// company returns the job classes on the nodes of a run's core, sorted, and the mean score of these nodes.
func (d *draft) company(r *run) (classes []string, score float64) {
	nodes := 0
	d.taste(r) // the palate is r's
	for node := range d.coreOf(r) {
		nodes++
		for i := range d.c.nodes[node].tenants {
			if t := &d.c.nodes[node].tenants[i]; t.want > 0 && t.r != r {
				classes = append(classes, t.r.spec.Class)
			}
		}
		if d.c.method.Score != nil {
			score += d.palate.likes(node)
		}
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	if d.c.method.Score == nil || nodes == 0 {
		return classes, 0
	}
	return classes, score / float64(nodes)
}

// survey puts on the stage what work there is; a decision does not change it. It is rounded up to a unit of between 1/128 and 1/64 of all
// work, so that prices that were computed for a decision mostly hold for the next ones. Of strangers, and so in stage, there is one share,
// before all others: in the order in which sums over shares are taken.
func (d *draft) survey() {
	if d.staged {
		return
	}
	d.staged = true
	c, s := d.c, &d.scene
	now := time.Time{}
	if c.cfg.Colocation.HalfLife > 0 {
		now = d.now
	}
	work := d.work[:0]
	work = append(work, coloc.Share{ID: coloc.Stranger})
	total := 0.0
	for _, k := range c.kinds {
		left := k.left(d.now)
		total += left
		if id := c.id(k); id == coloc.Stranger {
			work[0].Amount += left
		} else if left > 0 {
			work = append(work, coloc.Share{ID: id, Amount: left})
		}
	}
	if work[0].Amount == 0 {
		work = slices.Delete(work, 0, 1)
	}
	_, exponent := math.Frexp(total)
	unit := math.Ldexp(1, exponent-7)
	for i := range work {
		work[i].Amount = math.Ceil(work[i].Amount/unit) * unit
	}
	if d.taught != c.taught || !s.Now.Equal(now) || !slices.Equal(work, s.Work) {
		d.climate++
	}
	s.Edition = d.climate
	d.work, s.Work, s.Now, d.taught = s.Work, work, now, c.taught
}

// stage brings what a choice is made in up to date, with nobody who may be chosen yet.
func (d *draft) stage() {
	d.survey()
	c, s := d.c, &d.scene
	s.Held, s.Window = append(s.Held[:0], coloc.Share{ID: coloc.Stranger}), s.Window[:0]
	for _, k := range c.kinds {
		if k.nodes == 0 {
			continue
		}
		if id := c.id(k); id == coloc.Stranger {
			s.Held[0].Amount += float64(k.nodes)
		} else {
			s.Held = append(s.Held, coloc.Share{ID: id, Amount: float64(k.nodes)})
		}
	}
	if s.Held[0].Amount == 0 {
		s.Held = slices.Delete(s.Held, 0, 1)
	}
}
