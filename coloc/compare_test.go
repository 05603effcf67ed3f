package coloc

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func TestStudent(t *testing.T) {
	// R: qt(0.95, c(4, 5, 6, 10, 20, 100, 1e6))
	for _, tc := range []struct {
		freedom int
		want    float64
	}{{4, 2.131847}, {5, 2.015048}, {6, 1.943180}, {10, 1.812461}, {20, 1.724718}, {100, 1.660234}, {1_000_000, 1.644855}} {
		if got := student95(tc.freedom); math.Abs(got-tc.want) > 1.5e-3 {
			t.Errorf("%d degrees of freedom: %g, want %g", tc.freedom, got, tc.want)
		}
	}
}

// world makes runs of a class whose rates are known.
type world struct {
	names []string
	rates []float64
	noise float64 // relative standard deviation of runtimes
	rng   *rand.Rand
}

// run returns a run that meets one to three of the classes, in its own proportions.
func (w *world) run() Sample {
	s := Sample{Work: 100 + 400*w.rng.Float64()}
	shares := make([]float64, len(w.names))
	sum := 0.0
	for range 1 + w.rng.IntN(3) {
		share := w.rng.Float64()
		shares[w.rng.IntN(len(shares))] += share
		sum += share
	}
	pace := 0.0
	for j := range shares {
		shares[j] /= sum
		pace += shares[j] * w.rates[j]
	}
	time := s.Work / pace * math.Exp(w.noise*w.rng.NormFloat64())
	for j := range shares {
		if shares[j] > 0 {
			s.Beside = append(s.Beside, Exposure{w.names[j], time * shares[j]})
		}
	}
	return s
}

func TestCompareRecovers(t *testing.T) {
	w := world{names: []string{"", "disk", "net", "self"}, rates: []float64{1.15, 0.6, 0.95, 0.8}, noise: 0.05, rng: rand.New(rand.NewPCG(1, 9))}
	var samples []Sample
	for range 200 {
		samples = append(samples, w.run())
	}
	rates := Compare(samples, nil)
	if len(rates) != 4 {
		t.Fatalf("%+v", rates)
	}
	for j, r := range rates {
		if r.Beside != w.names[j] || math.Abs(r.Rate-w.rates[j]) > 0.03 || r.Low > w.rates[j] || r.High < w.rates[j] || r.High-r.Low > 0.08 {
			t.Errorf("%+v, want %g", r, w.rates[j])
		}
		if r.Runs < 20 || r.Seconds <= 0 {
			t.Errorf("counts of %+v", r)
		}
	}
	if err := New(dovetail.Colocation{}).Pair(at(0), &dovetail.Evidence{Class: "x", Rates: rates}); err != nil {
		t.Error(err)
	}
}

// One run moves the rate by what it weighs against the prior, and the interval says how little that is.
func TestCompareOneRun(t *testing.T) {
	s := Sample{Work: 100, Beside: []Exposure{{"slow", 200}}}
	r := Compare([]Sample{s}, nil)[0]
	if want := (0.5 + 0.3) / 1.3; math.Abs(r.Rate-want) > 1e-12 {
		t.Errorf("rate %g, want %g", r.Rate, want)
	}
	if r.High < 0.75 || r.Low > 0.5 || r.Runs != 1 || r.Seconds != 200 {
		t.Errorf("%+v", r)
	}
	s.Beside = append(s.Beside, Exposure{"other", 200}) // half of the time each: nobody knows who it was
	for _, r := range Compare([]Sample{s}, nil) {
		if r.High < 0.9 {
			t.Errorf("proven by one run that met two: %+v", r)
		}
	}
	prior := func(beside string) float64 { return map[string]float64{"slow": 0.5, "other": math.NaN()}[beside] }
	s = Sample{Work: 100, Beside: []Exposure{{"other", 1}, {"slow", 199}}}
	r = Compare([]Sample{s}, prior)[1]
	if math.Abs(r.Rate-0.5) > 0.002 {
		t.Errorf("with a prior of 0.5, rate %g", r.Rate)
	}
}

// TestCoverage simulates worlds whose rates are drawn, and counts how often the 90 % intervals hold them.
func TestCoverage(t *testing.T) {
	for _, tc := range []struct {
		reason        string
		runs          int
		noise, spread float64
		least, most   float64
	}{
		{"few noisy runs", 4, 0.1, 0.2, 0.85, 0.99},
		{"few exact runs: 10 % of noise are expected before any is seen", 4, 0.02, 0.2, 0.85, 0.999},
		{"some runs", 15, 0.1, 0.2, 0.86, 0.97},
		{"some runs of few interferences", 15, 0.1, 0.05, 0.87, 0.97},
		{"many runs", 100, 0.1, 0.2, 0.86, 0.95},
		{"many very noisy runs: the mean pace is 4 % above the median one", 100, 0.3, 0.2, 0.82, 0.95},
		{"many exact runs", 100, 0.03, 0.3, 0.86, 0.975},
	} {
		rng := rand.New(rand.NewPCG(uint64(tc.runs), 7))
		held, all := 0, 0
		for range 400 {
			w := world{names: []string{"", "a", "b", "c"}, noise: tc.noise, rng: rng}
			for range w.names {
				w.rates = append(w.rates, max(0.2, 1+tc.spread*rng.NormFloat64()))
			}
			var samples []Sample
			for range tc.runs {
				samples = append(samples, w.run())
			}
			for _, r := range Compare(samples, nil) {
				for j, name := range w.names {
					if r.Beside != name {
						continue
					}
					all++
					if r.Low <= w.rates[j] && w.rates[j] <= r.High {
						held++
					}
				}
			}
		}
		got := float64(held) / float64(all)
		t.Logf("%s: %.1f %% of %d", tc.reason, 100*got, all)
		if got < tc.least || got > tc.most {
			t.Errorf("%s: 90 %% intervals hold %.1f %% of %d", tc.reason, 100*got, all)
		}
	}
}

