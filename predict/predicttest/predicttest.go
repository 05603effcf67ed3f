// Package predicttest answers: does a model of runtimes keep the promises of predict.Method, predict.Model and predict.Distribution?
// Every method of the table runs it.
package predicttest

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// levels at which distributions are looked at.
var levels = []float64{0.01, 0.1, 0.5, 0.9, 0.99}

// Run tests a method.
func Run(t *testing.T, m predict.Method) {
	t.Run("laws", func(t *testing.T) { testLaws(t, m) })
	t.Run("nothing to learn from", func(t *testing.T) { testNothing(t, m) })
	t.Run("degenerate", func(t *testing.T) { testDegenerate(t, m) })
	t.Run("units and order", func(t *testing.T) { testUnits(t, m) })
	t.Run("a clean curve", func(t *testing.T) { testCurve(t, m) })
	t.Run("one wild run in five", func(t *testing.T) { testWild(t, m) })
	t.Run("varied scale-outs", func(t *testing.T) { testVaried(t, m) })
	t.Run("input sizes", func(t *testing.T) { testSizes(t, m) })
}

// truth is a runtime without noise.
func truth(x float64) float64 { return 40 + 900/x + 4*x }

// noise is a relative error that looks random, of 2 % at most.
func noise(i int) float64 { return 1 + 0.02*math.Sin(float64(7*i*i+3*i)) }

// runs returns n runs at scale-outs from 2 to 24.
func runs(n int) []predict.Sample {
	out := make([]predict.Sample, n)
	for i := range out {
		x := float64(2 + (i*7)%23)
		out[i] = predict.Sample{ScaleOut: x, Runtime: truth(x) * noise(i)}
	}
	return out
}

// besides returns n runs beside two classes.
func besides(n int) []predict.Sample {
	out := runs(n)
	for i := range out {
		a, b := float64(i*5%11)/10, float64(max(0, i*3%7-4))/2
		out[i].Runtime *= 1 + (0.4+0.5/out[i].ScaleOut)*a + 0.2*b
		out[i].Overlaps = []dovetail.Overlap{{Class: "a", Ratio: a}, {Class: "b", Ratio: b}}
	}
	return out
}

func mustFit(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, m predict.Method, samples []predict.Sample, o predict.Options,
) predict.Model {
	t.Helper()
	model, err := m.Fit(samples, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return model
}

// drawSamples draws runs, some of them of no use; the first is.
func drawSamples(t *rapid.T) []predict.Sample {
	number := rapid.SampledFrom([]float64{1, 2, 3, 8, 8.5, 24, 1000, 1e-6, 1e6, 0, -1, math.NaN(), math.Inf(1), math.Inf(-1)})
	good := rapid.SampledFrom([]float64{1, 2, 3.5, 10, 300, 1e4, 1e-6, 1e6})
	one := rapid.Custom(func(t *rapid.T) predict.Sample {
		s := predict.Sample{ScaleOut: rapid.SampledFrom([]float64{1, 2, 2.5, 4, 9, 24, 60}).Draw(t, "x"), Runtime: good.Draw(t, "runtime")}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			s.ScaleOut = number.Draw(t, "any x")
		case 1:
			s.Runtime = number.Draw(t, "any runtime")
		case 2:
			s.Input = number.Draw(t, "input")
		case 3, 4:
			s.Overlaps = []dovetail.Overlap{{Class: "k", Ratio: rapid.SampledFrom([]float64{0, 0.3, 1, 2.5}).Draw(t, "overlap")}}
		case 5:
			s.Overlaps = []dovetail.Overlap{{Class: "j", Ratio: 0.5}, {Class: "k", Ratio: 0.5}}
		case 6:
			s.Steps = []predict.Step{{ScaleOut: 2, Seconds: s.Runtime / 2}, {ScaleOut: 12, Seconds: s.Runtime / 2}}
			s.ScaleOut = 7
		}
		return s
	})
	return append([]predict.Sample{{ScaleOut: 4, Runtime: 100}}, rapid.SliceOfN(one, 0, 10).Draw(t, "runs")...)
}

