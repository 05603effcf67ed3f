package zoe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/trace"
)

// units is a machine, or a component, of n cores and n GiB.
func units(n int) dovetail.Resources {
	return dovetail.Resources{dovetail.CPU: int64(n) * 1000, dovetail.Memory: int64(n) * gib}
}

// request is an application of an example.
type request struct {
	core, elastic    int
	runtime, arrival float64 // seconds
	each             int     // units of a component; 0: one
}

func (q request) job(id int) trace.Job {
	us := func(s float64) time.Duration { return time.Duration(math.Round(s*1e6)) * time.Microsecond }
	return trace.Job{ID: int64(id), Submit: us(q.arrival), Runtime: us(q.runtime), App: &dovetail.Application{
		Name: fmt.Sprintf("app%d", id), Kind: dovetail.Batch,
		Components: []dovetail.Component{{Name: "w", Count: q.core, Max: q.core + q.elastic, Resources: units(max(q.each, 1))}},
	}}
}

func jobsOf(requests []request) []trace.Job {
	var jobs []trace.Job
	for i, q := range requests {
		jobs = append(jobs, q.job(i+1))
	}
	return jobs
}

// spans writes the starts and the finishes, one application after the other, in seconds.
func spans(s *report.Schedule) string {
	var all []string
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Start < 0 {
			all = append(all, "-") // never
		} else {
			all = append(all, fmt.Sprintf("%g-%g", j.Start.Seconds(), j.Finish.Seconds()))
		}
	}
	return strings.Join(all, " ")
}

func meanTurnaround(s *report.Schedule) float64 {
	sum := 0.0
	for i := range s.Jobs {
		sum += (s.Jobs[i].Finish - s.Jobs[i].Submit).Seconds()
	}
	return sum / float64(len(s.Jobs))
}

// large units: ten million cores and as many GiB.
const large = 10_000_000

// scaled returns the requests with components of so many units.
func scaled(requests []request, units int) []request {
	all := slices.Clone(requests)
	for i := range all {
		all[i].each = units
	}
	return all
}

// TestExamples: the figures that Zoe's program prints (../shared/data/expected/zoe_examples.txt).
func TestExamples(t *testing.T) {
	figure2 := []request{{3, 4, 10, 0, 1}, {3, 3, 10, 0, 1}, {3, 5, 10, 0, 1}, {3, 2, 10, 0, 1}}
	twenty := []request{{6, 4, 20, 0, 1}, {6, 2, 25, 0, 1}, {8, 8, 12.5, 0, 1}, {19, 1, 7.5, 5, 1}}
	for _, tc := range []struct {
		reason        string
		policy, alloc string
		units         int
		requests      []request
		mean          float64
		end           float64
	}{
		{"figure 2, top", "fifo", "rigid", 10, figure2, 25, 40},
		{"figure 2, middle", "fifo", "malleable", 10, figure2, 20, 32.5},
		{"figure 2, bottom", "fifo", "flexible", 10, figure2, 19.25, 28.428571},
		{"figure 2 of units so large that cpu × memory has 87 bits", "fifo", "flexible", 10 * large, scaled(figure2, large), 19.25, 28.428571},
		{"figure 2: all of one runtime", "sjf", "flexible", 10, figure2, 19.25, 28.428571},
		{"nothing starts before the fourth arrives, at 5 s: 30.625 + 5", "fifo", "rigid", 20, twenty, 35.625, 50},
		{"28.75 + 5", "fifo", "malleable", 20, twenty, 33.75, 46.25},
		{"30.00 + 5", "fifo", "flexible", 20, twenty, 35, 43.75},
		{"the last, which is shortest, goes first", "sjf", "flexible", 20, twenty, 31.071428, 51.785714},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", tc.policy, tc.alloc, tc.units), func(t *testing.T) {
			s, err := Run(t.Context(), Options{Policy: tc.policy, Alloc: tc.alloc, Capacity: units(tc.units)}, jobsOf(tc.requests))
			if err != nil {
				t.Fatal(err)
			}
			var end time.Duration
			for i := range s.Jobs {
				end = max(end, s.Jobs[i].Finish)
			}
			if got := meanTurnaround(s); math.Abs(got-tc.mean) > 2e-6 || math.Abs(end.Seconds()-tc.end) > 2e-6 {
				t.Errorf("mean turnaround %f, end %f; want %f and %f (%s); %s", got, end.Seconds(), tc.mean, tc.end, tc.reason, spans(s))
			}
		})
	}
}

