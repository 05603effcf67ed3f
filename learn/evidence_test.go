package learn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
)

// pace is how fast a run of "sort" works beside each class, relative to alone: the truth of these tests.
func pace(class string) float64 {
	return map[string]float64{"copy": .5, "grep": .9, "idle": 1, "scan": .7}[class]
}

// beside returns a run that was beside these classes for these parts of its time, with this noise of its runtime.
func beside(ended int, scaleOut, noise float64, overlaps ...dovetail.Overlap) dovetail.Past {
	p := imported("sort", scaleOut, 0, 0)
	p.Ended = day.Add(time.Duration(ended) * time.Hour)
	speed := 1.0
	for _, o := range overlaps {
		speed += o.Ratio * (pace(o.Class) - 1)
	}
	p.Overlaps, p.Runtime = overlaps, p.Runtime/speed*math.Exp(noise)
	return p
}

// some returns runs beside a random selection of the four classes, one after the other.
func some(rng *rand.Rand, n int, noise float64, scaleOut func() float64) []dovetail.Past {
	var runs []dovetail.Past
	for i := range n {
		var overlaps []dovetail.Overlap
		left := 1.0
		for _, class := range []string{"copy", "grep", "idle", "scan"} {
			if rng.IntN(2) == 0 {
				part := left * rng.Float64()
				left -= part
				overlaps = append(overlaps, dovetail.Overlap{Class: class, Ratio: part})
			}
		}
		runs = append(runs, beside(i, scaleOut(), noise*rng.NormFloat64(), overlaps...))
	}
	return runs
}

// evidenceOf returns the evidence among events, and fails if there is another number of it.
func evidenceOf(t *testing.T, events []dovetail.Event, n int) *dovetail.Evidence {
	t.Helper()
	var found []dovetail.Evidence
	for _, e := range events {
		if p, ok := e.(dovetail.Paired); ok {
			found = append(found, p.Evidence)
			if err := coloc.New(dovetail.Colocation{}).Pair(day, &p.Evidence); err != nil {
				t.Fatalf("the book refuses it: %v", err)
			}
		}
	}
	if len(found) != n {
		t.Fatalf("%d times evidence, %v; expected %d", len(found), found, n)
	}
	if n == 0 {
		return nil
	}
	return &found[0]
}

// learned returns the evidence of runs of "sort" that are imported.
func learned(t *testing.T, model string, runs []dovetail.Past) *dovetail.Evidence {
	t.Helper()
	w := newWorld(t, model)
	events, err := w.learner.After(t.Context(), w.put(runs...))
	if err != nil {
		t.Fatal(err)
	}
	return evidenceOf(t, events, 1)
}

func TestEvidenceOfKnownRates(t *testing.T) {
	for _, model := range []string{learn.DefaultModel, "cobell"} {
		rng := rand.New(rand.NewPCG(1, 2))
		e := learned(t, model, some(rng, 60, .02, func() float64 { return float64(2 + rng.IntN(7)) }))
		if e.Class != "sort" || e.Runs != 60 || !e.Until.Equal(day.Add(59*time.Hour)) {
			t.Errorf("%s: evidence of %s from %d runs until %s", model, e.Class, e.Runs, e.Until)
		}
		for _, class := range []string{"copy", "grep", "idle", "scan"} {
			s, ok := coloc.Slowdown(e, class)
			if want := 1 / pace(class); !ok || s.Low > want || s.High < want || math.Abs(s.Times/want-1) > .05 {
				t.Errorf("%s: beside %s runs take %.3f times as long (%.3f to %.3f); the truth is %.3f", model, class, s.Times, s.Low, s.High, want)
			}
			if s.Runs < 20 || s.Runs > 40 || s.Seconds < 100 {
				t.Errorf("%s: beside %s: %d runs, %.0f s", model, class, s.Runs, s.Seconds)
			}
		}
		if s, _ := coloc.Slowdown(e, "copy"); s.Low < 1.5 {
			t.Errorf("%s: 60 runs do not prove that copy slows down: %+v", model, s)
		}
	}
}

// TestEvidenceIntervals counts how often 90 % intervals hold the truth, of few runs and many, quiet ones and noisy ones.
func TestEvidenceIntervals(t *testing.T) {
	in, all, trials := 0, 0, 40
	if testing.Short() {
		trials = 10
	}
	w := newWorld(t, "cobell")
	for trial := range trials {
		for _, noise := range []float64{.03, .15} {
			for _, n := range []int{5, 12, 30} {
				rng := rand.New(rand.NewPCG(uint64(trial), uint64(n)))
				runs := some(rng, n, noise, func() float64 { return 8 })
				m, err := predict.Find("cobell")
				if err != nil {
					t.Fatal(err)
				}
				model, err := m.Fit(learn.Samples(runs), predict.Options{})
				if err != nil {
					t.Fatal(err)
				}
				e := w.learner.Evidence("sort", model, runs)
				for _, r := range e.Rates {
					if s, ok := coloc.Slowdown(e, r.Beside); ok {
						all++
						if truth := 1 / pace(r.Beside); s.Low <= truth && truth <= s.High {
							in++
						}
					}
				}
			}
		}
	}
	if share := float64(in) / float64(all); share < .87 || all < 20*trials {
		t.Errorf("%d of %d intervals, %.1f %%, hold the truth; expected about 90 %% or more", in, all, 100*share)
	}
}

