package learn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/sched"
)

// world is a store and who learns from it. What it records are runs of "sort" on one node one after the other.
type world struct {
	t       *testing.T
	store   *mem.Store
	learner *learn.Learner
	seq     int64
	runs    dovetail.RunID
}

func newWorld(t *testing.T, model string) *world {
	t.Helper()
	w := &world{t: t, store: mem.New()}
	var err error
	if w.learner, err = learn.New(w.store, model); err != nil {
		t.Fatal(err)
	}
	return w
}

// runtime is the truth: 20 s and a perfectly parallel part, slower by half beside another run all the time.
func runtime(scaleOut, overlap float64) float64 { return (20 + 400/scaleOut) * (1 + .5*overlap) }

// run records a run with so many workers and returns what was recorded.
func (w *world) run(workers int, change func(*dovetail.RunStatus)) *engine.Changes {
	w.runs++
	start := day.Add(time.Duration(w.runs) * 10 * time.Minute)
	end := start.Add(time.Duration(runtime(float64(workers), 0) * float64(time.Second)))
	s := dovetail.RunStatus{
		ID: w.runs, Class: "sort", App: "sort", State: dovetail.Ended, Outcome: dovetail.OutcomeSucceeded, Started: &start, Ready: &start, Ended: &end,
	}
	if change != nil {
		change(&s)
	}
	slot := dovetail.Slot{Run: s.ID, Component: 1, Node: "n"}
	return w.record(&engine.Changes{
		Submitted: []*dovetail.Run{{ID: s.ID, Class: s.Class, App: driven()}}, Runs: []dovetail.RunStatus{s},
		Placements: []dovetail.Placement{{At: start, Slot: slot, N: workers}},
	})
}

// put records imported runs.
func (w *world) put(runs ...dovetail.Past) *engine.Changes {
	w.seq++
	return w.record(&engine.Changes{Records: []engine.Record{{Seq: w.seq, At: day, Event: dovetail.Imported{Runs: runs}}}})
}

func (w *world) record(c *engine.Changes) *engine.Changes {
	w.t.Helper()
	if err := w.store.Append(w.t.Context(), *c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// after returns what is learned after the changes.
func (w *world) after(c *engine.Changes) []dovetail.Outlook {
	w.t.Helper()
	events, err := w.learner.After(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return outlooks(w.t, events)
}

func outlooks(t *testing.T, events []dovetail.Event) []dovetail.Outlook {
	t.Helper()
	var all []dovetail.Outlook
	for _, e := range events {
		if _, ok := e.(dovetail.Paired); ok {
			continue // evidence_test.go
		}
		o := e.(dovetail.Fitted).Outlook
		if fault := predict.Check(&o); fault != "" {
			t.Fatalf("outlook of %s: %s", o.Class, fault)
		}
		all = append(all, o)
	}
	return all
}

func imported(class string, scaleOut, overlap float64, input int64) dovetail.Past {
	p := dovetail.Past{
		Class: class, App: "sort", Ended: day, Outcome: dovetail.OutcomeSucceeded, Runtime: runtime(scaleOut, overlap), ScaleOut: scaleOut, InputSize: input,
	}
	if overlap > 0 {
		p.Overlaps = []dovetail.Overlap{{Class: "scan", Ratio: overlap}}
	}
	return p
}

func TestLearnFromTheFirstRunOn(t *testing.T) {
	w := newWorld(t, learn.DefaultModel)
	var first []dovetail.Stretch
	for i, workers := range []int{8, 5, 3, 4, 6, 7, 2} {
		all := w.after(w.run(workers, nil))
		if len(all) != 1 {
			t.Fatalf("%d outlooks after run %d; expected one", len(all), i+1)
		}
		o := all[0]
		first = append(first, dovetail.Stretch{ScaleOut: workers, Seconds: runtime(float64(workers), 0)})
		if i+1 >= predict.Few {
			first = nil
		}
		if diff := cmp.Diff(first, o.First, approx(1e-6)); diff != "" || o.Runs != i+1 || o.Model != learn.DefaultModel || o.InputSize != 0 {
			t.Errorf("after run %d: %d runs, model %s, first ones (-want +got):\n%s", i+1, o.Runs, o.Model, diff)
		}
		if !slices.Equal(o.ScaleOuts, []int{2, 3, 4, 5, 6, 7, 8}) {
			t.Errorf("scale-outs %v; expected all that the application allows", o.ScaleOuts)
		}
		for _, row := range o.Alone {
			for _, y := range row {
				if s := fmt.Sprintf("%.5e", y); s != strings.TrimSpace(s) || mustParse(t, s) != y {
					t.Errorf("runtime %v has more than 6 digits", y)
				}
			}
		}
		first = slices.Clip(first)
	}
	o := w.after(w.run(8, nil))[0]
	for i, x := range o.ScaleOuts {
		want := runtime(float64(x), 0)
		if got := o.Alone[i][slices.Index(o.Levels, .5)]; math.Abs(got/want-1) > .05 {
			t.Errorf("median at scale-out %d: %.1f s; expected about %.1f s", x, got, want)
		}
	}
}

func approx(margin float64) cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= margin*math.Abs(b) })
}

