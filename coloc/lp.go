package coloc

import (
	"math"
	"slices"
)

const (
	tolerance  = 1e-11 // of reduced costs, and of pivots relative to the largest of their column
	mostPivots = 64    // for each kind: many times what is needed
	surplus    = -1    // in place of the second kind: the variable is the work of the first one beyond what there is
)

// simplex is the state of program: the dense revised simplex method with an explicit inverse of the basis.
type simplex struct {
	n      int
	m      []float64
	basis  [][2]int  // the variable of each row
	inv    []float64 // n × n: inverse of the matrix of the basic columns
	x      []float64 // of the basic variables
	dual   []float64
	column []float64 // of the entering variable, in terms of the basis
}

// pairs returns the duals of program, and the least time.
func pairs(m, work []float64) (dual []float64, time float64) {
	s := program(m, work)
	for i, v := range s.basis {
		if v[1] != surplus {
			time += s.x[i]
		}
	}
	return s.dual, time
}

// program solves the linear program of models.md 5.4: how long, x_ab ≥ 0, should nodes hold each pair of kinds a ≤ b, so that all work gets done in the
// least total time? A pair yields m[a*n+b] of a and m[b*n+a] of b per time, a pair of equals 2 m[a*n+a]. The duals are the prices of a unit of
// work. Rates are positive; work that is not positive is none, and duals of that are not unique.
//
// It begins with pairs of equals, which is feasible. The variable with the most negative reduced cost enters, of equals the first; after n pivots that gained
// nothing it is the first one with a negative reduced cost (Bland 1977), so that it ends. Of variables that could leave, the first one does.
func program(m, work []float64) *simplex {
	n := len(work)
	buffer := make([]float64, n*n+3*n)
	s := &simplex{
		n: n, m: m, basis: make([][2]int, n),
		inv: buffer[:n*n], x: buffer[n*n : n*n+n], dual: buffer[n*n+n : n*n+2*n], column: buffer[n*n+2*n:],
	}
	for i := range n {
		s.basis[i] = [2]int{i, i}
		s.inv[i*n+i] = 1 / (2 * m[i*n+i])
		s.x[i] = max(work[i], 0) * s.inv[i*n+i]
	}
	gained := 0
	for pivots := range mostPivots * n {
		s.price()
		entering, ok := s.enter(pivots-gained > n)
		if !ok {
			break
		}
		s.express(entering)
		row := s.leaves()
		if row < 0 {
			break
		}
		if s.x[row] > 0 {
			gained = pivots
		}
		s.pivot(row, entering)
	}
	s.price()
	for i := range s.dual {
		s.dual[i] = max(s.dual[i], 0)
	}
	return s
}

// time returns how long the optimum holds a pair, in either order.
func (s *simplex) time(a, b int) float64 {
	if i := slices.Index(s.basis, [2]int{min(a, b), max(a, b)}); i >= 0 {
		return s.x[i]
	}
	return 0
}

// price computes the duals: pairs cost 1, surplus nothing, so that they are sums of rows of the inverse.
func (s *simplex) price() {
	clear(s.dual)
	for i, v := range s.basis {
		if v[1] == surplus {
			continue
		}
		for j, w := range s.inv[i*s.n : (i+1)*s.n] {
			s.dual[j] += w
		}
	}
}

// enter returns the variable that enters the basis: surplus by kind, then pairs.
func (s *simplex) enter(first bool) (entering [2]int, ok bool) {
	worst := -tolerance
	for i, d := range s.dual {
		if d < worst {
			entering, ok, worst = [2]int{i, surplus}, true, d
			if first {
				return entering, ok
			}
		}
	}
	for i := range s.n {
		for j := i; j < s.n; j++ {
			cost := 1 - float64(s.dual[i]*s.m[i*s.n+j]) - float64(s.dual[j]*s.m[j*s.n+i])
			if cost < worst {
				entering, ok, worst = [2]int{i, j}, true, cost
				if first {
					return entering, ok
				}
			}
		}
	}
	return entering, ok
}

// express computes the column of a variable in terms of the basis.
func (s *simplex) express(v [2]int) {
	a, b := v[0], v[1]
	if b == surplus {
		for i := range s.n {
			s.column[i] = -s.inv[i*s.n+a]
		}
		return
	}
	of, other := s.m[a*s.n+b], s.m[b*s.n+a]
	for i := range s.n {
		row := s.inv[i*s.n:]
		s.column[i] = float64(row[a]*of) + float64(row[b]*other)
	}
}

// leaves returns the row of the basic variable that becomes 0 first, of equals the first variable, or −1 if there is none.
func (s *simplex) leaves() int {
	largest := 0.0
	for _, c := range s.column {
		largest = max(largest, math.Abs(c))
	}
	leaving, least := -1, 0.0
	for i, c := range s.column {
		if c <= tolerance*largest {
			continue
		}
		ratio := s.x[i] / c
		if leaving < 0 || ratio < least || ratio == least && before(s.basis[i], s.basis[leaving]) {
			leaving, least = i, ratio
		}
	}
	return leaving
}

// before reports whether a variable comes before another one in the order in which enter looks at them.
func before(v, w [2]int) bool {
	if (v[1] == surplus) != (w[1] == surplus) {
		return v[1] == surplus
	}
	return v[0] < w[0] || v[0] == w[0] && v[1] < w[1]
}

// pivot lets a variable, of which column tells, take the place of the one in a row.
func (s *simplex) pivot(row int, entering [2]int) {
	n, p := s.n, s.column[row]
	of := s.inv[row*n : (row+1)*n]
	for j := range of {
		of[j] /= p
	}
	s.x[row] /= p
	for i := range n {
		c := s.column[i]
		if i == row || c == 0 {
			continue
		}
		other := s.inv[i*n : (i+1)*n]
		for j := range other {
			other[j] -= float64(c * of[j])
		}
		s.x[i] = max(0, s.x[i]-float64(c*s.x[row]))
	}
	s.basis[row] = entering
}