// told is a model that says how long runs take alone, and beside scan all the time.
type told struct{ alone, scan float64 }

func (m told) Report() predict.Report { return predict.Report{} }
func (m told) Predict(at predict.At) predict.Distribution {
	for _, o := range at.Overlaps {
		if o.Class == "scan" && o.Ratio == 1 {
			return meanModel{mean: m.scan}
		}
	}
	return meanModel{mean: m.alone}
}

func TestModelIsThePriorOfEvidence(t *testing.T) {
	w := newWorld(t, "cobell")
	runs := []dovetail.Past{imported("sort", 4, 0, 0)}
	for range 10 {
		runs = append(runs, runs[0])
	}
	alone := runs[0].Runtime
	runs[10].Overlaps = []dovetail.Overlap{{Class: "scan", Ratio: .05}} // says hardly anything
	for _, test := range []struct{ scan, low, high float64 }{{alone, .95, 1.05}, {2 * alone, .45, .6}} {
		e := w.learner.Evidence("sort", told{alone, test.scan}, runs)
		r := e.Rates[1]
		if r.Beside != "scan" || r.Rate < test.low || r.Rate > test.high {
			t.Errorf("the model says %.0f s beside scan and %.0f alone: rate %+v", test.scan, alone, r)
		}
		if r.Low > .8 || r.High < 1.1 && test.scan == alone {
			t.Errorf("one short meeting is no proof: %+v", r)
		}
	}
}

// Whatever is no evidence changes nothing: neither rates nor counts.
func TestGarbageIsNoEvidence(t *testing.T) {
	good := make([]dovetail.Past, 0, 12)
	for i := range 12 {
		good = append(good, beside(i, 8, 0, dovetail.Overlap{Class: "scan", Ratio: float64(i%3) / 2}))
	}
	w := newWorld(t, "cobell")
	m := told{alone: good[0].Runtime, scan: 1.4 * good[0].Runtime}
	want := w.learner.Evidence("sort", m, good)
	for reason, change := range map[string]func(*dovetail.Past){
		"failed":    func(p *dovetail.Past) { p.Outcome = dovetail.OutcomeFailed },
		"preempted": func(p *dovetail.Past) { p.Preempted = true },
		"varied": func(p *dovetail.Past) {
			p.Stretches = []dovetail.Stretch{{ScaleOut: 4, Seconds: 50}, {ScaleOut: 12, Seconds: 50}}
		},
		"no time":                 func(p *dovetail.Past) { p.Runtime = 0 },
		"negative time":           func(p *dovetail.Past) { p.Runtime = -5 },
		"no number":               func(p *dovetail.Past) { p.Runtime = math.NaN() },
		"without end":             func(p *dovetail.Past) { p.Runtime = math.Inf(1) },
		"the clock jumped":        func(p *dovetail.Past) { p.Runtime *= 1e4 },
		"it jumped the other way": func(p *dovetail.Past) { p.Runtime *= 1e-4 },
		"no replicas":             func(p *dovetail.Past) { p.ScaleOut = 0 },
		"an overlap is no number": func(p *dovetail.Past) { p.Overlaps[0].Ratio = math.NaN() },
		"an overlap is endless":   func(p *dovetail.Past) { p.Overlaps[0].Ratio = math.Inf(1) },
		"an overlap is negative":  func(p *dovetail.Past) { p.Overlaps[0].Ratio = -.5 },
	} {
		bad := beside(20, 8, 1, dovetail.Overlap{Class: "copy", Ratio: .9})
		change(&bad)
		if diff := cmp.Diff(want, w.learner.Evidence("sort", m, append(slices.Clone(good), bad))); diff != "" {
			t.Errorf("%s: (-without +with it):\n%s", reason, diff)
		}
		if e := w.learner.Evidence("sort", m, []dovetail.Past{bad}); e != nil && reason[len(reason)-6:] != "jumped" && e.Runs > 0 && bad.Runtime < 1e3 && bad.Runtime > 1 {
			t.Errorf("%s: alone it is evidence: %+v", reason, e)
		}
	}
	if e := w.learner.Evidence("sort", m, []dovetail.Past{beside(1, 8, 0)}); e != nil {
		t.Errorf("evidence without neighbours: %+v", e)
	}
}

