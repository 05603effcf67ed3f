package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Faults says what goes wrong, and how slowly things happen. The zero value is a perfect cluster. Times between faults are
// exponential; each purpose, and each node and run, draws from a stream of its own, so that one fault does not shift the others.
type Faults struct {
	StartDelay  time.Duration `json:"startDelay,omitempty"`  // from the order to start a replica until it is up
	StartJitter time.Duration `json:"startJitter,omitempty"` // mean of an exponential time added to that, for each order
	StopDelay   time.Duration `json:"stopDelay,omitempty"`   // from the order to stop a replica until it is gone; it does no work meanwhile

	ReplicaMTBF time.Duration `json:"replicaMTBF,omitempty"` // mean time between failures of one replica at work; 0: never
	NodeMTBF    time.Duration `json:"nodeMTBF,omitempty"`    // of one node; 0: never
	NodeMTTR    time.Duration `json:"nodeMTTR,omitempty"`    // mean time until a lost node is back; 0: 10 minutes

	// Redo is the share of what a replica did that is lost with it, and done again, when it is reclaimed or dies before its run
	// ends, in [0,1]. In the seed nothing is lost: 0. Policies do not know of it.
	Redo float64 `json:"redo,omitempty"`

	SlowNodes float64 `json:"slowNodes,omitempty"` // share of the nodes that are slow, in [0,1]
	SlowSpeed int     `json:"slowSpeed,omitempty"` // their speed in hundredths; 0: 50
}

const defaultMTTR = 10 * time.Minute

// check returns what is wrong with the faults.
func (f *Faults) check() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"startDelay", f.StartDelay},
		{"startJitter", f.StartJitter},
		{"stopDelay", f.StopDelay},
		{"replicaMTBF", f.ReplicaMTBF},
		{"nodeMTBF", f.NodeMTBF},
		{"nodeMTTR", f.NodeMTTR},
	} {
		if d.value < 0 {
			return dovetail.Errorf(dovetail.Invalid, "faults: %s is %s; expected a time that is not negative", d.name, d.value)
		}
	}
	if !(f.SlowNodes >= 0 && f.SlowNodes <= 1) {
		return dovetail.Errorf(dovetail.Invalid, "faults: slowNodes is %v; expected a share between 0 and 1", f.SlowNodes)
	}
	if !(f.Redo >= 0 && f.Redo <= 1) {
		return dovetail.Errorf(dovetail.Invalid, "faults: redo is %v; expected a share between 0 and 1", f.Redo)
	}
	if f.SlowSpeed < 0 || f.SlowSpeed > Whole {
		return dovetail.Errorf(dovetail.Invalid, "faults: slowSpeed is %d; expected hundredths between 1 and 100", f.SlowSpeed)
	}
	return nil
}

// purpose separates streams of random numbers.
type purpose uint64

const (
	forStarts purpose = iota + 1
	forFailures
	forNodes
	forSlowness
)

// stream returns the random numbers for one purpose and one node or run.
func stream(seed uint64, p purpose, number int64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(p)<<56^uint64(number)))
}

// exponential draws a time with this mean, in whole microseconds, at least 1.
func exponential(r *rand.Rand, mean time.Duration) int64 {
	return max(1, int64(r.ExpFloat64()*float64(mean.Microseconds())))
}

// nodeFault lets a node go with all that is on it, or come back.
func (c *Cluster) nodeFault(i int) {
	n := &c.nodes[i]
	n.up = !n.up
	if n.up {
		n.fault.kind = nodeGone
		c.timers.set(&n.fault, c.now+exponential(n.rng, c.faults.NodeMTBF))
		c.say(dovetail.NodeUp{Node: n.Node})
		return
	}
	mttr := c.faults.NodeMTTR
	if mttr == 0 {
		mttr = defaultMTTR
	}
	n.fault.kind = nodeBack
	c.timers.set(&n.fault, c.now+exponential(n.rng, mttr))
	c.vacate(i)
	c.say(dovetail.NodeDown{Node: n.Name})
}

// vacate drops everything on a node that is gone. The event that the node is gone says so of all of it.
func (c *Cluster) vacate(i int) {
	for _, id := range slices.Sorted(maps.Keys(c.active)) {
		r := c.active[id]
		r.starting = slices.DeleteFunc(r.starting, func(t *timer) bool {
			if t.cell.node != i {
				return false
			}
			c.timers.drop(t)
			t.cell.starting -= t.n
			c.hold(t.cell, r, -t.n)
			return true
		})
		for _, k := range r.cells {
			if k.node == i {
				c.lose(r, k, k.up)
				k.want = 0
			}
		}
	}
	for _, t := range slices.Clone(c.timers.heap) {
		if t.kind == stopped && t.cell.node == i {
			t.cell.stopping -= t.n
			c.timers.drop(t)
		}
	}
}
