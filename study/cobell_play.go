package study

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// never is longer than any run: a scale-out is chosen once, as in the seed.
const never = 10_000 * time.Hour

// play lets the scheduler allocate: the core decides, the learner learns from the history that the store keeps, and the simulated machines
// hold runs up by the truth.
func (p *targetPlay) play(ctx context.Context, t *truth, store Memory) ([]TargetRun, error) {
	learner, err := learn.New(store, p.policy.method)
	if err != nil {
		return nil, err
	}
	nodes, err := sim.Nodes(fmt.Sprintf("%dx(8cpu,16GiB)", targetNodes))
	if err != nil {
		return nil, err
	}
	o := sim.Options{Nodes: nodes, Config: dovetail.DefaultConfig(), Model: t, Interference: t, Store: store}
	o.Config.Place = "pack" // beside each other, not apart
	if !p.policy.replan {
		o.Config.Replan = dovetail.Duration(never)
	}
	prior := []dovetail.Event{dovetail.Imported{Runs: p.pair.prior(t)}}
	o.After = func(ctx context.Context, c *engine.Changes) ([]dovetail.Event, error) {
		if prior != nil {
			first := prior
			prior = nil
			return first, nil
		}
		return learner.After(ctx, c)
	}
	meetings := p.pair.meetings(t)
	out, err := sim.Play(ctx, o, p.jobs(t, meetings))
	if err != nil {
		return nil, err
	}
	if len(out.Jobs) != 2*len(meetings) {
		return nil, fmt.Errorf("%d of %d jobs did not fit: %v", len(out.Refused), 2*len(meetings), out.Refused)
	}
	return p.found(ctx, t, store, meetings)
}

// jobs returns K and J of each meeting, hours apart.
func (p *targetPlay) jobs(t *truth, meetings []meeting) []trace.Job {
	appJ, appK := p.pair.applications(p.policy.confidence)
	var jobs []trace.Job
	for i, m := range meetings {
		at := time.Duration(i) * pairEvery
		jobs = append(jobs,
			trace.Job{ID: int64(2*i + 1), Submit: at, App: appK, Runtime: lasting(t.alone(p.pair.beside, scaleK) * m.noiseK)},
			trace.Job{ID: int64(2*i + 2), Submit: at + lasting(m.delay), App: appJ, Runtime: lasting(t.alone(p.pair.job, highJ) * m.noiseJ)})
	}
	return jobs
}

// lasting returns a time in whole microseconds.
func lasting(s float64) time.Duration { return time.Duration(s*1e6) * time.Microsecond }

// found reads what became of the runs of J from the history, as the learner does.
func (p *targetPlay) found(ctx context.Context, t *truth, store Memory, meetings []meeting) ([]TargetRun, error) {
	history, err := store.History(ctx, engine.HistoryFilter{Class: p.pair.job, Limit: 2 * runsOfPair, Learn: true})
	if err != nil {
		return nil, err
	}
	if len(history) != len(meetings) {
		return nil, fmt.Errorf("%d runs of %s in the history; want %d", len(history), p.pair.job, len(meetings))
	}
	slices.Reverse(history)
	var runs []TargetRun
	for i := range history {
		past := learn.PastOf(&history[i])
		if past.Outcome != dovetail.OutcomeSucceeded {
			return nil, fmt.Errorf("run %d of %s: %s", past.Run, past.Class, past.Outcome)
		}
		overlap := 0.0
		for _, o := range past.Overlaps {
			overlap += o.Ratio
		}
		r := newTargetRun(&p.policy, &p.pair, t, i, &meetings[i])
		r.ScaleOut, r.Overlap, r.Seconds, r.NodeSeconds = past.ScaleOut, overlap, past.Runtime, past.ScaleOut*past.Runtime
		runs = append(runs, r)
	}
	return runs, nil
}
