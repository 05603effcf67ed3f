package fit_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail/fit"
)

// ernest is the columns 1, 1/x, ln x, x.
func ernest(x []float64) [][]float64 {
	c := make([][]float64, 4)
	for _, v := range x {
		for j, f := range []float64{1, 1 / v, math.Log(v), v} {
			c[j] = append(c[j], f)
		}
	}
	return c
}

func times(columns [][]float64, x []float64) []float64 {
	y := make([]float64, len(columns[0]))
	for j, c := range columns {
		for i, v := range c {
			y[i] += v * x[j]
		}
	}
	return y
}

func TestNNLSGoldens(t *testing.T) {
	for _, d := range goldens(t) {
		t.Run(d.Name, func(t *testing.T) {
			x, y := d.Input.X, d.Input.Y
			yy, weights := 0.0, make([]float64, len(y))
			for i, v := range y {
				yy += v * v
				weights[i] = 1 / (v * v)
			}
			s, err := fit.NNLS(ernest(x), y, nil)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(s.SSE-d.Ernest.SSE) > 1e-6*d.Ernest.SSE+1e-12*yy {
				t.Errorf("sum of squared errors %v, want %v", s.SSE, d.Ernest.SSE)
			}
			for i, f := range times(ernest(x), s.X) {
				if !near(f, d.Ernest.Fitted[i], 1e-6) {
					t.Errorf("fitted at %v: %v, want %v", x[i], f, d.Ernest.Fitted[i])
				}
			}
			if d.Ernest.Unique {
				sameCoefficients(t, s.X, d.Ernest.Theta)
				for i, f := range times(ernest(d.Ernest.GridX), s.X) {
					if !near(f, d.Ernest.GridY[i], 1e-6) {
						t.Errorf("at %v: %v, want %v", d.Ernest.GridX[i], f, d.Ernest.GridY[i])
					}
				}
			}
			if s, err = fit.NNLS(ernest(x), y, weights); err != nil {
				t.Fatal(err)
			}
			if math.Abs(s.SSE-d.Relative.SSE) > 1e-6*d.Relative.SSE+1e-12*float64(len(y)) {
				t.Errorf("relative: sum of squared errors %v, want %v", s.SSE, d.Relative.SSE)
			}
			if d.Relative.Unique && s.Rank == 4 { // the files call two sets unique that have three and one distinct x
				sameCoefficients(t, s.X, d.Relative.Theta)
			}
		})
	}
}

func sameCoefficients(t *testing.T, got, want []float64) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for j, w := range want {
		if math.Abs(got[j]-w) > 1e-6*math.Abs(w)+1e-9*largest {
			t.Errorf("coefficients %v, want %v", got, want)
			return
		}
	}
}

func TestNNLSDegenerate(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tc := range []struct {
		reason  string
		columns [][]float64
		y, w    []float64
		err     error
		x       []float64
		rank    int
	}{
		{reason: "one point: the constant", columns: ernest([]float64{8}), y: []float64{40}, x: []float64{40, 0, 0, 0}, rank: 1},
		{reason: "one distinct x: the constant, their mean", columns: ernest([]float64{8, 8}), y: []float64{40, 60}, x: []float64{50, 0, 0, 0}, rank: 1},
		{reason: "two falling points: constant and 1/x", columns: ernest([]float64{2, 4}), y: []float64{30, 20}, x: []float64{10, 40, 0, 0}, rank: 2},
		{reason: "a row of weight 0 is not there", columns: ernest([]float64{2, 4, 9}), y: []float64{30, 20, 999}, w: []float64{1, 1, 0}, x: []float64{10, 40, 0, 0}, rank: 2},
		{reason: "equal columns: the first", columns: [][]float64{{1, 2}, {1, 2}}, y: []float64{2, 4}, x: []float64{2, 0}, rank: 1},
		{reason: "a column of zeros is not used", columns: [][]float64{{0, 0}, {1, 2}}, y: []float64{2, 4}, x: []float64{0, 2}, rank: 1},
		{reason: "what can only be fitted from below stays 0", columns: [][]float64{{1, 2}}, y: []float64{-2, -4}, x: []float64{0}, rank: 1},
		{reason: "zeros fit zeros", columns: [][]float64{{1, 2}}, y: []float64{0, 0}, x: []float64{0}, rank: 1},
		{reason: "no columns", y: []float64{1}, err: fit.ErrEmpty},
		{reason: "no rows", columns: [][]float64{{}}, err: fit.ErrEmpty},
		{reason: "columns of different length", columns: [][]float64{{1, 2}, {1}}, y: []float64{1, 2}, err: fit.ErrShape},
		{reason: "weights of another length", columns: [][]float64{{1, 2}}, y: []float64{1, 2}, w: []float64{1}, err: fit.ErrShape},
		{reason: "NaN in a column", columns: [][]float64{{1, nan}}, y: []float64{1, 2}, err: fit.ErrNotFinite},
		{reason: "infinite observation", columns: [][]float64{{1, 2}}, y: []float64{1, inf}, err: fit.ErrNotFinite},
		{reason: "infinite weight", columns: [][]float64{{1, 2}}, y: []float64{1, 2}, w: []float64{1, inf}, err: fit.ErrNotFinite},
		{reason: "negative weight", columns: [][]float64{{1, 2}}, y: []float64{1, 2}, w: []float64{1, -1}, err: fit.ErrWeight},
		{reason: "no weight at all", columns: [][]float64{{1, 2}}, y: []float64{1, 2}, w: []float64{0, 0}, err: fit.ErrWeight},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s, err := fit.NNLS(tc.columns, tc.y, tc.w)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if err != nil {
				return
			}
			sameCoefficients(t, s.X, tc.x)
			if s.Rank != tc.rank {
				t.Errorf("rank %d, want %d", s.Rank, tc.rank)
			}
		})
	}
}