// Three runs of one class at once count for one another: each has a third, and nobody the rest.
func TestSeveralNeighboursAtOnce(t *testing.T) {
	w := newWorld(t, "cobell")
	p := imported("sort", 4, 0, 0)
	p.Overlaps = []dovetail.Overlap{{Class: "grep", Ratio: 1}, {Class: "sort", Ratio: 3}}
	e := w.learner.Evidence("sort", told{alone: p.Runtime, scan: p.Runtime}, []dovetail.Past{p})
	var got []string
	for _, r := range e.Rates {
		got = append(got, fmt.Sprintf("%s %d %.3f", r.Beside, r.Runs, r.Seconds/p.Runtime))
	}
	if want := []string{"grep 1 0.250", "sort 1 0.750"}; !slices.Equal(got, want) {
		t.Errorf("shares %q; expected %q", got, want)
	}
}

func TestEvidenceTellsTheMostFrequentNeighboursApart(t *testing.T) {
	w := newWorld(t, "cobell")
	var runs []dovetail.Past
	for i := range 40 {
		p := imported("sort", 4, 0, 0)
		for n := range 20 {
			if i%20 >= n {
				p.Overlaps = append(p.Overlaps, dovetail.Overlap{Class: fmt.Sprintf("c%02d", n), Ratio: .05})
			}
		}
		runs = append(runs, p)
	}
	e := w.learner.Evidence("sort", told{alone: runs[0].Runtime, scan: 1}, runs)
	var names []string
	for _, r := range e.Rates {
		names = append(names, r.Beside)
	}
	if len(names) != 17 || names[0] != "" || names[1] != "c00" || names[16] != "c15" {
		t.Errorf("rates beside %q; expected alone and the 16 that most runs met", names)
	}
}

// record lets the learner see events that are on record since day.
func (w *world) hear(at time.Time, events ...dovetail.Event) {
	w.t.Helper()
	c := &engine.Changes{}
	for _, e := range events {
		w.seq++
		c.Records = append(c.Records, engine.Record{Seq: w.seq, At: at, Event: e})
	}
	if got, err := w.learner.After(w.t.Context(), w.record(c)); err != nil || len(got) > 0 {
		w.t.Fatalf("told %v, error %v; expected nothing of that", got, err)
	}
}

func (w *world) fit() []dovetail.Event {
	w.t.Helper()
	events, err := w.learner.Fit(w.t.Context(), "sort")
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

func TestEvidenceIsToldOnce(t *testing.T) {
	w := newWorld(t, "cobell")
	rng := rand.New(rand.NewPCG(3, 4))
	runs := some(rng, 12, .05, func() float64 { return 8 })
	events, err := w.learner.After(t.Context(), w.put(runs[:10]...))
	if err != nil {
		t.Fatal(err)
	}
	ten := evidenceOf(t, events, 1)
	if diff := cmp.Diff(ten, evidenceOf(t, w.fit(), 1)); diff != "" {
		t.Errorf("what is not on record yet is told again (-first +then):\n%s", diff)
	}
	w.hear(day, dovetail.Paired{Evidence: *ten})
	evidenceOf(t, w.fit(), 0)

	foreign := *ten
	foreign.Runs = 30
	w.hear(day, dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "sort", Evidence: &foreign}}})
	if events, err = w.learner.After(t.Context(), w.put(runs[10:]...)); err != nil {
		t.Fatal(err)
	}
	evidenceOf(t, events, 0) // 30 runs elsewhere say more than 12 here
	foreign.Runs = 20
	w.hear(day, dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "sort", Evidence: &foreign}}})
	if e := evidenceOf(t, w.fit(), 1); e.Runs != 12 {
		t.Errorf("evidence of %d runs; expected 12", e.Runs)
	}
	w.hear(day, dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "sort"}}})
	evidenceOf(t, w.fit(), 1)
}

