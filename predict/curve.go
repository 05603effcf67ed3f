package predict

import (
	"math"

	"github.com/dovetail-sched/dovetail"
)

// Curve reads distributions off at these scale-outs (rising): median, the intervals that 80 % and 95 % of runs lie in, and, if there is
// a target in seconds (positive), the probability of meeting it and the scale-out to take for it: the smallest whose probability is at
// least the confidence in (0,1). If none is, it is the largest and flagged, with the probability there: never the one with the highest
// probability, which a model that has seen little of small scale-outs may well find there (seed 001, section III; models.md 4.4).
func Curve(scaleOuts []int, at func(scaleOut int) Distribution, target, confidence float64) ([]dovetail.CurvePoint, *dovetail.Pick) {
	points := make([]dovetail.CurvePoint, len(scaleOuts))
	var pick *dovetail.Pick
	for i, x := range scaleOuts {
		d := at(x)
		points[i] = pointOf(x, d)
		if !(target > 0) {
			continue
		}
		p := min(max(d.AtMost(target), 0), 1)
		if math.IsNaN(p) {
			p = 0
		}
		points[i].Probability = &p
		switch {
		case pick != nil && !pick.Infeasible:
		case p >= confidence:
			pick = &dovetail.Pick{ScaleOut: x, Probability: p}
		default:
			pick = &dovetail.Pick{ScaleOut: x, Probability: p, Infeasible: true}
		}
	}
	return points, pick
}

// pointOf writes down what a distribution says. One without a spread gets no intervals.
func pointOf(x int, d Distribution) dovetail.CurvePoint {
	q := quantiles(d, []float64{.025, .1, .5, .9, .975})
	p := dovetail.CurvePoint{ScaleOut: x, Median: q[2], NodeSeconds: float64(float64(x) * q[2])}
	if q[0] < q[4] {
		p.Low95, p.Low80, p.High80, p.High95 = q[0], q[1], q[3], q[4]
	}
	return p
}
