package report

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

const second = time.Second

// small is a schedule that can be computed by hand: two batch runs, one of them rigid, an interactive one, one that is cancelled before
// it starts, one that is still running at 50 s, and one that fails early: it counts as a run, and as one that failed, but in no other figure of runs.
func small() *Schedule {
	cpu := func(v float32) [dovetail.NumResources]float32 { return [dovetail.NumResources]float32{dovetail.CPU: v} }
	return &Schedule{
		Cell: Cell{Policy: "fifo", Alloc: "flexible", Seed: 3}, Capacity: dovetail.Resources{dovetail.CPU: 1000}, Hash: "abc",
		Refused: []Refusal{{ID: 6, Why: "too large"}},
		Jobs: []Job{
			{
				ID: 1, Class: "spark", User: "ann", Kind: dovetail.Batch, Core: 1, Elastic: 3, Runtime: 10 * second, Submit: 10 * second,
				Start: 10 * second, Finish: 25 * second, Outcome: dovetail.OutcomeSucceeded, Preemptions: 2, Taken: 5, Redone: 1500 * time.Millisecond,
			},
			{
				ID: 2, Class: "mpi", User: "bob", Kind: dovetail.Batch, Core: 4, Runtime: 10 * second, Submit: 12 * second,
				Start: 25 * second, Finish: 35 * second, Outcome: dovetail.OutcomeSucceeded,
			},
			{
				ID: 3, Class: "notebook", User: "ann", Kind: dovetail.Interactive, Core: 1, Runtime: 4 * second, Submit: 14 * second,
				Start: 14 * second, Finish: 26 * second, Outcome: dovetail.OutcomeSucceeded,
			},
			{
				ID: 4, Class: "mpi", User: "bob", Kind: dovetail.Batch, Core: 1, Runtime: 4 * second, Submit: 20 * second,
				Start: -1, Finish: 30 * second, Outcome: dovetail.OutcomeCancelled,
			},
			{
				ID: 5, Class: "spark", User: "ann", Kind: dovetail.Batch, Core: 1, Elastic: 1, Runtime: 99 * second, Submit: 40 * second,
				Start: 40 * second, Finish: -1,
			},
			{
				ID: 7, Class: "notebook", User: "ann", Kind: dovetail.Interactive, Core: 1, Elastic: 1, Runtime: 90 * second, Submit: 16 * second,
				Start: 17 * second, Finish: 18 * second, Outcome: dovetail.OutcomeFailed, Preemptions: 1, Taken: 1,
			},
		},
		Levels: []Level{ // not the state that follows from the jobs: only what is easy to add up
			{At: 10 * second, Waiting: 0, Serving: 1, Core: cpu(0.25), Elastic: cpu(0.5)},
			{At: 20 * second, Waiting: 2, Serving: 2, Core: cpu(0.5), Elastic: cpu(0.5)},
			{At: 30 * second, Waiting: 1, Serving: 1, Core: cpu(1)},
			{At: 50 * second, Serving: 1, Core: cpu(0.25)},
		},
	}
}

var nearly = cmp.Comparer(func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-9*max(1, math.Abs(a)) })