// TestRules: one rule of the program each, worked out by hand. The first four applications bring it over its start-up where the
// case needs that: all cores, one second.
func TestRules(t *testing.T) {
	begin := slices.Repeat([]request{{1, 0, 1, 0, 1}}, 4)
	begun := "0-1 0-1 0-1 0-1 "
	for _, tc := range []struct {
		reason   string
		alloc    string
		policy   string
		units    int
		requests []request
		want     string
	}{
		{"arrivals at one time: the first pass sees the first only, and gives it elastic that the second misses for its core",
			"flexible", "fifo", 10, append(begin[:4:4], request{2, 7, 10, 2, 1}, request{2, 0, 10, 2, 1}), begun + "2-12 12-22"},
		{"the same two when both are seen: the second displaces one elastic, which returns at 10 s for the last 10 of 90 component-seconds",
			"flexible", "fifo", 10, []request{{2, 7, 10, 0, 1}, {2, 0, 10, 0, 1}, {10, 0, 1, 0, 1}, {10, 0, 1, 0, 1}},
			"0-11.111111 0-10 11.111111-12.111111 12.111111-13.111111"},
		{"departures at one time: the first pass sees the room of the first only, and gives it away as elastic; the core of 6 waits",
			"flexible", "fifo", 10, append(begin[:4:4], request{5, 0, 3, 2, 1}, request{5, 0, 3, 2, 1}, request{1, 4, 10, 2, 1}, request{6, 0, 10, 2, 1}),
			begun + "2-5 2-5 5-15 15-25"},
		{"a core that displaces as much elastic as it takes adds nothing (components of 2 units): the walk ends, and skips nobody",
			"flexible", "fifo", 9, []request{{1, 3, 10, 0, 2}, {2, 0, 10, 0, 1}, {1, 0, 10, 0, 1}, {1, 0, 10, 0, 1}}, "0-10 10-20 10-20 10-20"},
		{"a core that fits without displacing starts",
			"flexible", "fifo", 9, []request{{1, 3, 10, 0, 2}, {1, 0, 10, 0, 1}, {1, 0, 10, 0, 1}, {1, 0, 10, 0, 1}}, "0-10 0-10 10-20 10-20"},
		{"a running one that can get no elastic ends the walk: the small one behind it waits although it fits",
			"flexible", "fifo", 10, append(begin[:4:4], request{1, 0, 10, 2, 1}, request{1, 4, 10, 2, 2}, request{1, 0, 1, 3, 1}), begun + "2-12 2-14 14-15"},
		{"elastic that has started is never taken back: the core waits for an end",
			"flexible", "fifo", 10, append(begin[:4:4], request{1, 9, 10, 2, 1}, request{1, 0, 1, 3, 1}), begun + "2-12 12-13"},
		{"malleable looks at the first only, which runs and misses elastic",
			"malleable", "fifo", 10, append(begin[:4:4], request{1, 0, 10, 2, 1}, request{1, 4, 10, 2, 2}, request{1, 0, 1, 3, 1}), begun + "2-12 2-14 14-15"},
		{"rigid starts nothing behind one that does not fit",
			"rigid", "fifo", 10, append(begin[:4:4], request{6, 0, 10, 2, 1}, request{5, 0, 10, 3, 1}, request{1, 0, 1, 4, 1}), begun + "2-12 12-22 12-13"},
		{"a core as large as the machine starts",
			"flexible", "fifo", 10, slices.Repeat([]request{{10, 0, 1, 0, 1}}, 4), "0-1 1-2 2-3 3-4"},
		{"three applications never start", "flexible", "fifo", 10, begin[:3], "- - -"},
		{"passes in vain are counted until there are two, across instants and successes: at 3 s the first sees the room as it was before the " +
			"departure, the next starts the second job; at 4 s the same is the second in vain, and the last job is given up",
			"rigid", "fifo", 4, append(begin[:4:4], request{4, 0, 1, 2, 1}, request{4, 0, 1, 3, 1}, request{4, 0, 1, 4, 1}), begun + "2-3 3-4 -"},
		{"the response ratio is inverted: of those that wait at 12 s the latest is served first",
			"rigid", "hrrn", 10, append(begin[:4:4], request{10, 0, 10, 2, 1}, request{10, 0, 5, 3, 1}, request{10, 0, 5, 11, 1}), begun + "2-12 17-22 12-17"},
		{"times size it favours big ones: 5·1 components at 3 s, or 10",
			"rigid", "hrrn-2d", 10, append(begin[:4:4], request{10, 0, 10, 2, 1}, request{5, 0, 1, 3, 1}, request{10, 0, 1, 3, 1}), begun + "2-12 13-14 12-13"},
		{"progress is what it was when components were last added: at 12 s the second has done 50 of 70, still counts as 10 s, and is behind the third",
			"malleable", "srpt", 10, append(begin[:4:4], request{5, 0, 10, 2, 1}, request{3, 4, 10, 2, 1}, request{4, 0, 9, 3, 1}), begun + "2-12 2-15.333333 12-21"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s, err := Run(t.Context(), Options{Policy: tc.policy, Alloc: tc.alloc, Capacity: units(tc.units)}, jobsOf(tc.requests))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, spans(s)); diff != "" {
				t.Errorf("start-finish, -want +got:\n%s", diff)
			}
		})
	}
}

