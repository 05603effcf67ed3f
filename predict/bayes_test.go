package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/fit"
)

// mustFit fits, or fails the test.
func mustFit(t testing.TB, method Method, samples []Sample) Model {
	t.Helper()
	m, err := method.Fit(samples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawSamples draws runs, some of them at the same scale-out, some beside one class, some with a known input size.
func drawSamples(t *rapid.T) []Sample {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sample {
		s := Sample{
			ScaleOut: float64(rapid.IntRange(1, 30).Draw(t, "scale-out")),
			Runtime:  rapid.Float64Range(1, 10_000).Draw(t, "runtime"),
		}
		if rapid.Bool().Draw(t, "beside") {
			s.Overlaps = []dovetail.Overlap{{Class: "grep", Ratio: rapid.Float64Range(0, 1).Draw(t, "overlap")}}
		}
		if rapid.Bool().Draw(t, "sized") {
			s.Input = rapid.Float64Range(1e6, 1e9).Draw(t, "input")
		}
		return s
	}), 1, 6).Draw(t, "samples")
}

func TestBayesDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawSamples(t)
		m, err := bayesCoBell().Fit(samples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := At{ScaleOut: rapid.Float64Range(1, 60).Draw(t, "at"), Overlaps: []dovetail.Overlap{{Class: "grep", Ratio: 0.5}}}
		d := m.Predict(at)
		last := 0.0
		for _, p := range []float64{1e-6, .05, .1, .5, .8, .9, .95, 1 - 1e-6} {
			q := d.Quantile(p)
			if !(q > last) || math.IsInf(q, 1) {
				t.Fatalf("quantile %g is %g, the one below it %g", p, q, last)
			}
			if got := d.AtMost(q); math.Abs(got-p) > 1e-8 {
				t.Fatalf("P(at most the quantile %g) is %g", p, got)
			}
			last = q
		}
		if d.AtMost(0) != 0 || d.AtMost(math.Inf(1)) != 1 || d.AtMost(math.NaN()) != 0 {
			t.Error("no runtime is 0 or less, and all are finite")
		}
	})
}

func TestBayesUnitsAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := drawSamples(t)
		unit := rapid.SampledFrom([]float64{1e-9, 1e-3, 1e3, 1e9}).Draw(t, "unit")
		other := rapid.Permutation(samples).Draw(t, "order")
		m, err := bayesCoBell().Fit(samples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		shuffled, err := bayesCoBell().Fit(other, Options{})
		if err != nil {
			t.Fatal(err)
		}
		scaled := slices.Clone(samples)
		for i := range scaled {
			scaled[i].Runtime *= unit
		}
		inUnit, err := bayesCoBell().Fit(scaled, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []float64{.1, .5, .9} {
			want := m.Predict(At{ScaleOut: 7}).Quantile(p)
			if got := shuffled.Predict(At{ScaleOut: 7}).Quantile(p); got != want {
				t.Errorf("in another order, quantile %g is %g, not %g", p, got, want)
			}
			if got := inUnit.Predict(At{ScaleOut: 7}).Quantile(p); !near(got, want*unit, 1e-4) { // normals that are joined may be others
				t.Errorf("in another unit, quantile %g is %g, not %g", p, got, want*unit)
			}
		}
	})
}

