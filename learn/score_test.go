package learn_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/predict"
)

// meanModel predicts the mean of what it has seen, and, with a width, that half of all runs lie within it on either side.
type meanModel struct{ mean, width float64 }

func (m meanModel) Predict(predict.At) predict.Distribution { return m }
func (m meanModel) Report() predict.Report                  { return predict.Report{} }
func (m meanModel) Quantile(p float64) float64              { return m.mean + (2*p-1)*m.width }
func (m meanModel) AtMost(s float64) float64                { return (s-m.mean)/m.width/2 + 0.5 }

func means(width float64, seen *[]int) predict.Method {
	return predict.Method{Fit: func(samples []predict.Sample, _ predict.Options) (predict.Model, error) {
		sum := 0.0
		for i := range samples {
			sum += samples[i].Runtime
		}
		*seen = append(*seen, len(samples))
		return meanModel{sum / float64(len(samples)), width}, nil
	}}
}

func TestLeaveOneOut(t *testing.T) {
	samples := []predict.Sample{{ScaleOut: 2, Runtime: 100}, {ScaleOut: 2, Runtime: 200}, {ScaleOut: 2, Runtime: 300}}
	for _, tc := range []struct {
		reason string
		width  float64
		want   dovetail.Score
	}{
		// Means of the others: 250, 200, 150, so off by 150, 0 and 50 %.
		{"without a spread nothing is said of intervals", 0, dovetail.Score{Runs: 3, MeanError: 2. / 3, MedianError: 0.5}},
		{"only the middle one is near", 100, dovetail.Score{Runs: 3, MeanError: 2. / 3, MedianError: 0.5, Spread: true, Within80: 1. / 3, Within90: 1. / 3}},
		// 0.8 · 180 = 144 and 0.9 · 180 = 162: the others are off by 150 s.
		{"the wider interval holds all", 180, dovetail.Score{Runs: 3, MeanError: 2. / 3, MedianError: 0.5, Spread: true, Within80: 1. / 3, Within90: 1}},
	} {
		var seen []int
		got, err := learn.LeaveOneOut(t.Context(), means(tc.width, &seen), samples, predict.Options{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		round := cmp.Transformer("round", func(v float64) float64 { return math.Round(v * 1e9) })
		if diff := cmp.Diff(&tc.want, got, round); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
		if diff := cmp.Diff([]int{2, 2, 2}, seen); diff != "" {
			t.Errorf("%s: runs learned from (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestLeaveOneOutChoosesRuns(t *testing.T) {
	var many []predict.Sample
	for range 250 {
		many = append(many, predict.Sample{ScaleOut: 4, Runtime: 100})
	}
	varied := []predict.Sample{{ScaleOut: 3, Runtime: 100, Steps: []predict.Step{{ScaleOut: 2, Seconds: 50}, {ScaleOut: 4, Seconds: 50}}}}
	for _, tc := range []struct {
		reason  string
		samples []predict.Sample
		want    int // predicted
		fits    int // and learned from each time
	}{
		{"none", nil, 0, 0},
		{"one tells nothing", many[:1], 0, 0},
		{"a run that varied is learned from and not predicted", append(varied, many[:3]...), 3, 3},
		{"many take too long", many, 100, 249},
	} {
		var seen []int
		got, err := learn.LeaveOneOut(t.Context(), means(1, &seen), tc.samples, predict.Options{}, time.Time{})
		switch {
		case err != nil:
			t.Errorf("%s: %v", tc.reason, err)
		case tc.want == 0 && got != nil:
			t.Errorf("%s: got %+v", tc.reason, got)
		case tc.want > 0 && (got == nil || got.Runs != tc.want || len(seen) != tc.want || seen[0] != tc.fits):
			t.Errorf("%s: got %+v after fits of %v", tc.reason, got, seen)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("nobody waits any more")
	cancel(why)
	var seen []int
	if _, err := learn.LeaveOneOut(ctx, means(1, &seen), many, predict.Options{}, time.Time{}); !errors.Is(err, why) {
		t.Errorf("error %v, want why the context ended", err)
	}
}

func TestLeaveOneOutWithoutTimeForAll(t *testing.T) {
	for _, tc := range []struct {
		reason string
		n      int
		until  time.Duration
		want   int
	}{
		{"there is time for a part", 90, 10 * time.Second, 10},
		{"two tell something, however late it is", 90, -time.Hour, 2},
		{"there is time for all", 9, time.Minute, 9},
	} {
		synctest.Test(t, func(t *testing.T) {
			samples := make([]predict.Sample, tc.n)
			for i := range samples {
				samples[i] = predict.Sample{ScaleOut: 1, Runtime: float64(i + 1)}
			}
			var left []int // out
			slow := predict.Method{Fit: func(others []predict.Sample, _ predict.Options) (predict.Model, error) {
				<-time.After(time.Second)
				out := tc.n * (tc.n + 1) / 2
				for i := range others {
					out -= int(others[i].Runtime)
				}
				left = append(left, out-1)
				return meanModel{1, 1}, nil
			}}
			got, err := learn.LeaveOneOut(t.Context(), slow, samples, predict.Options{}, time.Now().Add(tc.until))
			if err != nil || got == nil || got.Runs != tc.want || len(left) != tc.want {
				t.Fatalf("%s: got %+v, %v after leaving out %v; want %d runs", tc.reason, got, err, left, tc.want)
			}
			slices.Sort(left)
			for i := 1; i < len(left); i++ {
				if gap := left[i] - left[i-1]; gap < 1 || gap > 2*tc.n/tc.want+1 {
					t.Errorf("%s: left out %v, which is not spread evenly over %d runs", tc.reason, left, tc.n)
				}
			}
		})
	}
}
