package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Measure lets the machines say how they were used (dovetail.Used), at the end of every period since the epoch in which a run was at work; of
// every node that was used. Without a Contention there is nothing to say. It must be called before the first run is admitted; 0: they do not.
//
// The use of a resource is what its runs do at their speeds, as a share of what the node has. I/O wait is the share of time in which a
// processor was idle while the disk was not: (1 − use of processors) · (use of the disk / what the disk does), as if the two were
// independent of each other. Pressure is the share of time in which some run stood still for the disk: 1 − Π speed / speed with a disk
// without bounds, over the runs on the node. Neither was fitted to anything.
func (c *Cluster) Measure(period time.Duration) {
	if c.contention != nil {
		c.period = period.Microseconds()
	}
}

// gauge is the use of a node: at a moment, or summed up over time.
type gauge struct{ cpu, disk, net, wait, pressure float64 }

// add adds the use of so many microseconds.
func (g *gauge) add(o *gauge, us float64) {
	g.cpu += float64(o.cpu * us)
	g.disk += float64(o.disk * us)
	g.net += float64(o.net * us)
	g.wait += float64(o.wait * us)
	g.pressure += float64(o.pressure * us)
}

// read brings the sums of a node up to date, before its use changes.
func (c *Cluster) read(n *node) {
	if c.period > 0 && n.read < c.now {
		n.total.add(&n.use, float64(c.now-n.read))
		n.read = c.now
	}
}

// stall notes for how much of its time each run on a node stands still for the disk. The scratch is that of divide.
func (c *Cluster) stall(n *node) {
	s := &c.scratch
	if !slices.ContainsFunc(s.use, func(u [numContended]float64) bool { return u[contendDisk] > 0 }) {
		return
	}
	for k := range s.use {
		t := &n.tenants[s.at[k]]
		demand := s.demand[k]
		demand[contendDisk], s.use[k][contendDisk] = 0, 0
		s.limits[k] = c.contention.Limit(&demand, max(1, 1/t.part(n)))
	}
	for k, speed := range fill(s.use, s.limits, [numContended]float64{1, 1, 1}) {
		t := &n.tenants[s.at[k]]
		t.stalled = min(max(1-t.speed/speed, 0), 1)
	}
}

// consume notes what the runs on a node use of it from now on.
func (c *Cluster) consume(i int) {
	n := &c.nodes[i]
	c.read(n)
	n.use = gauge{}
	calm := 1.0
	straggler := c.contention.Straggler
	for k := range n.tenants {
		t := &n.tenants[k]
		if t.speed == 0 {
			continue
		}
		speed := float64((1-straggler)*t.speed) + float64(straggler*t.run.slowest)
		d := &t.run.phases[t.run.phase].Demand
		amount := speed * t.part(n)
		n.use.cpu += float64(d[contendCPU] * amount)
		n.use.disk += float64(d[contendDisk] * amount)
		n.use.net += float64(d[contendNet] * amount)
		calm *= 1 - t.stalled
	}
	n.use.wait = max(1-n.use.cpu, 0) * min(n.use.disk/n.disk, 1)
	n.use.pressure = 1 - calm
}

// meter lets the next period end, if none is under way.
func (c *Cluster) meter() {
	if c.period > 0 && c.measured.index == 0 {
		c.measured.kind = measured
		c.timers.set(&c.measured, (c.now/c.period+1)*c.period)
	}
}

// report says how nodes were used in the period that ends now.
func (c *Cluster) report() {
	length := float64(c.period)
	share := func(sum float64) float64 { return min(max(sum/length, 0), 1) }
	var uses []dovetail.NodeUse
	busy := false
	for i := range c.nodes {
		n := &c.nodes[i]
		c.read(n)
		busy = busy || len(n.tenants) > 0
		if n.total != (gauge{}) {
			u := dovetail.NodeUse{
				Node: n.Name, CPU: share(n.total.cpu), Wait: share(n.total.wait), Disk: max(n.total.disk/length, 0), Net: max(n.total.net/length, 0),
			}
			if c.contention.Pressure {
				u.Wait = share(n.total.pressure)
			}
			uses = append(uses, u)
		}
		n.total = gauge{}
	}
	if len(uses) > 0 {
		slices.SortFunc(uses, func(a, b dovetail.NodeUse) int { return cmp.Compare(a.Node, b.Node) })
		c.say(dovetail.Used{Period: dovetail.Duration(time.Duration(c.period) * time.Microsecond), Nodes: uses})
	}
	if busy && c.now <= math.MaxInt64-c.period {
		c.meter()
	}
}