// drawProblem draws a least squares problem of k columns, some of them dependent.
func drawProblem(t *rapid.T, k int) (columns [][]float64, y []float64) {
	n := rapid.IntRange(1, 12).Draw(t, "rows")
	number := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-40, 40).Draw(t, "v")) / 8 })
	for range k {
		columns = append(columns, rapid.SliceOfN(number, n, n).Draw(t, "column"))
	}
	if k > 1 && rapid.Bool().Draw(t, "dependent") {
		copy(columns[k-1], columns[0])
	}
	return columns, rapid.SliceOfN(number, n, n).Draw(t, "y")
}

// TestNNLSConditions: the result is the global minimum, by the conditions of Karush, Kuhn and Tucker, which are sufficient as the
// problem is convex: no coefficient is negative, the gradient is nowhere negative, and 0 where the coefficient is not.
func TestNNLSConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 10).Draw(t, "columns") // few: subsets; more: Lawson-Hanson
		columns, y := drawProblem(t, k)
		s, err := fit.NNLS(columns, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		rest := times(columns, s.X)
		sse := 0.0
		for i := range rest {
			rest[i] -= y[i]
			sse += rest[i] * rest[i]
		}
		if math.Abs(sse-s.SSE) > 1e-9*(1+sse) {
			t.Fatalf("says a sum of squared errors of %v, has %v", s.SSE, sse)
		}
		for j, c := range columns {
			g := 0.0
			for i, v := range c {
				g += v * rest[i]
			}
			if s.X[j] < 0 || g < -1e-7 || s.X[j] > 0 && math.Abs(g) > 1e-7 {
				t.Fatalf("column %d: coefficient %v with gradient %v", j, s.X[j], g)
			}
		}
	})
}

// TestNNLSUnits: other units of the observations and of the columns give the same coefficients in these units.
func TestNNLSUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 8).Draw(t, "columns")
		columns, y := drawProblem(t, k)
		plain, err := fit.NNLS(columns, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		unit := rapid.SampledFrom([]float64{1e-9, 1e-3, 7, 1e9})
		of := unit.Draw(t, "unit of y")
		other := make([]float64, len(y))
		for i, v := range y {
			other[i] = v * of
		}
		units := make([]float64, k)
		for j, c := range columns {
			units[j] = unit.Draw(t, "unit")
			for i := range c {
				c[i] *= units[j]
			}
		}
		s, err := fit.NNLS(columns, other, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.SSE-plain.SSE*of*of) > 1e-9*(1+plain.SSE)*of*of {
			t.Fatalf("sum of squared errors %v, want %v", s.SSE, plain.SSE*of*of)
		}
		if plain.Rank < k { // then ties decide, and rounding decides ties
			return
		}
		for j, v := range plain.X {
			if math.Abs(s.X[j]*units[j]/of-v) > 1e-6*(1+v) {
				t.Fatalf("coefficients %v in units %v, want %v", s.X, units, plain.X)
			}
		}
	})
}

// TestNNLSOrder: the order of the rows makes no difference but rounding.
func TestNNLSOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, y := drawProblem(t, rapid.IntRange(1, 8).Draw(t, "columns"))
		order := rapid.Permutation(indices(len(y))).Draw(t, "order")
		turned := make([][]float64, len(columns))
		for j, c := range columns {
			turned[j] = permuted(c, order)
		}
		a, err := fit.NNLS(columns, y, nil)
		b, err2 := fit.NNLS(turned, permuted(y, order), nil)
		if err != nil || err2 != nil || math.Abs(a.SSE-b.SSE) > 1e-9*(1+a.SSE) || a.Rank != b.Rank {
			t.Fatalf("%+v %v, in another order %+v %v", a, err, b, err2)
		}
	})
}

func indices(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func permuted(v []float64, order []int) []float64 {
	p := make([]float64, len(v))
	for i, o := range order {
		p[i] = v[o]
	}
	return p
}

// TestCompress: for any coefficients the compressed observations have the same sum of squared errors.
func TestCompress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 5).Draw(t, "columns")
		columns, y := drawProblem(t, k)
		weights := rapid.SliceOfN(rapid.Float64Range(0.1, 4), len(y), len(y)).Draw(t, "weights")
		small, of, err := fit.Compress(columns, y, weights)
		if err != nil || len(of) > k+1 {
			t.Fatalf("%d rows of %d columns, %v", len(of), k, err)
		}
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), k, k).Draw(t, "x")
		want, got := 0.0, 0.0
		for i, f := range times(columns, x) {
			want += weights[i] * (f - y[i]) * (f - y[i])
		}
		for i, f := range times(small, x) {
			got += (f - of[i]) * (f - of[i])
		}
		if math.Abs(got-want) > 1e-9*(1+want) {
			t.Fatalf("sum of squared errors %v, want %v", got, want)
		}
	})
}

func BenchmarkNNLS(b *testing.B) {
	for _, n := range []int{5, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var x, y []float64
			for i := range n {
				v := float64(1 + i%24)
				x, y = append(x, v), append(y, 100+1000/v+3*v+float64(i%7))
			}
			columns := ernest(x)
			for b.Loop() {
				if _, err := fit.NNLS(columns, y, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
