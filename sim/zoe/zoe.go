// Package zoe answers: what would Zoe's own simulator have done?
//
// It is a peer model of the program behind the evaluation of seed 004 (§10), which its authors built on the simulator of Omega.
// Its rules were found by running that program, and the model gives the start and the finish of every application as it does, to two
// microseconds. It is a baseline to compare with, not a mode of our core: what is odd here (a pass that looks at the first trigger of
// an instant only, nothing starts before four applications wait, response ratios the wrong way round) is odd on purpose, and
// stays here. docs/zoe.md lists every difference between Algorithm 1 as printed, this program, and Dovetail.
//
// There is one machine with cpu and memory, and all components of an application are alike. Time is integer microseconds,
// quantities are integers. An application of C core and E elastic components is work W = T·(C+E), done at the rate of the components
// that run (§8.2).
package zoe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/trace"
)

// Options say what to simulate.
type Options struct {
	Policy   string             // one of Policies
	Alloc    string             // one of Allocs
	Preempt  bool               // refused: nobody has written down yet how that program preempts
	Capacity dovetail.Resources // cpu and memory of the one machine; the other kinds are not looked at
	Levels   bool               // fill Schedule.Levels
}

// Run simulates the jobs, which need not be in order. Jobs whose replicas, core and elastic, do not all fit the empty machine are
// dropped when Zoe's simulator loads a trace: they are in Schedule.Refused. Jobs that never start have a negative start and finish;
// nothing starts before four applications wait, and an application is given up when two passes were in vain and no event follows.
//
// It fails with dovetail.Invalid when the options are unknown, a job is nothing that Zoe's simulator knows (several components,
// gpus, no core), or no job fits; and with the context's error.
func Run(ctx context.Context, o Options, jobs []trace.Job) (*report.Schedule, error) {
	rank, err := findRank(o.Policy)
	if err != nil {
		return nil, err
	}
	pass, err := findPass(o.Alloc)
	if err != nil {
		return nil, err
	}
	if o.Preempt {
		return nil, dovetail.Errorf(dovetail.Invalid, "zoe: preemption is not modelled: the rules of that part of Zoe's simulator are not known. "+
			"Simulate without preemption, or with Dovetail's own core")
	}
	apps, refused, err := load(o, jobs)
	if err != nil {
		return nil, err
	}
	m := &machine{free: capacity(o), capacity: capacity(o), apps: apps, rank: rank, pass: pass, levels: o.Levels}
	if err := m.play(ctx); err != nil {
		return nil, err
	}
	s := m.schedule(o)
	s.Refused = refused
	return s, nil
}

// Check returns why Run would not simulate these jobs on a machine with this capacity; nil if it would.
func Check(capacity dovetail.Resources, jobs []trace.Job) error {
	_, _, err := load(Options{Capacity: capacity}, jobs)
	return err
}

func capacity(o Options) room { return room{o.Capacity[dovetail.CPU], o.Capacity[dovetail.Memory]} }

// load returns the applications in order of arrival, and the jobs that do not fit the empty machine with all that they have.
func load(o Options, jobs []trace.Job) (apps []app, refused []report.Refusal, err error) {
	whole := capacity(o)
	if whole.cpu <= 0 || whole.memory <= 0 {
		return nil, nil, dovetail.Errorf(dovetail.Invalid, "zoe: the machine has %s; expected some cpu and some memory", o.Capacity)
	}
	apps = make([]app, 0, len(jobs))
	for i := range jobs {
		a, err := newApp(&jobs[i])
		if err != nil {
			return nil, nil, err
		}
		if n := whole.count(a.each, a.full); n < a.full {
			why := fmt.Sprintf("of its %d replicas, core and elastic, only %d fit the empty machine; Zoe's simulator drops such applications", a.full, n)
			refused = append(refused, report.Refusal{ID: a.job.ID, Why: why})
			continue
		}
		apps = append(apps, a)
	}
	if len(apps) == 0 && len(jobs) > 0 {
		return nil, nil, dovetail.Errorf(dovetail.Invalid, "zoe: not one of the %d jobs fits a machine of %s; simulate a larger one", len(jobs), o.Capacity)
	}
	slices.SortStableFunc(apps, func(a, b app) int { return cmp.Compare(a.submit, b.submit) })
	for i := range apps {
		apps[i].number = i
	}
	return apps, refused, nil
}

// schedule returns what became of the applications.
func (m *machine) schedule(o Options) *report.Schedule {
	s := &report.Schedule{
		Cell:     report.Cell{Policy: o.Policy, Alloc: o.Alloc},
		Capacity: dovetail.Resources{dovetail.CPU: o.Capacity[dovetail.CPU], dovetail.Memory: o.Capacity[dovetail.Memory]},
		Jobs:     make([]report.Job, len(m.apps)),
		Levels:   m.seen,
	}
	for i := range m.apps {
		a := &m.apps[i]
		j := report.Job{
			ID: a.job.ID, Class: a.job.App.Name, User: a.job.User, Kind: a.job.App.Kind, Core: a.core, Elastic: a.full - a.core,
			Runtime: a.job.Runtime, Submit: a.job.Submit, Start: -1, Finish: -1,
		}
		if a.state != waiting {
			j.Start, j.Finish, j.Outcome = micros(a.start), micros(a.end), dovetail.OutcomeSucceeded
		}
		s.Jobs[i] = j
	}
	return s
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
