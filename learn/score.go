package learn

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// scored is the most runs that LeaveOneOut predicts; of more it takes so many, evenly spaced.
const scored = 100

// LeaveOneOut predicts each of these runs from all others, with the circumstances that it had (scale-out, overlaps, input size), and
// says how far off the medians are and how many runs lie in the intervals that 80 % and 90 % should lie in. Runs whose scale-out varied
// are learned from and not predicted; of more than 100 runs 100 are predicted, evenly spaced, and fewer if that is not done by then
// (the zero time: it may take as long as it does), but two at the least. It is nil if fewer than two runs could be: then nobody can tell.
//
// It is a test of interpolation: other runs at the same scale-out are mostly still there. A scale-out that no run had may be off by more.
func LeaveOneOut(ctx context.Context, m predict.Method, samples []predict.Sample, o predict.Options, until time.Time) (*dovetail.Score, error) {
	var test []int
	for i := range samples {
		if s := &samples[i]; s.Steps == nil && s.Runtime > 0 && s.ScaleOut >= 1 {
			test = append(test, i)
		}
	}
	if len(test) < 2 {
		return nil, nil //nolint:nilnil // nobody can tell
	}
	n := min(len(test), scored)
	var errors []float64
	score := new(dovetail.Score)
	var in80, in90 int
	others := make([]predict.Sample, 0, len(samples))
	for k, at := range spread(n) {
		if k >= 2 && !until.IsZero() && !time.Now().Before(until) {
			n = k
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		i := test[at*len(test)/n]
		s := &samples[i]
		others = append(append(others[:0], samples[:i]...), samples[i+1:]...)
		model, err := m.Fit(others, o)
		if err != nil {
			return nil, err
		}
		d := model.Predict(predict.At{ScaleOut: s.ScaleOut, Input: s.Input, Overlaps: s.Overlaps})
		errors = append(errors, math.Abs(d.Quantile(.5)/s.Runtime-1))
		score.Spread = score.Spread || d.Quantile(.05) < d.Quantile(.95)
		if d.Quantile(.1) <= s.Runtime && s.Runtime <= d.Quantile(.9) {
			in80++
		}
		if d.Quantile(.05) <= s.Runtime && s.Runtime <= d.Quantile(.95) {
			in90++
		}
	}
	sum := 0.0
	for _, e := range errors {
		sum += e
	}
	slices.Sort(errors)
	score.Runs = n
	score.MeanError, score.MedianError = sum/float64(n), (errors[(n-1)/2]+errors[n/2])/2
	if score.Spread {
		score.Within80, score.Within90 = float64(in80)/float64(n), float64(in90)/float64(n)
	}
	return score, nil
}

// spread returns the numbers from 0 to n−1 in an order in which the first few, however many, are spread evenly over all of them: that of the
// multiples of the golden section, modulo 1.
func spread(n int) []int {
	at := make([]float64, n)
	byPlace := make([]int, n)
	for i := range n {
		_, at[i] = math.Modf(float64(i) * (math.Sqrt(5) - 1) / 2)
		byPlace[i] = i
	}
	slices.SortFunc(byPlace, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	order := make([]int, n)
	for place, i := range byPlace {
		order[i] = place
	}
	return order
}
