package fit_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail/fit"
)

// linear is the residuals Ax − y.
func linear(columns [][]float64, y []float64) fit.Residuals {
	return func(x, r []float64, jacobian [][]float64) {
		for i, v := range times(columns, x) {
			r[i] = v - y[i]
		}
		for j := range jacobian {
			copy(jacobian[j], columns[j])
		}
	}
}

// TestBoundedIsNNLS: on a linear problem with x ≥ 0 it finds the same minimum.
func TestBoundedIsNNLS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 6).Draw(t, "columns")
		columns, y := drawProblem(t, k)
		want, err := fit.NNLS(columns, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		bounds := make([]fit.Bounds, k)
		for j := range bounds {
			bounds[j].High = math.Inf(1)
		}
		x, sse, err := fit.BoundedLeastSquares(linear(columns, y), len(y), make([]float64, k), bounds)
		if err != nil {
			t.Fatal(err)
		}
		if sse > want.SSE+1e-6*(1+want.SSE) {
			t.Fatalf("%v with a sum of squares of %v, the minimum is %v at %v", x, sse, want.SSE, want.X)
		}
	})
}

// TestBoundedCurve: Rosenbrock's valley, free and in a box.
func TestBoundedCurve(t *testing.T) {
	valley := func(x, r []float64, jacobian [][]float64) {
		r[0], r[1] = 10*(x[1]-x[0]*x[0]), 1-x[0]
		if jacobian != nil {
			jacobian[0][0], jacobian[0][1] = -20*x[0], -1
			jacobian[1][0], jacobian[1][1] = 10, 0
		}
	}
	for _, tc := range []struct {
		reason string
		bounds []fit.Bounds
		want   []float64
	}{
		{"free", []fit.Bounds{{math.Inf(-1), math.Inf(1)}, {math.Inf(-1), math.Inf(1)}}, []float64{1, 1}},
		{"the upper bound holds", []fit.Bounds{{-2, 0.5}, {-2, 2}}, []float64{0.5, 0.25}},
		{"no room", []fit.Bounds{{0.5, 0.5}, {3, 3}}, []float64{0.5, 3}},
	} {
		x, _, err := fit.BoundedLeastSquares(valley, 2, []float64{-1.2, 1}, tc.bounds)
		if err != nil {
			t.Fatal(err)
		}
		for j, w := range tc.want {
			if math.Abs(x[j]-w) > 1e-6 {
				t.Errorf("%s: %v, want %v", tc.reason, x, tc.want)
			}
		}
	}
}

func TestBoundedRefuses(t *testing.T) {
	one := linear([][]float64{{1}}, []float64{1})
	nan := func(_, r []float64, _ [][]float64) { r[0] = math.NaN() }
	for _, tc := range []struct {
		reason string
		f      fit.Residuals
		start  []float64
		bounds []fit.Bounds
		err    error
	}{
		{"no coefficients", one, nil, nil, fit.ErrEmpty},
		{"no bounds", one, []float64{1}, nil, fit.ErrShape},
		{"crossed bounds", one, []float64{1}, []fit.Bounds{{2, 1}}, fit.ErrNotFinite},
		{"not a number at the start", nan, []float64{1}, []fit.Bounds{{0, 1}}, fit.ErrNotFinite},
	} {
		if _, _, err := fit.BoundedLeastSquares(tc.f, 1, tc.start, tc.bounds); !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v, want %v", tc.reason, err, tc.err)
		}
	}
}
