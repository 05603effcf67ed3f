package learn_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
)

func at(seconds float64) time.Time { return day.Add(time.Duration(seconds * float64(time.Second))) }

// driven is an application whose driver ends it, with 2 to 8 workers.
func driven() *dovetail.Application {
	return &dovetail.Application{Name: "sort", Kind: dovetail.Batch, Components: []dovetail.Component{
		{Name: "driver", Count: 1, Ends: "run"}, {Name: "worker", Count: 2, Max: 8},
	}}
}

// place says that from a time on there are n replicas of a component of run 7 on a node.
func place(sec float64, component int, elastic bool, node string, n int) dovetail.Placement {
	return dovetail.Placement{At: at(sec), Slot: dovetail.Slot{Run: 7, Component: component, Elastic: elastic, Node: node}, N: n}
}

func finished(placements ...dovetail.Placement) *dovetail.History {
	started, ready, ended := at(0), at(10), at(110)
	return &dovetail.History{
		Status: dovetail.RunStatus{
			ID: 7, Class: "sort?n=1", App: "sort", State: dovetail.Ended, Outcome: dovetail.OutcomeSucceeded, Started: &started, Ready: &ready, Ended: &ended,
			InputSize: 5e9, NodeClasses: []string{"big"},
		},
		Params: map[string]string{"n": "1"}, App: driven(), Placements: placements,
	}
}

