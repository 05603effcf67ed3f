package target_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/describe"
)

// What the report says must be right: here are its parts, on cases worked out by hand.

func TestDrawIsRepeatable(t *testing.T) {
	few, many := draw(7, 5), draw(7, 200)
	if !reflect.DeepEqual(few, many[:5]) {
		t.Errorf("more trials begin otherwise: %v, %v", few, many[:5])
	}
	if reflect.DeepEqual(few, draw(8, 5)) {
		t.Error("another seed draws the same")
	}
	before, first := 0, make([]int, len(arms()))
	for _, tr := range many {
		if tr.delay < earliest || tr.delay > latest {
			t.Errorf("delay %s", tr.delay)
		}
		if tr.delay < 0 {
			before++
		}
		first[tr.order[0]]++
	}
	if before < 70 || before > 130 {
		t.Errorf("the neighbour comes first in %d of 200", before)
	}
	for i, n := range first {
		if n < 40 || n > 95 {
			t.Errorf("arm %d is first in %d of 200", i, n)
		}
	}
}

func TestDescriptions(t *testing.T) {
	classes := make(map[string]bool)
	for _, a := range arms() {
		for _, text := range []string{a.job("/bin/dovetail"), a.neighbour("/bin/dovetail")} {
			app, err := describe.Application([]byte(text), describe.Options{})
			if err != nil {
				t.Fatalf("%s: %v\n%s", a.name, err, text)
			}
			if classes[app.Name] {
				t.Errorf("two arms share the history of %s", app.Name)
			}
			classes[app.Name] = true
			if c := app.Components[app.Scaled()]; c.Name != worker {
				t.Errorf("%s: the scale-out is that of %s", app.Name, c.Name)
			}
			if aims := strings.HasPrefix(app.Name, "job-") && a.target; (app.Target != nil) != aims {
				t.Errorf("%s: target %v", app.Name, app.Target)
			}
		}
	}
}

func TestObserve(t *testing.T) {
	at := func(s float64) *time.Time {
		v := time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second)))
		return &v
	}
	replica := func(component string, up, down float64) dovetail.ReplicaStatus {
		return dovetail.ReplicaStatus{Component: component, Up: at(up), Down: at(down)}
	}
	job := client.RunDetail{
		Status: dovetail.RunStatus{
			Started: at(0), Ended: at(10), Choice: &dovetail.Choice{Closed: "met"}, Prediction: &dovetail.Prediction{Median: 9},
		},
		Replicas: []dovetail.ReplicaStatus{
			replica("master", 0, 10), replica(worker, 1, 9), replica(worker, 4, 9.5), {Component: worker}, // the last one never came up
		},
	}
	for _, tc := range []struct {
		reason        string
		started, ends float64
		beside        float64
	}{
		{"before and into it", -5, 4, .4},
		{"from its middle on", 5, 20, .5},
		{"all the time", -1, 11, 1},
		{"over before it began", -9, -1, 0},
		{"began after it", 11, 19, 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			neighbour := client.RunDetail{Status: dovetail.RunStatus{Started: at(tc.started), Ended: at(tc.ends)}}
			got := observe(&job, &neighbour)
			want := outcome{took: 10, nodeSeconds: 13.5, beside: tc.beside, closed: "met", median: 9}
			if math.Abs(got.beside-want.beside) > 1e-9 {
				t.Errorf("beside %g, want %g", got.beside, want.beside)
			}
			got.beside = want.beside
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestNote(t *testing.T) {
	at := func(s int64, closed string) *dovetail.Choice {
		return &dovetail.Choice{At: time.Unix(s, 0), ScaleOut: int(s), Closed: closed}
	}
	var choices []dovetail.Choice
	for _, c := range []*dovetail.Choice{nil, at(4, ""), at(4, ""), at(6, ""), at(6, "met")} {
		choices = note(choices, c)
	}
	if len(choices) != 2 || scaleOuts(choices) != "4, 6" {
		t.Errorf("noted %+v", choices)
	}
}

func TestBusyTime(t *testing.T) {
	for _, tc := range []struct {
		reason, text string
		want         float64
		wrong        bool
	}{
		{reason: "everything but idle and waiting", text: "cpu  100 20 30 4000 500 6 7 8 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n", want: 1.71},
		{reason: "no such file", text: "", wrong: true},
		{reason: "one processor", text: "cpu0 1 2 3 4 5 6 7 8\n", wrong: true},
		{reason: "no number", text: "cpu 1 2 x 4 5 6 7 8\n", wrong: true},
		{reason: "an old kernel", text: "cpu 1 2 3 4\n", wrong: true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, err := busyTime(tc.text)
			if (err != nil) != tc.wrong || math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("got %g, %v", got, err)
			}
		})
	}
}

