package study

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// zoePart is a workload on a cluster, by one model: one sweep of the evaluation.
type zoePart struct {
	name    string
	title   string
	cluster string
	peer    bool    // by the model of Zoe's own simulator
	of      string  // generator; empty: the trace that was given
	share   float64 // how many of the applications that were asked for, at any scale; 0: all of the generator's
	load    float64 // work by what the cluster can do while applications arrive, on average at full scale
}

// The parts of the evaluation.
const (
	zoeBatch      = "batch"
	zoeOneMachine = "batch-one-machine"
	zoePeer       = "batch-peer"
	zoeInelastic  = "inelastic"
	zoeMixed      = "mixed"
	zoeTestbed    = "testbed"
	zoeTraceNodes = "trace"
	zoeTraceOne   = "trace-one-machine"
	zoeTracePeer  = "trace-peer"
)

// The clusters of seed 004 §10.1 and §11, and those on which Zoe's own program ran the trace of a thousand applications.
const (
	clusterZoe        = "100x(32cpu,128GiB)"
	clusterOneMachine = "1x(3200cpu,12800GiB)"
	clusterTestbed    = "10x(32cpu,128GiB)"
	clusterTrace      = "25x(40cpu,56GiB)"
	clusterTraceOne   = "1x(1000cpu,1400GiB)"
)

// zoeParts returns all parts, in the order in which they are simulated. Loads are those of trace/generate_zoe.go over seeds 1 to 10.
func zoeParts() []zoePart {
	return []zoePart{
		{zoeBatch, "batch applications", clusterZoe, false, "zoe-batch", 0.8, 1.28},
		{zoeInelastic, "batch applications, all components core", clusterZoe, false, "zoe-inelastic", 0.8, 1.28},
		{zoeMixed, "batch and interactive applications", clusterZoe, false, "zoe", 1, 1.4},
		{zoeTestbed, "testbed", clusterTestbed, false, "zoe-testbed", 0, 0},
		{zoeOneMachine, "batch applications on one machine", clusterOneMachine, false, "zoe-batch", 0.8, 1.28},
		{zoePeer, "batch applications, Zoe's simulator", clusterOneMachine, true, "zoe-batch", 0.8, 1.28},
		{zoeTraceNodes, "trace", clusterTrace, false, "", 0, 0},
		{zoeTraceOne, "trace on one machine", clusterTraceOne, false, "", 0, 0},
		{zoeTracePeer, "trace, Zoe's simulator", clusterTraceOne, true, "", 0, 0},
	}
}

// at names one setting of a part.
type at struct {
	part, policy, alloc string
	preempt             bool
}

// config returns the configuration of a setting. Interactive runs go first only together with preemption: without it, all wait in one
// line (§10.5).
func (a at) config() dovetail.Config {
	c := dovetail.DefaultConfig()
	c.Policy, c.Alloc, c.Preempt, c.InteractiveFirst = a.policy, a.alloc, a.preempt, a.preempt
	return c
}

// ZoeCell is what became of one cell of the evaluation.
type ZoeCell struct {
	Part string `json:"part"`
	report.Metrics

	// Means while applications arrive: from the first submission to the last.
	ArrivingWaiting float64 `json:"arrivingWaiting"` // runs
	ArrivingServing float64 `json:"arrivingServing"`
	ArrivingCPU     float64 `json:"arrivingCpuAllocation"` // share of the capacity, in [0,1]
	ArrivingMemory  float64 `json:"arrivingMemoryAllocation"`

	Fates string `json:"fates"` // hash of the start and the finish of every run

	digest *report.Digest
}

// kind returns how the runs of a kind fared.
func (c *ZoeCell) kind(name string) report.Group {
	i := slices.IndexFunc(c.Groups, func(g report.Group) bool { return g.By == report.ByKind && g.Name == name })
	if i < 0 {
		return report.Group{}
	}
	return c.Groups[i]
}

// arriving fills the means while applications arrive.
func (c *ZoeCell) arriving(s *report.Schedule) {
	first, last := s.Jobs[0].Submit, s.Jobs[len(s.Jobs)-1].Submit
	if last == first {
		return
	}
	for i := range s.Levels {
		l := &s.Levels[i]
		until := last
		if i+1 < len(s.Levels) {
			until = min(last, s.Levels[i+1].At)
		}
		part := float64(until-max(l.At, first)) / float64(last-first)
		if part <= 0 {
			continue
		}
		c.ArrivingWaiting += float64(part * float64(l.Waiting))
		c.ArrivingServing += float64(part * float64(l.Serving))
		c.ArrivingCPU += float64(part * float64(l.Core[dovetail.CPU]+l.Elastic[dovetail.CPU]))
		c.ArrivingMemory += float64(part * float64(l.Core[dovetail.Memory]+l.Elastic[dovetail.Memory]))
	}
}

// fates returns a hash of when each run started and finished.
func fates(jobs []report.Job) string {
	h := sha256.New()
	var b [24]byte
	for i := range jobs {
		binary.LittleEndian.PutUint64(b[:8], uint64(jobs[i].ID))
		binary.LittleEndian.PutUint64(b[8:16], uint64(jobs[i].Start))
		binary.LittleEndian.PutUint64(b[16:], uint64(jobs[i].Finish))
		h.Write(b[:])
	}
	const shown = 8 // bytes, plenty to tell a few hundred cells apart
	return hex.EncodeToString(h.Sum(nil)[:shown])
}

// run simulates these settings of a part, and returns the cells that were done: all, if there is no error.
func (p *zoePart) run(ctx context.Context, z *Zoe, settings []at, progress func(Progress)) ([]ZoeCell, error) {
	nodes, err := sim.Nodes(p.cluster)
	if err != nil {
		return nil, err
	}
	s := Sweep{
		Nodes: nodes, Zoe: p.peer, Hash: z.Hash && !p.peer, Workers: z.Workers, Seeds: z.seeds(p), Digests: z.Digests,
		Progress: progress,
	}
	for _, a := range settings {
		s.Configs = append(s.Configs, a.config())
	}
	capacity := s.capacity()
	s.Workload = func(_ context.Context, seed uint64) ([]trace.Job, error) { return p.workload(z, seed, capacity) }
	kept := make(map[report.Cell]*ZoeCell)
	s.Keep = func(schedule *report.Schedule) error {
		c := &ZoeCell{Part: p.name, Fates: fates(schedule.Jobs)}
		c.arriving(schedule)
		kept[schedule.Cell] = c
		return nil
	}
	results, err := s.Run(ctx)
	var cells []ZoeCell
	for i := range results {
		if c := kept[results[i].Metrics.Cell]; c != nil {
			c.Metrics, c.digest = results[i].Metrics, results[i].Digest
			cells = append(cells, *c)
		}
	}
	return cells, err
}

// workload returns the jobs of a seed.
func (p *zoePart) workload(z *Zoe, seed uint64, capacity dovetail.Resources) ([]trace.Job, error) {
	switch {
	case p.of == "":
		return z.Trace, nil
	case p.share > 0:
		return shrunk(p.of, seed, p.jobs(z.Applications), p.jobs(ZoeFull), p.load, capacity)
	}
	w, err := trace.Generate(p.of, seed, 0)
	if err != nil {
		return nil, err
	}
	return w.Jobs, nil
}

// jobs returns how many of so many applications of the full mix are in the part.
func (p *zoePart) jobs(applications int) int { return int(p.share * float64(applications)) }
