package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// The evaluation of seed 000, section 6: 16 nodes, two jobs to a node, 8 nodes to a job, and 48 jobs that are there from the start. That a job
// holds half of eight nodes is what its triplets of containers are.
const (
	colocationNodes = 16
	nodesPerJob     = 8
	colocationJobs  = 48
	usePeriod       = time.Minute // prototype of seed 000
)

// colocationNoise is how much the runtimes of a recurring job differ: the standard deviation of their logarithm. models.md 5.3 does not say.
const colocationNoise = 0.05

// colocationScale is the factor on the guessed durations of models.md 5.3 with which FIFO takes 148.5 min for queue A, as in table 5 of seed 000, in the
// mean of 16 seeds without stragglers. It was set before anything else was played.
const colocationScale = 1.262

// jobKind is a kind of jobs: how long one takes on nodes of its own, and what it uses of them meanwhile.
type jobKind struct {
	name    string
	seconds float64
	phases  []sim.Phase
}

// contended is a world in which runs contend for their nodes.
type contended struct {
	name      string
	kinds     []jobKind
	headroom  [3]float64
	latency   float64
	disk      float64
	straggler float64
}

// repeated returns phases that alternate so many times, in this share of a job.
func repeated(times int, share float64, phases ...sim.Phase) []sim.Phase {
	var all []sim.Phase
	for range times {
		for _, p := range phases {
			p.Share *= share / float64(times)
			all = append(all, p)
		}
	}
	return all
}

// The phases of models.md 5.2. Iterations are those of tables 1 and 4 of seed 000.
func queryPhases() []sim.Phase {
	return []sim.Phase{{Share: 0.69, Demand: [3]float64{0.42, 1, 0.44}}, {Share: 0.31, Demand: [3]float64{0.75, 0.25, 0.3}}}
}

func means500Phases(iterations int) []sim.Phase {
	return repeated(iterations, 1, sim.Phase{Share: 0.87, Demand: [3]float64{0.98, 0, 0}}, sim.Phase{Share: 0.13})
}

func means1000Phases() []sim.Phase {
	return repeated(4, 1, sim.Phase{Share: 0.4, Demand: [3]float64{0.95, 0, 0}}, sim.Phase{Share: 0.6})
}

func componentsPhases(disk float64, iterations int) []sim.Phase {
	read := sim.Phase{Share: disk, Demand: [3]float64{0.3, 1, 0.4}}
	return append([]sim.Phase{read}, repeated(iterations, 1-disk, sim.Phase{Share: 0.93, Demand: [3]float64{1, 0.1, 0.6}}, sim.Phase{Share: 0.07})...)
}

// fluid returns the model of models.md 5.2 with these kinds of jobs.
func fluid(name string, kinds ...jobKind) *contended {
	return &contended{name: name, kinds: kinds, headroom: [3]float64{1.09, 1.58, 1.14}, latency: 1.13, disk: 0.92}
}

// published is the world of models.md 5.3. What the kinds of table 4 use of a node was not published: TPC-H 3 is taken to be like TPC-H 10, K-Means like
// the one with 500 centers, which has the same points, and connected components like the one with the most iterations.
func published(straggler float64) *contended {
	w := fluid("published",
		jobKind{"tpch10", 700 * colocationScale, queryPhases()}, jobKind{"kmeans", 640 * colocationScale, means500Phases(30)},
		jobKind{"tpch3", 560 * colocationScale, queryPhases()}, jobKind{"cc", 620 * colocationScale, componentsPhases(0.2, 12)},
	)
	w.straggler = straggler
	return w
}

// perturbed returns another world of the same kinds of jobs: every duration, every figure of every vector, and every cap is as it was times a number between
// 0.75 and 1.25, but no demand above 1 and no cap below it. Phases that alternate stay alike.
func (w *contended) perturbed(number int) *contended {
	rng := rand.New(rand.NewPCG(uint64(number), 5))
	some := func() float64 { return 0.75 + 0.5*rng.Float64() }
	v := *w
	v.name, v.kinds = fmt.Sprintf("perturbed %d", number), nil
	for i := range v.headroom {
		v.headroom[i] = max(1, v.headroom[i]*some())
	}
	v.latency = max(1, v.latency*some())
	for _, k := range w.kinds {
		k.seconds *= some()
		now := make(map[[3]float64][3]float64)
		phases := make([]sim.Phase, len(k.phases))
		for i, p := range k.phases {
			d, ok := now[p.Demand]
			if !ok {
				for r, u := range p.Demand {
					d[r] = min(1, u*some())
				}
				now[p.Demand] = d
			}
			phases[i] = sim.Phase{Share: p.Share, Demand: d}
		}
		k.phases = phases
		v.kinds = append(v.kinds, k)
	}
	return &v
}

// opposites is a world in which it matters much who is beside whom: jobs that only read a disk, that only compute, and that only send.
func opposites() *contended {
	return fluid("opposites",
		jobKind{"scan", 600, []sim.Phase{{Share: 1, Demand: [3]float64{0.1, 1, 0.1}}}},
		jobKind{"compute", 600, []sim.Phase{{Share: 1, Demand: [3]float64{1, 0, 0.1}}}},
		jobKind{"exchange", 600, []sim.Phase{{Share: 1, Demand: [3]float64{0.3, 0.1, 1}}}},
	)
}

// thrashing is a world in which two jobs that read one disk get less of it than one after the other would: together 0.5 of it.
func thrashing() *contended {
	w := opposites()
	w.name, w.disk = "thrashing", 0.5
	return w
}

