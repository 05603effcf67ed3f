package sim

import (
	"fmt"
	"math"

	"github.com/dovetail-sched/dovetail/trace"
)

// The resources of a node that runs contend for, in the order of Phase.Demand.
const (
	contendCPU = iota
	contendDisk
	contendNet
	numContended
)

// Contention says how runs on the same nodes share processors, disk and network: the fluid model that describes tables 2 and 3 of seed 000
// (models.md 5.2). A job is a sequence of phases. While a phase goes on, every replica uses so much of its share of a node; what all of them
// would use is fitted into the node by max–min fairness, and the run progresses at the mean of what its nodes let it do. A run that uses
// more than its share of what is idle anyway is faster than its runtime says. It is pure.
type Contention struct {
	// Phases returns what a job demands, in order. Called once for each run. None: it demands nothing, and nobody holds it up.
	Phases func(j *trace.Job) []Phase

	// Headroom says how many times its share of a resource a run can use at the most if it has half a node, because others use less than
	// theirs: the caps of models.md 5.2, 1 + (Headroom−1)·(k−1) on a k-th of a node. 0 stands for 1: never more than its share.
	Headroom [numContended]float64
	// Latency is the speed of a phase that demands nothing, with half a node or less; 0 stands for 1.
	Latency float64
	// Disk is what is left of a disk that two or more runs use, in (0,1]; 0 stands for 1.
	Disk float64
	// Straggler says how much a run waits for its slowest node: its speed is (1−Straggler)·mean + Straggler·min over its nodes.
	Straggler float64
	// Pressure lets the use of nodes tell pressure in place of I/O wait (Cluster.Measure).
	Pressure bool
}

// Phase is a stretch of a job with an even use of resources.
type Phase struct {
	Share  float64               // of the job's runtime, positive; those of a job add up to 1
	Demand [numContended]float64 // what each of its replicas uses of its share of a node's processors, disk and network while it takes its usual time, in [0,1]
}

// diskUser is the demand from which on a run counts as one that uses the disk.
const diskUser = 0.15

// check returns what is wrong with the model.
func (m *Contention) check() error {
	for i, h := range m.Headroom {
		if h != 0 && !(h >= 1 && h < math.Inf(1)) {
			return fmt.Errorf("headroom %g of resource %d: expected 1 or more", h, i)
		}
	}
	switch {
	case m.Phases == nil:
		return fmt.Errorf("no function says which phases a job has")
	case m.Latency != 0 && !(m.Latency >= 1 && m.Latency < math.Inf(1)):
		return fmt.Errorf("latency %g: expected 1 or more", m.Latency)
	case !(m.Disk >= 0 && m.Disk <= 1):
		return fmt.Errorf("efficiency of the disk %g: expected more than 0, and 1 at most", m.Disk)
	case !(m.Straggler >= 0 && m.Straggler <= 1):
		return fmt.Errorf("straggler %g: expected between 0 and 1", m.Straggler)
	}
	return nil
}

// ends returns where each phase of a job with so much work ends, in units of the work; the last one where the job does.
func (m *Contention) ends(j *trace.Job, todo int64) ([]Phase, []int64, error) {
	phases := m.Phases(j)
	if len(phases) == 0 {
		phases = []Phase{{Share: 1}}
	}
	ends := make([]int64, len(phases))
	sum := 0.0
	for i, p := range phases {
		if !(p.Share > 0 && p.Share <= 1) {
			return nil, nil, fmt.Errorf("job %d: phase %d has a share of %g; expected more than 0, and 1 at most", j.ID, i+1, p.Share)
		}
		for _, d := range p.Demand {
			if !(d >= 0 && d <= 1) {
				return nil, nil, fmt.Errorf("job %d: phase %d demands %g of a resource; expected between 0 and 1", j.ID, i+1, d)
			}
		}
		sum += p.Share
		ends[i] = int64(float64(todo) * min(sum, 1))
	}
	if math.Abs(sum-1) > 1e-9 {
		return nil, nil, fmt.Errorf("job %d: the shares of its phases add up to %g; expected 1", j.ID, sum)
	}
	ends[len(ends)-1] = todo
	return phases, ends, nil
}

// Limit returns the speed of a phase at the most, on a k-th of a node, k ≥ 1. For a job that has its nodes for itself that is 1: its runtime
// is what it takes there. Between that and half a node it is interpolated.
func (m *Contention) Limit(demand *[numContended]float64, k float64) float64 {
	limit := math.Inf(1)
	for i, d := range demand {
		if d > 0 {
			limit = min(limit, (1+float64((max(m.Headroom[i], 1)-1)*(max(k, 2)-1)))/d)
		}
	}
	if math.IsInf(limit, 1) { // a phase that demands nothing
		limit = max(m.Latency, 1)
	}
	return 1 + float64((limit-1)*min(k-1, 1))
}

// efficiency returns what the disk of a node does for runs with these demands, as a share of what it does for one.
func efficiency(demand [][numContended]float64, several float64) float64 {
	users := 0
	for i := range demand {
		if demand[i][contendDisk] > diskUser {
			users++
		}
	}
	if users < 2 || several == 0 {
		return 1
	}
	return several
}

// Speeds returns how fast k jobs, or fewer of them that are left, progress that share all of their nodes: max–min fair by progressive
// filling. Demand is what each uses of processors, disk and network of as many nodes as it would have for itself, at speed 1; on shared
// nodes it is a k-th of it. Cap is the speed of each at the most. A node has 1 of each resource, and effDisk of the disk if two or more jobs
// use it (models.md 5.2).
func Speeds(demand [][numContended]float64, limits []float64, k int, effDisk float64) []float64 {
	use := make([][numContended]float64, len(demand))
	for i := range demand {
		for r, d := range demand[i] {
			use[i][r] = d / float64(k)
		}
	}
	return fill(use, limits, [numContended]float64{1, efficiency(demand, effDisk), 1})
}

// fill returns the max–min fair speeds of jobs that use so much of a node at speed 1, each up to its limit: all speeds rise together; a job
// stays behind when it reaches its limit, or when there is no more of something that it uses.
func fill(use [][numContended]float64, limits []float64, room [numContended]float64) []float64 {
	speeds := make([]float64, len(use))
	still := make([]bool, len(use)) // it rises no more
	for left := len(use); left > 0; {
		at := math.Inf(1)
		var full [numContended]float64 // the speed at which a resource is used up
		for r := range full {
			full[r] = math.Inf(1)
			rising, taken := 0.0, 0.0
			for i := range use {
				if still[i] {
					taken += float64(use[i][r] * speeds[i])
				} else {
					rising += use[i][r]
				}
			}
			if rising > 0 {
				full[r] = max(room[r]-taken, 0) / rising
			}
			at = min(at, full[r])
		}
		for i := range use {
			if !still[i] {
				at = min(at, limits[i])
			}
		}
		for i := range use {
			if still[i] {
				continue
			}
			speeds[i] = at
			stuck := at >= limits[i]
			for r := range full {
				stuck = stuck || use[i][r] > 0 && at >= full[r]
			}
			if stuck {
				still[i] = true
				left--
			}
		}
	}
	return speeds
}
