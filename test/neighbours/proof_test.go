package neighbours_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// What the report says must be right: here are its parts, on cases worked out by hand.

func TestQueues(t *testing.T) {
	queue := draw(7, 3, 24, 4)
	if !reflect.DeepEqual(queue, draw(7, 3, 24, 4)) || reflect.DeepEqual(queue, draw(7, 4, 24, 4)) && reflect.DeepEqual(queue, draw(7, 5, 24, 4)) {
		t.Error("a queue does not follow from seed and number")
	}
	for i := 0; i < len(queue); i += 4 {
		if burst := queue[i : i+4]; !reflect.DeepEqual(burst, slices.Repeat(burst[:1], 4)) {
			t.Errorf("no burst: %v", burst)
		}
	}
	count := make(map[string]int)
	for _, k := range queue {
		count[k]++
	}
	for _, k := range kinds() {
		if count[k] != 8 {
			t.Errorf("%d runs of %s, want 8", count[k], k)
		}
	}
}

func TestDescriptions(t *testing.T) {
	p := &place{worker: "/tmp/worker"}
	for _, kind := range kinds() {
		app, err := describe.Application([]byte(p.application(kind, 3)), describe.Options{})
		if err != nil || app.Name != kind {
			t.Errorf("%s: %+v, %v", kind, app, err)
		}
	}
	all, err := describe.Nodes([]byte(nodes), "nodes.yaml")
	if err != nil || len(all) != 1 || all[0].Name != "machine" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestWork does a little of each kind, and what cannot be done.
func TestWork(t *testing.T) {
	t.Chdir(t.TempDir()) // it may be in memory
	if err := work("cpu", 1); err != nil {
		t.Error(err)
	}
	if err := work("memory", 2); err != nil {
		t.Error(err)
	}
	if err := work("disk", 2*streams); err != nil && !strings.Contains(err.Error(), "must be on a disk") {
		t.Error(err)
	}
	if left, _ := filepath.Glob("scratch-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := work("gpu", 1); err == nil {
		t.Error("there is a kind gpu")
	}
	if workMain([]string{"cpu"}) == 0 || workMain([]string{"cpu", "many"}) == 0 {
		t.Error("wrong arguments are right")
	}
}

func TestPairs(t *testing.T) {
	x := pass{Played: []played{{"cpu", 0, 10}, {"cpu", 0, 4}, {"disk", 4, 12}, {"memory", 10, 13}}}
	met := x.pairs()
	want := pairs{{"cpu", "cpu"}: 4, {"cpu", "disk"}: 6, {"disk", "memory"}: 2}
	if !reflect.DeepEqual(met, want) {
		t.Errorf("met %v, want %v", met, want)
	}
	if got := met.alike(); math.Abs(got-4./12) > 1e-12 {
		t.Errorf("alike %g, want a third", got)
	}
	if got := met.String(); got != "cpu+cpu 4, cpu+disk 6, disk+memory 2" {
		t.Errorf("said as %q", got)
	}
}

func TestWrong(t *testing.T) {
	good := dovetail.Draw{Run: 2, Method: "price", Closed: "succeeded", Options: []dovetail.Option{{Run: 1, Probability: .25}, {Run: 2, Probability: .75}}}
	if s := wrong(&good, "price"); s != "" {
		t.Errorf("a good draw: %s", s)
	}
	for reason, change := range map[string]func(*dovetail.Draw){
		"another method":                  func(w *dovetail.Draw) { w.Method = "random" },
		"probabilities that do not sum":   func(w *dovetail.Draw) { w.Options = w.Options[1:] },
		"a run that was not among others": func(w *dovetail.Draw) { w.Run = 3 },
		"a draw that is open":             func(w *dovetail.Draw) { w.Closed = "" },
	} {
		w := good
		if change(&w); wrong(&w, "price") == "" {
			t.Errorf("%s passes", reason)
		}
	}
}

// example is three repetitions of two arms, the second one shorter by 10, 20 and 30 %.
func example() *study {
	s := &study{Setting: setting{Runs: 2, Burst: 1, Window: 5, Step: .1, Period: "1s", Seconds: 2, Seed: 9, Arms: []string{"fifo", "random", "price"}}}
	known := dovetail.Neighbours{Rows: []dovetail.NeighbourRow{{Class: "disk", Pairs: []dovetail.PairKnown{{
		Newcomer: "cpu", Likes: .5, Goodness: 2.5, Updates: 7, Slowdown: &dovetail.Slowdown{Times: 1.25, Low: 1.1, High: 1.4, Runs: 6},
	}}}}}
	for i := range 3 {
		short := float64(i+1) / 10
		s.Repetitions = append(s.Repetitions, repetition{Passes: []pass{
			{Makespan: 50, Turnaround: 20}, {Makespan: 50, Turnaround: 20}, {Makespan: 50 * (1 - short), Turnaround: 20, Drawn: 2, Known: known},
		}})
	}
	return s
}

func TestReport(t *testing.T) {
	text := write(example())
	for _, want := range []string{
		"3 repetitions, seed 9. 2 runs in bursts of 1",
		"| all | price | 40.0 [27.6, 52.4] | 20.0 [20.0, 20.0] | 0 % | 2.0 | 0.00 |",
		"| all | price | fifo | +20.0 [-4.8, +44.8] | +0.0 [+0.0, +0.0] |", // 4.302653·10/√3 to either side
		"| all | price | random | +20.0",
		"| after the first | price | fifo | +25.0 [-38.5, +88.5] |",
		"| disk | 1.25 (1.10 to 1.40; 6); π 0.50, G 2.50 (7) |  |  |",
		"| 3 | 50.0 | 20.0 |  | 50.0 | 20.0 |  | 35.0 | 20.0 |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

func TestStudiesAreNotMixed(t *testing.T) {
	p := &place{dir: t.TempDir()}
	s := example()
	p.save(t, s)
	if got := p.load(t, s.Setting); !reflect.DeepEqual(got, s) {
		t.Errorf("came back as %+v", got)
	}
	if _, err := os.Stat(p.results()); err != nil {
		t.Error(err)
	}
}