// TestBayesSites compares sums over scale-outs with a covariance of all runs, which is what they stand for.
func TestBayesSites(t *testing.T) {
	x := []float64{4, 4, 4, 8, 8, 12, 20}
	over := []float64{0, .5, 1, .2, .9, .4, 0}
	y := []float64{400, 490, 640, 250, 310, 190, 120}
	noise := []float64{1, 1, wildNoise, 1, 1, wildNoise, 1}
	prior := specified()
	rows := bayesRowsOf(x, over, y)
	for i := range rows {
		rows[i].noise = noise[i]
	}
	data := newBayesRows(rows)
	settings := gridSettings(prior, 1, nil)
	p, err := newPosterior(prior, data, settings)
	if err != nil {
		t.Fatal(err)
	}
	sum, best, worst, row := 0.0, math.Inf(-1), 0.0, 0
	for i := range p.blocks {
		sigma, amp := prior.sigma[i/len(prior.amp)], prior.amp[i%len(prior.amp)]
		a := make([][]float64, len(rows))
		for i := range a {
			a[i] = make([]float64, len(rows))
			for j := range rows[:i+1] {
				a[i][j] = prior.covariance(amp.value, rows[i].x, rows[j].x)
			}
			a[i][i] += sigma.value * sigma.value * rows[i].noise
		}
		full, err := fit.NewCholesky(a)
		if err != nil {
			t.Fatal(err)
		}
		for k := range prior.shapes {
			for j := range settings {
				left, level := make([]float64, len(rows)), 0.0
				for i, r := range rows {
					left[i] = r.z - prior.shapes[k].logAt(r.x) - settings[j].shift(r.x, 0, r.over)
					level += left[i] / float64(len(rows))
				}
				subtract(left, level)
				solved := slices.Clone(left)
				full.Solve(solved)
				square := 0.0
				for i := range left {
					square += left[i] * solved[i]
				}
				l := sigma.logp + amp.logp + prior.shapes[k].logp + settings[j].logp -
					0.5*(square+full.LogDet()+float64(len(rows))*math.Log(2*math.Pi))
				sum += math.Exp(l)
				if l > best && sigma.value <= wildSigma {
					best, worst = l, 0
					for i, d := range full.InverseDiagonal() {
						if far := math.Abs(solved[i]) / math.Sqrt(d); far > worst {
							row, worst = i, far
						}
					}
				}
			}
		}
	}
	if !near(p.evidence, math.Log(sum), 1e-9) {
		t.Errorf("log evidence %g, of all runs %g", p.evidence, math.Log(sum))
	}
	if far := p.far(); slices.Max(far) != far[row] || !near(far[row], worst, 1e-6) {
		t.Errorf("deviations are %g; of all runs, %d is the wildest by %g", far, row, worst)
	}
}

// TestBayesDraws compares draws with the grid where there is one: one class.
func TestBayesDraws(t *testing.T) {
	prior := specified()
	data := newBayesRows((&bayesModel{samples: besideRuns(10, "grep"), classes: []string{"grep"}}).rows())
	draws, err := drawnSettings(prior, data, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := newPosterior(prior, data, draws)
	if err != nil {
		t.Fatal(err)
	}
	grid, err := newPosterior(prior, data, gridSettings(prior, 1, nil))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(drawn.evidence-grid.evidence) > 0.1 {
		t.Errorf("log evidence %g by draws, %g on the grid", drawn.evidence, grid.evidence)
	}
	for _, x := range []float64{3, 8, 24} {
		for _, p := range []float64{.1, .5, .9} {
			got, want := drawn.whole(x, []float64{1}).Quantile(p), grid.whole(x, []float64{1}).Quantile(p)
			if !near(got, want, 0.01) {
				t.Errorf("quantile %g at %g is %g by draws, %g on the grid", p, x, got, want)
			}
		}
	}
}

func TestBayesSeveralNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	truth := func(x, grep, sort float64) float64 { return (100 + 1500/x) * (1 + 0.2*grep + (0.7+2/x)*sort) }
	var samples []Sample
	for range 60 {
		x, grep, sort := float64(4+r.IntN(21)), max(0, 1.5*r.Float64()-0.5), max(0, 1.5*r.Float64()-0.5)
		samples = append(samples, Sample{ScaleOut: x, Runtime: truth(x, grep, sort) * math.Exp(0.03*r.NormFloat64()),
			Overlaps: []dovetail.Overlap{{Class: "grep", Ratio: grep}, {Class: "sort", Ratio: sort}}})
	}
	m := mustFit(t, bayesCoBell(), samples)
	for _, tc := range []struct{ x, grep, sort float64 }{{6, 0, 0}, {6, 1, 0}, {12, 0, 1}, {24, 1, 1}} {
		at := At{ScaleOut: tc.x, Overlaps: []dovetail.Overlap{{Class: "grep", Ratio: tc.grep}, {Class: "sort", Ratio: tc.sort}, {Class: "unknown", Ratio: 1}}}
		if got, want := m.Predict(at).Quantile(.5), truth(tc.x, tc.grep, tc.sort); !near(got, want, 0.05) {
			t.Errorf("at %g beside grep %g and sort %g: %g s, really %g", tc.x, tc.grep, tc.sort, got, want)
		}
	}
}

func TestBayesInputSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	truth := func(x, gigabytes float64) float64 { return (20 + 900/x) * math.Pow(gigabytes/10, 0.8) }
	var samples []Sample
	for range 20 {
		x, size := float64(2+r.IntN(15)), []float64{5, 10, 20}[r.IntN(3)]
		samples = append(samples, Sample{ScaleOut: x, Input: size * 1e9, Runtime: truth(x, size) * math.Exp(0.03*r.NormFloat64())})
	}
	m := mustFit(t, bayesErnest(), samples)
	for _, size := range []float64{5, 10, 30} {
		if got, want := m.Predict(At{ScaleOut: 8, Input: size * 1e9}).Quantile(.5), truth(8, size); !near(got, want, 0.06) {
			t.Errorf("with %g GB: %g s, really %g", size, got, want)
		}
	}
	if got, want := m.Predict(At{ScaleOut: 8}).Quantile(.5), truth(8, 10); !near(got, want, 0.06) {
		t.Errorf("with unknown input: %g s, as in most runs %g", got, want)
	}
	if !slices.ContainsFunc(m.Report().Parameters, func(p Parameter) bool { return p.Name == "input exponent" && math.Abs(p.Value-0.8) < 0.15 }) {
		t.Errorf("the exponent of the input is 0.8: %v", m.Report().Parameters)
	}
}

// TestBayesSteps lets the scale-out vary: what such a run says is what runs of the same curve say that stood still.
func TestBayesSteps(t *testing.T) {
	truth := func(x float64) float64 { return 40 + 2000/x }
	varied := func(steps ...Step) Sample { // the last step takes what it takes
		work, seconds, area := 0.0, 0.0, 0.0
		for i := range steps {
			if i == len(steps)-1 {
				steps[i].Seconds = (1 - work) * truth(steps[i].ScaleOut)
			}
			work += steps[i].Seconds / truth(steps[i].ScaleOut)
			seconds += steps[i].Seconds
			area += steps[i].Seconds * steps[i].ScaleOut
		}
		return Sample{ScaleOut: area / seconds, Runtime: seconds, Steps: steps}
	}
	var samples []Sample
	for _, x := range []float64{4, 10, 20} {
		samples = append(samples, Sample{ScaleOut: x, Runtime: truth(x)})
	}
	for i := range 8 {
		samples = append(samples, varied(Step{2, 200 + 50*float64(i)}, Step{24, 0}))
	}
	plain := slices.Clone(samples)
	for i := range plain {
		plain[i].Steps = nil
	}
	with, without := 0.0, 0.0
	good, bad := mustFit(t, bayesErnest(), samples), mustFit(t, bayesErnest(), plain)
	for _, x := range []float64{6, 8, 12, 16} {
		at := At{ScaleOut: x}
		with += math.Abs(good.Predict(at).Quantile(.5)/truth(x)-1) / 4
		without += math.Abs(bad.Predict(at).Quantile(.5)/truth(x)-1) / 4
	}
	if with > 0.05 || with > without/3 {
		t.Errorf("mean error %.1f %% through the work done, %.1f %% with averages taken as points", 100*with, 100*without)
	}
}

func TestBayesWildRuns(t *testing.T) {
	samples := besideRuns(20)
	want := mustFit(t, bayesErnest(), samples).Predict(At{ScaleOut: 12}).Quantile(.5)
	for i := 0; i < 20; i += 5 {
		samples[i].Runtime *= 3
	}
	m := mustFit(t, bayesErnest(), samples)
	if got := m.Predict(At{ScaleOut: 12}).Quantile(.5); !near(got, want, 0.05) {
		t.Errorf("with one run in five three times as long: %g s, without %g", got, want)
	}
	if notes := strings.Join(m.Report().Notes, "; "); strings.Count(notes, "wild") != 4 {
		t.Errorf("four runs are wild: %s", notes)
	}
}