// However well runs agree, nothing is proven of a class that one of them has hardly met, whatever the prior says of it.
func TestHardlyMet(t *testing.T) {
	var samples []Sample
	for range 100 {
		samples = append(samples, Sample{Work: 100, Beside: []Exposure{{"", 50}, {"often", 60}}})
	}
	samples = append(samples, Sample{Work: 100, Beside: []Exposure{{"", 98}, {"hardly", 2}}})
	for _, prior := range []float64{1, 0.8} {
		rates := Compare(samples, func(beside string) float64 { return map[string]float64{"": 1, "hardly": prior, "often": 0.8}[beside] })
		if r := rates[1]; r.Beside != "hardly" || r.Low > 0.65*prior || r.High < 1.2 {
			t.Errorf("hardly met: %+v", r)
		}
		if r := rates[2]; r.High-r.Low > 0.2 {
			t.Errorf("met by 100 runs that agree, if only ever together with time alone: %+v", r)
		}
	}
}

// A prior of which the runs say nothing proves nothing: here they were beside one class all the time, and somebody believes that they are faster alone.
func TestPriorProvesNothing(t *testing.T) {
	for n := range 20 {
		var samples []Sample
		for range n + 1 {
			samples = append(samples, Sample{Work: 100, Beside: []Exposure{{"", 0.5}, {"a", 99.5}}})
		}
		e := &dovetail.Evidence{Rates: Compare(samples, func(beside string) float64 { return map[string]float64{"": 1.8, "a": 1}[beside] })}
		if s, ok := Slowdown(e, "a"); !ok || s.Proven() || s.Times < 1.5 {
			t.Errorf("%d runs: %+v", n+1, s)
		}
	}
}

func TestCompareGarbage(t *testing.T) {
	good := Sample{Work: 100, Beside: []Exposure{{"a", 80}, {"", 40}}}
	want := Compare([]Sample{good}, nil)
	for _, tc := range []struct {
		reason string
		s      Sample
	}{
		{"no work", Sample{0, []Exposure{{"a", 10}}}},
		{"negative work", Sample{-5, []Exposure{{"a", 10}}}},
		{"work that is no number", Sample{math.NaN(), []Exposure{{"a", 10}}}},
		{"infinite work", Sample{math.Inf(1), []Exposure{{"a", 10}}}},
		{"no exposure", Sample{100, nil}},
		{"no time", Sample{100, []Exposure{{"a", 0}}}},
		{"negative time", Sample{100, []Exposure{{"a", -10}, {"b", 120}}}},
		{"time that is no number", Sample{100, []Exposure{{"a", math.NaN()}, {"b", 100}}}},
		{"infinite time", Sample{100, []Exposure{{"a", math.Inf(1)}}}},
		{"100 times too fast", Sample{100, []Exposure{{"a", 1}}}},
		{"100 times too slow", Sample{100, []Exposure{{"a", 1e4}}}},
	} {
		if got := Compare([]Sample{tc.s}, nil); got != nil {
			t.Errorf("%s: %+v", tc.reason, got)
		}
		got := Compare([]Sample{tc.s, good}, nil)
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s changed what others say: %+v, want %+v", tc.reason, got, want)
		}
	}
}

