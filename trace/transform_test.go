package trace

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func TestCut(t *testing.T) {
	text := "1 10 1 -1 1 1 1\n2 20 1 -1 1 1 1\n3 20.5 1 -1 1 1 1\n4 40 1 -1 1 1 1\n"
	type at map[int64]float64
	for _, tc := range []struct {
		reason string
		window Window
		want   at
		err    string
	}{
		{"everything, from the first job on", Window{}, at{1: 0, 2: 10, 3: 10.5, 4: 30}, ""},
		{"the beginning belongs to it, the end does not", Window{From: 20 * time.Second, To: 40 * time.Second}, at{2: 0, 3: 0.5}, ""},
		{"time begins at From", Window{From: 15 * time.Second}, at{2: 5, 3: 5.5, 4: 25}, ""},
		{"only an end", Window{To: 20 * time.Second}, at{1: 0}, ""},
		{"the first ones", Window{First: 2}, at{1: 0, 2: 10}, ""},
		{"the first ones of a window", Window{From: 11 * time.Second, First: 1}, at{2: 9}, ""},
		{"nothing there", Window{From: time.Hour}, at{}, "no job was submitted in this window"},
	} {
		jobs, err := collect(Cut(Each(mustRead(t, text)), tc.window))
		got := at{}
		for i := range jobs {
			got[jobs[i].ID] = jobs[i].Submit.Seconds()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
		}
	}
	unsorted := Each(mustRead(t, "1 10 1 -1 1 1 1\n2 5 1 -1 1 1 1\n"))
	if _, err := collect(Cut(unsorted, Window{})); err == nil || !strings.Contains(err.Error(), "sort the trace first") {
		t.Errorf("not sorted: %v", err)
	}
}

