package predict

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// errNoSamples is the error of a fit to nothing.
var errNoSamples = errors.New("no run to learn from: a run needs a positive runtime and a scale-out of at least 1")

// sameSize is how much input sizes may differ that count as one (CoBell's notion of a similar input).
const sameSize = 1.1

// point is a sample that can be learned from.
type point struct {
	x     float64    // scale-out, averaged over time
	y     float64    // runtime in seconds
	input float64    // bytes; 0: unknown
	over  []float64  // overlap with each of samples.classes
	steps []share    // of a scale-out that varied
	trust float64    // by which its weight is multiplied
	basis [4]float64 // of x
}

// share is a part of a run's time, of 1, at a scale-out.
type share struct {
	x, part float64
	basis   [4]float64 // of x
}

// samples is what a model is fitted to. Points are in an order that does not depend on how they came.
type samples struct {
	points  []point
	classes []string // that some run ran beside, in order
	ref     float64  // the commonest input size, the smallest of several; 0: none is known
	dropped int      // samples that cannot be learned from
}

// gather keeps what can be learned from: positive, finite runtimes, scale-outs of at least 1, finite overlaps. Overlaps below 0 and
// input sizes below 0 or infinite mean none.
func gather(from []Sample) (samples, error) {
	d := samples{}
	for _, s := range from {
		for _, o := range s.Overlaps {
			if o.Ratio > 0 && !math.IsInf(o.Ratio, 1) {
				if i, there := slices.BinarySearch(d.classes, o.Class); !there {
					d.classes = slices.Insert(d.classes, i, o.Class)
				}
			}
		}
	}
	for _, s := range from {
		if p, ok := d.point(s); ok {
			d.points = append(d.points, p)
		} else {
			d.dropped++
		}
	}
	if len(d.points) == 0 {
		return samples{}, errNoSamples
	}
	slices.SortFunc(d.points, comparePoints)
	d.dropIdle()
	d.ref = commonest(d.points)
	return d, nil
}

// point turns a sample into a point; false if it cannot be learned from.
func (d *samples) point(s Sample) (point, bool) {
	over, ok := ratios(d.classes, s.Overlaps)
	if !ok || !positive(s.Runtime) || !positive(s.ScaleOut) || s.ScaleOut < 1 {
		return point{}, false
	}
	p := point{x: s.ScaleOut, y: s.Runtime, over: over, trust: 1, basis: basis(s.ScaleOut)}
	if positive(s.Input) {
		p.input = s.Input
	}
	total, useful := 0.0, 0.0
	for _, t := range s.Steps {
		if !positive(t.Seconds) {
			continue
		}
		total += t.Seconds
		if t.ScaleOut >= 1 && positive(t.ScaleOut) { // else it stood still, and no model says how long that takes
			useful += t.Seconds
			p.steps = append(p.steps, share{t.ScaleOut, t.Seconds, basis(t.ScaleOut)})
		}
	}
	if total > 0 && useful == 0 {
		return point{}, false
	}
	for i := range p.steps {
		p.steps[i].part /= useful
	}
	if total > 0 {
		p.y *= useful / total
	}
	return p, true
}

// dropIdle removes classes that no point ran beside, because the runs that did were left out. The points must be its own.
func (d *samples) dropIdle() {
	d.dropClasses(func(c int) bool {
		return !slices.ContainsFunc(d.points, func(p point) bool { return p.over[c] > 0 })
	})
}

// dropClasses removes classes. The points must be its own.
func (d *samples) dropClasses(drop func(class int) bool) {
	for c := len(d.classes) - 1; c >= 0; c-- {
		if !drop(c) {
			continue
		}
		d.classes = slices.Delete(slices.Clone(d.classes), c, c+1)
		for i, p := range d.points {
			d.points[i].over = slices.Delete(slices.Clone(p.over), c, c+1)
		}
	}
}

// constant reports whether all points have the same overlap with a class.
func (d *samples) constant(class int) bool {
	return !slices.ContainsFunc(d.points, func(p point) bool { return p.over[class] != d.points[0].over[class] })
}

// ratios returns the overlap with each class, added up; false if one is not a finite number.
func ratios(classes []string, overlaps []dovetail.Overlap) ([]float64, bool) {
	over := make([]float64, len(classes))
	for _, o := range overlaps {
		if math.IsNaN(o.Ratio) || math.IsInf(o.Ratio, 0) {
			return nil, false
		}
		if i, there := slices.BinarySearch(classes, o.Class); there && o.Ratio > 0 {
			over[i] += o.Ratio
		}
	}
	return over, true
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

func comparePoints(a, b point) int {
	return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y), cmp.Compare(a.input, b.input), slices.Compare(a.over, b.over),
		slices.CompareFunc(a.steps, b.steps, func(s, t share) int { return cmp.Or(cmp.Compare(s.x, t.x), cmp.Compare(s.part, t.part)) }))
}

// commonest returns the input size that most points have, the smallest of several; 0 if none is known.
func commonest(points []point) float64 {
	sizes := knownSizes(points)
	best, most := 0.0, 0
	for i := 0; i < len(sizes); {
		j := i
		for j < len(sizes) && sizes[j] == sizes[i] {
			j++
		}
		if j-i > most {
			best, most = sizes[i], j-i
		}
		i = j
	}
	return best
}

// knownSizes returns the input sizes that are known, rising.
func knownSizes(points []point) []float64 {
	var sizes []float64
	for _, p := range points {
		if p.input > 0 {
			sizes = append(sizes, p.input)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// size returns the input size of a point relative to the commonest; 1 if either is unknown.
func (d *samples) size(p *point) float64 {
	if p.input == 0 || d.ref == 0 {
		return 1
	}
	return p.input / d.ref
}

// distinct returns how many different scale-outs there are; a run whose scale-out varied has several.
func (d *samples) distinct() int {
	var xs []float64
	for _, p := range d.points {
		if p.steps == nil {
			xs = append(xs, p.x)
		}
		for _, s := range p.steps {
			xs = append(xs, s.x)
		}
	}
	slices.Sort(xs)
	return len(slices.Compact(xs))
}

// only returns the points that are kept.
func (d *samples) only(keep func(i int) bool) *samples {
	out := *d
	out.points = nil
	for i, p := range d.points {
		if keep(i) {
			out.points = append(out.points, p)
		}
	}
	return &out
}

// weights returns the weight of each point.
func (d *samples) weights(o Options) []float64 {
	w := make([]float64, len(d.points))
	for i, p := range d.points {
		w[i] = p.trust
		if !o.Unweighted {
			w[i] = p.trust / p.y / p.y
		}
	}
	return w
}
