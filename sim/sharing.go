package sim

import (
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// Contend lets runs share the resources of their nodes from now on. It must be called before the first run is admitted; nil: they do not.
func (c *Cluster) Contend(m *Contention) error {
	if m != nil {
		if err := m.check(); err != nil {
			return dovetail.Errorf(dovetail.Invalid, "contention: %v", err)
		}
	}
	c.contention = m
	return nil
}

// coupled reports whether what changes one run changes its neighbours.
func (c *Cluster) coupled() bool { return c.interference != nil || c.contention != nil }

// plan gives a run its phases.
func (c *Cluster) plan(r *run) error {
	if c.contention == nil {
		return nil
	}
	var err error
	if r.phases, r.ends, err = c.contention.ends(r.job, r.work); err != nil {
		return dovetail.Errorf(dovetail.Invalid, "%v", err)
	}
	return nil
}

// seek finds the phase of a run whose work was changed other than by progress.
func (r *run) seek() {
	if len(r.ends) > 0 {
		i, reached := slices.BinarySearch(r.ends, r.done)
		if reached {
			i++
		}
		r.phase = min(i, len(r.ends)-1)
	}
}

// next returns the work at which something happens to a run: its phase ends, or all of it.
func (r *run) next() int64 {
	if len(r.ends) > 0 {
		return r.ends[r.phase]
	}
	return r.work
}

// progress is called when a run has done what next said. It returns false if that was all.
func (c *Cluster) progress(r *run) bool {
	if r.phase+1 >= len(r.ends) {
		return false
	}
	c.accrue(r)
	r.phase++
	c.disturb(r)
	c.foresee(r)
	return true
}

// divide shares a node between the runs that are at work on it.
func (c *Cluster) divide(i int) {
	n := &c.nodes[i]
	c.read(n)
	s := &c.scratch
	s.reset()
	for k := range n.tenants {
		t := &n.tenants[k]
		t.speed, t.stalled = 0, 0
		if !t.run.works() {
			continue
		}
		part := t.part(n)
		p := &t.run.phases[t.run.phase]
		s.at, s.demand = append(s.at, k), append(s.demand, p.Demand)
		var use [numContended]float64
		for r, d := range p.Demand {
			use[r] = d * part
		}
		s.use, s.limits = append(s.use, use), append(s.limits, c.contention.Limit(&p.Demand, max(1, 1/part)))
	}
	room := [numContended]float64{1, efficiency(s.demand, c.contention.Disk), 1}
	n.disk = room[contendDisk]
	for k, speed := range fill(s.use, s.limits, room) {
		n.tenants[s.at[k]].speed = speed
	}
	if c.period > 0 {
		c.stall(n)
	}
}

// part returns which part of the node the run's replicas at work there hold: that of the kind of which they hold the largest one.
func (t *presence) part(n *node) float64 {
	part := 0.0
	for k, held := range t.held {
		if room := n.Capacity[k]; room > 0 {
			part = max(part, float64(held)/float64(room))
		}
	}
	return part
}

// speed returns how fast a run is by what its nodes let it do, relative to its usual pace, and the slowest node's speed.
func (c *Cluster) speed(r *run) float64 {
	sum, n, least := 0.0, 0, 0.0
	before := -1
	for _, i := range r.homes() {
		if i == before {
			continue
		}
		before = i
		tenants := c.nodes[i].tenants
		k, _ := slices.BinarySearchFunc(tenants, r, comparePresence)
		t := &tenants[k]
		if n == 0 || t.speed < least {
			least = t.speed
		}
		n += t.n
		sum += float64(t.speed * float64(t.n))
	}
	r.slowest = least
	s := c.contention.Straggler
	return float64((1-s)*sum/float64(n)) + float64(s*least)
}

// scratch is what divide needs for a moment.
type scratch struct {
	at     []int // of the tenants
	demand [][numContended]float64
	use    [][numContended]float64
	limits []float64
}

func (s *scratch) reset() {
	s.at, s.demand, s.use, s.limits = s.at[:0], s.demand[:0], s.use[:0], s.limits[:0]
}
