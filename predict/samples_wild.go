package predict

import (
	"math"
	"slices"
)

const (
	fewestJudged = 4    // runs of which one may be taken for wild
	wildFrom     = 3.5  // standardised residual beyond which a run is
	fewRuns      = 20   // up to which a run is judged by a form that was fitted without it
	edgeDoubt    = 2.0  // by which it counts less if it would have to be extrapolated to: more often the form is wrong there than the run
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
		i, err := l.kept.wildest(l.form, o)
		if err != nil {
			return nil, err
		}
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
// Residuals are of the logarithm of the runtime. Where runs are few, the form is fitted afresh without the point, as one in five bends
// it, and the spread is that of the others; where they are many, one of them hardly changes either.
func (d *samples) wildest(f *form, o Options) (int, error) {
	worst, most := -1, wildFrom
	off := d.misses(f)
	spread := spreadOf(slices.Clone(off))
	for i := range d.points {
		if len(d.points) <= fewRuns {
			rest := d.only(func(k int) bool { return k != i })
			without, err := rest.fit(len(f.slow)/2, f.beta, o, [][]float64{f.slow})
			if err != nil {
				return -1, err
			}
			off = d.misses(without)
			spread = spreadOf(slices.Delete(slices.Clone(off), i, i+1))
		}
		standardised := off[i] / spread
		if d.edge(i) {
			standardised /= edgeDoubt
		}
		if standardised > most {
			worst, most = i, standardised
		}
	}
	return worst, nil
}

// misses returns by how much a form misses each point.
func (d *samples) misses(f *form) []float64 {
	off := make([]float64, len(d.points))
	for i := range d.points {
		p := &d.points[i]
		off[i] = math.Abs(math.Log(f.runtime(p, d.size(p)) / p.y))
	}
	return off
}

// spreadOf returns 1.4826 times the median, which is the standard deviation of what is normal about 0, and at least what is always
// assumed. It sorts the misses.
func spreadOf(off []float64) float64 {
	slices.Sort(off)
	n := len(off)
	return max(leastSpread, 1.4826*(off[(n-1)/2]+off[n/2])/2)
}

// edge reports whether a point is the only one at the smallest or at the largest scale-out.
func (d *samples) edge(i int) bool {
	last := len(d.points) - 1
	return i == 0 && d.points[1].x > d.points[0].x || i == last && d.points[last-1].x < d.points[last].x
}
