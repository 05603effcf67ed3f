package predict

import (
	"cmp"
	"math"
	"slices"
)

const (
	fewestJudged = 4    // runs of which one may be taken for wild
	wildFrom     = 3.5  // standardised residual beyond which a run is
	fewRuns      = 20   // up to which a run is judged by a form that was fitted without it
	edgeDoubt    = 2.0  // by which it counts less if it would have to be extrapolated to: more often the form is wrong there than the run
	reweightings = 6    // of a robust fit
	huber        = 0.05 // miss from which a robust fit counts it by its size instead of its square
	mostMiss     = 20.0 // logarithm beyond which one miss is as large as another
	leastSpread  = 0.05 // relative spread of runtimes that is assumed at least: few runs that lie on a curve by chance judge nobody
)

// learned is a form and the runs that it was fitted to.
type learned struct {
	form *form
	kept *samples
	wild []point // taken out
}

// learn fits the form to the runs. With relative weights it is robust: runs whose leave-one-out residual is beyond 3.5 times the
// spread of the others (by their median), and that others at their scale-out do not share, are taken out, at most one in five and one at least, and the form is fitted again. The
// papers have no such step, so that there is none without weights.
func (d *samples) learn(beside bool, o Options) (*learned, error) {
	sized := d.tellsGrowth()
	fresh := func(s *samples) (*form, error) {
		if sized {
			return s.growth(s.neighbours(beside), o)
		}
		return s.fit(s.neighbours(beside), 0, o, starts(s.neighbours(beside)))
	}
	f, err := fresh(d)
	if err != nil {
		return nil, err
	}
	l := &learned{form: f, kept: d}
	if o.Unweighted || len(d.points) < fewestJudged {
		return l, nil
	}
	var wild []int
	if len(d.points) <= fewRuns {
		wild, err = d.wildOfFew(f, o)
	} else {
		wild, err = d.wildOfMany(f, o)
	}
	if err != nil || len(wild) == 0 {
		return l, err
	}
	for _, i := range wild {
		l.wild = append(l.wild, d.points[i])
	}
	l.kept = d.without(wild...)
	l.kept.dropIdle()
	l.form, err = fresh(l.kept)
	return l, err
}

// without returns the samples but for some points.
func (d *samples) without(some ...int) *samples {
	return d.only(func(i int) bool { return !slices.Contains(some, i) })
}

// wildOfFew returns the points taken for wild among so few that one of them bends the form: in turn the one that a form fitted
// without it misses most, in units of the spread of the others about that form.
func (d *samples) wildOfFew(f *form, o Options) ([]int, error) {
	var wild []int
	for range max(1, len(d.points)/5) {
		worst, most := -1, wildFrom
		for i := range d.points {
			if slices.Contains(wild, i) {
				continue
			}
			out := append(slices.Clone(wild), i)
			rest := d.without(out...)
			g, err := rest.fit(len(f.slow)/2, f.beta, o, [][]float64{f.slow})
			if err != nil {
				return nil, err
			}
			if s := d.strange(d.misses(g), i) / spread(rest.misses(g)) / d.doubt(i); s > most {
				worst, most = i, s
			}
		}
		if worst < 0 {
			break
		}
		wild = append(wild, worst)
	}
	return wild, nil
}

// wildOfMany returns the points taken for wild among so many that one of them hardly changes the form: those that a robust form
// misses most, the worst first.
func (d *samples) wildOfMany(f *form, o Options) ([]int, error) {
	f, err := d.robust(f, o)
	if err != nil {
		return nil, err
	}
	misses := d.misses(f)
	unit := spread(misses)
	var wild []int
	off := make([]float64, len(d.points))
	for i := range d.points {
		if off[i] = d.strange(misses, i) / unit / d.doubt(i); off[i] > wildFrom {
			wild = append(wild, i)
		}
	}
	slices.SortStableFunc(wild, func(a, b int) int { return cmp.Compare(off[b], off[a]) })
	return wild[:min(len(wild), len(d.points)/5)], nil
}

// robust refits the form to make the sum of Huber's function of the misses small, in place of the squares of relative errors, in which a
// run that took a third of its time weighs as much as nine: least squares with weights by which w (f−y)² = m² min(1, h/|m|) for the
// miss m = ln(f/y), f being the form before.
func (d *samples) robust(f *form, o Options) (*form, error) {
	trusted := d.without()
	for range reweightings {
		for i, m := range d.misses(f) {
			trust := math.Exp(-m)
			if m != 0 {
				trust *= m / (2 * math.Sinh(m/2)) * (m / (2 * math.Sinh(m/2))) * min(1, huber/math.Abs(m))
			}
			trusted.points[i].trust = trust
		}
		var err error
		if f, err = trusted.fit(len(f.slow)/2, f.beta, o, [][]float64{f.slow}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// doubt returns by how much less a residual counts: a point that is the only one at the smallest or the largest scale-out would have
// to be extrapolated to.
func (d *samples) doubt(i int) float64 {
	last := len(d.points) - 1
	if i == 0 && d.points[1].x > d.points[0].x || i == last && d.points[last-1].x < d.points[last].x {
		return edgeDoubt
	}
	return 1
}

// strange returns how far a point is from a form with these misses, or, if that is less, from what the form misses the others at its
// scale-out by, of which there must be two: where several runs agree, it is the form that is wrong.
func (d *samples) strange(misses []float64, i int) float64 {
	x := d.points[i].x
	first, after := i, i+1 // of the points at this scale-out, which stand together
	for first > 0 && d.points[first-1].x == x {
		first--
	}
	for after < len(d.points) && d.points[after].x == x {
		after++
	}
	if after-first < 3 {
		return math.Abs(misses[i])
	}
	others := slices.Concat(misses[first:i], misses[i+1:after])
	slices.Sort(others)
	return min(math.Abs(misses[i]), math.Abs(misses[i]-median(others)))
}

// misses returns the logarithm of what the form says of each point relative to its runtime.
func (d *samples) misses(f *form) []float64 {
	off := make([]float64, len(d.points))
	for i := range d.points {
		p := &d.points[i]
		off[i] = min(max(math.Log(f.runtime(p, d.size(p))/p.y), -mostMiss), mostMiss)
	}
	return off
}

// spread returns 1.4826 times the median of the sizes of misses, which is the standard deviation of what is normal about 0, and at
// least what is always assumed.
func spread(misses []float64) float64 {
	off := make([]float64, len(misses))
	for i, m := range misses {
		off[i] = math.Abs(m)
	}
	slices.Sort(off)
	return max(leastSpread, float64(1.4826*median(off)))
}

// median of numbers that rise.
func median(v []float64) float64 { return (v[(len(v)-1)/2] + v[len(v)/2]) / 2 }