// TestRefused: what Zoe's simulator does not know is an error that says so, not a comparison with something else.
func TestRefused(t *testing.T) {
	good := func() trace.Job { return request{1, 2, 10, 0, 1}.job(7) }
	o := Options{Policy: "fifo", Alloc: "flexible", Capacity: units(10)}
	for _, tc := range []struct {
		reason  string
		options func(o *Options)
		job     func(j *trace.Job)
		want    string
	}{
		{"policy", func(o *Options) { o.Policy = "edf" }, nil, `unknown policy "edf"; expected one of fifo, sjf, sjf-2d`},
		{"allocator", func(o *Options) { o.Alloc = "h" }, nil, `unknown allocator "h"; expected one of rigid, malleable, flexible`},
		{"preemption", func(o *Options) { o.Preempt = true }, nil, "preemption is not modelled"},
		{"no memory", func(o *Options) { o.Capacity[dovetail.Memory] = 0 }, nil, "the machine has 10 cpu; expected some cpu and some memory"},
		{"nothing fits", func(o *Options) { o.Capacity = units(2) }, nil, "not one of the 4 jobs fits a machine of 2 cpu, 2Gi memory"},
		{"two components", nil, func(j *trace.Job) { j.App.Components = append(j.App.Components, j.App.Components[0]) }, "job 7: expected one component"},
		{"no application", nil, func(j *trace.Job) { j.App = nil }, "job 7: expected one component"},
		{"no core", nil, func(j *trace.Job) { j.App.Components[0].Count = 0 }, "it has no core"},
		{"a gpu", nil, func(j *trace.Job) { j.App.Components[0].Resources[dovetail.GPU] = 1 }, "a replica asks for gpu"},
		{"no cpu", nil, func(j *trace.Job) { j.App.Components[0].Resources[dovetail.CPU] = 0 }, "a replica asks for no cpu"},
		{"labels", nil, func(j *trace.Job) { j.App.Components[0].Nodes = map[string]string{"zone": "a"} }, "nodes with certain labels"},
		{"before the beginning", nil, func(j *trace.Job) { j.Submit = -time.Second }, "it is submitted at -1s"},
		{"no time", nil, func(j *trace.Job) { j.Runtime = 999 }, "it runs for 999ns; expected at least a microsecond"},
		{"work that overflows", nil, func(j *trace.Job) { j.Runtime, j.App.Components[0].Max = math.MaxInt64, 1000 }, "more work than can be counted"},
		{"an end that overflows", nil, func(j *trace.Job) { j.Runtime = math.MaxInt64 }, "more than the 292 years"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			o, j := o, good()
			if tc.options != nil {
				tc.options(&o)
			}
			if tc.job != nil {
				tc.job(&j)
			}
			_, err := Run(t.Context(), o, []trace.Job{j, j, j, j})
			if dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("error %q, want an invalid one that says %q", err, tc.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, o, []trace.Job{good()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context was cancelled", err)
	}
}

// TestRefusedJob: a job is dropped when its core and elastic together do not fit the empty machine, although its core does, and does
// not count towards the four that have to wait.
func TestRefusedJob(t *testing.T) {
	jobs := jobsOf([]request{{1, 10, 1, 0, 1}, {1, 0, 1, 0, 1}, {1, 0, 1, 0, 1}, {1, 0, 1, 0, 1}})
	s, err := Run(t.Context(), Options{Policy: "fifo", Alloc: "flexible", Capacity: units(10)}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	why := "of its 11 replicas, core and elastic, only 10 fit the empty machine; Zoe's simulator drops such applications"
	if diff := cmp.Diff([]report.Refusal{{ID: 1, Why: why}}, s.Refused); diff != "" {
		t.Errorf("refused, -want +got:\n%s", diff)
	}
	if got, want := spans(s), "- - -"; got != want {
		t.Errorf("the others run %s, want %s", got, want)
	}
}

// TestLevels: what reports draw, for figure 2 under the flexible allocator.
func TestLevels(t *testing.T) {
	jobs := jobsOf([]request{{3, 4, 10, 0, 1}, {3, 3, 10, 0, 1}, {3, 5, 10, 0, 1}, {3, 2, 10, 0, 1}})
	s, err := Run(t.Context(), Options{Policy: "fifo", Alloc: "flexible", Capacity: units(10), Levels: true}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range s.Levels {
		for _, k := range []dovetail.ResourceKind{dovetail.CPU, dovetail.Memory} {
			got = append(got, fmt.Sprintf("%g s: %d wait, %d run, core %.1f, elastic %.1f", l.At.Seconds(), l.Waiting, l.Serving, l.Core[k], l.Elastic[k]))
		}
	}
	var want []string
	for _, level := range []string{
		"0 s: 2 wait, 2 run, core 0.6, elastic 0.4",         // A all of 7, B 3
		"10 s: 1 wait, 2 run, core 0.6, elastic 0.4",        // B all of 6, C 4
		"15 s: 0 wait, 2 run, core 0.6, elastic 0.4",        // C 7, D 3
		"23.571429 s: 0 wait, 1 run, core 0.3, elastic 0.2", // D all of 5
		"28.428572 s: 0 wait, 0 run, core 0.0, elastic 0.0",
	} {
		want = append(want, level, level)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("levels, -want +got:\n%s", diff)
	}
}
