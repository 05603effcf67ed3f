package fit

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// spd draws a positive definite matrix: B Bᵀ + d I, with a condition number of at most about 10⁶.
func spd(t *rapid.T) [][]float64 {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	number := rapid.Float64Range(-3, 3)
	d := rapid.SampledFrom([]float64{1e-3, 1, 100}).Draw(t, "d")
	b := make([][]float64, n)
	for i := range b {
		b[i] = rapid.SliceOfN(number, n, n).Draw(t, "row")
	}
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		for j := range a[i] {
			a[i][j] = inner(b[i], b[j])
			if i == j {
				a[i][j] += d
			}
		}
	}
	return a
}

func TestCholeskySolves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := spd(t)
		n := len(a)
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), n, n).Draw(t, "x")
		b := make([]float64, n)
		for i := range b {
			b[i] = inner(a[i], x)
		}
		c, err := NewCholesky(a)
		if err != nil {
			t.Fatal(err)
		}
		white := append([]float64(nil), b...)
		c.Whiten(white)
		if got, want := inner(white, white), inner(b, x); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("whitened: %g, bᵀA⁻¹b is %g", got, want)
		}
		got := append([]float64(nil), b...)
		c.Solve(got)
		for i := range got {
			if math.Abs(got[i]-x[i]) > 1e-6 {
				t.Fatalf("solve: x[%d] = %g, want %g", i, got[i], x[i])
			}
		}
	})
}

func TestCholeskyInverseAndDeterminant(t *testing.T) {
	c, err := NewCholesky([][]float64{{4}, {2, 3}}) // determinant 8, inverse {{3,-2},{-2,4}}/8
	if err != nil {
		t.Fatal(err)
	}
	if got := c.LogDet(); math.Abs(got-math.Log(8)) > 1e-14 {
		t.Errorf("log determinant: %g, want ln 8", got)
	}
	diagonal := c.InverseDiagonal()
	if math.Abs(diagonal[0]-0.375) > 1e-14 || math.Abs(diagonal[1]-0.5) > 1e-14 {
		t.Errorf("diagonal of the inverse: %v, want 3/8 and 4/8", diagonal)
	}
	if c.Len() != 2 {
		t.Errorf("%d rows, want 2", c.Len())
	}
}

func TestCholeskyRefuses(t *testing.T) {
	for _, tc := range []struct {
		reason string
		a      [][]float64
	}{
		{"singular", [][]float64{{1}, {1, 1}}},
		{"negative", [][]float64{{-1}}},
		{"not a number", [][]float64{{math.NaN()}}},
		{"infinite", [][]float64{{math.Inf(1)}}},
		{"a row too short", [][]float64{{1}, {1}}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if _, err := NewCholesky(tc.a); err == nil {
				t.Error("no error")
			}
		})
	}
}
