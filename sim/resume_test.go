package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/trace"
)

// shadow is a store that follows a play with a core of its own, and calls see between any two instants.
type shadow struct {
	discard

	core *sched.Core
	at   time.Time
	see  func(c *sched.Core, at time.Time)
}

func newShadow(see func(c *sched.Core, at time.Time)) (*shadow, error) {
	core, err := sched.New(dovetail.DefaultConfig())
	return &shadow{core: core, see: see}, err
}

func (s *shadow) Append(_ context.Context, c engine.Changes) error {
	for _, r := range c.Records {
		if r.At.After(s.at) && !s.at.IsZero() {
			s.see(s.core, s.at)
		}
		s.at = r.At
		if err := s.core.Apply(r.At, r.Event); err != nil {
			return err
		}
	}
	s.core.Forget()
	return nil
}

// moment is a state that a play came through.
type moment struct {
	at    time.Time
	state json.RawMessage
}

// moments plays a workload and returns the schedule and every nth state between two instants.
func moments(t *testing.T, o Options, jobs []trace.Job, nth int) (*report.Schedule, []moment) {
	t.Helper()
	var seen []moment
	n := 0
	store, err := newShadow(func(c *sched.Core, at time.Time) {
		if n++; n%nth == 0 {
			state, err := c.Snapshot()
			if err != nil {
				t.Error(err)
			}
			seen = append(seen, moment{at, state})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Store = store
	whole, err := Play(t.Context(), o, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return whole, seen
}

// outcome is what a run comes to, whichever play tells.
type outcome struct{ Start, Finish time.Time }

func outcomes(s *report.Schedule, epoch, after time.Time) map[int64]outcome {
	all := make(map[int64]outcome)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Finish < 0 || epoch.Add(j.Finish).After(after) {
			all[j.ID] = outcome{epoch.Add(j.Start), epoch.Add(j.Finish)}
		}
	}
	return all
}

// A play that is resumed in its middle, with the true runtimes and arrivals, comes to the very end of the whole one.
func TestResumeIsTheSamePlay(t *testing.T) {
	w, err := trace.Generate("zoe", 3, 120)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := Nodes("5x(32cpu,128GiB)")
	if err != nil {
		t.Fatal(err)
	}
	w.Jobs = slices.DeleteFunc(w.Jobs, func(j trace.Job) bool { return j.Full() > 60 }) // the others may not fit
	for i := range w.Jobs {
		w.Jobs[i].ID = int64(i + 1) // as runs are numbered
		w.Jobs[i].Submit /= 20
	}
	for _, test := range []struct {
		reason, policy, alloc string
		preempt               bool
		maxWait, regrow       time.Duration
	}{
		{"the line alone", "fifo", "rigid", false, 0, 0},
		{"elastic replicas are reclaimed", "fifo", "flexible", false, 0, 0},
		{"ranks follow the work that was done before", "srpt-3d", "flexible", false, 0, 0},
		{"ranks move with time", "hrrn", "malleable", false, 0, 0},
		{"arrivals jump the order", "srpt", "flexible", true, 0, 0},
		{"times to come are in the state: waits and pauses", "sjf", "flexible", false, time.Hour, 10 * time.Minute},
	} {
		t.Run(fmt.Sprintf("%s/%s", test.policy, test.alloc), func(t *testing.T) {
			o := Options{Nodes: nodes, Config: dovetail.DefaultConfig()}
			o.Config.Policy, o.Config.Alloc, o.Config.Preempt = test.policy, test.alloc, test.preempt
			o.Config.MaxWait, o.Config.Regrow = dovetail.Duration(test.maxWait), dovetail.Duration(test.regrow)
			whole, seen := moments(t, o, w.Jobs, 13)
			if len(whole.Refused) > 0 || len(seen) < 5 {
				t.Fatalf("%d jobs refused, %d states seen; expected none, and some", len(whole.Refused), len(seen))
			}
			for _, m := range seen {
				next := 0
				for next < len(w.Jobs) && !Epoch().Add(w.Jobs[next].Submit).After(m.at) {
					next++
				}
				arrivals := make([]trace.Job, 0, len(w.Jobs)-next)
				for _, j := range w.Jobs[next:] {
					j.Submit -= m.at.Sub(Epoch())
					arrivals = append(arrivals, j)
				}
				resumed, err := Resume(t.Context(), Options{Validate: true}, Present{
					State: m.state, Now: m.at, Arrivals: arrivals,
					Runtime: func(r *dovetail.Run, _ time.Duration) time.Duration { return w.Jobs[r.ID-1].Runtime },
				})
				if err != nil {
					t.Fatalf("%s: resumed at %s: %v", test.reason, m.at.Sub(Epoch()), err)
				}
				got := outcomes(resumed, resumed.Epoch, m.at)
				if diff := cmp.Diff(outcomes(whole, Epoch(), m.at), got, cmpopts.EquateApproxTime(time.Microsecond)); diff != "" {
					t.Fatalf("%s: resumed at %s (-whole +resumed):\n%s", test.reason, m.at.Sub(Epoch()), diff)
				}
			}
		})
	}
}

// Whatever state the machines are in, the play goes on without the core contradicting it: replicas that start, that are up but
// not ready, that were told to stop, that died, nodes that are gone, runs that stop, are held or suspended.
func TestResumeFromAnyState(t *testing.T) {
	w, err := trace.Generate("zoe", 5, 150)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := Nodes("5x(32cpu,128GiB)")
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		j.Submit /= 20
		app := *j.App
		app.Components = slices.Clone(app.Components)
		if i%3 == 0 {
			app.MaxRuntime = dovetail.Duration(j.Runtime)
		}
		for k := range app.Components {
			app.Components[k].Ready = &dovetail.Ready{File: "ready"}
			app.Components[k].Restart.Retries = 2
		}
		j.App = &app
	}
	o := Options{Nodes: nodes, Config: dovetail.DefaultConfig(), Seed: 7, Faults: Faults{
		StartDelay: 20 * time.Second, StartJitter: 20 * time.Second, StopDelay: 30 * time.Second,
		ReplicaMTBF: 6 * time.Hour, NodeMTBF: 12 * time.Hour, NodeMTTR: time.Hour,
	}}
	o.Config.Preempt = true
	_, seen := moments(t, o, w.Jobs, 97)
	var starting, stopping, lost, suspended int
	for _, m := range seen {
		core, err := sched.Restore(m.state)
		if err != nil {
			t.Fatal(err)
		}
		suspended += suspendSome(t, core, m.at)
		state, err := core.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range core.Live(m.at) {
			for _, k := range l.Cells {
				starting += k.Live - k.Up
				stopping += k.Live - k.Told
			}
		}
		for _, n := range core.Nodes() {
			if !n.Up {
				lost++
			}
		}
		later := m.at.Add(time.Second)
		s, err := Resume(t.Context(), Options{Validate: true}, Present{
			State: state, Now: later,
			Runtime: func(r *dovetail.Run, done time.Duration) time.Duration {
				if r.ID%10 == 0 {
					return 0
				}
				return done + time.Minute
			},
		})
		if err != nil {
			t.Fatalf("resumed at %s: %v", later.Sub(Epoch()), err)
		}
		for i := range s.Jobs {
			if j := &s.Jobs[i]; j.Run%10 == 0 && j.Outcome == dovetail.OutcomeSucceeded {
				t.Errorf("run %d never completes, yet it succeeded at %s", j.Run, j.Finish)
			}
		}
	}
	if starting == 0 || stopping == 0 || lost == 0 || suspended == 0 {
		t.Errorf("%d states, with %d replicas that start, %d that stop, %d nodes lost, %d runs suspended; expected some of each",
			len(seen), starting, stopping, lost, suspended)
	}
}

// suspendSome suspends or holds every seventh run, and returns how many.
func suspendSome(t *testing.T, core *sched.Core, at time.Time) int {
	t.Helper()
	n := 0
	for _, l := range core.Live(at) {
		if l.Run.ID%7 == 0 && l.State != dovetail.Stopping {
			if err := core.Apply(at, dovetail.Suspended{Run: l.Run.ID}); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	return n
}

// A cut play tells what it came to see; a foreseeable mistake is an error.
func TestResumeEnds(t *testing.T) {
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	state, err := core.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	node := dovetail.Node{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 30}}
	job := trace.Job{ID: 1, Runtime: time.Hour, App: &dovetail.Application{Name: "x", Kind: dovetail.Batch, Components: []dovetail.Component{
		{Name: "main", Count: 1, Resources: dovetail.Resources{dovetail.CPU: 1000}},
	}}}
	from := Present{State: state, Now: Epoch(), Arrivals: []trace.Job{job}}
	for _, test := range []struct {
		reason string
		o      Options
		from   func(*Present)
		bad    bool
		start  time.Duration
		ended  bool
	}{
		{"nodes may be added to none", Options{Nodes: []dovetail.Node{node}}, func(*Present) {}, false, 0, true},
		{"until cuts it off", Options{Nodes: []dovetail.Node{node}, Until: time.Minute}, func(*Present) {}, false, 0, false},
		{"no nodes at all", Options{}, func(*Present) {}, true, 0, false},
		{"a policy that there is not", Options{Nodes: []dovetail.Node{node}, Config: dovetail.Config{Policy: "x"}}, func(*Present) {}, true, 0, false},
		{"a state that is none", Options{}, func(p *Present) { p.State = json.RawMessage("{}") }, true, 0, false},
	} {
		p := from
		test.from(&p)
		s, err := Resume(t.Context(), test.o, p)
		if (err != nil) != test.bad {
			t.Errorf("%s: error %v", test.reason, err)
		}
		if err != nil {
			continue
		}
		if len(s.Jobs) != 1 || s.Jobs[0].Start != test.start || s.Jobs[0].Ended() != test.ended {
			t.Errorf("%s: jobs %+v; expected one that starts at %s, ended: %t", test.reason, s.Jobs, test.start, test.ended)
		}
	}
}
