package trace

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// hashOf returns a hash of all that a workload says.
func hashOf(t *testing.T, jobs []Job) string {
	t.Helper()
	h := fnv.New64a()
	if err := json.NewEncoder(h).Encode(jobs); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// TestGeneratedJobsStay pins the first jobs of every workload: experiments that were done with a seed can be repeated. A
// change here needs a reason, and new experiments.
func TestGeneratedJobsStay(t *testing.T) {
	want := map[string]string{
		"zoe":           "87f34ca3efc53854",
		"zoe-batch":     "39f292cace3f3f6f",
		"zoe-inelastic": "799cc4ff6bd73d48",
		"zoe-testbed":   "e9cf6d5e5172a2f3",
		"yahoo":         "b5cd408333283836",
		"google":        "34e576ad392e9527",
		"poisson":       "8b202efb2f9d7089",
		"gaussian":      "99ad636abd699ee2",
		"diurnal":       "78168a856a3dcffe",
	}
	for _, g := range Generators() {
		if got := hashOf(t, g.Generate(1, 100)); got != want[g.Name] {
			t.Errorf("%s: the first 100 jobs of seed 1 have hash %q, want %q", g.Name, got, want[g.Name])
		}
	}
}

func TestGenerate(t *testing.T) {
	tests := []struct {
		name, workload string
		reason         string
		n, want        int
		err            string
	}{
		{"some", "poisson", "as many as are asked for", 7, 7, ""},
		{"one", "zoe-testbed", "the smallest workload", 1, 1, ""},
		{"default", "zoe-testbed", "0 stands for the published number", 0, 100, ""},
		{"negative", "zoe", "there are no fewer than none", -1, 0, "cannot generate -1 jobs"},
		{"too many", "zoe", "memory is finite", maxGenerated + 1, 0, "cannot generate"},
		{"unknown", "zeo", "the error lists what there is", 5, 0, `there is no workload "zeo"; choose one of zoe, zoe-batch`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Generate(tt.workload, 1, tt.n)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || dovetail.CodeOf(err) != dovetail.Invalid {
					t.Fatalf("error %v, want an invalid request with %q: %s", err, tt.err, tt.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Jobs) != tt.want || w.Name != tt.workload {
				t.Errorf("%d jobs named %s, want %d: %s", len(w.Jobs), w.Name, tt.want, tt.reason)
			}
		})
	}
}

// TestGeneratedWorkloads checks what holds for all workloads, seeds and sizes.
func TestGeneratedWorkloads(t *testing.T) {
	for _, g := range Generators() {
		t.Run(g.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 60).Draw(t, "n")
				jobs := g.Generate(seed, n)
				if len(jobs) != n {
					t.Fatalf("%d jobs, want %d", len(jobs), n)
				}
				for i := range jobs {
					checkGenerated(t, &jobs[i], int64(i+1))
				}
				if !slices.IsSortedFunc(jobs, func(a, b Job) int { return int(a.Submit - b.Submit) }) {
					t.Fatal("jobs are not in the order of their submission")
				}
				if diff := cmp.Diff(jobs, g.Generate(seed, n+40)[:n]); diff != "" {
					t.Fatalf("a longer workload of the same seed begins with other jobs (-short +long):\n%s", diff)
				}
			})
		})
	}
}

func checkGenerated(t *rapid.T, j *Job, id int64) {
	c := &j.App.Components[0]
	capacity := dovetail.Resources{dovetail.CPU: zoeMachines * zoeCores, dovetail.Memory: zoeMachines * zoeMemory}
	node := dovetail.Resources{dovetail.CPU: zoeCores, dovetail.Memory: zoeMemory}
	switch {
	case j.ID != id:
		t.Fatalf("job %d has number %d", id, j.ID)
	case j.Submit < 0 || j.Submit%time.Microsecond != 0:
		t.Fatalf("job %d is submitted at %v; want whole microseconds, not negative", id, j.Submit)
	case j.Runtime <= 0 || j.Runtime%time.Microsecond != 0:
		t.Fatalf("job %d takes %v; want whole microseconds, positive", id, j.Runtime)
	case j.App.Expected != dovetail.Duration(j.Runtime):
		t.Fatalf("job %d takes %v, but policies are told %v", id, j.Runtime, j.App.Expected)
	case j.App.APIVersion != dovetail.APIVersion || j.App.Name == "" || len(j.App.Components) != 1:
		t.Fatalf("job %d is not an application of one component: %+v", id, j.App)
	case c.Count < 1 || c.Max < c.Count || c.Resources.IsZero():
		t.Fatalf("job %d has an impossible component: %+v", id, c)
	}
	if len(j.Tasks) == 0 {
		if !c.Resources.Times(c.Max).Fits(capacity) || c.Max > zoeMachines*c.Resources.Count(node, c.Max) {
			t.Fatalf("job %d does not fit 100 machines of 32 cores and 128 GiB: %d × %v", id, c.Max, c.Resources)
		}
		return
	}
	var sum time.Duration
	for _, d := range j.Tasks {
		if d <= 0 || d%time.Microsecond != 0 {
			t.Fatalf("job %d has a task of %v; want whole microseconds, positive", id, d)
		}
		sum += d
	}
	if c.Max != len(j.Tasks) || math.Abs(float64(j.Work()-sum.Microseconds())) > float64(len(j.Tasks)) {
		t.Fatalf("job %d: %d replicas for %v are not the work of %d tasks, %v", id, c.Max, j.Runtime, len(j.Tasks), sum)
	}
}