func TestPastOf(t *testing.T) {
	start := []dovetail.Placement{place(0, 0, false, "a", 1), place(0, 1, false, "a", 1), place(0, 1, false, "b", 1)}
	for _, test := range []struct {
		reason  string
		history *dovetail.History
		change  func(*dovetail.History)
		want    dovetail.Past // but what all have in common
	}{
		{"core workers alone", finished(start...), nil, dovetail.Past{Runtime: 100, ScaleOut: 2}},
		{"elastic ones from the beginning", finished(append(start, place(5, 1, true, "b", 4))...), nil, dovetail.Past{Runtime: 100, ScaleOut: 6}},
		{"elastic ones that come and go", finished(append(start, place(35, 1, true, "b", 4), place(60, 1, true, "b", 1))...), nil, dovetail.Past{
			Runtime: 100, ScaleOut: 2*.25 + 6*.25 + 3*.5,
			Stretches: []dovetail.Stretch{{ScaleOut: 2, Seconds: 25}, {ScaleOut: 6, Seconds: 25}, {ScaleOut: 3, Seconds: 50}},
		}},
		{"a replica that moves", finished(append(start, place(60, 1, false, "b", 0), place(60, 1, false, "c", 1))...), nil, dovetail.Past{Runtime: 100, ScaleOut: 2}},
		{"the driver ends, and the workers follow", finished(append(start, place(0, 1, true, "b", 2), place(100, 0, false, "a", 0), place(101, 1, false, "a", 0),
			place(103, 1, true, "b", 0), place(110, 1, false, "b", 0))...), nil, dovetail.Past{Runtime: 100, ScaleOut: 4}},
		{"a driver that was restarted", finished(append(start, place(50, 0, false, "a", 0), place(52, 0, false, "a", 1), place(60, 1, true, "b", 2))...),
			func(h *dovetail.History) { h.Status.Retries = 1 }, dovetail.Past{
				Runtime: 100, ScaleOut: 3, Preempted: true, Stretches: []dovetail.Stretch{{ScaleOut: 2, Seconds: 50}, {ScaleOut: 4, Seconds: 50}},
			}},
		{"workers that end by themselves", finished(append(start[1:], place(90, 1, false, "a", 0), place(110, 1, false, "b", 0))...),
			func(h *dovetail.History) {
				h.App.Components = h.App.Components[1:]
				h.Placements = onComponent(h.Placements, 0)
			}, dovetail.Past{Runtime: 100, ScaleOut: 2}},
		{"suspended", finished(start...), func(h *dovetail.History) { h.Suspended = true }, dovetail.Past{Runtime: 100, ScaleOut: 2, Preempted: true}},
		{"it was not recorded when it was ready", finished(start...), func(h *dovetail.History) { h.Status.Ready = nil }, dovetail.Past{Runtime: 110, ScaleOut: 2}},
		{"it never started", finished(), func(h *dovetail.History) { h.Status.Ready, h.Status.Started = nil, nil; h.Status.Outcome = "cancelled" }, dovetail.Past{Outcome: "cancelled"}},
		{"the application is not known", finished(start...), func(h *dovetail.History) { h.App = nil }, dovetail.Past{Runtime: 100, ScaleOut: 3}},
		{"neighbours: half of the time on one of two nodes, twice", finished(start...), func(h *dovetail.History) {
			h.Neighbours = []dovetail.Neighbour{
				{Run: 1, Class: "z", Node: "a", From: at(0), To: at(60)}, {Run: 2, Class: "z", Node: "a", From: at(50), To: at(150)},
				{Run: 3, Class: "before", Node: "a", From: at(0), To: at(10)}, {Run: 4, Class: "c", Node: "b", From: at(10), To: at(110)},
			}
		}, dovetail.Past{Runtime: 100, ScaleOut: 2, Overlaps: []dovetail.Overlap{{Class: "c", Ratio: .5}, {Class: "z", Ratio: .55}}}},
		{"neighbours: a node that it left", finished(append(start, place(60, 1, false, "b", 0), place(60, 1, false, "a", 2))...), func(h *dovetail.History) {
			h.Neighbours = []dovetail.Neighbour{{Run: 1, Class: "z", Node: "b", From: at(10), To: at(60)}}
		}, dovetail.Past{Runtime: 100, ScaleOut: 2, Overlaps: []dovetail.Overlap{{Class: "z", Ratio: 1. / 3}}}},
	} {
		if test.change != nil {
			test.change(test.history)
		}
		want := test.want
		want.Class, want.App, want.Run, want.Ended, want.InputSize = "sort?n=1", "sort", 7, at(110), 5e9
		want.Params, want.NodeClasses = map[string]string{"n": "1"}, []string{"big"}
		if want.Outcome == "" {
			want.Outcome = dovetail.OutcomeSucceeded
		}
		if diff := cmp.Diff(want, learn.PastOf(test.history), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func onComponent(placements []dovetail.Placement, n int) []dovetail.Placement {
	for i := range placements {
		placements[i].Component = n
	}
	return placements
}

func TestPastOfImport(t *testing.T) {
	want := dovetail.Past{Class: "a", Runtime: 3}
	if diff := cmp.Diff(want, learn.PastOf(&dovetail.History{Import: &want})); diff != "" {
		t.Error(diff)
	}
}

func TestSamples(t *testing.T) {
	good := dovetail.Past{Class: "c", App: "c", Ended: day, Outcome: dovetail.OutcomeSucceeded, Runtime: 10, ScaleOut: 4, InputSize: 7, Overlaps: []dovetail.Overlap{{Class: "z", Ratio: .5}}}
	with := func(change func(*dovetail.Past)) dovetail.Past {
		p := good
		change(&p)
		return p
	}
	sample := predict.Sample{ScaleOut: 4, Runtime: 10, Input: 7, Overlaps: good.Overlaps}
	stepped := sample
	stepped.Steps = []predict.Step{{ScaleOut: 2, Seconds: 5}, {ScaleOut: 6, Seconds: 5}}
	for _, test := range []struct {
		reason string
		past   dovetail.Past
		want   []predict.Sample
	}{
		{"a point", good, []predict.Sample{sample}},
		{"failed", with(func(p *dovetail.Past) { p.Outcome = dovetail.OutcomeFailed }), nil},
		{"cancelled", with(func(p *dovetail.Past) { p.Outcome = dovetail.OutcomeCancelled }), nil},
		{"timed out", with(func(p *dovetail.Past) { p.Outcome = dovetail.OutcomeTimedOut }), nil},
		{"lost", with(func(p *dovetail.Past) { p.Outcome = dovetail.OutcomeLost }), nil},
		{"preempted", with(func(p *dovetail.Past) { p.Preempted = true }), nil},
		{"no runtime", with(func(p *dovetail.Past) { p.Runtime = 0 }), nil},
		{"no replica to speak of", with(func(p *dovetail.Past) { p.ScaleOut = .9 }), nil},
		{"varied a little", with(func(p *dovetail.Past) {
			p.Stretches = []dovetail.Stretch{{ScaleOut: 4, Seconds: 9}, {ScaleOut: 4, Seconds: 1}}
		}), []predict.Sample{sample}},
		{"varied", with(func(p *dovetail.Past) {
			p.Stretches = []dovetail.Stretch{{ScaleOut: 2, Seconds: 5}, {ScaleOut: 6, Seconds: 5}}
		}), []predict.Sample{stepped}},
	} {
		if diff := cmp.Diff(test.want, learn.Samples([]dovetail.Past{test.past})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestCheck(t *testing.T) {
	good := dovetail.Past{Class: "c", App: "c", Ended: day, Outcome: dovetail.OutcomeSucceeded, Runtime: 10, ScaleOut: 4, Overlaps: []dovetail.Overlap{{Class: "a", Ratio: 1}, {Class: "b", Ratio: 2}}}
	if err := learn.Check(&good); err != nil {
		t.Fatal(err)
	}
	for reason, change := range map[string]func(*dovetail.Past){
		"no class": func(p *dovetail.Past) { p.Class = "" }, "no app": func(p *dovetail.Past) { p.App = "" }, "a number": func(p *dovetail.Past) { p.Run = 1 },
		"outcome": func(p *dovetail.Past) { p.Outcome = "" }, "end": func(p *dovetail.Past) { p.Ended = time.Time{} }, "runtime": func(p *dovetail.Past) { p.Runtime = 0 },
		"long": func(p *dovetail.Past) { p.Runtime = 1e11 }, "scale-out": func(p *dovetail.Past) { p.ScaleOut = 0 }, "input": func(p *dovetail.Past) { p.InputSize = -1 },
		"overlap": func(p *dovetail.Past) { p.Overlaps = []dovetail.Overlap{{Class: "a", Ratio: -1}} },
		"order": func(p *dovetail.Past) {
			p.Overlaps = []dovetail.Overlap{{Class: "b", Ratio: 1}, {Class: "a", Ratio: 1}}
		},
		"twice": func(p *dovetail.Past) {
			p.Overlaps = []dovetail.Overlap{{Class: "b", Ratio: 1}, {Class: "b", Ratio: 1}}
		},
		"stretches": func(p *dovetail.Past) { p.Stretches = []dovetail.Stretch{{ScaleOut: 1}} },
	} {
		p := good
		change(&p)
		if err := learn.Check(&p); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%s: error %v; expected an invalid one", reason, err)
		}
	}
}