// testLaws: whatever the runs, a fit succeeds, accounts for all of them and leaves them as they were; it is repeatable; and every
// distribution is one.
func testLaws(t *testing.T, m predict.Method) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawSamples(t)
		o := predict.Options{Unweighted: rapid.Bool().Draw(t, "unweighted")}
		before := clone(samples)
		model := mustFit(t, m, samples, o)
		if !same(before, samples) {
			t.Fatalf("the fit changed its samples")
		}
		r := model.Report()
		if r.Model != m.Name || r.Runs < 1 || r.Runs+r.Dropped != len(samples) || !(r.SSE >= 0) || math.IsInf(r.SSE, 1) {
			t.Fatalf("report %+v of %d samples", r, len(samples))
		}
		again := mustFit(t, m, samples, o)
		if !reflect.DeepEqual(r, again.Report()) {
			t.Fatalf("report %+v, the second time %+v", r, again.Report())
		}
		for _, at := range []predict.At{
			{ScaleOut: 1}, {ScaleOut: 7.5}, {ScaleOut: 200}, {ScaleOut: 4, Input: 1e3},
			{ScaleOut: 4, Overlaps: []dovetail.Overlap{{Class: "k", Ratio: 1}}},
			{ScaleOut: 4, Overlaps: []dovetail.Overlap{{Class: "nobody", Ratio: 1}}},
		} {
			d := model.Predict(at)
			checkDistribution(t, d, at)
			if got, want := again.Predict(at).Quantile(0.9), d.Quantile(0.9); got != want {
				t.Fatalf("at %+v: %v, the second time %v", at, want, got)
			}
		}
		alone := model.Predict(predict.At{ScaleOut: 4}).Quantile(0.5)
		some := model.Predict(predict.At{ScaleOut: 4, Overlaps: []dovetail.Overlap{{Class: "k", Ratio: 0.5}}}).Quantile(0.5)
		more := model.Predict(predict.At{ScaleOut: 4, Overlaps: []dovetail.Overlap{{Class: "k", Ratio: 1}}}).Quantile(0.5)
		if some < alone*(1-1e-9) || more < some*(1-1e-9) {
			t.Fatalf("a neighbour shortens the run: %v alone, %v beside it for half of the time, %v for all of it", alone, some, more)
		}
	})
}

func checkDistribution(t *rapid.T, d predict.Distribution, at predict.At) {
	last, lastP := 0.0, 0.0
	for _, p := range levels {
		q := d.Quantile(p)
		if !(q > 0) || math.IsInf(q, 1) || q < last {
			t.Fatalf("at %+v: quantile %v is %v, after %v", at, p, q, last)
		}
		below, above := d.AtMost(q*(1-1e-6)), d.AtMost(q*(1+1e-6))
		if below < 0 || above > 1 || below > p+1e-3 || above < p-1e-3 || above < lastP {
			t.Fatalf("at %+v: quantile %v is %v, but the probability is %v just below and %v just above it", at, p, q, below, above)
		}
		last, lastP = q, above
	}
}

func clone(samples []predict.Sample) []predict.Sample {
	out := slices.Clone(samples)
	for i, s := range out {
		out[i].Overlaps, out[i].Steps = slices.Clone(s.Overlaps), slices.Clone(s.Steps)
	}
	return out
}

// same compares samples; a number that is none equals itself.
func same(a, b []predict.Sample) bool {
	bits := math.Float64bits
	return slices.EqualFunc(a, b, func(s, t predict.Sample) bool {
		return bits(s.ScaleOut) == bits(t.ScaleOut) && bits(s.Runtime) == bits(t.Runtime) && bits(s.Input) == bits(t.Input) &&
			slices.Equal(s.Overlaps, t.Overlaps) && slices.Equal(s.Steps, t.Steps)
	})
}

func testNothing(t *testing.T, m predict.Method) {
	for _, samples := range [][]predict.Sample{
		nil,
		{{ScaleOut: 4, Runtime: 0}, {ScaleOut: 4, Runtime: -3}, {ScaleOut: 4, Runtime: math.NaN()}, {ScaleOut: 4, Runtime: math.Inf(1)}},
		{{ScaleOut: 0.5, Runtime: 10}, {ScaleOut: math.NaN(), Runtime: 10}},
	} {
		if model, err := m.Fit(samples, predict.Options{}); err == nil {
			t.Errorf("learned %v from %+v", model, samples)
		}
	}
}

// testDegenerate: with too little to draw a curve, what was seen is what is expected where it was seen.
func testDegenerate(t *testing.T, m predict.Method) {
	for _, tc := range []struct {
		reason  string
		samples []predict.Sample
		x, want float64
	}{
		{"one run", []predict.Sample{{ScaleOut: 8, Runtime: 300}}, 8, 300},
		{"one scale-out", []predict.Sample{{ScaleOut: 8, Runtime: 300}, {ScaleOut: 8, Runtime: 306}, {ScaleOut: 8, Runtime: 294}}, 8, 300},
		{"the same run many times", slices.Repeat([]predict.Sample{{ScaleOut: 3, Runtime: 20}}, 40), 3, 20},
		{"two runs", []predict.Sample{{ScaleOut: 4, Runtime: 400}, {ScaleOut: 8, Runtime: 200}}, 4, 400},
		{"milliseconds", []predict.Sample{{ScaleOut: 4, Runtime: 4e-3}, {ScaleOut: 8, Runtime: 2e-3}, {ScaleOut: 16, Runtime: 1e-3}}, 8, 2e-3},
		{"years", []predict.Sample{{ScaleOut: 4, Runtime: 4e8}, {ScaleOut: 8, Runtime: 2e8}, {ScaleOut: 16, Runtime: 1e8}}, 8, 2e8},
		{"the more, the slower", []predict.Sample{{ScaleOut: 4, Runtime: 100}, {ScaleOut: 8, Runtime: 200}, {ScaleOut: 16, Runtime: 400}}, 8, 200},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := mustFit(t, m, tc.samples, predict.Options{}).Predict(predict.At{ScaleOut: tc.x}).Quantile(0.5)
			if math.Abs(got-tc.want) > 0.1*tc.want {
				t.Errorf("median %v, want about %v", got, tc.want)
			}
		})
	}
}

