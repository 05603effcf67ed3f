package predict

import (
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail/fit"
)

const (
	fewestJudged = 4    // runs of which one may be taken for wild
	wildFrom     = 3.5  // standardised residual beyond which a run is
	leastSpread  = 0.05 // relative spread of runtimes that is assumed at least: few runs that lie on a curve by chance judge nobody
)

// learned is a form and the runs that it was fitted to.
type learned struct {
	form *form
	kept *samples
	wild []point // taken out
}

// learn fits the form to the runs. With relative weights it is robust: in turn the run with the largest leave-one-out residual, in
// units of the spread of the others (by their median), is taken out if that is beyond 3.5, at most one in five runs and one at
// least, and the form is fitted again. The papers have no such step, so that there is none without weights.
func (d *samples) learn(beside bool, o Options) (*learned, error) {
	sized := d.tellsGrowth()
	l := &learned{kept: d}
	again := func(quick bool) (err error) {
		classes := l.kept.neighbours(beside)
		switch {
		case quick:
			l.form, err = l.kept.fit(classes, l.form.beta, o, [][]float64{l.form.slow})
		case sized:
			l.form, err = l.kept.growth(classes, o)
		default:
			l.form, err = l.kept.fit(classes, 0, o, starts(classes))
		}
		return err
	}
	if err := again(false); err != nil || o.Unweighted || len(d.points) < fewestJudged {
		return l, err
	}
	for range max(1, len(d.points)/5) {
		i := l.kept.wildest(l.form, sized)
		if i < 0 {
			break
		}
		l.wild = append(l.wild, l.kept.points[i])
		l.kept = l.kept.only(func(k int) bool { return k != i })
		if err := again(true); err != nil {
			return nil, err
		}
	}
	if l.wild == nil {
		return l, nil
	}
	l.kept.dropIdle()
	return l, again(false)
}

// wildest returns the point with the largest standardised leave-one-out residual, or -1 if none is beyond what is taken for wild.
// Residuals are relative to the runtime. Points that the form goes through because they alone determine a parameter are not judged.
func (d *samples) wildest(f *form, sized bool) int {
	lever := d.leverage(f, sized)
	misses := make([]float64, 0, len(d.points))
	all := make([]float64, len(d.points))
	for i := range d.points {
		p := &d.points[i]
		all[i] = -1
		if free := 1 - lever[i]; free > 1e-6 {
			all[i] = math.Abs(f.runtime(p, d.size(p))/p.y-1) / free
			misses = append(misses, all[i])
		}
	}
	if len(misses) < 2 {
		return -1
	}
	worst := 0
	for i, m := range all {
		if m > all[worst] {
			worst = i
		}
	}
	slices.Sort(misses)
	misses = misses[:len(misses)-1]
	spread := max(leastSpread, median(misses)*1.4826) // of normal residuals the median is the 1.4826th part of their deviation
	if all[worst] <= float64(wildFrom*spread) {
		return -1
	}
	return worst
}

// median of numbers that rise.
func median(v []float64) float64 {
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// leverage returns how much of its own fitted value each point determines, in [0,1], with relative weights: the diagonal of
// J(JᵀJ)⁻¹Jᵀ for the parameters that are not at their bound.
func (d *samples) leverage(f *form, sized bool) []float64 {
	columns := d.jacobian(f, sized)
	for _, c := range columns {
		for i := range c {
			c[i] /= d.points[i].y
		}
	}
	return fit.Leverage(columns)
}

// jacobian returns the derivatives of the runtimes of all points by the parameters that are not 0, and by the growth with the input
// if it is sized.
func (d *samples) jacobian(f *form, sized bool) [][]float64 {
	b := bilinear{columns: d.design(len(f.slow)/2, f.beta, f)}
	var columns [][]float64
	for j, t := range f.theta {
		if t > 0 {
			columns = append(columns, b.times(j, f.slow, make([]float64, len(d.points))))
		}
	}
	for c, s := range f.slow {
		if s > 0 {
			columns = append(columns, b.sum(c+1, f.theta[:], make([]float64, len(d.points))))
		}
	}
	if sized && f.beta > 0 {
		growth := make([]float64, len(d.points))
		for i := range d.points {
			p := &d.points[i]
			growth[i] = f.runtime(p, d.size(p)) * math.Log(d.size(p))
		}
		columns = append(columns, growth)
	}
	return columns
}
