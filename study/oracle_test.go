package study

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// standIn is an engine whose core stands still, and a record.
type standIn struct {
	core    *sched.Core
	now     time.Time
	looks   int // calls of Inspect
	asked   int // calls of History
	history []dovetail.History
	failed  error
}

func (s *standIn) Inspect(_ context.Context, f func(*sched.Core, time.Time)) error {
	s.looks++
	f(s.core, s.now)
	return s.failed
}

func (s *standIn) History(_ context.Context, f engine.HistoryFilter) ([]dovetail.History, error) {
	if s.asked++; !f.Replay {
		return nil, errors.New("neighbours are not needed")
	}
	return s.history, s.failed
}

// apply applies events and what is decided upon them, and reports replicas up.
func (s *standIn) apply(t testing.TB, events ...dovetail.Event) {
	t.Helper()
	for _, e := range events {
		if err := s.core.Apply(s.now, e); err != nil {
			t.Fatal(err)
		}
	}
	plan := s.core.Decide(s.now)
	if plan.Empty() {
		return
	}
	if err := s.core.Apply(s.now, dovetail.Decided{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	for _, a := range plan.Actions {
		if a, ok := a.(dovetail.RunReplicas); ok {
			if err := s.core.Apply(s.now, dovetail.ReplicasUp{Slot: a.Slot, N: a.N}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// submitted returns the event that a run was submitted that fills the only node.
func (s *standIn) submitted(kind dovetail.Kind, expected time.Duration) dovetail.Submitted {
	id := s.core.Next()
	app := &dovetail.Application{Name: "app", Kind: kind, Expected: dovetail.Duration(expected), Components: []dovetail.Component{
		{Name: "main", Count: 4, Resources: dovetail.Resources{dovetail.CPU: 1000}},
	}}
	return dovetail.Submitted{Run: &dovetail.Run{ID: id, Name: fmt.Sprintf("run-%d", id), Class: fmt.Sprintf("class-%d", id), App: app}}
}

// newStandIn returns an engine with one node, filled by run 1, for which runs 2 and 3 wait.
func newStandIn(t *testing.T, first dovetail.Kind) (*standIn, *Oracle) {
	t.Helper()
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &standIn{core: core, now: dayOne}
	s.apply(t, dovetail.NodeUp{Node: dovetail.Node{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 4000}}})
	s.apply(t, s.submitted(first, 10*time.Minute))
	s.apply(t, s.submitted(dovetail.Batch, 20*time.Minute))
	s.apply(t, s.submitted(dovetail.Batch, time.Minute))
	o := NewOracle(s, s)
	o.now = func() time.Time { return s.now }
	return s, o
}

// Tests of an oracle run in a bubble: it makes as many plays as there is time for, and there no time passes while it plays, however slow the machine is.
func TestOracleExpects(t *testing.T) { synctest.Test(t, testOracleExpects) }

func testOracleExpects(t *testing.T) {
	s, o := newStandIn(t, dovetail.Batch)
	s.now = s.now.Add(5 * time.Minute)
	x, err := o.Expect(t.Context(), 2)
	if err != nil || x == nil || x.Median == nil {
		t.Fatalf("run 2: %+v, %v; expected times", x, err)
	}
	if m := x.Median.Sub(s.now); m < time.Minute || m > 15*time.Minute || !x.Earliest.Before(*x.Median) || !x.Median.Before(*x.Latest) {
		t.Errorf("run 2 is expected after %s; expected about six minutes, within an interval", m)
	}
	if x.Confidence != 0.8 || x.Plays == 0 || !strings.Contains(x.Basis, "of 3 runs from what was expected of them") {
		t.Errorf("run 2: %+v; expected 80 %% and what that is based on", x)
	}
	later, err := o.Expect(t.Context(), 3)
	if err != nil || later == nil || !later.Median.After(*x.Median) {
		t.Fatalf("run 3: %+v, %v; expected it after run 2", later, err)
	}
	for _, id := range []dovetail.RunID{1, 99} {
		if x, err := o.Expect(t.Context(), id); x != nil || err != nil {
			t.Errorf("run %d does not wait: %+v, %v; expected nothing", id, x, err)
		}
	}
}

// A forecast is made once for all who ask, until something happens or it is too old.
func TestOracleRemembers(t *testing.T) { synctest.Test(t, testOracleRemembers) }

func testOracleRemembers(t *testing.T) {
	s, o := newStandIn(t, dovetail.Batch)
	ask := func(reason string, id dovetail.RunID, copies, lessons int) {
		t.Helper()
		was := o.last
		before := s.asked
		if x, err := o.Expect(t.Context(), id); x == nil || err != nil {
			t.Fatalf("%s: %+v, %v; expected a time", reason, x, err)
		}
		if made := o.last != was; made != (copies == 1) {
			t.Errorf("%s: a forecast was made: %t; expected %d", reason, made, copies)
		}
		if got := s.asked - before; got != lessons {
			t.Errorf("%s: the record was read %d times; expected %d", reason, got, lessons)
		}
	}
	ask("the first question", 2, 1, 1)
	ask("the same again", 2, 0, 0)
	ask("about another run", 3, 0, 0)
	s.now = s.now.Add(freshFor + time.Second)
	ask("later", 3, 1, 0)
	s.apply(t, s.submitted(dovetail.Batch, time.Minute))
	ask("about a new run", 4, 1, 0)
	s.now = s.now.Add(learnEvery)
	ask("much later", 4, 1, 1)
	o.last.rest = s.now.Add(time.Minute)
	s.now = s.now.Add(30 * time.Second)
	ask("while the engine rests from the last copy", 4, 0, 0)
}

func TestOracleSaysNever(t *testing.T) { synctest.Test(t, testOracleSaysNever) }

func testOracleSaysNever(t *testing.T) {
	_, o := newStandIn(t, dovetail.Service)
	x, err := o.Expect(t.Context(), 2)
	if err != nil || x == nil || x.Earliest != nil || x.Median != nil || x.Never != x.Plays {
		t.Errorf("behind a service: %+v, %v; expected that it never starts", x, err)
	}
	if x != nil && !strings.Contains(x.Basis, "1 run taken to go on for ever") {
		t.Errorf("basis %q does not say why", x.Basis)
	}
}

func TestOracleWhatIf(t *testing.T) { synctest.Test(t, testOracleWhatIf) }

func testOracleWhatIf(t *testing.T) {
	s, o := newStandIn(t, dovetail.Batch)
	sjf := s.core.Config()
	sjf.Policy = "sjf"
	w, err := o.WhatIf(t.Context(), dovetail.Alternative{Config: sjf, Submit: &dovetail.Run{
		Class: "new", App: s.submitted(dovetail.Batch, 2*time.Minute).Run.App,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Runs) != 3 || w.Now.Policy != "fifo" || w.Then.Policy != "sjf" || w.Plays == 0 {
		t.Fatalf("%+v; expected the two runs that wait and the new one, under fifo and sjf", w)
	}
	long, short, news := w.Runs[0], w.Runs[1], w.Runs[2]
	if long.Change == nil || long.Change.Low <= 0 || short.Change == nil || short.Change.High >= 0 {
		t.Errorf("changes %+v and %+v; expected the long run later and the short one sooner in nearly all plays", long.Change, short.Change)
	}
	if !news.Submitted || news.Start != nil || news.Run != 4 || news.Name != "app-4" || news.ThenStart.Median == nil {
		t.Errorf("the new run: %+v; expected number 4, which starts only in the alternative", news)
	}
	if !news.ThenStart.Median.After(*short.ThenStart.Median) || !news.ThenFinish.Median.After(*news.ThenStart.Median) {
		t.Errorf("the new run starts %s and ends %s; expected after the short one, and some time in between", news.ThenStart.Median, news.ThenFinish.Median)
	}

	for _, test := range []struct {
		reason string
		a      func(*dovetail.Alternative)
		code   dovetail.ErrorCode
	}{
		{"no such policy", func(a *dovetail.Alternative) { a.Config.Policy = "lifo" }, dovetail.Invalid},
		{"a node that is there", func(a *dovetail.Alternative) { a.Nodes = []dovetail.Node{{Name: "a"}} }, dovetail.Invalid},
		{"it never fits", func(a *dovetail.Alternative) {
			r := s.submitted(dovetail.Batch, time.Minute).Run
			r.App.Components[0].Count = 5
			a.Submit = r
		}, dovetail.Invalid},
	} {
		a := dovetail.Alternative{Config: s.core.Config()}
		test.a(&a)
		if _, err := o.WhatIf(t.Context(), a); dovetail.CodeOf(err) != test.code {
			t.Errorf("%s: error %v; expected %s", test.reason, err, test.code)
		}
	}
}

func TestOracleGivesUp(t *testing.T) {
	s, o := newStandIn(t, dovetail.Batch)
	o.turn <- struct{}{} // somebody else asks, and takes its time
	if x, err := o.Expect(t.Context(), 2); x != nil || err != nil {
		t.Errorf("while another question is answered: %+v, %v; expected nothing", x, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := o.WhatIf(ended, dovetail.Alternative{Config: s.core.Config()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v when the caller has gone; expected its cause", err)
	}
	o.leave()
	s.failed = dovetail.Errorf(dovetail.Internal, "the disk is gone")
	if _, err := o.Expect(t.Context(), 2); err == nil {
		t.Error("the record cannot be read; expected an error")
	}
}

// A play that time cut off tells what it came to see, and says so.
func TestForecastIsCut(t *testing.T) {
	s, _ := newStandIn(t, dovetail.Batch)
	state, err := s.core.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	f := Forecast{State: state, Now: s.now, Past: NewExperience(), Plays: 8}
	u, err := f.Play(ended)
	if err != nil || u.Plays != 1 || len(u.Runs) != 2 || len(u.Runs[0].Start) != 1 {
		t.Errorf("%+v, %v; expected two runs that wait, and one short play", u, err)
	}
	cut := Future{Now: s.now, Cut: true, Runs: u.Runs, Basis: "x"}
	if x := cut.Expect([]time.Duration{time.Minute}); x.Confidence != 0 || x.Earliest != nil || x.Median.Sub(s.now) != time.Minute {
		t.Errorf("of one play: %+v; expected its time, and no interval", x)
	}
	if x := cut.Expect(nil); x.Median != nil || x.Never != 0 {
		t.Errorf("what the part did not come to see: %+v; expected nothing, in particular not never", x)
	}
	if x := u.Expect([]time.Duration{1, 2, 3}); x.Confidence != 0.5 {
		t.Errorf("an interval from three plays has confidence %v; expected half", x.Confidence)
	}
	if b := cut.basis(); !strings.HasPrefix(b, "A part of one play") {
		t.Errorf("basis %q does not say that time was up", b)
	}
}

func TestPercentile(t *testing.T) {
	const us = time.Microsecond
	for _, test := range []struct {
		reason string
		times  []time.Duration
		p      float64
		want   time.Duration
		ok     bool
	}{
		{"nothing", nil, 0.5, 0, false},
		{"one value is all of them", []time.Duration{7 * us}, 0.1, 7 * us, true},
		{"between two", []time.Duration{3 * us, 1 * us}, 0.5, 2 * us, true},
		{"a tenth of further values lie below the lowest of nine", []time.Duration{9 * us, 2 * us, 3 * us, 4 * us, 5 * us, 6 * us, 7 * us, 8 * us, 1 * us}, 0.1, 1 * us, true},
		{"never is later than anything", []time.Duration{5 * us, noTime, 4 * us}, 0.25, 4 * us, true},
		{"the middle never happens", []time.Duration{noTime, noTime, 4 * us}, 0.5, 0, false},
	} {
		got, ok := percentile(test.times, test.p)
		if got != test.want || ok != test.ok {
			t.Errorf("%s: %s, %t; expected %s, %t", test.reason, got, ok, test.want, test.ok)
		}
	}
}
