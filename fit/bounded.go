package fit

import (
	"fmt"
	"math"
)

// Residuals writes the residuals at x to r and, unless jacobian is nil, their derivatives: jacobian[j][i] = ∂r[i]/∂x[j].
type Residuals func(x, r []float64, jacobian [][]float64)

// Bounds of a coefficient; infinities leave it free.
type Bounds struct{ Low, High float64 }

const (
	boundedSteps = 200   // at most; every one lowers the sum of squares
	boundedGain  = 1e-13 // relative gain below which it is done
	halvings     = 40    // of a step that does not lower the sum
	armijo       = 1e-4  // share of the gain that the slope promises which a step must bring
)

// BoundedLeastSquares minimises Σ r(x)² over the box from start, by Gauss-Newton steps in the coefficients that are free (not held
// at a bound by the gradient), each projected on to the box and halved until it lowers the sum; where such a step does not, one
// along the gradient, scaled by the lengths of the columns, is tried (Bertsekas, SIAM J. Control 20, 1982, for the projection).
// It returns a local minimum near the start and its sum of squares. n is the number of residuals.
// Errors: ErrEmpty, ErrShape, ErrNotFinite (a bound that is not a number, or residuals at the start).
func BoundedLeastSquares(f Residuals, n int, start []float64, bounds []Bounds) (x []float64, sse float64, err error) {
	k := len(start)
	switch {
	case n < 1 || k == 0:
		return nil, 0, ErrEmpty
	case len(bounds) != k:
		return nil, 0, fmt.Errorf("%w: %d coefficients, %d bounds", ErrShape, k, len(bounds))
	}
	for j, b := range bounds {
		if !(b.Low <= b.High) {
			return nil, 0, fmt.Errorf("%w: bounds %v..%v of coefficient %d", ErrNotFinite, b.Low, b.High, j)
		}
	}
	s := newDescent(f, n, bounds)
	s.project(start, s.x)
	s.sse = s.at(s.x, s.r, s.jacobian)
	if !finite(s.x) || math.IsNaN(s.sse) || math.IsInf(s.sse, 0) {
		return nil, 0, fmt.Errorf("%w: at the start", ErrNotFinite)
	}
	for range boundedSteps {
		before := s.sse
		if before == 0 || !s.step() || before-s.sse <= float64(boundedGain*before) {
			break
		}
	}
	return s.x, s.sse, nil
}

// descent is the state of a bounded minimisation.
type descent struct {
	f                   Residuals
	bounds              []Bounds
	x, trial, direction []float64 // a coefficient each
	gradient            []float64 // half of it
	r, rTrial           []float64
	jacobian, work      [][]float64
	right               []float64
	sse                 float64
}

func newDescent(f Residuals, n int, bounds []Bounds) *descent {
	k := len(bounds)
	buffer := make([]float64, (2*k+3)*n+4*k)
	take := func(n int) []float64 {
		v := buffer[:n:n]
		buffer = buffer[n:]
		return v
	}
	s := &descent{f: f, bounds: bounds, x: take(k), trial: take(k), direction: take(k), gradient: take(k), r: take(n), rTrial: take(n), right: take(n)}
	s.jacobian, s.work = make([][]float64, k), make([][]float64, k)
	for j := range k {
		s.jacobian[j], s.work[j] = take(n), take(n)
	}
	return s
}

// at returns the sum of squares at x.
func (s *descent) at(x, r []float64, jacobian [][]float64) float64 {
	s.f(x, r, jacobian)
	return dot(r, r)
}

// project writes the point of the box next to from.
func (s *descent) project(from, to []float64) {
	for j, b := range s.bounds {
		to[j] = min(max(from[j], b.Low), b.High)
	}
}

// step moves x to a point with a lower sum; false if none was found.
func (s *descent) step() bool {
	var free []int
	for j, b := range s.bounds {
		g := dot(s.jacobian[j], s.r)
		s.gradient[j], s.direction[j] = g, 0
		if !(s.x[j] <= b.Low && g >= 0) && !(s.x[j] >= b.High && g <= 0) {
			free = append(free, j)
		}
	}
	if len(free) == 0 {
		return false
	}
	s.gaussNewton(free)
	if s.search() {
		return true
	}
	clear(s.direction)
	for _, j := range free {
		if l := dot(s.jacobian[j], s.jacobian[j]); l > 0 {
			s.direction[j] = -s.gradient[j] / l
		}
	}
	return s.search()
}

// gaussNewton writes the direction that solves the linearised problem in the free coefficients. One that the others determine
// stays where it is.
func (s *descent) gaussNewton(free []int) {
	columns := s.work[:len(free)]
	lengths, found := make([]float64, len(free)), make([]float64, len(free))
	for p, j := range free {
		copy(columns[p], s.jacobian[j])
		lengths[p] = norm(columns[p])
		scale(columns[p], lengths[p])
	}
	for i, r := range s.r {
		s.right[i] = -r
	}
	householder(columns, s.right)
	back(columns, s.right, found, rankTest)
	for p, j := range free {
		if lengths[p] > 0 {
			s.direction[j] = found[p] / lengths[p]
		}
	}
}

// search halves the step along the direction until the sum falls, and goes there.
func (s *descent) search() bool {
	t := 1.0
	for range halvings {
		for j := range s.trial {
			s.trial[j] = s.x[j] + float64(t*s.direction[j])
		}
		s.project(s.trial, s.trial)
		promised := 0.0
		for j := range s.trial {
			promised -= float64(2 * s.gradient[j] * (s.trial[j] - s.x[j]))
		}
		sse := s.at(s.trial, s.rTrial, nil)
		if promised > 0 && sse <= s.sse-float64(armijo*promised) && sse < s.sse {
			copy(s.x, s.trial)
			s.sse = s.at(s.x, s.r, s.jacobian)
			return true
		}
		t /= 2
	}
	return false
}