func mustParse(t *testing.T, s string) float64 {
	t.Helper()
	var v float64
	if _, err := fmt.Sscan(s, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatIsNotLearnedFrom(t *testing.T) {
	w := newWorld(t, "cobell")
	for _, outcome := range []dovetail.Outcome{"failed", "cancelled", "timedout", "lost"} {
		if all := w.after(w.run(8, func(s *dovetail.RunStatus) { s.Outcome = outcome })); len(all) > 0 {
			t.Errorf("%s: learned %v", outcome, all)
		}
	}
	if all := w.after(w.run(8, func(s *dovetail.RunStatus) { s.Retries = 1 })); len(all) > 0 {
		t.Errorf("a run whose core restarted: learned %v", all)
	}
	if all := w.after(w.run(8, func(s *dovetail.RunStatus) { s.State, s.Ended, s.Outcome = dovetail.Running, nil, "" })); len(all) > 0 {
		t.Errorf("a run that goes on: learned %v", all)
	}
	if all := w.after(w.run(8, nil)); len(all) != 1 || all[0].Runs != 1 {
		t.Errorf("the one that succeeded: %v; expected an outlook of one run", all)
	}
}

// TestLearnerReadsOnlyWhatIsNew compares a learner that was there all the time with one that reads all of the history.
func TestLearnerReadsOnlyWhatIsNew(t *testing.T) {
	w := newWorld(t, "cobell")
	for i := range 230 {
		c := w.run(2+i%7, nil)
		if i%50 == 0 {
			c.Records = w.put(imported("sort", 4, 0, 0)).Records
		}
		kept, err := w.learner.After(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if i%23 != 0 {
			continue
		}
		anew, err := learn.New(w.store, "cobell")
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := anew.Fit(t.Context(), "sort")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fitted, kept); diff != "" {
			t.Fatalf("after run %d (-all of the history +step by step):\n%s", i+1, diff)
		}
		if o := outlooks(t, kept)[0]; o.Runs != min(i+1+i/50+1, 200) {
			t.Errorf("after run %d: learned from %d", i+1, o.Runs)
		}
	}
}

func TestLearnFromImports(t *testing.T) {
	w := newWorld(t, learn.DefaultModel)
	var runs []dovetail.Past
	for x := 1.0; x <= 100; x += 9 {
		for _, ov := range []float64{0, .5, 1} {
			runs = append(runs, imported("sort?a=1", x, ov, 0))
		}
	}
	runs = append(runs, imported("grep", 4, 0, 0))
	runs[len(runs)-1].Outcome = dovetail.OutcomeFailed
	all := w.after(w.put(runs...))
	if len(all) != 1 || all[0].Class != "sort?a=1" || all[0].Runs != len(runs)-1 {
		t.Fatalf("outlooks %v; expected one of sort?a=1", all)
	}
	o := all[0]
	if n := len(o.ScaleOuts); n > 64 || o.ScaleOuts[0] != 1 || o.ScaleOuts[n-1] != 400 {
		t.Errorf("%d scale-outs %v; expected at most 64 from 1 to 400", n, o.ScaleOuts)
	}
	if len(o.Beside) != 1 || o.Beside[0].Class != "scan" || o.Beside[0].Runs != 24 {
		t.Fatalf("neighbours %+v; expected scan, beside 24 runs", o.Beside)
	}
	if got := o.Beside[0].Mean; math.Abs(got-.5) > 1e-9 {
		t.Errorf("scan was there for %.3f of the runs' time; expected half", got)
	}
	middle, at := slices.Index(o.Levels, .5), slices.Index(o.ScaleOuts, 10)
	if got := o.Beside[0].Seconds[at][middle] / o.Alone[at][middle]; math.Abs(got-1.5) > .1 {
		t.Errorf("beside scan a run takes %.2f times as long; expected 1.5", got)
	}
}

// TestRunsThatEndInTheFuture: the clock of another system may be ahead.
func TestRunsThatEndInTheFuture(t *testing.T) {
	w := newWorld(t, "cobell")
	ahead := imported("sort", 4, 0, 0)
	ahead.Ended = day.Add(1000 * time.Hour)
	w.after(w.put(ahead))
	w.after(w.run(8, nil))
	if o := w.after(w.run(6, nil))[0]; o.Runs != 3 {
		t.Errorf("learned from %d runs; expected 3", o.Runs)
	}
}

func TestInputSizes(t *testing.T) {
	for _, test := range []struct {
		reason string
		sizes  []int64
		want   []int64
	}{
		{"none is known", []int64{0, 0}, []int64{0}},
		{"one", []int64{100, 100}, []int64{100}},
		{"similar ones, the latest stands for them", []int64{95, 104, 100}, []int64{100}},
		{"two, and one for runs that do not say", []int64{100, 200}, []int64{0, 100, 200}},
		{"one, and a run that does not say", []int64{100, 0}, []int64{0, 100}},
		{"the latest of many", []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}, []int64{0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}},
	} {
		w := newWorld(t, "cobell")
		var runs []dovetail.Past
		for i, size := range test.sizes {
			runs = append(runs, imported("sort", 4, 0, size))
			runs[i].Ended = day.Add(time.Duration(i) * time.Microsecond)
		}
		var got []int64
		for _, o := range w.after(w.put(runs...)) {
			got = append(got, o.InputSize)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: outlooks for %v; expected %v", test.reason, got, test.want)
		}
	}
	w := newWorld(t, "cobell")
	w.after(w.put(imported("sort", 4, 0, 100)))
	if o := w.after(w.put(imported("sort", 4, 0, 105))); len(o) != 1 || o[0].InputSize != 100 {
		t.Errorf("outlooks %v; expected that 100 goes on to stand for 105", o)
	}
}

func TestRareNeighbours(t *testing.T) {
	w := newWorld(t, "cobell")
	var runs []dovetail.Past
	for i := range 20 {
		p := imported("sort", 2+float64(i%5), 0, 0)
		for k := i; k < 20; k++ { // class k ran beside k+1 runs
			p.Overlaps = append(p.Overlaps, dovetail.Overlap{Class: fmt.Sprintf("c%02d", k), Ratio: .1})
		}
		runs = append(runs, p)
	}
	o := w.after(w.put(runs...))[0]
	if len(o.Beside) != 16 || o.Beside[0].Class != "c04" || o.Beside[0].Runs != 5 {
		t.Errorf("%d neighbours, the first %s beside %d runs; expected the 16 most frequent, from c04 on", len(o.Beside), o.Beside[0].Class, o.Beside[0].Runs)
	}
}

func TestUnknownModel(t *testing.T) {
	if _, err := learn.New(mem.New(), "oracle"); err == nil || !strings.Contains(err.Error(), learn.DefaultModel) {
		t.Errorf("error %v; expected one that lists the models", err)
	}
}

// failing is a recorder that does not answer about one class.
type failing struct {
	learn.Recorder
	class string
}

func (f failing) History(ctx context.Context, q engine.HistoryFilter) ([]dovetail.History, error) {
	if q.Class == f.class {
		return nil, errors.New("the disk is on fire")
	}
	return f.Recorder.History(ctx, q)
}

func TestOneClassFails(t *testing.T) {
	w := newWorld(t, "cobell")
	l, err := learn.New(failing{w.store, "a"}, "cobell")
	if err != nil {
		t.Fatal(err)
	}
	events, err := l.After(t.Context(), w.put(imported("a", 4, 0, 0), imported("b", 4, 0, 0)))
	if err == nil || !strings.Contains(err.Error(), "history of a") || len(events) != 1 || events[0].(dovetail.Fitted).Outlook.Class != "b" {
		t.Errorf("%v, %v; expected an outlook of b and an error about a", events, err)
	}
}

// fakeEngine applies what it is told to a core.
type fakeEngine struct {
	mu    sync.Mutex
	core  *sched.Core
	told  []dovetail.Outlook
	other []dovetail.Event

	resets int64
	meddle func() // called before the next event is told; nil: nothing happens
}

func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &fakeEngine{core: core}
}

