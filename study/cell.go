package study

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/sim/zoe"
	"github.com/dovetail-sched/dovetail/trace"
)

// workload is the jobs of a seed.
type workload struct {
	seed    uint64
	load    sync.Once
	jobs    []trace.Job // those that the cluster can hold
	refused []report.Refusal
	err     error
	left    int // cells that are not done
}

// of loads the jobs when they are first asked for.
func (w *workload) of(ctx context.Context, s *Sweep) ([]trace.Job, error) {
	w.load.Do(func() {
		if w.jobs, w.err = s.Workload(ctx, w.seed); w.err != nil {
			return
		}
		if len(w.jobs) == 0 {
			w.err = dovetail.Errorf(dovetail.Invalid, "there are no jobs in the workload; expected at least one")
		} else if !s.Zoe { // zoe.Run leaves out by itself what does not fit
			w.jobs, w.refused, w.err = s.fitting(w.jobs)
		}
	})
	return w.jobs, w.err
}

// simulate plays a cell.
func (r *runner) simulate(ctx context.Context, i int, w *workload) (*report.Schedule, error) {
	jobs, err := w.of(ctx, r.Sweep)
	if err != nil {
		return nil, err
	}
	c := r.Configs[i%len(r.Configs)]
	name := report.Cell{Policy: c.Policy, Alloc: c.Alloc, Preempt: c.Preempt, Seed: w.seed}
	var s *report.Schedule
	if r.Zoe {
		s, err = zoe.Run(ctx, zoe.Options{Policy: c.Policy, Alloc: c.Alloc, Preempt: c.Preempt, Capacity: r.capacity(), Levels: true}, jobs)
	} else {
		s, err = r.play(ctx, i, c, w, jobs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", name.Setting(), name.Seed, err)
	}
	s.Cell = name
	return s, nil
}

// play simulates a cell with the core of the daemon.
func (r *runner) play(ctx context.Context, i int, c dovetail.Config, w *workload, jobs []trace.Job) (*report.Schedule, error) {
	o := sim.Options{
		Nodes: r.Nodes, Config: c, Model: r.Model, Faults: r.Faults, Seed: w.seed, Placements: r.Timelines,
		Progress: func(_, ended int, _ time.Duration) { r.advance(i, float64(ended)/float64(len(jobs))) },
	}
	if r.Hash {
		o.Store = sim.NewDigest()
	}
	s, err := sim.Play(ctx, o, jobs)
	if err != nil {
		return nil, err
	}
	s.Refused = slices.Concat(w.refused, s.Refused) // what fits for the strictest configuration fits for this one, but for greed
	if r.Timelines {
		s.Nodes, s.Epoch = r.Nodes, sim.Epoch()
		for k := range s.Jobs { // all of them fit, so runs are numbered as jobs are
			s.Jobs[k].Run, s.Jobs[k].App = dovetail.RunID(k+1), jobs[k].App
		}
	}
	return s, nil
}

// capacity returns what all nodes have.
func (s *Sweep) capacity() dovetail.Resources {
	var sum dovetail.Resources
	for i := range s.Nodes {
		sum = sum.Plus(s.Nodes[i].Capacity)
	}
	return sum
}

// fitting returns the jobs that the empty cluster can hold, and the others.
func (s *Sweep) fitting(jobs []trace.Job) ([]trace.Job, []report.Refusal, error) {
	core, err := s.empty()
	if err != nil {
		return nil, nil, err
	}
	why := make(map[*dovetail.Application]error) // workloads have many jobs of one application
	fits := make([]trace.Job, 0, len(jobs))
	var refused []report.Refusal
	for i := range jobs {
		j := &jobs[i]
		reason, known := why[j.App]
		if !known {
			reason = core.Fit(j.App)
			why[j.App] = reason
		}
		if reason != nil {
			refused = append(refused, report.Refusal{ID: j.ID, Why: reason.Error()})
			continue
		}
		fits = append(fits, *j)
	}
	if len(refused) == 0 {
		return jobs, nil, nil
	}
	if len(fits) == 0 {
		return nil, nil, dovetail.Errorf(dovetail.Invalid, "not one of the %d jobs fits the cluster; job %d: %s", len(jobs), refused[0].ID, refused[0].Why)
	}
	return fits, refused, nil
}

// empty returns a core that knows the nodes, and no run.
func (s *Sweep) empty() (*sched.Core, error) {
	core, err := sched.New(s.strictest())
	if err != nil {
		return nil, err
	}
	cluster, err := sim.NewCluster(s.Nodes, nil, sim.Faults{}, 0, sim.Epoch())
	if err != nil {
		return nil, err
	}
	for _, e := range cluster.Nodes() {
		if err := core.Apply(sim.Epoch(), e); err != nil {
			return nil, err
		}
	}
	return core, nil
}