// Whatever runs say, rates can be used: positive, within their intervals, by name.
func TestCompareIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exposure := rapid.Custom(func(t *rapid.T) Exposure {
			return Exposure{rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g"}).Draw(t, "beside"), rapid.Float64Min(-1).Draw(t, "seconds")}
		})
		samples := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Sample {
			return Sample{rapid.Float64().Draw(t, "work"), rapid.SliceOfN(exposure, 0, 5).Draw(t, "beside")}
		})).Draw(t, "samples")
		for i := range samples {
			if x := samples[i].time(); x > 0 && rapid.Bool().Draw(t, "plausible") {
				samples[i].Work = x * rapid.Float64Range(0.04, 25).Draw(t, "pace")
			}
		}
		rates := Compare(samples, nil)
		e := dovetail.Evidence{Class: "x", Runs: len(samples), Rates: rates}
		for i := range rates {
			rates[i].Seconds = min(rates[i].Seconds, mostSeconds)
		}
		if err := New(dovetail.Colocation{}).Pair(at(0), &e); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSlowdown(t *testing.T) {
	slow := dovetail.Rate{Beside: "b", Rate: 0.5, Low: 0.4, High: 0.625, Runs: 7, Seconds: 70}
	alone := dovetail.Rate{Rate: 1.2, Low: 1, High: 1.5, Runs: 3, Seconds: 30}
	of := func(runs int, rates ...dovetail.Rate) *dovetail.Evidence {
		return &dovetail.Evidence{Class: "a", Runs: runs, Rates: rates}
	}
	for _, tc := range []struct {
		reason string
		rates  []dovetail.Rate
		want   dovetail.Slowdown
		ok     bool
	}{
		{"against the usual pace", []dovetail.Rate{slow}, dovetail.Slowdown{Times: 2, Low: 1.6, High: 2.5, Runs: 7, Against: 9, Seconds: 70}, true},
		{"against its pace alone", []dovetail.Rate{alone, slow}, dovetail.Slowdown{Times: 2.4, Low: 1.6, High: 3.75, Runs: 7, Against: 3, Seconds: 70}, true},
		{"alone by a prior only", []dovetail.Rate{{Rate: 1.2, Low: 1, High: 1.5}, slow}, dovetail.Slowdown{Times: 2, Low: 1.6, High: 2.5, Runs: 7, Against: 9, Seconds: 70}, true},
		{"nothing of this one", []dovetail.Rate{alone}, dovetail.Slowdown{}, false},
	} {
		got, ok := Slowdown(of(9, tc.rates...), "b")
		off := math.Abs(got.Times-tc.want.Times) + math.Abs(got.Low-tc.want.Low) + math.Abs(got.High-tc.want.High)
		if ok != tc.ok || off > 1e-12 || got.Runs != tc.want.Runs || got.Against != tc.want.Against || got.Seconds != tc.want.Seconds {
			t.Errorf("%s: %+v, %t", tc.reason, got, ok)
		}
	}
	if _, ok := Slowdown(nil, "b"); ok {
		t.Error("a slowdown without evidence")
	}

	b := New(dovetail.Colocation{})
	ids := map[string]ID{"a": b.Hold("a"), "b": b.Hold("b"), "c": b.Hold("c")}
	few, solo := slow, dovetail.Rate{Rate: 1, Low: 1, High: 1, Runs: 5}
	few.Runs = 4
	for _, tc := range []struct {
		reason string
		known  *dovetail.Evidence
		a, c   ID
		bound  float64
		want   bool
	}{
		{"proven", of(9, slow), ids["a"], ids["b"], 1.5, true},
		{"proven of the other one", of(9, slow), ids["b"], ids["a"], 1.5, true},
		{"likely, and not proven", of(9, slow), ids["a"], ids["b"], 1.7, false},
		{"against five that were alone", of(9, solo, slow), ids["a"], ids["b"], 1.5, true},
		{"against three that were alone, but proven against the usual pace", of(9, alone, slow), ids["a"], ids["b"], 1.5, true},
		{"four runs beside it", of(9, few), ids["a"], ids["b"], 1.5, false},
		{"four runs in all", of(4, slow), ids["a"], ids["b"], 1.5, false},
		{"nothing known", of(9, slow), ids["a"], ids["c"], 1.01, false},
		{"strangers", of(9, slow), Stranger, ids["b"], 1.01, false},
		{"no bound", of(9, slow), ids["a"], ids["b"], 0, false},
	} {
		if err := b.Pair(at(0), tc.known); err != nil {
			t.Fatal(err)
		}
		if got := b.Harms(tc.a, tc.c, tc.bound); got != tc.want {
			t.Errorf("%s: %t", tc.reason, got)
		}
	}
	if r := b.Rate(ids["b"], ids["a"]); r.Rate != 1 || r.Beside != "a" || !(r.Low < 0.7 && r.High > 1.3) {
		t.Errorf("unknown: %+v", r)
	}
}

// TestProven: an interval on one side of 1 is enough only if there are runs enough on either side of the comparison.
func TestProven(t *testing.T) {
	for _, tc := range []struct {
		s    dovetail.Slowdown
		want bool
	}{
		{dovetail.Slowdown{Low: 1.1, High: 1.4, Runs: 5, Against: 5}, true},
		{dovetail.Slowdown{Low: 0.7, High: 0.9, Runs: 5, Against: 5}, true},
		{dovetail.Slowdown{Low: 0.9, High: 1.4, Runs: 50, Against: 50}, false},
		{dovetail.Slowdown{Low: 1.82, High: 28, Runs: 3, Against: 50}, false},
		{dovetail.Slowdown{Low: 1.82, High: 28, Runs: 50, Against: 2}, false},
	} {
		if got := tc.s.Proven(); got != tc.want {
			t.Errorf("%+v: %t", tc.s, got)
		}
	}
}
