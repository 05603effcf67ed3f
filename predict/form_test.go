package predict

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// drawRuns draws runs beside up to two classes, with runtimes that need follow no model.
func drawRuns(t *rapid.T) []Sample {
	n := rapid.IntRange(1, 25).Draw(t, "runs")
	out := make([]Sample, n)
	for i := range out {
		out[i] = Sample{
			ScaleOut: float64(rapid.IntRange(1, 24).Draw(t, "x")), Runtime: rapid.Float64Range(10, 1000).Draw(t, "y"),
			Overlaps: []dovetail.Overlap{
				{Class: "j", Ratio: float64(rapid.IntRange(0, 4).Draw(t, "j")) / 4},
				{Class: "k", Ratio: float64(rapid.IntRange(0, 2).Draw(t, "k")) / 2},
			},
		}
	}
	return out
}

// errors returns the sum of squared errors of a form.
func (d *samples) errors(f *form, o Options) float64 {
	sum := 0.0
	for i, w := range d.weights(o) {
		p := &d.points[i]
		miss := f.runtime(p, d.size(p)) - p.y
		sum += w * miss * miss
	}
	return sum
}

// TestFormConditions: what the fit returns has the sum of squared errors that it says and is a stationary point of the problem, by the
// conditions of Karush, Kuhn and Tucker: moving a parameter either way, where it may go, does not lower the sum. No other parameters
// that were drawn are better. Runs of which hardly any was alone may have their optimum at infinite slowdowns of a runtime of 0,
// which the descent is not to follow all the way.
func TestFormConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := gather(drawRuns(t))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Unweighted: rapid.Bool().Draw(t, "unweighted")}
		f, err := d.fit(len(d.classes), 0, o, starts(len(d.classes)))
		if err != nil {
			t.Fatal(err)
		}
		total := d.errors(&form{slow: make([]float64, len(f.slow))}, o)
		if got := d.errors(f, o); math.Abs(got-f.sse) > 1e-9*total {
			t.Fatalf("says a sum of squared errors of %v, has %v", f.sse, got)
		}
		if len(f.slow) > 0 && slices.Max(f.slow) > 100 {
			return
		}
		parameters := func(f *form) []*float64 {
			out := []*float64{&f.theta[0], &f.theta[1], &f.theta[2], &f.theta[3]}
			for c := range f.slow {
				out = append(out, &f.slow[c])
			}
			return out
		}
		for i, p := range parameters(f) {
			was := *p
			if was < 0 {
				t.Fatalf("parameter %d is %v", i, was)
			}
			for _, to := range []float64{was * (1 - 1e-4), was * (1 + 1e-4), was + 1e-6} {
				*p = to
				if got := d.errors(f, o); got < f.sse-1e-5*total {
					t.Fatalf("parameter %d from %v to %v: %v becomes %v", i, was, to, f.sse, got)
				}
			}
			*p = was
		}
		other := form{slow: make([]float64, len(f.slow))}
		for i, p := range parameters(&other) {
			*p = *parameters(f)[i]*rapid.Float64Range(0, 3).Draw(t, "times") + rapid.Float64Range(0, 2).Draw(t, "plus")
		}
		if got := d.errors(&other, o); got < f.sse*(1-1e-6)-1e-5*total {
			t.Fatalf("%+v is better than %+v: %v", other, f, got)
		}
	})
}
