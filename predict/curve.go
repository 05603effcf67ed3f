package predict

import (
	"math"

	"github.com/dovetail-sched/dovetail"
)

// Curve reads distributions off at these scale-outs (rising): median, the intervals that 80 % and 95 % of runs lie in, and, if there is
// a target in seconds (positive), the probability of meeting it and the scale-out to take for it: the one that Select finds for a
// confidence in (0,1).
func Curve(scaleOuts []int, at func(scaleOut int) Distribution, target, confidence float64) ([]dovetail.CurvePoint, *dovetail.Pick) {
	points := make([]dovetail.CurvePoint, len(scaleOuts))
	for i, x := range scaleOuts {
		d := at(x)
		points[i] = pointOf(x, d)
		if target > 0 {
			p := d.AtMost(target)
			if math.IsNaN(p) { // nobody can tell
				p = 0
			}
			points[i].Probability = &p
		}
	}
	if !(target > 0) || len(points) == 0 {
		return points, nil
	}
	i, probability, feasible := Select(0, len(points)-1, confidence, func(i int) float64 { return *points[i].Probability })
	return points, &dovetail.Pick{ScaleOut: scaleOuts[i], Probability: probability, Infeasible: !feasible}
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