func TestWhatWasForgottenIsNotLearnedAgain(t *testing.T) {
	hour := func(n int) time.Time { return day.Add(time.Duration(n)*time.Hour + time.Minute) }
	var runs []dovetail.Past
	for i := range 10 {
		runs = append(runs, beside(i, 8, 0, dovetail.Overlap{Class: "copy", Ratio: .5}, dovetail.Overlap{Class: "scan", Ratio: .5}))
	}
	for _, test := range []struct {
		reason string
		event  dovetail.Forgotten
		at     time.Time
		want   string
	}{
		{"another class", dovetail.Forgotten{Class: "grep"}, hour(5), "10 runs: beside copy 10, beside scan 10"},
		{"the class", dovetail.Forgotten{Class: "sort"}, hour(5), "4 runs: beside copy 4, beside scan 4"},
		{"all", dovetail.Forgotten{}, hour(7), "2 runs: beside copy 2, beside scan 2"},
		{"a neighbour", dovetail.Forgotten{Class: "scan"}, hour(5), "10 runs: beside copy 10, beside scan 4"},
		{"a neighbour, after all of it", dovetail.Forgotten{Class: "scan"}, hour(10), "10 runs: beside copy 10"},
		{"all, after all of it", dovetail.Forgotten{}, hour(10), ""},
	} {
		w := newWorld(t, "cobell")
		w.put(runs...)
		before := evidenceOf(t, w.fit(), 1)
		w.hear(hour(10), dovetail.Paired{Evidence: *before})
		w.hear(test.at, test.event)
		got := ""
		for _, e := range w.fit() {
			p, ok := e.(dovetail.Paired)
			if !ok {
				continue
			}
			got = fmt.Sprintf("%d runs:", p.Evidence.Runs)
			for i, r := range p.Evidence.Rates {
				if i > 0 {
					got += ","
				}
				got += fmt.Sprintf(" beside %s %d", r.Beside, r.Runs)
			}
		}
		if got != test.want {
			t.Errorf("%s is forgotten: %q; expected %q", test.reason, got, test.want)
		}
	}
}

func TestCosts(t *testing.T) {
	store := mem.New()
	start, ready, end := day, day.Add(time.Minute), day.Add(time.Minute+200*time.Second)
	place := func(at time.Time, run dovetail.RunID, node string, n int) dovetail.Placement {
		return dovetail.Placement{At: at, Slot: dovetail.Slot{Run: run, Node: node}, N: n}
	}
	status := func(id dovetail.RunID, class string) dovetail.RunStatus {
		return dovetail.RunStatus{ID: id, Class: class, App: class, State: dovetail.Running}
	}
	mine := dovetail.RunStatus{
		ID: 1, Class: "sort", App: "sort", State: dovetail.Ended, Outcome: dovetail.OutcomeSucceeded, Started: &start, Ready: &ready, Ended: &end,
	}
	err := store.Append(t.Context(), engine.Changes{
		Runs: []dovetail.RunStatus{mine, status(2, "scan"), status(3, "scan"), status(4, "copy"), status(5, "scan")},
		Placements: []dovetail.Placement{
			place(start, 1, "a", 1), place(start, 1, "b", 1),
			place(start, 5, "a", 1), place(ready.Add(-time.Second), 5, "a", 0), // before its work began
			place(ready, 2, "a", 1), place(ready.Add(100*time.Second), 2, "a", 0), // a quarter of its time on its nodes
			place(ready.Add(100*time.Second), 3, "b", 1), place(ready.Add(200*time.Second), 3, "b", 0), // another
			place(ready.Add(50*time.Second), 4, "b", 1), place(ready.Add(90*time.Second), 4, "b", 0), // a tenth
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.History(t.Context(), engine.HistoryFilter{Learn: true})
	if err != nil || len(found) != 1 {
		t.Fatalf("history %v, error %v", found, err)
	}
	known := func(class string) (dovetail.KnownClass, bool) {
		return dovetail.KnownClass{Class: class, Evidence: &dovetail.Evidence{Class: class, Runs: 9, Rates: []dovetail.Rate{
			{Rate: 1.2, Low: 1.2, High: 1.2, Runs: 9}, {Beside: "scan", Rate: .8, Low: .6, High: 1, Runs: 4},
		}}}, class == "sort"
	}
	got := learn.Costs(&found[0], known)
	want := []dovetail.Cost{
		{Class: "copy", Runs: []dovetail.RunID{4}, Seconds: 20},
		// 100 s at .8 instead of 1.2 do what takes 66.7 s alone; at 1, 83.3 s, and at .6, 50 s.
		{Class: "scan", Runs: []dovetail.RunID{2, 3}, Seconds: 100, Known: true, Lost: 100. / 3, Low: 100. / 6, High: 50},
	}
	if diff := cmp.Diff(want, got, approx(1e-9)); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	for _, c := range learn.Costs(&found[0], func(string) (dovetail.KnownClass, bool) { return dovetail.KnownClass{}, false }) {
		if c.Known || c.Lost != 0 || c.Seconds == 0 {
			t.Errorf("without evidence: %+v", c)
		}
	}
	crowded := dovetail.History{Import: &dovetail.Past{Class: "sort", Runtime: 100, Overlaps: []dovetail.Overlap{{Class: "scan", Ratio: 4}}}}
	want = []dovetail.Cost{{Class: "scan", Seconds: 400, Known: true, Lost: 100. / 3, Low: 100. / 6, High: 50}}
	if diff := cmp.Diff(want, learn.Costs(&crowded, known), approx(1e-9)); diff != "" {
		t.Errorf("four at once (-want +got):\n%s", diff)
	}
	crowded.Import.Runtime = 0
	if got := learn.Costs(&crowded, known); got != nil {
		t.Errorf("a run that took no time: %v", got)
	}
}