func TestMetrics(t *testing.T) {
	got := small().Metrics()
	// Turnaround 15, 23, 12, 10 s; queueing 0, 13, 0, 10 s; slowdown 1.5, 1, 3. Over time: 40 s from 10 s to 50 s, in which
	// 10 s × 0.75 + 10 s × 1 + 20 s × 1 of the cpu is granted, of that 10 s × 0.5 + 10 s × 0.5 to elastic replicas.
	want := Metrics{
		Cell: Cell{Policy: "fifo", Alloc: "flexible", Seed: 3}, Runs: 5, Unfinished: 1, Failed: 1, Refused: 1,
		MeanTurnaround: 15, P50Turnaround: 13.5, P90Turnaround: 20.6, P95Turnaround: 21.8, P99Turnaround: 22.76, MaxTurnaround: 23,
		MeanQueue: 5.75, P50Queue: 5, P95Queue: 12.55, MaxQueue: 13,
		MeanSlowdown: 5.5 / 3, P50Slowdown: 1.5, P95Slowdown: 2.85,
		MeanWaiting: 1, MaxWaiting: 2, MeanServing: 1.25, MaxServing: 2,
		CPUAllocation: 37.5 / 40, CPUElasticShare: 10 / 37.5, Makespan: 25, Preemptions: 3, Reclaims: 6, Redone: 1.5,
		// Mean slowdowns: kinds 1.5, 1, 3; classes 1, 3, 1.5; users (1.5 + 3)/2 and 1.
		JainKind: 5.5 * 5.5 / (3 * 12.25), JainClass: 5.5 * 5.5 / (3 * 12.25), JainUser: 3.25 * 3.25 / (2 * 6.0625),
		Groups: []Group{
			{By: "kind", Name: "B-E", Runs: 1, MeanTurnaround: 15, P50Turnaround: 15, P95Turnaround: 15, MeanSlowdown: 1.5},
			{
				By: "kind", Name: "B-R", Runs: 2, MeanTurnaround: 16.5, P50Turnaround: 16.5, P95Turnaround: 22.35,
				MeanQueue: 11.5, P50Queue: 11.5, P95Queue: 12.85, MeanSlowdown: 1,
			},
			{By: "kind", Name: "Int", Runs: 2, Failed: 1, MeanTurnaround: 12, P50Turnaround: 12, P95Turnaround: 12, MeanSlowdown: 3},
			{
				By: "class", Name: "mpi", Runs: 2, MeanTurnaround: 16.5, P50Turnaround: 16.5, P95Turnaround: 22.35,
				MeanQueue: 11.5, P50Queue: 11.5, P95Queue: 12.85, MeanSlowdown: 1,
			},
			{By: "class", Name: "notebook", Runs: 2, Failed: 1, MeanTurnaround: 12, P50Turnaround: 12, P95Turnaround: 12, MeanSlowdown: 3},
			{By: "class", Name: "spark", Runs: 1, MeanTurnaround: 15, P50Turnaround: 15, P95Turnaround: 15, MeanSlowdown: 1.5},
			{By: "user", Name: "ann", Runs: 3, Failed: 1, MeanTurnaround: 13.5, P50Turnaround: 13.5, P95Turnaround: 14.85, MeanSlowdown: 2.25},
			{
				By: "user", Name: "bob", Runs: 2, MeanTurnaround: 16.5, P50Turnaround: 16.5, P95Turnaround: 22.35,
				MeanQueue: 11.5, P50Queue: 11.5, P95Queue: 12.85, MeanSlowdown: 1,
			},
		},
		JournalHash: "abc",
	}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestMetricsOfNothing(t *testing.T) {
	for _, tc := range []struct {
		reason string
		s      Schedule
		want   Metrics
	}{
		{"nothing at all", Schedule{}, Metrics{}},
		{"a run that never starts", Schedule{Jobs: []Job{{Submit: second, Start: -1, Finish: -1}}}, Metrics{Unfinished: 1}},
		{"levels without runs", Schedule{Levels: []Level{{At: second, Waiting: 3}}}, Metrics{}},
	} {
		if diff := cmp.Diff(tc.want, tc.s.Metrics(), cmp.Comparer(func(a, b []Group) bool { return len(a) == len(b) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
		if b, err := json.Marshal(tc.s.Metrics()); err != nil {
			t.Errorf("%s: %s, %v", tc.reason, b, err)
		}
	}
}

// The order of jobs changes no byte, and percentiles lie in order between the least and the greatest.
func TestMetricsProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(rt, "runs")
		s := played(Cell{Seed: rapid.Uint64().Draw(rt, "seed")}, n, rapid.IntRange(1, 10).Draw(rt, "servers"), 0.5)
		m := s.Metrics()
		before, err := json.Marshal(m)
		if err != nil {
			rt.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		rng.Shuffle(n, func(i, j int) { s.Jobs[i], s.Jobs[j] = s.Jobs[j], s.Jobs[i] })
		after, err := json.Marshal(s.Metrics())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			rt.Fatalf("the order of jobs changes the figures:\n%s", diff)
		}
		least := slices.MinFunc(s.Jobs, func(a, b Job) int { return int(a.Turnaround() - b.Turnaround()) })
		order := []float64{least.Turnaround().Seconds(), m.P50Turnaround, m.P90Turnaround, m.P95Turnaround, m.P99Turnaround, m.MaxTurnaround}
		if !slices.IsSorted(order) {
			rt.Fatalf("percentiles out of order: %v", order)
		}
		for _, jain := range []float64{m.JainKind, m.JainClass, m.JainUser} {
			if jain <= 0 || jain > 1+1e-12 {
				rt.Fatalf("Jain's index %v is not in (0,1]", jain)
			}
		}
	})
}

// Little's law: what waits on average is the arrival rate times the mean wait, for each of our means comes from other data.
func TestLittle(t *testing.T) {
	s := played(Cell{Seed: 5}, 2000, 8, 0.4)
	m := s.Metrics()
	rate := float64(m.Runs) / m.Makespan
	if want := rate * m.MeanQueue; math.Abs(m.MeanWaiting-want) > 1e-6*want {
		t.Errorf("%v runs wait on average; rate × mean wait is %v", m.MeanWaiting, want)
	}
	if want := rate * (m.MeanTurnaround - m.MeanQueue); math.Abs(m.MeanServing-want) > 1e-6*want {
		t.Errorf("%v runs are in service on average; rate × mean runtime is %v", m.MeanServing, want)
	}
}

func TestSmallGroupsAreFolded(t *testing.T) {
	s := &Schedule{}
	for user := range 150 {
		for range 1 + user/50 {
			s.Jobs = append(s.Jobs, Job{User: fmt.Sprintf("u%03d", user), Finish: second})
		}
	}
	users := s.groups(ByUser)
	// Of 150 users, 99 keep their names: all with three runs, and all but one with two.
	if len(users) != maxGroups || users[0].Name != others || users[0].Runs != 50+2 || users[1].Name != "u050" {
		t.Errorf("%d groups, the first %+v: want %d, and 52 runs of others", len(users), users[0], maxGroups)
	}
	total := 0
	for i := range users {
		total += users[i].Runs
	}
	if total != len(s.Jobs) {
		t.Errorf("groups hold %d runs of %d", total, len(s.Jobs))
	}
}

// The figures that were printed for the schedules of Zoe's own simulator, to the last digit.
func TestPeerSummary(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "data", "expected")
	b, err := os.ReadFile(filepath.Join(dir, "zoe_q_summary.txt"))
	if err != nil {
		t.Skipf("NOT CHECKED against the peer's figures, there is no data: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		want := make(map[string]string)
		for _, field := range strings.Fields(line) {
			if name, value, ok := strings.Cut(field, "="); ok {
				want[name] = value
			}
		}
		m := readPeer(t, filepath.Join(dir, "zoe_q_1000x1400_"+want["policy"]+".txt.gz")).Metrics()
		got := map[string]string{
			"completed":      strconv.Itoa(m.Runs),
			"meanTurnaround": fmt.Sprintf("%.4f", m.MeanTurnaround), "p50": fmt.Sprintf("%.3f", m.P50Turnaround),
			"p90": fmt.Sprintf("%.3f", m.P90Turnaround), "p99": fmt.Sprintf("%.3f", m.P99Turnaround),
			"meanQueue": fmt.Sprintf("%.3f", m.MeanQueue), "end": fmt.Sprintf("%.3f", m.Makespan),
		}
		for _, other := range []string{"policy", "seed", "loaded", "events"} {
			delete(want, other)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-peer +got):\n%s", strings.Fields(line)[0], diff)
		}
	}
}

// readPeer reads "id submit start finish …" lines.
func readPeer(t *testing.T, path string) *Schedule {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := &Schedule{}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if fields[0] == "#" {
			continue
		}
		var times [3]time.Duration
		for i := range times {
			v, err := strconv.ParseFloat(fields[i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			times[i] = time.Duration(math.Round(v*1e6)) * time.Microsecond
		}
		s.Jobs = append(s.Jobs, Job{ID: int64(len(s.Jobs)), Submit: times[0], Start: times[1], Finish: times[2]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkMetrics(b *testing.B) {
	s := played(Cell{Seed: 1}, 80_000, 100, 0.5)
	b.ReportAllocs()
	for b.Loop() {
		s.Metrics()
	}
}

func BenchmarkDigest(b *testing.B) {
	s := played(Cell{Seed: 1}, 80_000, 100, 0.5)
	b.ReportAllocs()
	for b.Loop() {
		s.Digest()
	}
}
