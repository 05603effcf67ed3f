package fit

import (
	"fmt"
	"math"
)

// Cholesky is the factor L of a symmetric positive definite matrix A = L Lᵀ of n rows: lower triangular, row by row, packed.
// See Golub and Van Loan, "Matrix Computations", 4th edition, algorithm 4.2.1.
type Cholesky struct {
	n int
	l []float64 // L[i][j] is l[i(i+1)/2+j], j ≤ i
}

// NewCholesky factors a, of which it reads the lower triangle a[i][j], j ≤ i, and which it leaves as it is. A pivot that is not
// positive and finite is an error: the matrix is not positive definite within the precision of a float64.
func NewCholesky(a [][]float64) (*Cholesky, error) {
	n := len(a)
	c := &Cholesky{n: n, l: make([]float64, n*(n+1)/2)}
	for i := range n {
		if len(a[i]) <= i {
			return nil, fmt.Errorf("cholesky: row %d of %d has %d columns", i, n, len(a[i]))
		}
		li := c.row(i)
		for j := range i {
			lj := c.row(j)
			li[j] = (a[i][j] - inner(li[:j], lj[:j])) / lj[j]
		}
		pivot := a[i][i] - inner(li[:i], li[:i])
		if !(pivot > 0) || math.IsInf(pivot, 1) {
			return nil, fmt.Errorf("cholesky: pivot %d of %d is %g: the matrix is not positive definite", i, n, pivot)
		}
		li[i] = math.Sqrt(pivot)
	}
	return c, nil
}

// Len returns the number of rows.
func (c *Cholesky) Len() int { return c.n }

// LogDet returns the natural logarithm of the determinant of A.
func (c *Cholesky) LogDet() float64 {
	sum := 0.0
	for i := range c.n {
		sum += math.Log(c.row(i)[i])
	}
	return 2 * sum
}

// Whiten replaces b, of n numbers, by the solution x of L x = b. The dot product of two whitened vectors is bᵀ A⁻¹ b′.
func (c *Cholesky) Whiten(b []float64) {
	for i := range c.n {
		li := c.row(i)
		b[i] = (b[i] - inner(li[:i], b[:i])) / li[i]
	}
}

// Solve replaces b, of n numbers, by the solution x of A x = b.
func (c *Cholesky) Solve(b []float64) {
	c.Whiten(b)
	for i := c.n - 1; i >= 0; i-- { // Lᵀ x = b, column by column
		li := c.row(i)
		b[i] /= li[i]
		for j := range i {
			b[j] -= float64(li[j] * b[i])
		}
	}
}

// InverseDiagonal returns the n diagonal elements of A⁻¹.
func (c *Cholesky) InverseDiagonal() []float64 {
	diagonal := make([]float64, c.n)
	e := make([]float64, c.n)
	for i := range c.n {
		clear(e)
		e[i] = 1
		c.Whiten(e)
		diagonal[i] = inner(e, e)
	}
	return diagonal
}

func (c *Cholesky) row(i int) []float64 {
	at := i * (i + 1) / 2
	return c.l[at : at+i+1]
}

// inner returns the sum of the products of two vectors of the same length.
func inner(a, b []float64) float64 {
	sum := 0.0
	b = b[:len(a)]
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}