func TestBayesDegenerate(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		samples []Sample
		dropped int // -1: an error
	}{
		{"none", nil, -1},
		{"none that is usable", []Sample{{ScaleOut: 4, Runtime: 0}, {ScaleOut: 0, Runtime: 1}, {ScaleOut: 4, Runtime: math.NaN()}, {ScaleOut: math.Inf(1), Runtime: 1}}, -1},
		{"one", []Sample{{ScaleOut: 4, Runtime: 100}}, 0},
		{"negative", []Sample{{ScaleOut: 4, Runtime: 100}, {ScaleOut: 4, Runtime: -1}}, 1},
		{"an overlap that is no number", []Sample{{ScaleOut: 4, Runtime: 100}, {ScaleOut: 4, Runtime: 1, Overlaps: []dovetail.Overlap{{Class: "a", Ratio: math.NaN()}}}}, 1},
		{"one scale-out, all equal", slices.Repeat([]Sample{{ScaleOut: 4, Runtime: 100}}, 5), 0},
		{"tiny", []Sample{{ScaleOut: 1, Runtime: 1e-300}, {ScaleOut: 2, Runtime: 1e-300}}, 0},
		{"huge", []Sample{{ScaleOut: 1e9, Runtime: 1e300}, {ScaleOut: 1e12, Runtime: 1e300}}, 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			m, err := bayesCoBell().Fit(tc.samples, Options{})
			if tc.dropped < 0 {
				if err == nil {
					t.Error("no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := m.Report(); r.Dropped != tc.dropped || r.Runs != len(tc.samples)-tc.dropped {
				t.Errorf("%d runs and %d dropped, want %d dropped", r.Runs, r.Dropped, tc.dropped)
			}
			first := tc.samples[0]
			d := m.Predict(At{ScaleOut: first.ScaleOut})
			if low, high := d.Quantile(.05), d.Quantile(.95); !(low < first.Runtime && first.Runtime < high) {
				t.Errorf("a run took %g s; foretold for its like: %g to %g", first.Runtime, low, high)
			}
		})
	}
}

// TestBayesManyScaleOuts has more scale-outs, averages over time, than matrices have rows.
func TestBayesManyScaleOuts(t *testing.T) {
	var rows []bayesRow
	for i := range 1000 {
		rows = append(rows, bayesRow{x: 4 + 0.02*float64(i), z: 1, noise: 1})
	}
	data := newBayesRows(rows)
	if n := len(data.sites); n > maxSites || n < maxSites/2 {
		t.Errorf("%d sites, want at most %d and not many fewer", n, maxSites)
	}
	for _, r := range data.rows {
		if site := data.sites[r.site]; r.x < site || r.x > 1.1*site {
			t.Errorf("scale-out %g is taken for %g", r.x, site)
		}
	}
}

// TestBayesOutside knows less outside the range of the runs than the reference believes, and the same inside.
func TestBayesOutside(t *testing.T) {
	samples := besideRuns(12)
	m, same := mustFit(t, bayesErnest(), samples), calibrated()
	same.kink = nil
	straight, err := fitBayes("straight", same, samples, false)
	if err != nil {
		t.Fatal(err)
	}
	low, high := math.Inf(1), 0.0
	for _, s := range samples {
		low, high = min(low, s.ScaleOut), max(high, s.ScaleOut)
	}
	width := func(m Model, x float64) float64 {
		d := m.Predict(At{ScaleOut: x})
		return math.Log(d.Quantile(.95) / d.Quantile(.05))
	}
	for _, x := range []float64{low, math.Sqrt(low * high), high} {
		if got, want := width(m, x), width(straight, x); got != want {
			t.Errorf("inside, at %g: width %g, without a change of slope %g", x, got, want)
		}
	}
	for _, x := range []float64{low / 2, high * 2, high * 4} {
		if got, want := width(m, x), width(straight, x); got < want+0.05 {
			t.Errorf("outside, at %g: width %g, without a change of slope %g", x, got, want)
		}
	}
}
