package fit

import "math"

const (
	fewColumns = 6     // up to which all subsets are tried: 63
	rankTest   = 1e-9  // a column of length 1 whose distance to the span of those before it is less depends on them
	better     = 1e-12 // relative gain that a later subset has to show
	exact      = 1e-24 // of the squared length of y: a fit with a smaller sum of squared errors goes through the points
)

// Solution is the outcome of a least squares fit.
type Solution struct {
	X    []float64 // a coefficient for each column
	SSE  float64   // sum of squared errors, weighted
	Rank int       // of the columns; if there are more columns than that, other coefficients may fit as well
}

// NNLS minimises Σ w (y − Ax)² over x ≥ 0; weights nil: all 1.
//
// Up to six columns it is exact: every subset of columns is solved by QR with columns scaled to length 1, those that depend on each
// other (by 1e-9) or have a negative coefficient are passed over, and the lowest residual wins. Subsets are tried by size, then by
// the order of the columns, and a later one must be better by 1e-12 of the residual: if the data do not tell, few and early columns
// are used. With more columns it is the method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23).
// Errors: ErrEmpty, ErrShape, ErrNotFinite, ErrWeight.
func NNLS(columns [][]float64, y, weights []float64) (Solution, error) {
	small, of, err := Compress(columns, y, weights)
	if err != nil {
		return Solution{}, err
	}
	lengths := make([]float64, len(small))
	for j, c := range small {
		lengths[j] = norm(c)
		scale(c, lengths[j])
	}
	length := norm(of)
	scale(of, length)
	s := Solution{X: make([]float64, len(small)), Rank: rank(small)}
	if len(small) <= fewColumns {
		s.SSE = subsets(small, of, s.X)
	} else {
		s.SSE = lawsonHanson(small, of, s.X)
	}
	s.SSE *= float64(length * length)
	for j, l := range lengths {
		if l > 0 {
			s.X[j] *= length / l
		}
	}
	return s, nil
}

// scale divides by the length, unless that is 0.
func scale(v []float64, length float64) {
	if length == 0 {
		return
	}
	for i := range v {
		v[i] /= length
	}
}

// rank returns how many of the columns, of length 1 or 0, do not depend on those before them.
func rank(columns [][]float64) int {
	q := weighted(columns, nil)
	n := 0
	for j, c := range q {
		if n == len(c) {
			break
		}
		v := c[n:]
		length := norm(v)
		if length <= rankTest {
			continue
		}
		if v[0] > 0 {
			length = -length
		}
		v[0] -= length
		for _, o := range q[j+1:] {
			reflect(v, o[n:], -length*v[0])
		}
		n++
	}
	return n
}

// subsets tries every subset of columns in order, writes the best coefficients to x, and returns their sum of squared errors. The
// columns and y have length 1, or 0.
func subsets(columns [][]float64, y, x []float64) float64 {
	m, k := len(y), len(columns)
	buffer := make([]float64, (k+1)*m+k)
	found, right := buffer[:k], buffer[k:k+m]
	trial := make([][]float64, k)
	for j := range trial {
		trial[j] = buffer[k+(j+1)*m : k+(j+2)*m : k+(j+2)*m]
	}
	best := dot(y, y)
	total := best
	for size := 1; size <= min(k, m); size++ {
		set := first(size)
		for more := true; more; more = next(set, k) {
			for p, j := range set {
				copy(trial[p], columns[j])
			}
			copy(right, y)
			sse, ok := solve(trial[:size], right, found[:size])
			if !ok || sse >= best-float64(better*best)-float64(exact*total) {
				continue
			}
			best = sse
			clear(x)
			for p, j := range set {
				x[j] = found[p]
			}
		}
	}
	return best
}

