package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// Interference says how much runs hold each other up while they share nodes: the progress-rate interference behind seed 001's model
// of overlaps. A run that shares nodes with others takes 1 + Σ Slowdown·share times as long for whatever it does meanwhile; the sum
// is over its neighbours, and share is the part of its nodes on which the neighbour has replicas at work. So a run beside another
// all the time, on all of its nodes, takes 1 + Slowdown times its time alone: g(x, 1) = f(x)·(1 + α), α = a + b/x (seed 001, eq. 2).
// A neighbour that is frozen, or misses a part of its core, does nothing that could hurt. It is pure.
type Interference interface {
	// Slowdown returns α: by how much a run of job j with so many replicas at work is held up by one of another job that is on
	// all of its nodes. Not negative, finite.
	Slowdown(j, by *trace.Job, replicas int) float64
}

// presence is how many replicas of a run are at work somewhere; with disturb, on how many nodes.
type presence struct {
	run *run
	n   int

	held    dovetail.Resources // by these replicas
	speed   float64            // with a Contention: what the node allows, relative to the usual pace; 0: it does not work
	stalled float64            // the share of time in which it stands still for the disk
}

// finest is by how much the units of a run's work are finer, at most, with an Interference or a Contention, so that its rate can be divided.
const finest = 1 << 20

// Interfere lets runs hold each other up from now on. It must be called before the first run is admitted.
func (c *Cluster) Interfere(i Interference) { c.interference = i }

// toDo returns the work of a job, and by how much its units are finer than those of the model: the largest power of two with which the
// work can be counted.
func (c *Cluster) toDo(j *trace.Job) (todo, fine int64, err error) {
	if todo, err = work(c.model, j); err != nil {
		return 0, 0, dovetail.Errorf(dovetail.Invalid, "%v", err)
	}
	fine = 1
	if c.coupled() {
		for fine < finest && todo <= math.MaxInt64/4 {
			todo, fine = 2*todo, 2*fine
		}
	}
	return todo, fine, nil
}

// hindered returns what becomes of a rate in finer units; something, if it was anything.
func (r *run) hindered(rate int64) int64 {
	rate *= r.fine
	if r.slowed == 0 || r.slowed == 1 || rate == 0 {
		return rate
	}
	return max(1, int64(float64(rate)/r.slowed))
}

// welcome notes that so many more replicas of a run are at work on the node, each of which holds this; fewer, if it is negative.
func (n *node) welcome(r *run, more int, each dovetail.Resources) {
	i, ok := slices.BinarySearchFunc(n.tenants, r, comparePresence)
	if !ok {
		n.tenants = slices.Insert(n.tenants, i, presence{run: r})
	}
	n.tenants[i].held = n.tenants[i].held.Plus(each.Times(more))
	if n.tenants[i].n += more; n.tenants[i].n == 0 {
		n.tenants = slices.Delete(n.tenants, i, i+1)
	}
}

func comparePresence(p presence, r *run) int { return cmp.Compare(p.run.id, r.id) }

// disturb brings the slowdown of a run and of its neighbours up to date after a change of it: of those that are on its nodes now,
// and of those on nodes that it has left. The caller has accrued the run; what neighbours did so far counts at their old rates.
func (c *Cluster) disturb(r *run) {
	if c.contention != nil {
		c.each(r, c.divide)
	}
	r.slowed = c.slow(r)
	var others []*run
	for _, k := range r.cells {
		for _, t := range c.nodes[k.node].tenants {
			if t.run == r {
				continue
			}
			if i, ok := slices.BinarySearchFunc(others, t.run, func(o, t *run) int { return cmp.Compare(o.id, t.id) }); !ok {
				others = slices.Insert(others, i, t.run)
			}
		}
	}
	for _, o := range others {
		if s := c.slow(o); s != o.slowed {
			c.accrue(o)
			o.slowed = s
			c.foresee(o)
		}
	}
	if c.period > 0 {
		c.each(r, c.consume)
		if c.contention.Straggler > 0 { // a neighbour may now wait elsewhere, too
			for _, o := range others {
				c.each(o, c.consume)
			}
		}
	}
}

// each calls f for every node of which the run holds something, or did; perhaps more than once.
func (c *Cluster) each(r *run, f func(node int)) {
	for _, k := range r.cells {
		f(k.node)
	}
}

// slow returns what a time of 1 takes a run: 1 + Σ Slowdown·share, summed in order of its neighbours, by the speed that contention leaves it.
func (c *Cluster) slow(r *run) float64 {
	if !r.works() {
		return 1
	}
	slowed := 1.0
	if c.interference != nil {
		slowed = c.hinder(r)
	}
	if c.contention != nil {
		slowed /= c.speed(r)
	}
	return slowed
}

// hinder returns 1 + Σ Slowdown·share of a run.
func (c *Cluster) hinder(r *run) float64 {
	nodes, before := 0, -1
	beside := c.beside[:0]
	for _, node := range r.homes() {
		if node == before {
			continue
		}
		nodes, before = nodes+1, node
		for _, t := range c.nodes[node].tenants {
			if t.run == r || !t.run.works() {
				continue
			}
			i, ok := slices.BinarySearchFunc(beside, t.run, comparePresence)
			if !ok {
				beside = slices.Insert(beside, i, presence{run: t.run})
			}
			beside[i].n++
		}
	}
	slowed := 1.0
	for _, b := range beside {
		slowed += float64(c.interference.Slowdown(r.job, b.run.job, r.working) * float64(b.n) / float64(nodes))
	}
	c.beside = beside
	return slowed
}

// homes returns the nodes on which the run has replicas at work, in order; a node may be there twice.
func (r *run) homes() []int {
	homes := make([]int, 0, len(r.cells))
	for _, k := range r.cells {
		if k.up > 0 {
			homes = append(homes, k.node)
		}
	}
	slices.Sort(homes)
	return homes
}
