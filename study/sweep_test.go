package study_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

// nodes reads a cluster.
func nodes(t *testing.T, text string) []dovetail.Node {
	t.Helper()
	n, err := sim.Nodes(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// job returns a job of replicas with one cpu and one GiB each, submitted at the beginning, that runs for ten seconds.
func job(id int64, core, elastic int) trace.Job {
	return trace.Job{ID: id, Runtime: 10 * time.Second, App: &dovetail.Application{
		Name: "app", Kind: dovetail.Batch, Expected: dovetail.Duration(10 * time.Second),
		Components: []dovetail.Component{{
			Name: "w", Count: core, Max: core + elastic, Resources: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 30},
		}},
	}}
}

// figure2 returns the four jobs of seed 004, figure 2.
func figure2() []trace.Job {
	return []trace.Job{job(1, 3, 4), job(2, 3, 3), job(3, 3, 5), job(4, 3, 2)}
}

// always returns the same jobs for each seed.
func always(jobs []trace.Job) func(context.Context, uint64) ([]trace.Job, error) {
	return func(context.Context, uint64) ([]trace.Job, error) { return jobs, nil }
}

// testbed generates a workload of the testbed.
func testbed(_ context.Context, seed uint64) ([]trace.Job, error) {
	w, err := trace.Generate("zoe-testbed", seed, 40)
	if err != nil {
		return nil, err
	}
	return w.Jobs, nil
}

func configs(policies, allocs []string) []dovetail.Config {
	return study.Configs(dovetail.DefaultConfig(), policies, allocs, []bool{false})
}

// metrics returns the figures of all results.
func metrics(results []study.Result) []report.Metrics {
	var all []report.Metrics
	for i := range results {
		all = append(all, results[i].Metrics)
	}
	return all
}

// cells returns which results there are.
func cells(results []study.Result) []report.Cell {
	var all []report.Cell
	for i := range results {
		all = append(all, results[i].Metrics.Cell)
	}
	return all
}

func TestFigure2(t *testing.T) {
	for _, zoe := range []bool{false, true} {
		s := study.Sweep{
			Workload: always(figure2()), Seeds: []uint64{1}, Nodes: nodes(t, "1x(10cpu,10GiB)"), Zoe: zoe,
			Configs: configs([]string{"fifo"}, []string{"rigid", "malleable", "flexible"}),
		}
		results, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for i := range results {
			got = append(got, math.Round(100*results[i].Metrics.MeanTurnaround)/100)
		}
		if diff := cmp.Diff([]float64{25, 20, 19.25}, got); diff != "" {
			t.Errorf("mean turnaround, zoe %v (-want +got):\n%s", zoe, diff)
		}
	}
}

// TestWorkers shows that results, and the order in which schedules are kept, do not depend on how many cells run at once.
func TestWorkers(t *testing.T) {
	run := func(workers int) ([]study.Result, []report.Cell) {
		var kept []report.Cell
		s := study.Sweep{
			Workload: testbed, Seeds: []uint64{3, 1, 2}, Nodes: nodes(t, "10x(32cpu,128GiB)"), Hash: true, Workers: workers,
			Faults:  sim.Faults{NodeMTBF: time.Hour, NodeMTTR: time.Minute},
			Configs: configs([]string{"fifo", "srpt-3d", "hrrn"}, []string{"rigid", "flexible"}),
			Keep: func(s *report.Schedule) error {
				kept = append(kept, s.Cell)
				return nil
			},
		}
		results, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return results, kept
	}
	want, _ := run(1)
	for _, workers := range []int{1, 2, 8} {
		got, kept := run(workers)
		if diff := cmp.Diff(metrics(want), metrics(got)); diff != "" {
			t.Errorf("%d workers: figures (-one worker +these):\n%s", workers, diff)
		}
		if diff := cmp.Diff(cells(want), kept); diff != "" {
			t.Errorf("%d workers: schedules kept (-want +got):\n%s", workers, diff)
		}
	}
	if a, b := want[0].Metrics, want[1].Metrics; a.Seed != 3 || b.Seed != 3 || a.Alloc != "rigid" || b.Alloc != "flexible" {
		t.Errorf("the first cells are %v and %v; want seed after seed in the order given, and for each the configurations in theirs", a.Cell, b.Cell)
	}
	hashes := make(map[string]bool)
	for i := range want {
		hashes[want[i].Metrics.JournalHash] = true
	}
	if len(hashes) != len(want) || hashes[""] {
		t.Errorf("%d cells have %d journal hashes; want one each", len(want), len(hashes))
	}
}

// TestInterrupted shows that the cells that are done survive the end of the context, and that those that are not are broken off.
func TestInterrupted(t *testing.T) {
	why := errors.New("enough")
	for _, workers := range []int{1, 4} {
		ctx, cancel := context.WithCancelCause(t.Context())
		kept := 0
		s := study.Sweep{
			Seeds: []uint64{1, 2, 3}, Nodes: nodes(t, "10x(32cpu,128GiB)"), Workers: workers,
			Configs: configs([]string{"fifo", "sjf"}, []string{"rigid", "flexible"}),
			Workload: func(ctx context.Context, seed uint64) ([]trace.Job, error) {
				if seed == 2 { // takes for ever
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return testbed(ctx, seed)
			},
			Keep: func(*report.Schedule) error {
				if kept++; kept == 4 {
					cancel(why)
				}
				return nil
			},
		}
		results, err := s.Run(ctx)
		if !errors.Is(err, why) {
			t.Errorf("%d workers: error %v; want the context's cause", workers, err)
		}
		if got := cells(results); len(got) != 4 || slices.ContainsFunc(got, func(c report.Cell) bool { return c.Seed != 1 }) {
			t.Errorf("%d workers: results of %v; want the four cells of seed 1", workers, got)
		}
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("disk full")
	tooMuch := job(1, 1, 99)
	tooMuch.Runtime = math.MaxInt64
	gpu := job(7, 1, 0)
	gpu.App.Components[0].Resources[dovetail.GPU] = 1
	for _, tc := range []struct {
		reason string
		change func(*study.Sweep)
		want   string // a part of the error
	}{
		{"a schedule cannot be kept", func(s *study.Sweep) { s.Keep = func(*report.Schedule) error { return broken } }, "disk full"},
		{"a workload cannot be read", func(s *study.Sweep) {
			s.Workload = func(context.Context, uint64) ([]trace.Job, error) { return nil, broken }
		}, "disk full"},
		{"a workload is empty", func(s *study.Sweep) { s.Workload = always(nil) }, "no jobs"},
		{"a cell fails", func(s *study.Sweep) {
			s.Workload, s.Workers = always([]trace.Job{tooMuch}), 1 // with more, each cell may be the first to fail
		}, "fifo flexible, seed 1: "},
		{"there are no seeds", func(s *study.Sweep) { s.Seeds = nil }, "nothing to simulate"},
		{"there is no such policy", func(s *study.Sweep) { s.Configs[0].Policy = "lifo" }, "lifo"},
		{"there is no such policy in Zoe's simulator", func(s *study.Sweep) { s.Zoe, s.Configs[0].Policy = true, "edf" }, "edf"},
		{"there are no nodes", func(s *study.Sweep) { s.Nodes = nil }, "no nodes"},
		{"nothing fits", func(s *study.Sweep) { s.Workload = always([]trace.Job{job(5, 11, 0), gpu}) },
			"not one of the 2 jobs fits the cluster; job 5: component w needs 11 × (1 cpu, 1Gi memory)"},
		{"nothing fits for lack of a resource", func(s *study.Sweep) { s.Workload = always([]trace.Job{gpu}) }, "job 7: component w needs 1 × (1 cpu, 1Gi memory, 1 gpu)"},
		{"only rigid cannot hold it", func(s *study.Sweep) {
			s.Configs[1].Alloc = "rigid"
			s.Workload = always([]trace.Job{job(5, 3, 8)})
		}, "component w needs 11 ×"},
	} {
		s := study.Sweep{
			Workload: always(figure2()), Seeds: []uint64{1}, Nodes: nodes(t, "1x(10cpu,10GiB)"),
			Configs: configs([]string{"fifo", "sjf"}, []string{"flexible"}),
		}
		tc.change(&s)
		_, err := s.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v; want one that says %q", tc.reason, err, tc.want)
		}
	}
}

// TestSameJobs shows that all cells are about the same jobs, and that those left out do not shift the runs of a timeline.
func TestSameJobs(t *testing.T) {
	jobs := []trace.Job{job(1, 3, 8), job(2, 3, 3), job(3, 11, 0), job(4, 2, 2)}
	for _, tc := range []struct {
		reason  string
		allocs  []string
		refused []int64
	}{
		{"a core of 3 starts without its 8 elastic replicas", []string{"malleable", "flexible"}, []int64{3}},
		{"it does not with the rigid allocator, so nobody gets it", []string{"flexible", "rigid"}, []int64{1, 3}},
	} {
		s := study.Sweep{
			Workload: always(jobs), Seeds: []uint64{1}, Nodes: nodes(t, "1x(10cpu,10GiB)"), Digests: true, Timelines: true,
			Configs: configs([]string{"fifo"}, tc.allocs),
			Keep: func(s *report.Schedule) error {
				for i := range s.Jobs {
					if s.Jobs[i].App != jobs[s.Jobs[i].ID-1].App || int(s.Jobs[i].Run) != i+1 {
						t.Errorf("%s: job %d is run %d of another application", tc.reason, s.Jobs[i].ID, s.Jobs[i].Run)
					}
				}
				return nil
			},
		}
		results, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var digests []*report.Digest
		for i := range results {
			var got []int64
			for _, r := range results[i].Refused {
				got = append(got, r.ID)
			}
			m := results[i].Metrics
			if !slices.Equal(got, tc.refused) || m.Refused != len(got) || m.Runs != len(jobs)-len(got) {
				t.Errorf("%s: %s leaves out %v (%d, %d ran); want %v", tc.reason, m.Setting(), got, m.Refused, m.Runs, tc.refused)
			}
			digests = append(digests, results[i].Digest)
		}
		drawn := slices.ContainsFunc(report.Figures(digests), func(f report.Figure) bool { return f.Name == "timeline-fifo-flexible" })
		if !drawn {
			t.Errorf("%s: no timeline is drawn", tc.reason)
		}
	}
}

// TestForgets shows that neither schedules nor workloads stay in memory.
func TestForgets(t *testing.T) {
	var workloads []weak.Pointer[trace.Job]
	var schedules []weak.Pointer[report.Schedule]
	alive := func() (n int) {
		runtime.GC()
		for _, w := range workloads {
			if w.Value() != nil {
				n++
			}
		}
		return n
	}
	s := study.Sweep{
		Seeds: []uint64{1, 2, 3, 4}, Nodes: nodes(t, "10x(32cpu,128GiB)"), Workers: 1, Digests: true,
		Configs: configs([]string{"fifo", "sjf"}, []string{"flexible"}),
		Workload: func(ctx context.Context, seed uint64) ([]trace.Job, error) {
			if n := alive(); n > 1 { // the last one may still be on the stack
				t.Errorf("seed %d: the jobs of %d seeds before it are still there", seed, n)
			}
			jobs, err := testbed(ctx, seed)
			if err == nil {
				workloads = append(workloads, weak.Make(&jobs[0]))
			}
			return jobs, err
		},
		Keep: func(s *report.Schedule) error {
			schedules = append(schedules, weak.Make(s))
			return nil
		},
	}
	results, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := alive(); n > 0 {
		t.Errorf("the jobs of %d seeds are still there at the end", n)
	}
	for i, w := range schedules {
		if w.Value() != nil {
			t.Errorf("the schedule of cell %d is still there at the end", i)
		}
	}
	runtime.KeepAlive(results)
}

func TestProgress(t *testing.T) {
	var last study.Progress
	s := study.Sweep{
		Workload: testbed, Seeds: []uint64{1, 2}, Nodes: nodes(t, "10x(32cpu,128GiB)"), Workers: 3,
		Configs: configs([]string{"fifo", "sjf"}, []string{"rigid", "flexible"}),
		Progress: func(p study.Progress) {
			if p.Share < last.Share || p.Done < last.Done || p.Total != 8 || p.Share > 1 {
				t.Errorf("after %+v comes %+v", last, p)
			}
			last = p
		},
	}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := (study.Progress{Done: 8, Total: 8, Share: 1}); last != want {
		t.Errorf("the last word is %+v; want %+v", last, want)
	}
}
