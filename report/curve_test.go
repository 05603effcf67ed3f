package report

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// sampleCurve is a prediction with everything that a picture may show.
func sampleCurve() *Curve {
	c := &Curve{Title: "Runtime of sgd", Curve: dovetail.Curve{
		Model: "bayes-cobell", Runs: 30, Overlaps: []dovetail.Overlap{{Class: "wordcount", Ratio: 0.5}}, Target: 350, Confidence: 0.9,
		Chosen: &dovetail.Pick{ScaleOut: 14, Probability: 0.93},
	}}
	median := func(x, ov float64) float64 { return (120 + 2200/x + 3*x) * (1 + (0.5+0.6/x)*ov) }
	surface := &Surface{Beside: "wordcount"}
	for x := 4; x <= 24; x++ {
		m, p := median(float64(x), 0.5), 0.5
		c.Curve.Points = append(c.Curve.Points, dovetail.CurvePoint{
			ScaleOut: x, Median: m, Low80: 0.94 * m, High80: 1.06 * m, Low95: 0.9 * m, High95: 1.11 * m, Probability: &p,
		})
	}
	for i := range 11 {
		ov := float64(i) / 10
		var row []float64
		for x := 4; x <= 24; x++ {
			row = append(row, median(float64(x), ov))
		}
		surface.Overlaps, surface.Seconds = append(surface.Overlaps, ov), append(surface.Seconds, row)
	}
	for i := range 30 {
		x, ov := float64(4+i*7%21), float64(i%4)/3
		c.Runs = append(c.Runs, CurveRun{ScaleOut: x, Seconds: median(x, ov) * (1 + 0.05*math.Sin(float64(3*i))), Overlap: ov})
	}
	c.Surface = surface
	return c
}

func figureOf(t *testing.T, c *Curve) Figure {
	t.Helper()
	f, err := c.Figure()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCurveSaysWhatItShows(t *testing.T) {
	whole := svgOf(t, figureOf(t, sampleCurve()))
	for _, want := range []string{
		"Runtime of sgd", "bayes-cobell, learned from 30 runs; beside wordcount for 50 % of the time; 14 replicas meet 350 s with 93.0 %",
		"Runtime by scale-out", "Median by scale-out and overlap with wordcount", "80 % of runs", "95 %", "target", "run beside another", "median",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	plain := sampleCurve()
	plain.Surface, plain.Curve.Target, plain.Curve.Chosen, plain.Runs = nil, 0, nil, nil
	for i := range plain.Curve.Points {
		p := &plain.Curve.Points[i]
		*p = dovetail.CurvePoint{ScaleOut: p.ScaleOut, Median: p.Median}
	}
	bare := svgOf(t, figureOf(t, plain))
	for _, no := range []string{"target", "80 %", "overlap with", "run beside"} {
		if strings.Contains(bare, ">"+no) {
			t.Errorf("a picture without it says %q", no)
		}
	}
}

// TestCurveDrawsEveryRun counts dots: each run is two circles in the curve and three in the surface.
func TestCurveDrawsEveryRun(t *testing.T) {
	arcs := func(c *Curve) int { return strings.Count(svgOf(t, figureOf(t, c)), "A") }
	some, more := sampleCurve(), sampleCurve()
	more.Runs = append(more.Runs, more.Runs[0])
	if diff := arcs(more) - arcs(some); diff <= 0 || diff%5 != 0 {
		t.Errorf("one more run makes %d more arcs, want five circles", diff)
	}
}

func TestCurveAsPNG(t *testing.T) {
	var b bytes.Buffer
	if err := figureOf(t, sampleCurve()).WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&b); err != nil {
		t.Error(err)
	}
}

func TestCurveRefusesNothingToDraw(t *testing.T) {
	none, thin := sampleCurve(), sampleCurve()
	none.Curve.Points = nil
	thin.Surface.Overlaps = thin.Surface.Overlaps[:1]
	for _, c := range []*Curve{none, thin} {
		if _, err := c.Figure(); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("error %v, want one that says that it is invalid", err)
		}
	}
}

func TestHeatRises(t *testing.T) {
	light := func(colour string) float64 {
		r, g, b, _ := paint(colour).RGBA()
		return 0.3*float64(r) + 0.59*float64(g) + 0.11*float64(b)
	}
	last := math.Inf(1)
	for i := range 101 {
		v := math.Exp(float64(i) / 20)
		l := light(heat(v, 1, math.Exp(5)))
		if l > last {
			t.Fatalf("the colour of %.1f is lighter than that of less", v)
		}
		last = l
	}
	if heat(3, 3, 3) != heat(2, 3, 9) {
		t.Error("one value alone, or one below all, has not the first colour")
	}
}
