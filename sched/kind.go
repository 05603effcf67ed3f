package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/policy"
)

// kind is a job class of which runs are known.
type kind struct {
	name    string
	runs    int      // that wait or are in service
	serving int      // … in service
	id      coloc.ID // in the book, which keeps it as long as runs are in service
	found   int64    // otherwise: the state of the book in which it was looked for last
	nodes   int      // granted to its runs; one counts for each of them. Only if Core.keeps

	load int64 // replica-microseconds that its runs take in all
	done int64 // … of which were done by at
	up   int64 // replicas at work since
	at   time.Time
}

func byName(k *kind, name string) int { return cmp.Compare(k.name, name) }

// join files a run under its kind.
func (c *Core) join(r *run) {
	i, ok := slices.BinarySearchFunc(c.kinds, r.spec.Class, byName)
	if !ok {
		c.kinds = slices.Insert(c.kinds, i, &kind{name: r.spec.Class, id: coloc.Stranger})
	}
	r.kind = c.kinds[i]
	r.kind.runs++
	if picky(r.app.spec) {
		c.picky++
		c.bar(r.app.spec.Colocation, 1)
	}
	c.keep()
}

// quit takes a run that has ended out of its kind.
func (c *Core) quit(r *run) {
	k := r.kind
	k.load -= r.load
	k.done -= r.work
	if k.runs--; k.runs == 0 {
		i, _ := slices.BinarySearchFunc(c.kinds, k.name, byName)
		c.kinds = slices.Delete(c.kinds, i, i+1)
	}
	if picky(r.app.spec) {
		c.picky--
		c.bar(r.app.spec.Colocation, -1)
	}
	c.keep()
}

// enrol notes that a run of the kind enters service: from now on the book keeps the class.
func (c *Core) enrol(k *kind) {
	if k.serving == 0 {
		k.id = coloc.Stranger
	}
	if k.serving++; k.id == coloc.Stranger {
		c.taught++
		k.id = c.book.Hold(k.name)
	}
}

// retire notes that a run of the kind has left service.
func (c *Core) retire(k *kind) {
	if k.serving--; k.serving > 0 {
		return
	}
	c.taught++
	k.found = 0
	if k.id != coloc.Stranger {
		c.book.Release(k.id)
	}
}

// id returns the class's number in the book now.
func (c *Core) id(k *kind) coloc.ID {
	if k.serving == 0 && k.found != c.taught {
		k.id, k.found = c.book.Find(k.name), c.taught
	}
	return k.id
}

// mostLoad bounds what one run counts for, in replica-microseconds: sums stay exact.
const mostLoad = 1e15

// weigh notes how much work a run is: its runtime at full scale, with all replicas that it can use.
func (r *run) weigh() {
	t := r.expected
	if t <= 0 {
		t = policy.UnknownTime
	}
	load := int64(math.Min(mostLoad, float64(t.Microseconds())*float64(max(1, r.app.all.Replicas))))
	r.kind.load += load - r.load
	r.load = load
}

// pace notes that the number of replicas of the kind that are up changes.
func (k *kind) pace(now time.Time, delta int) {
	k.done, k.at = k.doneBy(now), now
	k.up += int64(delta)
}

// doneBy returns the replica-microseconds that the runs of the kind there are have done by a time.
func (k *kind) doneBy(now time.Time) int64 {
	return k.done + max(0, now.Sub(k.at).Microseconds())*k.up
}

// left returns the seconds of work that the runs of the kind still have to do, where each replica counts as a node.
func (k *kind) left(now time.Time) float64 {
	return float64(max(0, k.load-k.doneBy(now))) / 1e6
}

// part is what a run, or a class, does on a node.
type part int

const (
	absent  part = iota
	present      // handed to the back-end: it starts, stops, or is frozen
	working      // up, and not frozen
)

// tenant is what one run has on one node.
type tenant struct {
	r    *run
	want int // granted; only if Core.keeps
	live int // handed to the back-end and not reported down
	up   int
}

func (t *tenant) part(frozen bool) part {
	switch {
	case t.live == 0:
		return absent
	case t.up == 0 || frozen:
		return present
	}
	return working
}

