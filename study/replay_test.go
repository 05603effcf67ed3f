package study

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
)

var dayOne = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// second returns a time so many seconds after the first one.
func second(seconds float64) time.Time {
	return dayOne.Add(time.Duration(seconds * float64(time.Second)))
}

// finished returns a run on record of an application with two core replicas and two elastic ones: each placement says from which
// second on it had how many core and elastic replicas.
func finished(id dovetail.RunID, outcome dovetail.Outcome, submitted, ended float64, held ...[3]float64) dovetail.History {
	end := second(ended)
	h := dovetail.History{
		Status: dovetail.RunStatus{
			ID: id, Class: "app?x=1", App: "app", Kind: dovetail.Batch, User: "ada", State: dovetail.Ended, Outcome: outcome,
			Submitted: second(submitted), Ended: &end, Core: 2, ElasticMax: 2,
		},
		App: &dovetail.Application{Name: "app", Kind: dovetail.Batch, Expected: dovetail.Duration(10 * time.Second), Components: []dovetail.Component{
			{Name: "main", Count: 2, Max: 4, Resources: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 20}},
		}},
	}
	for _, p := range held {
		if h.Status.Started == nil {
			t := second(p[0])
			h.Status.Started = &t
		}
		for class, n := range p[1:] {
			h.Placements = append(h.Placements, dovetail.Placement{At: second(p[0]), Slot: dovetail.Slot{Run: id, Elastic: class == 1, Node: "a"}, N: int(n)})
		}
	}
	return h
}

func TestRuntimeAtFullScale(t *testing.T) {
	for _, test := range []struct {
		reason string
		run    dovetail.History
		want   time.Duration
	}{
		{"all replicas all the time", finished(1, dovetail.OutcomeSucceeded, 0, 10, [3]float64{0, 2, 2}), 10 * time.Second},
		{"the core alone takes twice as long", finished(1, dovetail.OutcomeSucceeded, 0, 20, [3]float64{0, 2, 0}), 10 * time.Second},
		{"elastic replicas come and go", finished(1, dovetail.OutcomeSucceeded, 0, 20, [3]float64{4, 2, 0}, [3]float64{8, 2, 2}, [3]float64{10, 2, 1}, [3]float64{20, 0, 0}), 11500 * time.Millisecond},
		{"it was never placed", finished(1, dovetail.OutcomeCancelled, 0, 20), 0},
	} {
		got, ok := RuntimeOf(&test.run)
		if got != test.want || ok != (test.want > 0) {
			t.Errorf("%s: %s, %t; expected %s", test.reason, got, ok, test.want)
		}
	}
}

func TestReplayOfHistory(t *testing.T) {
	lost := finished(5, dovetail.OutcomeSucceeded, 3, 9, [3]float64{3, 2, 0})
	lost.App = nil
	h, err := Replay([]dovetail.History{
		finished(3, dovetail.OutcomeFailed, 5, 30, [3]float64{20, 2, 2}),
		finished(1, dovetail.OutcomeSucceeded, 1, 11, [3]float64{1, 2, 2}),
		finished(4, dovetail.OutcomeCancelled, 2, 3),
		lost,
	})
	if err != nil {
		t.Fatal(err)
	}
	type job struct {
		ID              int64
		Submit, Runtime time.Duration
		User            string
	}
	var got []job
	for _, j := range h.Jobs {
		got = append(got, job{j.ID, j.Submit, j.Runtime, j.User})
	}
	want := []job{{1, 0, 10 * time.Second, "ada"}, {3, 4 * time.Second, 10 * time.Second, "ada"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	notices := strings.Join(h.Notices, "\n")
	for _, say := range []string{"1 run left out that ended without", "1 run left out whose description", "1 run did not succeed"} {
		if !strings.Contains(notices, say) {
			t.Errorf("the notices do not say %q:\n%s", say, notices)
		}
	}
	if r := h.Recorded.Jobs[1]; r.Start != 19*time.Second || r.Finish != 29*time.Second || r.Class != "app?x=1" || r.Outcome != dovetail.OutcomeFailed {
		t.Errorf("what is on record of run 3: %+v; expected a start after 19 s and an end after 29 s", r)
	}

	// A replay on the same cluster comes to the same end where nothing else decided.
	nodes := []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 4000, dovetail.Memory: 1 << 30}}}
	s, err := sim.Play(t.Context(), sim.Options{Nodes: nodes, Config: dovetail.DefaultConfig()}, h.Jobs)
	if err != nil {
		t.Fatal(err)
	}
	h.Classify(s)
	if d := report.Compare(s, h.Recorded); d.Runs != 2 || d.Alone != 0 || d.Groups[len(d.Groups)-2].Name != "app?x=1" {
		t.Errorf("compared with the record: %+v; expected two runs of class app?x=1", d)
	}
	if got := s.Jobs[0].Finish; got != 10*time.Second {
		t.Errorf("the first run ends after %s in the replay; expected 10 s, as on record", got)
	}
}

