package predict_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// lognormal is a runtime with a median and a spread; a neighbour multiplies it.
type lognormal struct{ median, sigma float64 }

func (d lognormal) Quantile(p float64) float64 {
	return d.median * math.Exp(d.sigma*math.Sqrt2*math.Erfinv(2*p-1))
}

func (d lognormal) AtMost(s float64) float64 {
	return 0.5 * math.Erfc(-math.Log(s/d.median)/d.sigma/math.Sqrt2)
}

// power is a model whose runtimes are 1000·x^−e, and so many times that beside a neighbour.
type power struct {
	exponent, sigma float64
	beside          map[string]float64
}

func (m power) Report() predict.Report { return predict.Report{} }

func (m power) Predict(at predict.At) predict.Distribution {
	y := 1000 * math.Pow(at.ScaleOut, -m.exponent)
	for _, o := range at.Overlaps {
		y *= 1 + m.beside[o.Class]*o.Ratio
	}
	if m.sigma == 0 {
		return predict.Exactly(y)
	}
	return lognormal{y, m.sigma}
}

func outlook(m predict.Model, scaleOuts []int, neighbours ...string) *dovetail.Outlook {
	o := &dovetail.Outlook{Class: "a", Model: "power", Runs: 10, ScaleOuts: scaleOuts}
	o.Levels, o.Alone, o.Beside = predict.Tabulate(m, scaleOuts, 0, neighbours)
	return o
}

func near(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want, rel float64,
) {
	t.Helper()
	if math.Abs(got-want) > rel*math.Abs(want) {
		t.Errorf("%s: %.12g, expected %.12g", what, got, want)
	}
}

// A power law is a straight line in ln x and ln seconds, and a lognormal distribution one in ln seconds and the normal quantile: a
// table of few rows gives both back wherever it is asked.
func TestTableGivesPowerLawAndLognormalBack(t *testing.T) {
	m := power{exponent: 0.7, sigma: 0.2, beside: map[string]float64{"b": 0.5, "c": 0.3}}
	o := outlook(m, []int{2, 5, 24}, "b", "c")
	if fault := predict.Check(o); fault != "" {
		t.Fatal(fault)
	}
	for _, x := range []float64{2, 3, 4.5, 5, 17, 24} {
		want := m.Predict(predict.At{ScaleOut: x})
		got := predict.Runtime(o, x, nil)
		for _, p := range []float64{.001, .01, .07, .5, .55, .9, .99, .9999} {
			near(t, "quantile", got.Quantile(p), want.Quantile(p), 1e-9)
			near(t, "inverse", got.AtMost(want.Quantile(p)), p, 1e-9)
		}
		with := predict.Runtime(o, x, []dovetail.Overlap{{Class: "b", Ratio: .4}, {Class: "c", Ratio: 1}, {Class: "unknown", Ratio: 1}})
		near(t, "two neighbours", with.Quantile(.8), want.Quantile(.8)*(1+.4*.5+.3), 1e-9)
	}
	for _, x := range []float64{0.5, 1, 30, 1000} {
		edge := min(max(x, 2), 24)
		near(t, "outside", predict.Runtime(o, x, nil).Quantile(.3), m.Predict(predict.At{ScaleOut: edge}).Quantile(.3), 1e-9)
	}
	near(t, "scaled", predict.Lookup(o, 5, nil).Scaled(3).Quantile(.3), 3*predict.Lookup(o, 5, nil).Quantile(.3), 1e-12)
}

func TestTableWithoutSpread(t *testing.T) {
	o := outlook(power{exponent: 1, beside: map[string]float64{"b": 1}}, []int{1, 2, 4}, "b")
	if len(o.Levels) != 1 || o.Levels[0] != .5 {
		t.Fatalf("levels %v", o.Levels)
	}
	d := predict.Runtime(o, 4, []dovetail.Overlap{{Class: "b", Ratio: .5}})
	if d.Quantile(.01) != 375 || d.Quantile(.99) != 375 || d.AtMost(374.9) != 0 || d.AtMost(375) != 1 {
		t.Errorf("%g, %g, %g, %g", d.Quantile(.01), d.Quantile(.99), d.AtMost(374.9), d.AtMost(375))
	}
	if predict.Runtime(nil, 1, nil) != nil || predict.Runtime(&dovetail.Outlook{Class: "a"}, 1, nil) != nil {
		t.Error("an outlook without a table has a distribution")
	}
}

// odd is a model whose answers cannot be written down as they are.
type odd struct{}

func (odd) Report() predict.Report                     { return predict.Report{} }
func (odd) Predict(at predict.At) predict.Distribution { return oddly(at.ScaleOut) }
func (o oddly) AtMost(float64) float64                 { return 0 }
func (o oddly) Quantile(p float64) float64 {
	return map[oddly]float64{1: math.NaN(), 2: math.Inf(1), 3: 0, 4: 1 - p}[o]
}

type oddly float64

func TestTabulateKeepsToBounds(t *testing.T) {
	o := outlook(odd{}, []int{1, 2, 3, 4}, "b")
	if fault := predict.Check(o); fault != "" {
		t.Errorf("%s: %v", fault, o)
	}
}

