package predict

import (
	"math"

	"github.com/dovetail-sched/dovetail/fit"
)

const (
	mostGrowth  = 2.0   // of a runtime with the size of its input: no power beyond the square
	gridGrowth  = 0.25  // steps in which the power is looked for first
	fineGrowth  = 0.002 // to which it is refined
	ownGrowth   = 0.02  // share of the spread of ln size that scale-outs must not explain, for the power to be told from them
	fewestSized = 4     // runs
)

// sizesDiffer reports whether there are two known sizes that do not count as one.
func (d *samples) sizesDiffer() bool {
	sizes := knownSizes(d.points)
	return len(sizes) > 1 && sizes[len(sizes)-1] > float64(sameSize*sizes[0])
}

// tellsGrowth reports whether growth with the size of the input can be told from what the scale-out does: not if every size was run
// at scale-outs of its own that follow the size. Runs of unknown size count as of the commonest.
func (d *samples) tellsGrowth() bool {
	if len(d.points) < fewestSized || !d.sizesDiffer() {
		return false
	}
	columns := make([][]float64, 4)
	logs := make([]float64, len(d.points))
	mean := 0.0
	for i := range d.points {
		p := &d.points[i]
		logs[i] = math.Log(d.size(p))
		mean += logs[i] / float64(len(logs))
		for j, v := range basis(p.x) {
			columns[j] = append(columns[j], v)
		}
	}
	spread := 0.0
	for _, l := range logs {
		spread += float64((l - mean) * (l - mean))
	}
	free := make([]fit.Bounds, 4)
	for j := range free {
		free[j] = fit.Bounds{Low: math.Inf(-1), High: math.Inf(1)}
	}
	_, left, err := fit.BoundedLeastSquares(func(x, r []float64, jacobian [][]float64) {
		for i, l := range logs {
			r[i] = -l
			for j, c := range columns {
				r[i] += float64(x[j] * c[i])
			}
		}
		for j := range jacobian {
			copy(jacobian[j], columns[j])
		}
	}, len(logs), make([]float64, 4), free)
	return err == nil && left > float64(ownGrowth*spread)
}

// growth returns the form with the power of the input size, in [0,2], that fits best: on a grid, the smallest of several, then by
// golden section next to it. Power 0 is what Ernest without a size does, 1 its original form, in which all work grows with the data.
func (d *samples) growth(classes int, o Options) (*form, error) {
	best, err := d.fit(classes, 0, o, starts(classes))
	if err != nil {
		return nil, err
	}
	try := func(beta float64) (float64, error) {
		f, err := d.fit(classes, beta, o, [][]float64{best.slow})
		if err != nil {
			return 0, err
		}
		if f.sse < best.sse {
			best = f
		}
		return f.sse, nil
	}
	for beta := gridGrowth; beta <= mostGrowth; beta += gridGrowth {
		if _, err := try(beta); err != nil {
			return nil, err
		}
	}
	low, high := max(0, best.beta-gridGrowth), min(mostGrowth, best.beta+gridGrowth)
	golden := (math.Sqrt(5) - 1) / 2
	for high-low > fineGrowth {
		left, right := high-float64(golden*(high-low)), low+float64(golden*(high-low))
		a, err := try(left)
		if err != nil {
			return nil, err
		}
		b, err := try(right)
		if err != nil {
			return nil, err
		}
		if a <= b {
			high = right
		} else {
			low = left
		}
	}
	return d.fit(classes, best.beta, o, append(starts(classes), best.slow))
}