func TestScale(t *testing.T) {
	job := mustRead(t, "10 2 4 3 5\n")[0]
	app := *job.App
	app.MaxRuntime, app.Size, app.Target = dovetail.Duration(time.Minute), 2, &dovetail.Target{Runtime: dovetail.Duration(10 * time.Second), Confidence: 0.9}
	job.App = &app
	for _, tc := range []struct {
		reason                 string
		f                      Factors
		submit, runtime, hints float64 // how they change
	}{
		{"all times", Factors{3, 1, 1}, 3, 3, 3},
		{"more load: arrivals only", Factors{1, 4, 1}, 0.25, 1, 1},
		{"longer jobs", Factors{1, 1, 2.5}, 1, 2.5, 2.5},
		{"together", Factors{2, 4, 2.5}, 0.5, 5, 5},
	} {
		jobs, err := collect(Scale(Each([]Job{job}), tc.f))
		if err != nil {
			t.Fatal(err)
		}
		got, hints := jobs[0], jobs[0].App
		want := []float64{10 * tc.submit, 4 * tc.runtime, 3 * tc.runtime, 5 * tc.runtime, 4 * tc.hints, 60 * tc.hints, 2 * tc.hints, 10 * tc.hints}
		seen := []float64{
			got.Submit.Seconds(), got.Runtime.Seconds(), got.Tasks[0].Seconds(), got.Tasks[1].Seconds(), time.Duration(hints.Expected).Seconds(),
			time.Duration(hints.MaxRuntime).Seconds(), hints.Size, time.Duration(hints.Target.Runtime).Seconds(),
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
	if job.Tasks[0] != 3*time.Second || time.Duration(app.Expected) != 4*time.Second || app.Target.Runtime != dovetail.Duration(10*time.Second) {
		t.Error("the jobs that were given are changed")
	}
	for _, k := range []float64{0, -1, math.NaN(), math.Inf(1), 1e12} {
		if _, err := collect(Scale(Each([]Job{job}), Factors{k, 1, 1})); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("factor %v: %v", k, err)
		}
	}
	tiny, err := collect(Scale(Each([]Job{job}), Factors{1e-12, 1, 1}))
	if err != nil || tiny[0].Runtime != us || tiny[0].Tasks[0] != us {
		t.Errorf("a runtime must stay positive: %v, %v", tiny, err)
	}
}

// TestDeadlines checks where deadlines are after a trace was cut or scaled, by hand: two jobs share an application that is to be
// done at 01:00:00 on the day on which a trace begins.
func TestDeadlines(t *testing.T) {
	const layout = "2006-01-02 15:04:05.000000"
	shared := *mustRead(t, smallZoe)[0].App
	by := time.Date(2000, time.January, 1, 2, 0, 0, 0, time.FixedZone("", 3600))
	shared.FinishBy = &by
	jobs := []Job{
		{ID: 1, Submit: 10 * time.Minute, Runtime: time.Minute, App: &shared},
		{ID: 2, Submit: 90 * time.Minute, Runtime: time.Minute, App: &shared}, // late from the beginning
	}
	for _, tc := range []struct {
		reason string
		change func(jobs iter.Seq2[Job, error]) iter.Seq2[Job, error]
		want   []string
	}{
		{"cut: with the submissions, by From", cutBy(Window{From: 5 * time.Minute}), []string{"2000-01-01 00:55:00.000000", "2000-01-01 00:55:00.000000"}},
		{"cut: by the first submission", cutBy(Window{First: 1}), []string{"2000-01-01 00:50:00.000000"}},
		{"load: as far behind the submission as before", scaleBy(Factors{1, 2, 1}), []string{"2000-01-01 00:55:00.000000", "2000-01-01 00:15:00.000000"}},
		{"runtimes: as much further behind it", scaleBy(Factors{1, 1, 3}), []string{"2000-01-01 02:40:00.000000", "2000-01-01 00:00:00.000000"}},
		{"all times", scaleBy(Factors{0.5, 1, 1}), []string{"2000-01-01 00:30:00.000000", "2000-01-01 00:30:00.000000"}},
		{"together", scaleBy(Factors{2, 4, 1.5}), []string{"2000-01-01 02:35:00.000000", "1999-12-31 23:15:00.000000"}},
	} {
		after, err := collect(tc.change(Each(jobs)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range after {
			got = append(got, after[i].App.FinishBy.Format(layout))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
	if shared.FinishBy != &by || !by.Equal(Epoch().Add(time.Hour)) || time.Duration(shared.Expected) != 36276*time.Millisecond {
		t.Error("the application that was given is changed")
	}
	jobs[1].App = mustRead(t, smallZoe)[1].App
	if after, err := collect(cutBy(Window{From: time.Minute})(Each(jobs))); err != nil || after[1].App != jobs[1].App {
		t.Errorf("an application without a deadline is copied: %v", err)
	}
}

func cutBy(w Window) func(iter.Seq2[Job, error]) iter.Seq2[Job, error] {
	return func(jobs iter.Seq2[Job, error]) iter.Seq2[Job, error] { return Cut(jobs, w) }
}

func scaleBy(f Factors) func(iter.Seq2[Job, error]) iter.Seq2[Job, error] {
	return func(jobs iter.Seq2[Job, error]) iter.Seq2[Job, error] { return Scale(jobs, f) }
}

func TestDeadlinesOutOfTheCalendar(t *testing.T) {
	for _, tc := range []struct {
		reason string
		by     time.Time
		change func(jobs iter.Seq2[Job, error]) iter.Seq2[Job, error]
	}{
		{"later than all years", Epoch().AddDate(100, 0, 0), scaleBy(Factors{100, 1, 1})},
		{"later than can be counted", Epoch().AddDate(7999, 0, 0), scaleBy(Factors{1e6, 1, 1})},
		{"earlier than all years", Epoch().AddDate(-30, 0, 0), scaleBy(Factors{1, 1, 2})},
		{"earlier by the beginning of the window", Epoch().AddDate(-30, 0, 0), cutBy(Window{From: 5 * time.Second})},
	} {
		job := mustRead(t, "1 10 1 -1 5 1 1\n")[0]
		app := *job.App
		app.FinishBy, job.App = &tc.by, &app
		_, err := collect(tc.change(Each([]Job{job})))
		if dovetail.CodeOf(err) != dovetail.Invalid || !strings.Contains(err.Error(), "the deadline of job 1 would be out of the years 1970 to 9999") {
			t.Errorf("%s: error %v", tc.reason, err)
		}
	}
}

func TestExpect(t *testing.T) {
	before := mustRead(t, smallSWF)
	after, err := collect(Expect(Each(before)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		if time.Duration(after[i].App.Expected) != after[i].Runtime {
			t.Errorf("job %d: runtime %v, but %v is expected", after[i].ID, after[i].Runtime, time.Duration(after[i].App.Expected))
		}
	}
	if before[0].App.Expected != 0 {
		t.Error("the jobs that were given are changed")
	}
}

func TestSummarise(t *testing.T) {
	s, err := Summarise(Each(mustRead(t, "1 0 1 10 10 0.5 2\n2 30 2 -1 20 1 0\n3 40 4 -1 5 1 1\n")))
	if err != nil {
		t.Fatal(err)
	}
	spread := func(mean, variance, low, middle, high float64) Spread {
		return Spread{mean, math.Sqrt(variance), low, low, middle, high, high, high, high}
	}
	want := &Summary{
		Jobs: 3, Replicas: 17, Kinds: map[dovetail.Kind]int{dovetail.Batch: 3}, Rigid: 2, Hinted: 3, First: 0, Last: 40,
		Core: spread(7./3, 14./9, 1, 2, 4), Elastic: spread(10./3, 200./9, 0, 0, 10), Full: spread(17./3, 134./9, 2, 4, 11),
		Runtime: spread(35./3, 350./9, 5, 10, 20), Gap: spread(20, 100, 10, 10, 30),
		Demand: Demand{ReplicaSeconds: 170, CoreSeconds: 115, GiBSeconds: 240, MeanCores: 2.875, MeanGiB: 6},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 3e-4*math.Abs(a) })
	if diff := cmp.Diff(want, s, near); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Percentiles are those of the sorted numbers, within half a thousandth.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]int64{10, 4095, 5000, 1e9, math.MaxInt64}).Draw(t, "largest")
		values := rapid.SliceOfN(rapid.Int64Range(0, top), 1, 200).Draw(t, "values")
		var h histogram
		for _, v := range values {
			h.add(v)
		}
		slices.Sort(values)
		for _, p := range []float64{0.001, 0.1, 0.5, 0.9, 0.99, 1} {
			want := values[max(0, int(math.Ceil(p*float64(len(values))))-1)]
			got := h.percentile(p)
			if want <= 4095 && got != want || math.Abs(float64(got)-float64(want)) > 0.0005*float64(want) {
				t.Fatalf("p%v is %d, want %d", 100*p, got, want)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	own := func(text string) string {
		var s strings.Builder
		if err := Write(&s, Each(mustRead(b, text))); err != nil {
			b.Fatal(err)
		}
		return s.String()
	}
	const jobs = 1000
	lines := func(line string) string { return strings.Repeat(line+"\n", jobs) }
	zoe := lines("1 124.000 1 10 625.738 0.25 0.25")
	for _, tc := range []struct{ name, text string }{
		{"zoe", zoe},
		{"swf", lines("1 1460 -1 3726 128 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1")},
		{"tr-40-tasks", lines("7.527 40 32.26" + strings.Repeat(" 32.8082395534", 40))},
		{"openb", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" + lines("p,12000,16384,1,1000,,LS,Running,0,12537496,0")},
		{"dovetail", own(zoe)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range Read(strings.NewReader(tc.text), "bench.txt", Options{}).Jobs() {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	const n = 1000
	jobs := mustRead(b, strings.Repeat("1 124.000 1 10 625.738 0.25 0.25\n", n))
	for b.Loop() {
		if err := Write(discard{}, Each(jobs)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/job")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