func (f *fakeEngine) Resets() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resets
}

func (f *fakeEngine) TellAsOf(_ context.Context, resets int64, e dovetail.Event) error {
	if meddle := f.meddle; meddle != nil {
		f.meddle = nil
		meddle()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if resets != f.resets {
		return dovetail.Errorf(dovetail.Conflict, "knowledge was forgotten")
	}
	if fitted, ok := e.(dovetail.Fitted); ok {
		f.told = append(f.told, fitted.Outlook)
	} else {
		f.other = append(f.other, e)
	}
	return f.core.Apply(day, e)
}

func (f *fakeEngine) Inspect(_ context.Context, look func(*sched.Core, time.Time)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.core, day)
	return nil
}

// take returns the classes and numbers of runs that the engine was told about since it was asked last.
func (f *fakeEngine) take() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.told {
		all = append(all, fmt.Sprintf("%s:%d", o.Class, o.Runs))
	}
	f.told = nil
	return all
}

func TestService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newWorld(t, "cobell"), newFakeEngine(t)
		var log bytes.Buffer
		l, err := learn.New(failing{w.store, "broken"}, "cobell")
		if err != nil {
			t.Fatal(err)
		}
		w.run(8, nil)
		w.put(imported("known", 4, 0, 0))
		known := w.after(w.put(imported("known", 8, 0, 0)))
		if err := e.core.Apply(day, dovetail.Fitted{Outlook: known[0]}); err != nil {
			t.Fatal(err)
		}
		long := imported("long", 4, 0, 0) // ago, and more runs have ended since than are looked at
		long.Ended = day.AddDate(-1, 0, 0)
		noise := imported("noise", 4, 0, 0)
		noise.Outcome = dovetail.OutcomeFailed
		w.put(append(slices.Repeat([]dovetail.Past{noise}, 1000), long)...)
		s := learn.NewService(l, w.store, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx, e)
		}()
		expect := func(reason string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := e.take(); !slices.Equal(got, want) {
				t.Errorf("%s: the engine was told of %v; expected %v", reason, got, want)
			}
		}
		expect("at first: what it does not know, the latest first", "sort:1", "long:1")
		s.Recorded(w.run(4, nil))
		expect("a run ended", "sort:2")
		for range 5 {
			s.Recorded(w.run(4, nil))
		}
		s.Recorded(w.put(imported("broken", 4, 0, 0), imported("known", 2, 0, 0)))
		s.Recorded(w.run(4, func(s *dovetail.RunStatus) { s.Outcome = dovetail.OutcomeFailed }))
		expect("a burst, before the pause is over")
		<-time.After(2 * time.Second)
		expect("a burst", "known:3", "sort:7")
		if !strings.Contains(log.String(), "class=broken") || !strings.Contains(log.String(), "on fire") {
			t.Errorf("log %q; expected that it names the class that failed, and why", log.String())
		}
		cancel()
		<-done
	})
}

// BenchmarkAfter is one more end of a run of a class with 200 learnable ones.
func BenchmarkAfter(b *testing.B) {
	store := mem.New()
	l, err := learn.New(store, learn.DefaultModel)
	if err != nil {
		b.Fatal(err)
	}
	seq := int64(1)
	put := func(n int) *engine.Changes {
		var runs []dovetail.Past
		for i := range n {
			runs = append(runs, imported("sort", float64(1+i%24), float64(i%3)/2, 0))
		}
		c := &engine.Changes{Records: []engine.Record{{Seq: seq, At: day, Event: dovetail.Imported{Runs: runs}}}}
		seq++
		if err := store.Append(context.Background(), *c); err != nil {
			b.Fatal(err)
		}
		return c
	}
	put(200)
	for b.Loop() {
		if _, err := l.After(context.Background(), put(1)); err != nil {
			b.Fatal(err)
		}
	}
}
