package predict

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// curve24 is the runtime without noise that these tests learn.
func curve24(x float64) float64 { return 30 + 800/x + 5*x }

// jitter is a relative error that looks random, of 2 % at most.
func jitter(i int) float64 { return 1 + 0.02*math.Sin(float64(5*i*i+i)) }

func learnedBy(t *testing.T, m Method, samples []Sample) Model {
	t.Helper()
	model, err := m.Fit(samples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func expect(t *testing.T, m Model, at At, want, tolerance float64) {
	t.Helper()
	if got := m.Predict(at).Quantile(0.5); math.Abs(got-want) > tolerance*want {
		t.Errorf("at %+v: %v, want %v within %v", at, got, want, tolerance)
	}
}

func noted(r Report, words string) bool {
	return strings.Contains(strings.Join(r.Notes, "\n"), words)
}

func TestSeveralNeighbours(t *testing.T) {
	var samples []Sample
	for i := range 60 {
		x := float64(2 + i*7%20)
		j, k := float64(i%5)/4, float64(i*3%7)/6
		samples = append(samples, Sample{
			ScaleOut: x, Runtime: curve24(x) * (1 + (0.3+2/x)*j + 0.8*k),
			Overlaps: []dovetail.Overlap{{Class: "j", Ratio: j}, {Class: "k", Ratio: k}},
		})
	}
	m := learnedBy(t, cobell(), samples)
	want := map[string]float64{"a j": 0.3, "b j": 2, "a k": 0.8, "b k": 0, "theta0 ": 30, "theta1 ": 800, "theta2 ": 0, "theta3 ": 5}
	for _, p := range m.Report().Parameters {
		w, ok := want[p.Name+" "+p.Class]
		if !ok || math.Abs(p.Value-w) > 1e-4*(1+w) {
			t.Errorf("%s %s is %v, want %v", p.Name, p.Class, p.Value, w)
		}
	}
	if n := len(m.Report().Parameters); n != len(want) {
		t.Errorf("%d parameters, want %d", n, len(want))
	}
	at := At{ScaleOut: 10, Overlaps: []dovetail.Overlap{{Class: "j", Ratio: 1}, {Class: "k", Ratio: 0.5}}}
	expect(t, m, at, curve24(10)*(1+0.5+0.4), 1e-4)
	for _, blind := range []Method{ernest(), bell()} {
		m := learnedBy(t, blind, samples)
		at.Overlaps = nil
		alone := m.Predict(at).Quantile(0.5)
		at.Overlaps = []dovetail.Overlap{{Class: "j", Ratio: 1}}
		expect(t, m, at, alone, 0)
	}
}

// TestWildRuns: what is taken out is named, and only where the models are ours rather than those of the papers.
func TestWildRuns(t *testing.T) {
	var samples []Sample
	for i := range 30 {
		x := float64(2 + i%10)
		samples = append(samples, Sample{ScaleOut: x, Runtime: curve24(x) * jitter(i)})
	}
	clean := learnedBy(t, ernest(), samples).Report()
	if clean.Runs != 30 || clean.Dropped != 0 || noted(clean, "wild") {
		t.Errorf("of 30 runs on a curve some were left out: %+v", clean)
	}
	for i := 3; i < 30; i += 6 { // also faster than can be, as runs are that stop early and say that they succeeded
		samples[i].Runtime *= []float64{3, 0.3}[i/6%2]
	}
	r := learnedBy(t, ernest(), samples).Report()
	if r.Runs != 25 || r.Dropped != 5 || !noted(r, "taken for a wild run and left out") {
		t.Errorf("5 of 30 runs are wild: %+v", r)
	}
	plain, err := ernest().Fit(samples, Options{Unweighted: true})
	if err != nil || plain.Report().Runs != 30 {
		t.Errorf("without weights all runs are learned from: %+v, %v", plain.Report(), err)
	}
}

// TestEdge: one run alone at the smallest scale-out, off the curve by as much as a wild run in the middle, is believed.
func TestEdge(t *testing.T) {
	for _, tc := range []struct {
		reason string
		wild   int
		runs   int
	}{
		{"in the middle", 5, 9},
		{"at the smallest scale-out", 0, 10},
	} {
		var samples []Sample
		for i := range 10 {
			x := float64(4 + 2*i)
			y := curve24(x)
			if i == tc.wild {
				y *= 1.3
			}
			samples = append(samples, Sample{ScaleOut: x, Runtime: y})
		}
		if r := learnedBy(t, ernest(), samples).Report(); r.Runs != tc.runs {
			t.Errorf("%s: learned from %d of 10 runs, want %d: %v", tc.reason, r.Runs, tc.runs, r.Notes)
		}
	}
}

// TestCliff: what all runs at a scale-out say is not wild, however far it is from the curve through the others.
func TestCliff(t *testing.T) {
	for _, repeats := range []int{3, 6} { // few runs, and many
		var samples []Sample
		for i := range 5 * repeats {
			x := float64(2 + 2*(i%5))
			y := curve24(x) * jitter(i)
			if x == 2 {
				y *= 3
			}
			samples = append(samples, Sample{ScaleOut: x, Runtime: y})
		}
		if r := learnedBy(t, ernest(), samples).Report(); r.Dropped > 0 {
			t.Errorf("%d runs at each scale-out agree, and some were left out: %v", repeats, r.Notes)
		}
	}
}

func TestNotDetermined(t *testing.T) {
	beside := func(x, y, ratio float64) Sample {
		return Sample{ScaleOut: x, Runtime: y, Overlaps: []dovetail.Overlap{{Class: "k", Ratio: ratio}}}
	}
	for _, tc := range []struct {
		reason  string
		samples []Sample
		note    string
	}{
		{"one scale-out", []Sample{beside(4, 100, 0), beside(4, 120, 1)}, "one scale-out"},
		{"a and b", []Sample{beside(4, 100, 0), beside(4, 120, 1)}, "a and b of k cannot be told apart"},
		{"two scale-outs", []Sample{beside(4, 100, 0), beside(8, 60, 0)}, "2 different scale-outs"},
		{"always beside", []Sample{beside(4, 100, 1), beside(8, 60, 1), beside(12, 50, 1), beside(16, 45, 1)}, "same overlap with k"},
		{"sizes follow scale-outs", []Sample{
			{ScaleOut: 4, Runtime: 100, Input: 1e9}, {ScaleOut: 4, Runtime: 101, Input: 1e9}, {ScaleOut: 8, Runtime: 100, Input: 2e9}, {ScaleOut: 8, Runtime: 99, Input: 2e9},
		}, "cannot be told apart"},
	} {
		r := learnedBy(t, cobell(), tc.samples).Report()
		if !noted(r, tc.note) {
			t.Errorf("%s: notes are %q", tc.reason, r.Notes)
		}
	}
	var samples []Sample
	for i := range 12 {
		samples = append(samples, beside(float64(2+i), curve24(float64(2+i)), float64(i%3)/2))
	}
	if r := learnedBy(t, cobell(), samples).Report(); len(r.Notes) != 0 {
		t.Errorf("all is determined, but notes are %q", r.Notes)
	}
}

// TestOwnSize: where the effect of the size cannot be told from that of the scale-out, runs of a similar size speak for it.
func TestOwnSize(t *testing.T) {
	var samples []Sample
	for i := range 8 {
		samples = append(samples,
			Sample{ScaleOut: 4, Runtime: 100 * jitter(i), Input: 1e9 * (1 + 0.005*float64(i))},
			Sample{ScaleOut: 8, Runtime: 180 * jitter(i), Input: 9e9})
	}
	m := learnedBy(t, ernest(), samples)
	expect(t, m, At{ScaleOut: 8, Input: 1.05e9}, 100, 0.03)
	expect(t, m, At{ScaleOut: 4, Input: 9.5e9}, 180, 0.03)
	expect(t, m, At{ScaleOut: 8, Input: 4e9}, 180, 0.03) // nothing similar: all runs
	expect(t, m, At{ScaleOut: 4}, 100, 0.03)
}

// TestVariedExactly: without noise, runs whose scale-out varied give the very curve.
func TestVariedExactly(t *testing.T) {
	var samples []Sample
	for i := range 20 {
		low, high, part := float64(1+i%6), float64(8+i*3%11), 0.2+0.6*float64(i%4)/3
		ov := float64(i%3) / 2
		slow := func(x float64) float64 { return curve24(x) * (1 + (0.5+1/x)*ov) }
		y := 1 / (part/slow(low) + (1-part)/slow(high))
		samples = append(samples, Sample{
			ScaleOut: part*low + (1-part)*high, Runtime: y, Overlaps: []dovetail.Overlap{{Class: "k", Ratio: ov}},
			Steps: []Step{{low, part * y}, {high, (1 - part) * y}, {0, 0}},
		})
	}
	m := learnedBy(t, cobell(), samples)
	if m.Report().Dropped > 0 {
		t.Errorf("runs were left out: %+v", m.Report())
	}
	for x := 1.0; x < 20; x++ {
		expect(t, m, At{ScaleOut: x}, curve24(x), 1e-3)
		expect(t, m, At{ScaleOut: x, Overlaps: []dovetail.Overlap{{Class: "k", Ratio: 1}}}, curve24(x)*(1.5+1/x), 1e-3)
	}
	expect(t, learnedBy(t, cobellNP(), samples), At{ScaleOut: 9}, curve24(9), 0.05)
}

// TestFractions: local regression follows a curve that no parameters fit, from runs at average scale-outs that are no whole numbers.
func TestFractions(t *testing.T) {
	wave := func(x float64) float64 { return 200 + 80*math.Sin(x/3) }
	var samples []Sample
	for i := range 120 {
		x := 1 + 23*float64(i)/119
		samples = append(samples, Sample{ScaleOut: x, Runtime: wave(x) * jitter(i)})
	}
	m := learnedBy(t, bell(), samples)
	if m.Report().Picked != "local linear regression, bandwidth 1" {
		t.Errorf("picked %s", m.Report().Picked)
	}
	for x := 3.0; x <= 22; x += 0.5 {
		expect(t, m, At{ScaleOut: x}, wave(x), 0.06)
	}
}

// TestIdle: time without a replica is no time in which work was done.
func TestIdle(t *testing.T) {
	samples := []Sample{{ScaleOut: 2, Runtime: 150, Steps: []Step{{4, 100}, {0, 50}}}}
	expect(t, learnedBy(t, ernest(), samples), At{ScaleOut: 4}, 100, 1e-9)
	samples[0].Steps = []Step{{0, 150}}
	if _, err := ernest().Fit(samples, Options{}); err == nil {
		t.Error("learned from a run that never had a replica")
	}
}

// TestPublicSizes: on grep of C3O, of which only the size of the input and the scale-out differ, the power of the size explains most of
// what a model blind to sizes misses.
func TestPublicSizes(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", "runtimes", "c3o_runs.csv"))
	if err != nil {
		t.Skip("needs ../shared/data/runtimes, which is not part of the project")
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var train, test, blind []Sample
	for _, r := range rows {
		if r[0] != "grep" || !strings.HasPrefix(r[1], "m4.2xlarge|") || !strings.HasSuffix(r[1], "|0.5") {
			continue
		}
		var n [3]float64
		for i, column := range []int{3, 4, 6} {
			if n[i], err = strconv.ParseFloat(r[column], 64); err != nil {
				t.Fatal(err)
			}
		}
		s := Sample{Input: n[0] * 1e6, ScaleOut: n[1], Runtime: n[2]}
		if (len(train)+len(test))%5 == 0 { // of 30 runs at each size, five at each scale-out
			train = append(train, s)
			s.Input = 0
			blind = append(blind, s)
		} else {
			test = append(test, s)
		}
	}
	if len(train) != 30 || len(test) != 120 {
		t.Fatalf("%d and %d runs", len(train), len(test))
	}
	mape := func(samples []Sample) float64 {
		m, sum := learnedBy(t, ernest(), samples), 0.0
		for _, s := range test {
			sum += math.Abs(m.Predict(At{ScaleOut: s.ScaleOut, Input: s.Input}).Quantile(0.5)/s.Runtime - 1)
		}
		return sum / float64(len(test))
	}
	if with, without := mape(train), mape(blind); with > 0.05 || without < 0.1 {
		t.Errorf("mean relative error %v with sizes, %v without", with, without)
	}
}
