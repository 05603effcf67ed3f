package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Ties is observations of a curve, those with the same x together: all that local regression and leave-one-group-out
// cross-validation need of them. Groups are numbered in order of x.
type Ties struct {
	X      []float64   // distinct, rising
	Y      [][]float64 // at each; in order of the input
	weight []float64   // their weights added up, of which the largest single one is 1
	mean   []float64   // weighted
}

// NewTies groups observations; weights nil: all 1. Errors: ErrEmpty, ErrShape, ErrNotFinite, ErrWeight.
func NewTies(x, y, weights []float64) (*Ties, error) {
	if err := check([][]float64{x}, y, weights); err != nil {
		return nil, err
	}
	largest := 1.0
	if weights != nil {
		largest = slices.Max(weights)
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	t := &Ties{}
	for _, i := range order {
		w := 1.0
		if weights != nil {
			w = weights[i] / largest
		}
		last := len(t.X) - 1
		if last < 0 || t.X[last] != x[i] {
			t.X, t.Y, t.weight, t.mean = append(t.X, x[i]), append(t.Y, nil), append(t.weight, 0), append(t.mean, 0)
			last++
		}
		t.Y[last] = append(t.Y[last], y[i])
		t.weight[last] += w
		t.mean[last] += float64(w * y[i])
	}
	for g, w := range t.weight {
		if w == 0 {
			return nil, fmt.Errorf("%w: at x = %v", ErrWeight, t.X[g])
		}
		t.mean[g] /= w
	}
	return t, nil
}

// Mean returns the weighted mean of a group and the sum of its weights, of which the largest single one of all groups is 1.
func (t *Ties) Mean(group int) (y, weight float64) { return t.mean[group], t.weight[group] }

// Local returns the local linear regression at x: weighted least squares of a line under a Gaussian kernel of bandwidth h > 0,
// exp(−(x − xᵢ)²/2h²), by which the weights of the observations are multiplied (Bell, IPCCC 2016, in a stable form: kernel weights
// relative to their largest, weighted means, and a slope of 0 if the weighted spread of x is at most 1e-10 h²).
func (t *Ties) Local(x, h float64) float64 {
	kernel := make([]float64, len(t.X))
	nearest := math.Inf(1)
	for _, g := range t.X {
		nearest = min(nearest, float64((g-x)*(g-x)))
	}
	for g, at := range t.X {
		kernel[g] = math.Exp((nearest - float64((at-x)*(at-x))) / float64(2*h*h))
	}
	return t.line(x, h, kernel, -1)
}

// line returns the weighted regression line at x, without the group that is held out. The kernel's largest entry, of those not held
// out, is 1.
func (t *Ties) line(x, h float64, kernel []float64, held int) float64 {
	sum, sx, sy := 0.0, 0.0, 0.0
	for g, k := range kernel {
		if g == held {
			continue
		}
		w := float64(k * t.weight[g])
		sum += w
		sx += float64(w * (t.X[g] - x))
		sy += float64(w * t.mean[g])
	}
	mx, my := sx/sum, sy/sum
	sxx, sxy := 0.0, 0.0
	for g, k := range kernel {
		if g == held {
			continue
		}
		w, d := float64(k*t.weight[g]), t.X[g]-x-mx
		sxx += float64(w * d * d)
		sxy += float64(w * d * (t.mean[g] - my))
	}
	if sxx <= float64(1e-10*h*h) {
		return my
	}
	return my - float64(sxy/sxx*mx)
}

// LeaveOneGroupOut returns the cross-validated error of a curve: for each group but the first and the last, which would be
// extrapolated to, predict is asked for the curve at its x as fitted to all of the other groups; the score is the mean over these
// groups of the mean of |prediction − y|/|y|. It is infinite if there are fewer than three groups, and if a prediction or a score
// is not a number.
func (t *Ties) LeaveOneGroupOut(predict func(held int) float64) float64 {
	if len(t.X) < 3 {
		return math.Inf(1)
	}
	sum := 0.0
	for held := 1; held < len(t.X)-1; held++ {
		sum += t.miss(held, predict(held))
	}
	score := sum / float64(len(t.X)-2)
	if math.IsNaN(score) {
		return math.Inf(1)
	}
	return score
}

// miss returns the mean relative error of a prediction for a group.
func (t *Ties) miss(group int, prediction float64) float64 {
	sum := 0.0
	for _, y := range t.Y[group] {
		sum += math.Abs(prediction-y) / math.Abs(y)
	}
	return sum / float64(len(t.Y[group]))
}

// Bandwidths that Bandwidth tries, 1, 2, … in units of x.
const Bandwidths = 100

// Bandwidth returns the bandwidth of local linear regression with the lowest score of LeaveOneGroupOut, the smallest of several, and
// that score; 0 and infinity if there are fewer than three groups. It takes time in proportion to Bandwidths times the square of
// the number of groups, and as many exponentials as there are different distances between groups.
func (t *Ties) Bandwidth() (h, score float64) {
	score = math.Inf(1)
	if len(t.X) < 3 {
		return 0, score
	}
	squares, index := t.distances()
	n := len(t.X)
	table, kernel := make([]float64, len(squares)), make([]float64, n)
	for b := range Bandwidths {
		width := float64(b + 1)
		for i, d := range squares {
			table[i] = math.Exp(-d / float64(2*width*width))
		}
		s := t.LeaveOneGroupOut(func(held int) float64 {
			row := index[held*n : (held+1)*n]
			largest := table[min(row[held-1], row[held+1])]
			if largest > 1e-200 {
				for g, i := range row {
					kernel[g] = table[i] / largest
				}
			} else {
				nearest := squares[min(row[held-1], row[held+1])]
				for g, i := range row {
					kernel[g] = math.Exp((nearest - squares[i]) / float64(2*width*width))
				}
			}
			return t.line(t.X[held], width, kernel, held)
		})
		if s < score {
			h, score = width, s
		}
	}
	return h, score
}

// distances returns the different squared distances between groups, rising, and for every pair which of them is theirs.
func (t *Ties) distances() (squares []float64, index []int) {
	n := len(t.X)
	all := make([]float64, 0, n*n)
	for _, a := range t.X {
		for _, b := range t.X {
			all = append(all, float64((a-b)*(a-b)))
		}
	}
	squares = slices.Compact(slices.Sorted(slices.Values(all)))
	index = make([]int, len(all))
	for i, d := range all {
		index[i], _ = slices.BinarySearch(squares, d)
	}
	return squares, index
}
