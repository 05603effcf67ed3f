package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s float64) time.Time {
	return start.Add(time.Duration(s * float64(time.Second)))
}

func ptr(t time.Time) *time.Time { return &t }

// sample is a small day: five runs on three nodes, one of which takes elastic replicas back from another, and one of which
// still waits when the picture ends.
func sample() Workload {
	app := func(name string, cpu int64, most int) *dovetail.Application {
		return &dovetail.Application{Name: name, Components: []dovetail.Component{
			{Name: "master", Count: 1, Resources: dovetail.Resources{dovetail.CPU: 100}},
			{Name: "worker", Count: 1, Max: most, Resources: dovetail.Resources{dovetail.CPU: cpu}},
		}}
	}
	run := func(id dovetail.RunID, name string, submitted, started, ended float64, o dovetail.Outcome) dovetail.RunStatus {
		s := dovetail.RunStatus{ID: id, Name: name, State: dovetail.Ended, Outcome: o, Submitted: at(submitted), Core: 2, ElasticMax: 4}
		if started >= 0 {
			s.Started = ptr(at(started))
		}
		if ended >= 0 {
			s.Ended = ptr(at(ended))
		} else {
			s.State = dovetail.Queued
		}
		return s
	}
	var w Workload
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		w.Nodes = append(w.Nodes, dovetail.Node{Name: n, Capacity: dovetail.Resources{dovetail.CPU: 500, dovetail.Memory: 1 << 30}})
	}
	w.Runs = []Run{
		{run(1, "wordcount-1", 0, 0, 28, dovetail.OutcomeSucceeded), app("wordcount", 100, 6)},
		{run(2, "kmeans-2", 0, 0, 34, dovetail.OutcomeSucceeded), app("kmeans", 200, 3)},
		{run(3, "notebook-3", 9, 9, 24, dovetail.OutcomeCancelled), app("notebook", 200, 1)},
		{run(4, "sort <&> join", 2, 28, 41, dovetail.OutcomeFailed), app("sort", 200, 3)},
		{run(5, "pagerank-5", 30, -1, -1, ""), app("pagerank", 500, 1)},
	}
	put := func(sec float64, id dovetail.RunID, component int, elastic bool, node string, n int) {
		w.Placements = append(w.Placements, dovetail.Placement{
			At: at(sec), N: n, Slot: dovetail.Slot{Run: id, Component: component, Elastic: elastic, Node: node},
		})
	}
	put(0, 1, 0, false, "node-1", 1)
	put(0, 1, 1, false, "node-1", 1)
	put(0, 1, 1, true, "node-1", 3)
	put(0, 1, 1, true, "node-3", 2)
	put(0, 2, 0, false, "node-2", 1)
	put(0, 2, 1, false, "node-2", 1)
	put(0, 2, 1, true, "node-2", 1)
	put(0, 2, 1, true, "node-3", 1)
	put(9, 1, 1, true, "node-3", 0)
	put(9, 3, 0, false, "node-3", 1)
	put(9, 3, 1, false, "node-3", 1)
	put(24, 3, 0, false, "node-3", 0)
	put(24, 3, 1, false, "node-3", 0)
	put(25, 1, 1, true, "node-3", 1)
	put(28, 1, 0, false, "node-1", 0)
	put(28, 1, 1, false, "node-1", 0)
	put(28, 1, 1, true, "node-1", 0)
	put(28, 1, 1, true, "node-3", 0)
	put(28, 4, 0, false, "node-1", 1)
	put(28, 4, 1, false, "node-1", 1)
	put(28, 4, 1, true, "node-1", 1)
	put(28, 4, 1, true, "node-3", 1)
	w.Until = at(45)
	return w
}

func drawn(t *testing.T, tl Timeline) string {
	t.Helper()
	var b bytes.Buffer
	if err := tl.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTimelineGolden(t *testing.T) {
	got := drawn(t, Timeline{Workload: sample(), Title: "flexible", Subtitle: "5 runs on 3 nodes"})
	golden := filepath.Join("testdata", "timeline.svg")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the timeline changed; look at it and run with -update if it is right (-want +got):\n%s", diff)
	}
}

func TestTimelineIsXML(t *testing.T) {
	for _, tc := range []struct {
		reason string
		tl     Timeline
	}{
		{"nothing at all", Timeline{}},
		{"names are text, never markup", Timeline{Workload: sample(), Title: "a</text><b> & \"c\" \x01"}},
		{"placements of unknown runs and nodes are left out", Timeline{Workload: Workload{Placements: sample().Placements}}},
		{"a run nobody can describe", Timeline{Workload: func() Workload {
			w := sample()
			w.Runs[0].App = nil
			return w
		}()}},
		{"an axis longer than the work", Timeline{Workload: sample(), Span: 1000 * time.Hour}},
	} {
		dec := xml.NewDecoder(strings.NewReader(drawn(t, tc.tl)))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", tc.reason, err)
				break
			}
		}
	}
}

