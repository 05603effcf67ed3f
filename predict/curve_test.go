package predict_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// even is spread evenly between two runtimes.
type even struct{ low, high float64 }

func (e even) Quantile(p float64) float64 { return e.low + p*(e.high-e.low) }
func (e even) AtMost(s float64) float64   { return min(max((s-e.low)/(e.high-e.low), 0), 1) }

// unsure knows nothing.
type unsure struct{}

func (unsure) Quantile(float64) float64 { return math.NaN() }
func (unsure) AtMost(float64) float64   { return math.NaN() }

func TestCurve(t *testing.T) {
	halved := func(x int) predict.Distribution { return even{400 / float64(x), 600 / float64(x)} }
	for _, tc := range []struct {
		reason             string
		at                 func(int) predict.Distribution
		target, confidence float64
		want               *dovetail.Pick
	}{
		{"no target, no choice", halved, 0, 0.9, nil},
		{"the smallest that reaches it", halved, 145, 0.9, &dovetail.Pick{ScaleOut: 4, Probability: 0.9}},
		{"the same with less confidence", halved, 180, 0.5, &dovetail.Pick{ScaleOut: 3, Probability: 0.7}},
		{"none: the largest, and what it promises", halved, 90, 0.9, &dovetail.Pick{ScaleOut: 5, Probability: 0.25, Infeasible: true}},
		{"none: not the one with the highest probability", func(x int) predict.Distribution { return even{100, 100 + 100*float64(x)} }, 130, 0.9,
			&dovetail.Pick{ScaleOut: 5, Probability: 0.06, Infeasible: true}},
		{"without a spread it is met or not", func(x int) predict.Distribution { return predict.Exactly(600 / float64(x)) }, 150, 0.9,
			&dovetail.Pick{ScaleOut: 4, Probability: 1}},
		{"nobody can tell", func(int) predict.Distribution { return unsure{} }, 150, 0.9, &dovetail.Pick{ScaleOut: 5, Infeasible: true}},
	} {
		points, got := predict.Curve([]int{2, 3, 4, 5}, tc.at, tc.target, tc.confidence)
		if got != nil {
			got.Probability = math.Round(got.Probability*1e9) / 1e9
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
		for i := range points {
			if (points[i].Probability != nil) != (tc.target > 0) {
				t.Errorf("%s: probability at %d", tc.reason, points[i].ScaleOut)
			}
			if math.IsNaN(points[i].Median) {
				t.Errorf("%s: the median at %d is no number", tc.reason, points[i].ScaleOut)
			}
		}
	}
}

func TestCurvePoints(t *testing.T) {
	points, _ := predict.Curve([]int{4}, func(int) predict.Distribution { return even{100, 200} }, 0, 0)
	want := dovetail.CurvePoint{ScaleOut: 4, Median: 150, Low80: 110, High80: 190, Low95: 102.5, High95: 197.5, NodeSeconds: 600}
	if diff := cmp.Diff(want, points[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	points, _ = predict.Curve([]int{4}, func(int) predict.Distribution { return predict.Exactly(7) }, 0, 0)
	if diff := cmp.Diff(dovetail.CurvePoint{ScaleOut: 4, Median: 7, NodeSeconds: 28}, points[0]); diff != "" || points[0].Spread() {
		t.Errorf("a model without a spread (-want +got):\n%s", diff)
	}
}

// TestCurvePicksTheSmallest holds the choice against its definition.
func TestCurvePicksTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lows := rapid.SliceOfN(rapid.Float64Range(1, 100), 1, 12).Draw(t, "lows")
		target := rapid.Float64Range(1, 200).Draw(t, "target")
		confidence := rapid.Float64Range(0.01, 0.99).Draw(t, "confidence")
		xs := make([]int, len(lows))
		for i := range xs {
			xs[i] = i + 1
		}
		at := func(x int) predict.Distribution { return even{lows[x-1], 2 * lows[x-1]} }
		_, pick := predict.Curve(xs, at, target, confidence)
		for _, x := range xs {
			reached := at(x).AtMost(target) >= confidence
			switch {
			case reached && (pick.Infeasible || pick.ScaleOut > x):
				t.Fatalf("%d reaches it, and %+v is picked", x, pick)
			case !reached && pick.ScaleOut == x && !pick.Infeasible:
				t.Fatalf("%+v does not reach it", pick)
			}
		}
		if pick.Infeasible && pick.ScaleOut != len(xs) {
			t.Fatalf("infeasible, and not the largest: %+v", pick)
		}
	})
}