func genOutlook(t *rapid.T) *dovetail.Outlook {
	o := &dovetail.Outlook{Class: "a"}
	x := 0
	for range rapid.IntRange(1, 4).Draw(t, "scaleOuts") {
		x += rapid.IntRange(1, 5).Draw(t, "x")
		o.ScaleOuts = append(o.ScaleOuts, x)
	}
	o.Levels = predict.Levels()
	if rapid.Bool().Draw(t, "few") {
		o.Levels = []float64{.2, .5, .6}
	}
	table := func(above [][]float64) [][]float64 {
		var rows [][]float64
		for i := range o.ScaleOuts {
			row, y := []float64{}, rapid.Float64Range(1, 100).Draw(t, "y")
			for l := range o.Levels {
				y *= 1 + max(0, rapid.Float64Range(-.1, .3).Draw(t, "rise")) // sometimes it stays
				if above != nil {
					y = max(y, above[i][l])
				}
				row = append(row, y)
			}
			rows = append(rows, row)
		}
		return rows
	}
	o.Alone = table(nil)
	for _, class := range []string{"b", "c"} {
		o.Beside = append(o.Beside, dovetail.Beside{Class: class, Seconds: table(o.Alone)})
	}
	return o
}

// Quantile rises with p, AtMost with the seconds, and AtMost(s) ≥ p exactly where Quantile(p) ≤ s.
func TestTableIsADistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := genOutlook(t)
		if fault := predict.Check(o); fault != "" {
			t.Fatal(fault)
		}
		overlaps := []dovetail.Overlap{{Class: "c", Ratio: rapid.Float64Range(0, 2).Draw(t, "c")}, {Class: "b", Ratio: rapid.Float64Range(0, 1).Draw(t, "b")}}
		d := predict.Lookup(o, rapid.Float64Range(1, 25).Draw(t, "at"), overlaps)
		p, more := rapid.Float64Range(.001, .998).Draw(t, "p"), rapid.Float64Range(0, .001).Draw(t, "more")
		q := d.Quantile(p)
		if next := d.Quantile(p + more); next < q*(1-1e-12) {
			t.Fatalf("the %g-quantile is %g, the %g-quantile %g", p, q, p+more, next)
		}
		if got := d.AtMost(q * (1 + 1e-12)); got < p-1e-9 {
			t.Fatalf("at most %g with probability %g, and that is the %g-quantile", q, got, p)
		}
		s := rapid.Float64Range(.5, 10_000).Draw(t, "s")
		f := d.AtMost(s)
		if f < 0 || f > 1 || math.IsNaN(f) {
			t.Fatalf("at most %g with probability %g", s, f)
		}
		if f > 1e-9 && f < 1-1e-9 {
			if back := d.Quantile(f); back > s*(1+1e-9) {
				t.Fatalf("at most %g with probability %g, of which the quantile is %g", s, f, back)
			}
		}
		if longer := d.AtMost(s * (1 + rapid.Float64Range(0, .1).Draw(t, "longer"))); longer < f-1e-12 {
			t.Fatalf("the probability falls from %g to %g", f, longer)
		}
		p = min(max(p, o.Levels[0]), o.Levels[len(o.Levels)-1]) // a wider spread crosses the other beyond the outer levels
		if alone := predict.Lookup(o, 3, nil).Quantile(p); predict.Lookup(o, 3, overlaps).Quantile(p) < alone*(1-1e-12) {
			t.Fatal("neighbours make the run faster")
		}
	})
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for reason, spoil := range map[string]func(o *dovetail.Outlook){
		"levels fall":          func(o *dovetail.Outlook) { o.Levels[1] = .001 },
		"level of 1":           func(o *dovetail.Outlook) { o.Levels[14] = 1 },
		"scale-outs fall":      func(o *dovetail.Outlook) { o.ScaleOuts[1] = 1 },
		"a row is missing":     func(o *dovetail.Outlook) { o.Alone = o.Alone[1:] },
		"a column is missing":  func(o *dovetail.Outlook) { o.Beside[0].Seconds[0] = nil },
		"not finite":           func(o *dovetail.Outlook) { o.Alone[0][14] = math.Inf(1) },
		"zero":                 func(o *dovetail.Outlook) { o.Alone[0][0] = 0 },
		"falls with the level": func(o *dovetail.Outlook) { o.Alone[0][3] = o.Alone[0][2] / 2 },
		"no runtime":           func(o *dovetail.Outlook) { o.First = []dovetail.Stretch{{ScaleOut: 1}} },
	} {
		o := outlook(power{exponent: 1, sigma: .1}, []int{1, 2}, "b")
		if spoil(o); predict.Check(o) == "" {
			t.Errorf("%s: not found", reason)
		}
	}
}

func BenchmarkAtMost(b *testing.B) {
	o := outlook(power{exponent: 0.7, sigma: 0.2, beside: map[string]float64{"b": 0.5}}, []int{2, 5, 24}, "b")
	overlaps := []dovetail.Overlap{{Class: "b", Ratio: .4}}
	b.ReportAllocs()
	for b.Loop() {
		t := predict.Lookup(o, 11, overlaps)
		t.AtMost(300)
	}
}