// tenant finds, or adds, what a run has on a node, and returns its place there. Tenants are in order of run.
func (n *node) tenant(r *run) (int, *tenant) {
	if i := n.asked; i < len(n.tenants) && n.tenants[i].r == r { // as when replicas come up
		return i, &n.tenants[i]
	}
	for i := range n.tenants { // few, and faster than to look into each run for its ID
		if n.tenants[i].r == r {
			n.asked = i
			return i, &n.tenants[i]
		}
	}
	i, _ := slices.BinarySearchFunc(n.tenants, r.id, func(t tenant, id dovetail.RunID) int { return cmp.Compare(t.r.id, id) })
	n.tenants, n.asked = slices.Insert(n.tenants, i, tenant{r: r}), i
	return i, &n.tenants[i]
}

// tidy drops a tenant that has nothing.
func (n *node) tidy(i int) {
	if t := &n.tenants[i]; t.want == 0 && t.live == 0 {
		n.tenants = slices.Delete(n.tenants, i, i+1)
	}
}

// beside returns what runs of a run's class other than itself do on a node.
func (n *node) beside(r *run) part {
	most := absent
	for i := 0; i < len(n.tenants) && most < working; i++ {
		if t := &n.tenants[i]; t.r != r && t.r.kind == r.kind {
			most = max(most, t.part(t.r.frozen))
		}
	}
	return most
}

// dwell changes how many replicas a run has on a node, and how many of them are up.
func (c *Core) dwell(r *run, node, live, up int, now time.Time) {
	n := &c.nodes[node]
	i, t := n.tenant(r)
	before := t.part(r.frozen)
	t.live += live
	t.up += up
	n.turned(r, before, t.part(r.frozen), now)
	n.tidy(i)
	if up != 0 {
		r.kind.pace(now, up)
	}
}

// turned notes since when the classes on a node are what they are, and do what they do.
func (n *node) turned(r *run, before, after part, now time.Time) {
	if before == after {
		return
	}
	if others := n.beside(r); max(others, before) != max(others, after) {
		n.since = now
	}
}

// freeze notes that the replicas of a run stand still from now on, or go on.
func (c *Core) freeze(r *run, on bool, now time.Time) {
	r.frozen = on
	for ci := range r.comps {
		for i := range r.comps[ci].cells {
			if k := &r.comps[ci].cells[i]; k.live > 0 {
				n := &c.nodes[k.node]
				_, t := n.tenant(r)
				n.turned(r, t.part(!on), t.part(on), now)
			}
		}
	}
}

// keep begins to note which run is granted something on which node when somebody asks for it, and ends it when nobody does any more.
func (c *Core) keep() {
	keeps := c.method != nil || c.cfg.Colocation.Slowdown > 0 || c.picky > 0
	if keeps == c.keeps {
		return
	}
	c.keeps = keeps
	for i := range c.nodes {
		n := &c.nodes[i]
		for t := range n.tenants {
			n.tenants[t].want = 0
		}
		n.tenants = slices.DeleteFunc(n.tenants, func(t tenant) bool { return t.live == 0 })
	}
	for _, k := range c.kinds {
		k.nodes = 0
	}
	if !keeps {
		return
	}
	for _, r := range c.serving {
		for ci := range r.comps {
			for _, k := range r.comps[ci].cells {
				if k.want > 0 {
					c.lodge(r, k.node, k.want)
				}
			}
		}
	}
}

// lodge changes how many replicas a run is granted on a node. What is only tried leaves the scores of the node as they are: of the run itself
// none is remembered meanwhile, and nobody else is asked about.
func (c *Core) lodge(r *run, node, delta int) {
	n := &c.nodes[node]
	i, t := n.tenant(r)
	was := t.want
	t.want += delta
	switch {
	case was == 0 && t.want > 0:
		r.kind.nodes++
	case was > 0 && t.want == 0:
		r.kind.nodes--
	}
	if (was > 0) != (t.want > 0) && !c.scratch.trying {
		n.liked = [memory]liking{}
	}
	n.tidy(i)
}