// contention returns the world as the simulator wants it.
func (w *contended) contention() *sim.Contention {
	phases := make(map[string][]sim.Phase)
	for _, k := range w.kinds {
		phases[k.name] = k.phases
	}
	return &sim.Contention{
		Headroom: w.headroom, Latency: w.latency, Disk: w.disk, Straggler: w.straggler,
		Phases: func(j *trace.Job) []sim.Phase { return phases[j.App.Name] },
	}
}

// queue returns the kinds of jobs of a queue of seed 000, section 6.1: (m · each kind) · n.
func (w *contended) queue(m, n int) []int {
	var all []int
	for range n {
		for k := range w.kinds {
			for range m {
				all = append(all, k)
			}
		}
	}
	return all
}

// The names of queues: A and B of seed 000, and our own.
const (
	queueA     = "A"
	queueB     = "B"
	queueMixed = "mixed"
	queueHarm  = "harmful"
)

// windows and stragglers are what queues A and B are played with.
func windows() []int        { return []int{5, 12} }
func stragglers() []float64 { return []float64{0, 0.5} }

// queueOf returns queue A or B.
func queueOf(w *contended, name string) []int {
	if name == queueA {
		return w.queue(4, 3)
	}
	return w.queue(3, 4)
}

// The resources of nodes and replicas: two replicas fill the processors.
const (
	nodeCores   = 8
	nodeMemory  = 16 << 30
	aboutMemory = 4 << 30   // of a replica
	moreMemory  = 512 << 20 // at random
)

// jobs returns the jobs of a queue, all of which are submitted at once. A job is eight components of one replica with a little more or less memory: that is
// how the scheduler, which puts replicas on the nodes with the least containers and then the most free memory, comes to do what seed 000, section 6.1, has:
// empty nodes first, then random ones. The same seed gives the same jobs.
func (w *contended) jobs(queue []int, seed uint64) []trace.Job {
	rng := rand.New(rand.NewPCG(seed, 6))
	jobs := make([]trace.Job, len(queue))
	for i, k := range queue {
		kind := &w.kinds[k]
		app := &dovetail.Application{
			APIVersion: dovetail.APIVersion, Name: kind.name, Kind: dovetail.Batch, Expected: dovetail.Duration(lasting(kind.seconds)),
		}
		for c := range nodesPerJob {
			app.Components = append(app.Components, dovetail.Component{
				Name: fmt.Sprintf("worker-%d", c+1), Count: 1,
				Resources: dovetail.Resources{dovetail.CPU: nodeCores * 1000 / 2, dovetail.Memory: aboutMemory + rng.Int64N(moreMemory)},
			})
		}
		jobs[i] = trace.Job{ID: int64(i + 1), App: app, Runtime: lasting(kind.seconds * math.Exp(colocationNoise*rng.NormFloat64()))}
	}
	return jobs
}

func contendedNodes(n int) []dovetail.Node {
	nodes := make([]dovetail.Node, n)
	for i := range nodes {
		nodes[i] = dovetail.Node{
			Name: fmt.Sprintf("node-%02d", i+1), Capacity: dovetail.Resources{dovetail.CPU: nodeCores * 1000, dovetail.Memory: nodeMemory},
		}
	}
	return nodes
}

// rates returns how fast runs of each kind progress beside one of each kind on all of their nodes, relative to their runtime: M[a,b] of models.md 5.4,
// averaged over when in its course the neighbour is met.
func (w *contended) rates() [][]float64 {
	m := make([][]float64, len(w.kinds))
	for a := range m {
		m[a] = make([]float64, len(w.kinds))
		for b := range m[a] {
			m[a][b] = w.rate(a, b)
		}
	}
	return m
}

// meetings is at how many points in the course of a neighbour a run may begin.
const meetings = 64

func (w *contended) rate(a, b int) float64 {
	seconds := 0.0
	for i := range meetings {
		seconds += w.beside(a, b, (float64(i)+0.5)/meetings)
	}
	return meetings * w.kinds[a].seconds / seconds
}

// course is how far a run is.
type course struct {
	kind  *jobKind
	phase int
	left  float64 // seconds of the phase at speed 1
}

func (c *course) enter(phase int) {
	c.phase = phase % len(c.kind.phases)
	c.left = c.kind.phases[c.phase].Share * c.kind.seconds
}

// beside returns how long a run takes beside endless runs of another kind, the first of which has done this part of its work.
func (w *contended) beside(a, b int, done float64) float64 {
	m := w.contention()
	two := []course{{kind: &w.kinds[a]}, {kind: &w.kinds[b]}}
	two[0].enter(0)
	for two[1].enter(0); done > two[1].kind.phases[two[1].phase].Share; two[1].enter(two[1].phase + 1) {
		done -= two[1].kind.phases[two[1].phase].Share
	}
	two[1].left -= done * two[1].kind.seconds
	demand, limits := make([][3]float64, 2), make([]float64, 2)
	for at := 0.0; ; {
		for i := range two {
			demand[i] = two[i].kind.phases[two[i].phase].Demand
			limits[i] = m.Limit(&demand[i], 2)
		}
		speeds := sim.Speeds(demand, limits, 2, m.Disk)
		step := min(two[0].left/speeds[0], two[1].left/speeds[1])
		at += step
		for i := range two {
			c := &two[i]
			if c.left -= step * speeds[i]; c.left > 1e-9*c.kind.seconds {
				continue
			}
			if c.enter(c.phase + 1); i == 0 && c.phase == 0 {
				return at
			}
		}
	}
}

// alone returns how fast runs of a kind progress on half of their nodes if nobody has the other half.
func (w *contended) alone(kind int) float64 {
	m := w.contention()
	seconds := 0.0
	for _, p := range w.kinds[kind].phases {
		seconds += p.Share / m.Limit(&p.Demand, 2)
	}
	return 1 / seconds
}
