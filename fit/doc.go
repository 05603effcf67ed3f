// Package fit answers: which curve lies nearest to these points? It is the numerics that learned decisions rest on: non-negative
// and bounded least squares, local linear regression, cross-validation by groups.
//
// A matrix is a slice of its columns, each with one entry for an observation. Inputs are never changed. What comes out does not
// depend on the units of what goes in, and only by rounding on the order of the observations; ties have rules. Products are
// rounded before they are added, so that every processor computes the same.
package fit

import (
	"errors"
	"fmt"
	"math"
)

// Errors of input that no fit is defined for.
var (
	ErrEmpty     = errors.New("nothing to fit: no observations or no columns")
	ErrShape     = errors.New("columns, observations and weights differ in length")
	ErrNotFinite = errors.New("a number is not finite")
	ErrWeight    = errors.New("a weight is negative, or all are zero")
)

// check returns what is wrong with the shape or the numbers of a least squares problem; weights may be nil.
func check(columns [][]float64, y, weights []float64) error {
	if len(columns) == 0 || len(y) == 0 {
		return ErrEmpty
	}
	if weights != nil && len(weights) != len(y) {
		return fmt.Errorf("%w: %d observations, %d weights", ErrShape, len(y), len(weights))
	}
	for j, c := range columns {
		if len(c) != len(y) {
			return fmt.Errorf("%w: %d observations, %d in column %d", ErrShape, len(y), len(c), j)
		}
		if !finite(c) {
			return fmt.Errorf("%w: in column %d", ErrNotFinite, j)
		}
	}
	if !finite(y) || !finite(weights) {
		return fmt.Errorf("%w: in the observations or their weights", ErrNotFinite)
	}
	return checkWeights(weights)
}

func checkWeights(weights []float64) error {
	some := weights == nil
	for _, w := range weights {
		if w < 0 {
			return ErrWeight
		}
		some = some || w > 0
	}
	if !some {
		return ErrWeight
	}
	return nil
}

func finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// dot returns the inner product of a and the first entries of b.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

// norm returns the Euclidean length; it neither overflows nor underflows where the result does not.
func norm(v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return 0
	}
	if largest > 1e-100 && largest < 1e100 {
		return math.Sqrt(dot(v, v))
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x / largest * (x / largest))
	}
	return largest * math.Sqrt(sum)
}