// testUnits: runtimes in another unit give predictions in it, and the order of the runs makes no difference.
func testUnits(t *testing.T, m predict.Method) {
	for _, samples := range [][]predict.Sample{runs(3), runs(5), runs(12), besides(30)} {
		plain := mustFit(t, m, samples, predict.Options{})
		for _, unit := range []float64{1e-9, 1e-3, 1e9} {
			other := clone(samples)
			slices.Reverse(other)
			for i := range other {
				other[i].Runtime *= unit
			}
			scaled := mustFit(t, m, other, predict.Options{})
			for _, x := range []float64{1, 5, 12, 40} {
				at := predict.At{ScaleOut: x, Overlaps: []dovetail.Overlap{{Class: "a", Ratio: 0.5}}}
				for _, p := range []float64{0.1, 0.5, 0.9} {
					want := plain.Predict(at).Quantile(p) * unit
					if got := scaled.Predict(at).Quantile(p); math.Abs(got-want) > 1e-4*want {
						t.Errorf("%d runs in units of %v, reversed: quantile %v at %v is %v, want %v", len(samples), unit, p, x, got, want)
					}
				}
			}
		}
	}
}

func testCurve(t *testing.T, m predict.Method) {
	model := mustFit(t, m, runs(46), predict.Options{})
	for x := 2.0; x <= 24; x++ {
		checkNear(t, model, predict.At{ScaleOut: x}, truth(x), 0.08)
	}
}

func checkNear(t *testing.T, model predict.Model, at predict.At, want, tolerance float64) {
	t.Helper()
	if got := model.Predict(at).Quantile(0.5); math.Abs(got-want) > tolerance*want {
		t.Errorf("at %+v: median %v, want %v within %v", at, got, want, tolerance)
	}
}

// testWild: one run in five takes three times as long, and the others are still predicted.
func testWild(t *testing.T, m predict.Method) {
	for _, n := range []int{5, 10, 40} {
		samples := runs(n)
		for i := 2; i < n; i += 5 {
			samples[i].Runtime *= 3
		}
		model := mustFit(t, m, samples, predict.Options{})
		for i, s := range samples {
			if i%5 != 2 {
				checkNear(t, model, predict.At{ScaleOut: s.ScaleOut}, truth(s.ScaleOut), 0.15)
			}
		}
	}
}

// testVaried: runs that stood at two scale-outs, a third of the time at the one, tell of both.
func testVaried(t *testing.T, m predict.Method) {
	var samples []predict.Sample
	for i := range 24 {
		low, high := float64(2+i%5), float64(10+i*5%13)
		runtime := noise(i) / ((1.0/3)/truth(low) + (2.0/3)/truth(high))
		samples = append(samples, predict.Sample{
			ScaleOut: low/3 + high*2/3, Runtime: runtime,
			Steps: []predict.Step{{ScaleOut: low, Seconds: runtime / 3}, {ScaleOut: high, Seconds: runtime * 2 / 3}},
		})
	}
	model := mustFit(t, m, samples, predict.Options{})
	for _, x := range []float64{8, 12, 16} {
		checkNear(t, model, predict.At{ScaleOut: x}, truth(x), 0.15)
	}
}

// testSizes: where runtimes follow the size of the input, predictions do; where all inputs are alike, it makes no difference.
func testSizes(t *testing.T, m predict.Method) {
	samples := runs(40)
	plain := mustFit(t, m, samples, predict.Options{})
	for i := range samples {
		samples[i].Input = 1e9
	}
	alike := mustFit(t, m, samples, predict.Options{})
	at := predict.At{ScaleOut: 8, Input: 2e9}
	checkNear(t, alike, at, plain.Predict(at).Quantile(0.5), 1e-6)
	for i := range samples {
		size := float64(1 + i%3)
		samples[i].Input *= size
		samples[i].Runtime *= size
	}
	model := mustFit(t, m, samples, predict.Options{})
	for _, size := range []float64{1, 2, 3} {
		checkNear(t, model, predict.At{ScaleOut: 8, Input: size * 1e9}, size*truth(8), 0.1)
	}
}
