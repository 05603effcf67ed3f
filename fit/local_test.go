package fit_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail/fit"
)

func TestLocalGoldens(t *testing.T) {
	for _, d := range goldens(t) {
		t.Run(d.Name, func(t *testing.T) {
			ties, err := fit.NewTies(d.Input.X, d.Input.Y, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				h    float64
				want []float64
			}{{1, d.LLR.PredH1}, {3, d.LLR.PredH3}, {10, d.LLR.PredH10}, {100, d.LLR.PredH100}} {
				for i, want := range c.want {
					if got := ties.Local(d.LLR.GridX[i], c.h); !near(got, want, 1e-6) {
						t.Errorf("bandwidth %v at %v: %v, want %v", c.h, d.LLR.GridX[i], got, want)
					}
				}
			}
			if got := max(0, len(ties.X)-2); got != d.LLR.Splits {
				t.Errorf("%d splits, want %d", got, d.LLR.Splits)
			}
			h, score := ties.Bandwidth()
			if d.LLR.BestH == nil {
				if h != 0 || !math.IsInf(score, 1) {
					t.Errorf("bandwidth %v (%v), want none", h, score)
				}
				return
			}
			if !near(score, d.LLR.BestScore, 1e-9) {
				t.Errorf("bandwidth %v has score %v, want %v of bandwidth %v", h, score, d.LLR.BestScore, *d.LLR.BestH)
			}
			for _, c := range []struct {
				h    float64
				want *float64
			}{{1, d.LLR.ScoreH1}, {5, d.LLR.ScoreH5}, {100, d.LLR.ScoreH100}} {
				if c.want == nil {
					continue
				}
				if got := scoreOf(t, ties, c.h); !near(got, *c.want, 1e-6) {
					t.Errorf("bandwidth %v has score %v, want %v", c.h, got, *c.want)
				}
			}
		})
	}
}

// scoreOf computes the score of a bandwidth the long way: a regression on what is left for each group.
func scoreOf(t *testing.T, ties *fit.Ties, h float64) float64 {
	t.Helper()
	return ties.LeaveOneGroupOut(func(held int) float64 {
		var x, y []float64
		for g, at := range ties.X {
			for _, v := range ties.Y[g] {
				if g != held {
					x, y = append(x, at), append(y, v)
				}
			}
		}
		rest, err := fit.NewTies(x, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rest.Local(ties.X[held], h)
	})
}

func TestLocalLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(1, 60), 1, 20).Draw(t, "x")
		a, b := rapid.Float64Range(-5, 5).Draw(t, "a"), rapid.Float64Range(-5, 5).Draw(t, "b")
		y, w := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			y[i], w[i] = a+b*v, rapid.Float64Range(0.5, 2).Draw(t, "w")
		}
		ties, err := fit.NewTies(x, y, w)
		if err != nil {
			t.Fatal(err)
		}
		h := rapid.Float64Range(5, 100).Draw(t, "h")
		for _, v := range x { // at the data: a line through few points that lie close together tells little of elsewhere
			if got := ties.Local(v, h); math.Abs(got-a-b*v) > 1e-3 {
				t.Fatalf("a line is not followed: %v at %v, want %v", got, v, a+b*v)
			}
		}
	})
}

func TestLocalUnits(t *testing.T) {
	x, y, w := []float64{2, 3, 3, 7, 9}, []float64{9, 7, 8, 4, 5}, []float64{1, 2, 1, 1, 3}
	plain, err := fit.NewTies(x, y, w)
	if err != nil {
		t.Fatal(err)
	}
	h, score := plain.Bandwidth()
	for _, unit := range []float64{1e-9, 1e9} {
		y2, w2 := make([]float64, len(y)), make([]float64, len(y))
		for i := range y {
			y2[i], w2[i] = y[i]*unit, w[i]/(unit*unit)
		}
		scaled, err := fit.NewTies(x, y2, w2)
		if err != nil {
			t.Fatal(err)
		}
		if h2, score2 := scaled.Bandwidth(); h2 != h || !near(score2, score, 1e-9) {
			t.Errorf("in units of %v: bandwidth %v with score %v, want %v with %v", unit, h2, score2, h, score)
		}
		if got, want := scaled.Local(5, h), plain.Local(5, h)*unit; !near(got, want, 1e-9) {
			t.Errorf("in units of %v: %v, want %v", unit, got, want)
		}
	}
}

func TestTiesRefuse(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		x, y, w []float64
		err     error
	}{
		{"nothing", nil, nil, nil, fit.ErrEmpty},
		{"lengths", []float64{1}, []float64{1, 2}, nil, fit.ErrShape},
		{"NaN", []float64{1, math.NaN()}, []float64{1, 2}, nil, fit.ErrNotFinite},
		{"a group without weight", []float64{1, 2}, []float64{1, 2}, []float64{1, 0}, fit.ErrWeight},
	} {
		if _, err := fit.NewTies(tc.x, tc.y, tc.w); !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v, want %v", tc.reason, err, tc.err)
		}
	}
}

// TestFarAway: where every kernel weight would underflow, the nearest points decide.
func TestFarAway(t *testing.T) {
	ties, err := fit.NewTies([]float64{1, 2, 1000, 2000}, []float64{10, 11, 50, 90}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ties.Local(1400, 1); !near(got, 50, 1e-9) {
		t.Errorf("far from all: %v, want that of the nearest, 50", got)
	}
	if h, score := ties.Bandwidth(); math.IsInf(score, 1) || h == 0 {
		t.Errorf("bandwidth %v with score %v", h, score)
	}
}