// solve writes the least squares coefficients to x; the columns and y are used up. It reports false if the columns depend on each
// other or a coefficient is negative.
func solve(columns [][]float64, y, x []float64) (sse float64, ok bool) {
	if !independent(columns, y, x) {
		return 0, false
	}
	for _, v := range x {
		if v < 0 {
			return 0, false
		}
	}
	rest := y[len(columns):]
	return dot(rest, rest), true
}

// first returns 0, 1, … size−1.
func first(size int) []int {
	set := make([]int, size)
	for i := range set {
		set[i] = i
	}
	return set
}

// next turns the set into the one that follows among the sets of its size out of k, in lexical order; false if there is none.
func next(set []int, k int) bool {
	for i := len(set) - 1; i >= 0; i-- {
		if set[i] < k-len(set)+i {
			set[i]++
			for j := i + 1; j < len(set); j++ {
				set[j] = set[j-1] + 1
			}
			return true
		}
	}
	return false
}

// lawsonHanson writes the coefficients to x, and returns their sum of squared errors. The columns and y have length 1, or 0.
func lawsonHanson(columns [][]float64, y, x []float64) float64 {
	k := len(columns)
	passive := make([]bool, k)
	barred := make([]bool, k) // that came in and went out at once: they only gain by rounding
	rest := append([]float64(nil), y...)
	for range 10 * k { // each round lowers the residual; it ends long before
		j := steepest(columns, rest, passive, barred)
		if j < 0 {
			break
		}
		passive[j] = true
		if !settle(columns, y, x, passive, j) {
			passive[j], barred[j] = false, true
			continue
		}
		clear(barred)
		residual(columns, y, x, rest)
	}
	residual(columns, y, x, rest)
	return dot(rest, rest)
}

// steepest returns the column outside the passive set along which the residual falls most, or -1; the first of several.
func steepest(columns [][]float64, rest []float64, passive, barred []bool) int {
	at, most := -1, 1e-13
	for j, c := range columns {
		if passive[j] || barred[j] {
			continue
		}
		if g := dot(c, rest); g > most {
			at, most = j, g
		}
	}
	return at
}

// settle solves for the passive columns, and takes those out that would become negative until none would. It reports false, with x as
// it was, if the column that came in depends on the others or is not positive itself.
func settle(columns [][]float64, y, x []float64, passive []bool, in int) bool {
	k := len(columns)
	old := append([]float64(nil), x...)
	for {
		var set []int
		for j := range k {
			if passive[j] {
				set = append(set, j)
			}
		}
		trial := make([][]float64, len(set))
		for p, j := range set {
			trial[p] = append([]float64(nil), columns[j]...)
		}
		right, found := append([]float64(nil), y...), make([]float64, len(set))
		if len(set) > len(y) || !independent(trial, right, found) {
			copy(x, old)
			return false
		}
		step := math.Inf(1)
		for p, j := range set {
			if found[p] > 0 {
				continue
			}
			if j == in {
				copy(x, old)
				return false
			}
			step = min(step, x[j]/(x[j]-found[p]))
		}
		for p, j := range set {
			switch {
			case math.IsInf(step, 1):
				x[j] = found[p]
			case found[p] <= 0 && x[j]/(x[j]-found[p]) <= step:
				x[j], passive[j] = 0, false
			default:
				x[j] += float64(step * (found[p] - x[j]))
			}
		}
		if math.IsInf(step, 1) {
			return true
		}
		in = -1
	}
}

// independent solves for the coefficients, whatever their sign; the columns and y are used up. It reports false if the columns depend
// on each other.
func independent(columns [][]float64, y, x []float64) bool {
	householder(columns, y)
	for j, c := range columns {
		if math.Abs(c[j]) <= rankTest {
			return false
		}
	}
	back(columns, y, x, 0)
	return true
}

// residual writes y − Ax to rest.
func residual(columns [][]float64, y, x, rest []float64) {
	copy(rest, y)
	for j, c := range columns {
		if x[j] == 0 {
			continue
		}
		for i := range rest {
			rest[i] -= float64(x[j] * c[i])
		}
	}
}