// A deadline of the calendar is as far from the submission in a play as it was, or earliest deadline first would put runs with a
// target, which counts from the submission, before all of them.
func TestReplayKeepsDeadlines(t *testing.T) {
	first, late, early := finished(1, dovetail.OutcomeSucceeded, 0, 10, [3]float64{0, 2, 2}), finished(2, dovetail.OutcomeSucceeded, 1, 20, [3]float64{10, 2, 2}),
		finished(3, dovetail.OutcomeSucceeded, 2, 30, [3]float64{20, 2, 2})
	late.App.Target = &dovetail.Target{Runtime: dovetail.Duration(time.Hour)}
	by := second(60)
	early.App.FinishBy = &by
	h, err := Replay([]dovetail.History{first, late, early})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Jobs[2].App.FinishBy; !got.Equal(sim.Epoch().Add(time.Minute)) || !early.App.FinishBy.Equal(by) {
		t.Errorf("the deadline is %s; expected a minute after the beginning, and that on record as it was", got)
	}
	o := sim.Options{Config: dovetail.DefaultConfig(), Nodes: []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 4000, dovetail.Memory: 1 << 30}}}}
	o.Config.Policy = "edf"
	s, err := sim.Play(t.Context(), o, h.Jobs)
	if err != nil {
		t.Fatal(err)
	}
	if s.Jobs[2].Start > s.Jobs[1].Start {
		t.Errorf("the run with a minute left starts at %s, that with an hour at %s", s.Jobs[2].Start, s.Jobs[1].Start)
	}
}

// TestReplayKnowsWhatWasPredicted: a policy that orders by size decided by predictions where users said nothing, and does so in a replay.
func TestReplayKnowsWhatWasPredicted(t *testing.T) {
	runs := []dovetail.History{
		finished(1, dovetail.OutcomeSucceeded, 0, 40, [3]float64{0, 2, 2}),
		finished(2, dovetail.OutcomeSucceeded, 1, 72, [3]float64{52, 2, 0}, [3]float64{62, 2, 2}), // predicted for its core alone
		finished(3, dovetail.OutcomeSucceeded, 2, 52, [3]float64{42, 2, 2}),
		finished(4, dovetail.OutcomeSucceeded, 3, 42, [3]float64{40, 2, 2}),
	}
	for i := range runs[:3] {
		runs[i].App.Expected = 0
	}
	runs[1].Status.Prediction = &dovetail.Prediction{ScaleOut: 2, Median: 30}
	runs[2].Status.Prediction = &dovetail.Prediction{ScaleOut: 4, Median: 12}
	runs = append(runs, finished(5, dovetail.OutcomeSucceeded, 4, 90, [3]float64{80, 2, 2}))
	runs[4].App.Expected, runs[4].Status.Prediction = 0, &dovetail.Prediction{ScaleOut: 4, Median: 1e300}
	runs[3].Status.Prediction = &dovetail.Prediction{ScaleOut: 4, Median: 99} // its user knows better
	h, err := Replay(runs)
	if err != nil {
		t.Fatal(err)
	}
	var hints []time.Duration
	for i := range h.Jobs {
		hints = append(hints, time.Duration(h.Jobs[i].App.Expected))
	}
	if diff := cmp.Diff([]time.Duration{0, 15 * time.Second, 12 * time.Second, 10 * time.Second, horizon}, hints); diff != "" {
		t.Errorf("what policies may know (-want +got):\n%s", diff)
	}
	if runs[1].App.Expected != 0 {
		t.Error("what is on record was changed")
	}
	if notices := strings.Join(h.Notices, "\n"); !strings.Contains(notices, "of 1 run nobody knew how long they would take") {
		t.Errorf("the notices do not say that one runtime is known to nobody:\n%s", notices)
	}
	o := sim.Options{Config: dovetail.DefaultConfig(), Nodes: []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 4000, dovetail.Memory: 1 << 30}}}}
	o.Config.Policy, o.Config.Alloc = "sjf", "rigid"
	s, err := sim.Play(t.Context(), o, h.Jobs)
	if err != nil {
		t.Fatal(err)
	}
	if a, b, c := s.Jobs[3].Start, s.Jobs[2].Start, s.Jobs[1].Start; !(a < b && b < c) {
		t.Errorf("with shortest first, runs 4, 3 and 2 start after %s, %s and %s; expected this order", a, b, c)
	}
}

func TestReplayOfNothing(t *testing.T) {
	_, err := Replay([]dovetail.History{finished(1, dovetail.OutcomeCancelled, 0, 1)})
	if dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), "--since") {
		t.Errorf("error %v; expected one that says what to do", err)
	}
}

func TestOnlySuccessTeaches(t *testing.T) {
	x := LearnFrom([]dovetail.History{
		finished(3, dovetail.OutcomeFailed, 0, 1, [3]float64{0, 2, 2}),
		finished(2, dovetail.OutcomeSucceeded, 0, 20, [3]float64{0, 2, 2}),
		finished(1, dovetail.OutcomeSucceeded, 0, 10, [3]float64{0, 2, 2}),
	})
	if n := len(x.classes["app?x=1"]); n != 2 || len(x.hints) != 2 || x.hints[0] != 0 {
		t.Errorf("learned %d runtimes and hints off by %v; expected 2 of each, the earlier end first and right", n, x.hints)
	}
}