func TestWriteErrorIsReturned(t *testing.T) {
	tl := Timeline{Workload: sample()}
	if err := tl.WriteSVG(brokenWriter{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestSummary(t *testing.T) {
	w := sample()
	got := w.Summary()
	// Turnaround: 28, 34, 15, 39 s; waits 0, 0, 0, 26 s. Node shares × seconds, by hand from sample:
	// core 0.4×28 + 0.6×34 + 0.6×15 + 0.6×13, elastic 0.6×28 + 0.4×9 + 0.4×34×2 + 0.2×3 + 0.4×13×2.
	core := 0.4*28 + 0.6*34 + 0.6*15 + 0.6*13
	elastic := 0.6*28 + 0.4*9 + 0.4*34*2 + 0.2*3 + 0.4*13*2
	want := Summary{
		Runs: 4, Turnaround: 29 * time.Second, Queueing: 6500 * time.Millisecond, Longest: 39 * time.Second,
		Makespan: 45 * time.Second, Allocation: (core + elastic) / (45 * 3), Elastic: elastic / (core + elastic),
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	if got := (&Workload{}).Summary(); got != (Summary{}) {
		t.Errorf("got %+v, want zeroes", got)
	}
}

// Replicas that share a node at a time are never drawn over each other, and whatever the counts, as many rectangles are
// there as replicas.
func TestStaysNeverOverlap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := sample()
		w.Placements = nil
		counts := make(map[dovetail.Slot]int)
		for i := range rapid.IntRange(0, 60).Draw(rt, "placements") {
			s := dovetail.Slot{
				Run: dovetail.RunID(rapid.IntRange(1, 5).Draw(rt, "run")), Component: rapid.IntRange(0, 1).Draw(rt, "component"),
				Elastic: rapid.Bool().Draw(rt, "elastic"), Node: rapid.SampledFrom([]string{"node-1", "node-2"}).Draw(rt, "node"),
			}
			n := rapid.IntRange(0, 4).Draw(rt, "n")
			counts[s] = n
			w.Placements = append(w.Placements, dovetail.Placement{At: at(float64(i) / 2), Slot: s, N: n})
		}
		for i := range w.Runs {
			w.Runs[i].Status.Ended = nil
		}
		total := 0
		for _, n := range counts {
			total += n
		}
		stays := w.stays()
		alive := 0
		for _, s := range stays {
			if s.to.Equal(w.Until) {
				alive++
			}
		}
		if alive != total {
			rt.Fatalf("%d replicas are left at the end, drawn are %d", total, alive)
		}
		for _, row := range byNode(stays, len(w.Nodes)) {
			stack(row)
			for i := range row {
				for j := range i {
					a, b := &row[i], &row[j]
					together := a.from.Before(b.to) && b.from.Before(a.to)
					if together && a.at < b.at+b.share-1e-6 && b.at < a.at+a.share-1e-6 {
						rt.Fatalf("overlap: %+v and %+v", *a, *b)
					}
				}
			}
		}
	})
}

// Replicas of one size that fit a node at any time also fit as rectangles.
func TestEqualBarsNeverGrowTooHigh(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const slots = 5
		var free [slots]float64 // when each becomes free
		var stays []stay
		for now := 0.0; now < 60; now += rapid.Float64Range(0.1, 4).Draw(rt, "pause") {
			for i := range free {
				if free[i] <= now {
					free[i] = now + rapid.Float64Range(0.5, 20).Draw(rt, "length")
					stays = append(stays, stay{elastic: rapid.Bool().Draw(rt, "elastic"), from: at(now), to: at(free[i]), share: 1.0 / slots})
					break
				}
			}
		}
		slices.SortStableFunc(stays, inOrder)
		if top := stack(stays); top > 1+1e-6 {
			rt.Fatalf("%d stays reach %v", len(stays), top)
		}
	})
}

func TestTicks(t *testing.T) {
	for _, tc := range []struct {
		reason string
		span   time.Duration
		want   time.Duration
	}{
		{"nothing", 0, 100 * time.Millisecond},
		{"a minute", time.Minute, 5 * time.Second},
		{"a minute and a bit", 66 * time.Second, 10 * time.Second},
		{"a working day", 9 * time.Hour, time.Hour},
		{"longer than any step", 10000 * 24 * time.Hour, 834 * 24 * time.Hour},
	} {
		if got := ticks(tc.span, maxTicks); got != tc.want {
			t.Errorf("%s: marks every %v, want %v", tc.reason, got, tc.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		7340 * time.Millisecond:    "7.3 s",
		125 * time.Second:          "2 min 5 s",
		200*time.Minute + 29*1e9:   "3 h 20 min",
		2*time.Hour - time.Second:  "119 min 59 s",
		119900 * time.Millisecond:  "119.9 s",
		0:                          "0.0 s",
		26*time.Hour + time.Minute: "26 h 1 min",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