// example is three trials: runtimes and node-seconds by arm.
func example() []played {
	rows := [][3]outcome{
		{{took: 12.1, nodeSeconds: 50}, {took: 8, nodeSeconds: 90}, {took: 10, nodeSeconds: 60}}, // late by a tenth
		{{took: 10, nodeSeconds: 70}, {took: 9, nodeSeconds: 100}, {took: 13, nodeSeconds: 80}},
		{{took: 11, nodeSeconds: 60}, {took: 13.2, nodeSeconds: 110}, {took: 16.5, nodeSeconds: 70}}, // just in time
	}
	var trials []played
	for i := range rows {
		trials = append(trials, played{trial: trial{number: i + 1, delay: time.Duration(i-1) * time.Second}, outcomes: rows[i][:]})
	}
	return trials
}

func TestSummarise(t *testing.T) {
	for arm, want := range []summary{
		{runs: 3, met: 2, excess: .1, worst: .1},
		{runs: 3, met: 2, excess: .2, worst: .2},
		{runs: 3, met: 1, excess: (2./11 + .5) / 2, worst: .5},
	} {
		got := summarise(example(), arm)
		if got.runs != want.runs || got.met != want.met || math.Abs(got.excess-want.excess) > 1e-9 || math.Abs(got.worst-want.worst) > 1e-9 {
			t.Errorf("arm %d: got %+v, want %+v", arm, got, want)
		}
	}
	if got := summarise(example(), 0); math.Abs(got.nodeSeconds.Mean-60) > 1e-9 || math.Abs(got.took.Mean-33.1/3) > 1e-9 {
		t.Errorf("means %+v", got)
	}
}

func TestCompare(t *testing.T) {
	for i, want := range []difference{{only: 1, other: 1}, {only: 2, other: 1}} {
		got := compare(example(), i+1)
		mean := []float64{-40, -10}[i]
		if got.only != want.only || got.other != want.other || math.Abs(got.nodeSeconds.Mean-mean) > 1e-9 {
			t.Errorf("arm %d: got %+v, want %+v, node-seconds %g", i+1, got, want, mean)
		}
	}
	// −40, −30 and −50: a deviation of 10, so 4.302653·10/√3 to either side.
	if d := compare(example(), 1).nodeSeconds; math.Abs(d.High-d.Mean-24.8414) > 1e-3 {
		t.Errorf("interval %+v", d)
	}
}

func TestReport(t *testing.T) {
	text := write(5, example())
	for _, want := range []string{
		"3 trials, seed 5.",
		"| all | with prediction | 2 of 3, 67 % | 10 % | 10 % | 11.0 [8.4, 13.6] | 60 [35, 85] | 0.00 |",
		"| all | always 14 | 1 | 1 | +1.0 [-6.9, +8.8] | -40 [-65, -15] |",
		"| 1 | -1.0 | 0 % |  |  |  | 12.1 late | 50 | 8.0 | 90 | 10.0 | 60 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "after the bootstrap") {
		t.Errorf("there is nothing after the bootstrap:\n%s", text)
	}
}