func TestMarginalsAgree(t *testing.T) {
	differs := map[string]string{"zoe-testbed": "from the first submission to the last"} // the seed contradicts itself, as a note says
	for _, g := range Generators() {
		t.Run(g.Name, func(t *testing.T) {
			for seed := uint64(1); seed <= 3; seed++ {
				for _, c := range Compare(g.Generate(seed, g.Default), g.Published) {
					if known := differs[g.Name] == c.Name; c.Agrees == known {
						t.Errorf("seed %d: %s is %g %s; published: %s (%s), accepted: %g to %g",
							seed, c.Name, c.Measured, c.Unit, c.Published, c.Source, c.Low, c.High)
					}
				}
			}
		})
	}
}

// TestZoeVariants checks that the variants are the same applications: experiments compare them.
func TestZoeVariants(t *testing.T) {
	all, batch, rigid := zoeJobs(5, 2000, everything), zoeJobs(5, 1000, batchOnly), zoeJobs(5, 1000, inelastic)
	all = slices.DeleteFunc(all, func(j Job) bool { return j.App.Kind == dovetail.Interactive })[:1000]
	for i := range all {
		all[i].ID = int64(i + 1)
	}
	if diff := cmp.Diff(all, batch); diff != "" {
		t.Fatalf("zoe-batch is not zoe without interactive applications (-zoe +batch):\n%s", diff)
	}
	for i := range batch {
		if b, r := &batch[i], &rigid[i]; r.Core() != b.Full() || r.Full() != b.Full() || r.Submit != b.Submit || r.Runtime != b.Runtime {
			t.Fatalf("job %d of zoe-inelastic is not that of zoe-batch with everything core: %+v, %+v", i+1, r, b)
		}
	}
}

func TestCompare(t *testing.T) {
	jobs := poissonJobs(3)
	count := func(jobs []Job) float64 { return float64(len(jobs)) }
	got := Compare(jobs, []Marginal{
		{"inside", "3", 3, 3, "jobs", "here", count},
		{"below", "4", 4, 9, "jobs", "here", count},
		{"above", "2", 0, 2, "jobs", "there", count},
	})
	want := []Comparison{
		{"inside", "3", 3, 3, 3, "jobs", true, "here"},
		{"below", "4", 4, 9, 3, "jobs", false, "here"},
		{"above", "2", 0, 2, 3, "jobs", false, "there"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparisons differ (-want +got):\n%s", diff)
	}
}

// TestTaskMeasures checks figures of task traces by hand.
func TestTaskMeasures(t *testing.T) {
	s := time.Second
	made := newApps()
	jobs := []Job{
		poolJob(1, 0, []time.Duration{1 * s, 3 * s}, "a", &made),               // mean 2, squares 2, one degree of freedom
		poolJob(2, 0, []time.Duration{10 * s, 20 * s, 30 * s}, "a", &made),     // mean 20, squares 200, two
		poolJob(3, 0, []time.Duration{7 * s}, "b", &made),                      // nothing varies
		{ID: 4, Runtime: s, App: made.of(&shape{name: "a", core: 1, full: 1})}, // no tasks
	}
	for _, tc := range []struct {
		reason    string
		got, want float64
	}{
		{"variance by mean, pooled", taskVariance(jobs), 202. / 42},
		{"no variance without tasks", taskVariance(jobs[3:]), 0},
		{"further tasks of a class", average(classOf("a", furtherTasks))(jobs), 1.5},
		{"further tasks of another class", average(classOf("b", furtherTasks))(jobs), 0},
		{"runtimes of a class", average(classOf("b", runtimeOf))(jobs), 7},
		{"nobody there", average(classOf("c", runtimeOf))(jobs), 0},
	} {
		if math.Abs(tc.got-tc.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", tc.reason, tc.got, tc.want)
		}
	}
}

// poissonJobs returns a few simple jobs.
func poissonJobs(n int) []Job { return poisson().Generate(1, n) }

// TestMeasuresOfFewJobs checks that a figure of a workload too small for it is a number that JSON can hold.
func TestMeasuresOfFewJobs(t *testing.T) {
	for _, g := range Generators() {
		for n := range 3 {
			for _, c := range Compare(g.Generate(1, n), g.Published) {
				if math.IsNaN(c.Measured) || math.IsInf(c.Measured, 0) {
					t.Errorf("%s with %d jobs: %s is %v", g.Name, n, c.Name, c.Measured)
				}
			}
		}
	}
}

func TestGapBimodality(t *testing.T) {
	tests := []struct {
		name      string
		reason    string
		next      Arrivals
		low, high float64
	}{
		{"lognormal", "one mode, normal logarithms: 1/3", Bursts(0, time.Second, time.Minute, 0.7), 0.30, 0.37},
		{"bursts", "two modes far apart", Bursts(0.6, 3*time.Second, 122*time.Second, 0.7), 5.0 / 9, 1},
		{"two values", "nothing is more bimodal", Bursts(0.5, time.Second, time.Minute, 0), 0.99, 1.01},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := gapBimodality(simpleJobs(1, 20_000, "test", tt.next)); got < tt.low || got > tt.high {
				t.Errorf("%g, want %g to %g: %s", got, tt.low, tt.high, tt.reason)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	table := []point{{0, 1}, {0.5, 100}, {1, 200}}
	for _, tt := range []struct {
		reason  string
		u, want float64
	}{
		{"the first point", 0, 1},
		{"half-way on a logarithmic scale", 0.25, 10},
		{"a point between", 0.5, 100},
		{"the upper part", 0.75, 100 * math.Sqrt2},
		{"the last point", 1, 200},
	} {
		if got := quantile(table, tt.u); math.Abs(got-tt.want) > 1e-9*tt.want {
			t.Errorf("quantile %g is %g, want %g: %s", tt.u, got, tt.want, tt.reason)
		}
	}
}

func BenchmarkZoe(b *testing.B) {
	for b.Loop() {
		zoeJobs(1, 10_000, everything)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/job")
}
