package predict

import "math"

// How a mixture is thinned out.
const (
	plenty     = 100  // normals; fewer are left as they are
	alike      = 0.1  // of the logarithm: steps in which standard deviations are taken as one
	together   = 0.5  // standard deviations: normals whose means are no farther apart are made one
	mostCoarse = 4096 // normals of one standard deviation
)

// coarse gathers normals and makes nearly the same distribution of far fewer. Those of about one standard deviation whose means lie
// together become one with their mean and variance, so that mean and variance of the whole stay the same; probabilities change by less than
// 5e-4 (TestCoarse). Few runs leave tens of thousands of combinations likely, and a table asks each for hundreds of quantiles.
type coarse struct {
	origin float64 // of the cells: the first mean, so that all units give the same
	bands  []band
}

// band is the normals of about one standard deviation, with sums by the cells that their means are in.
type band struct {
	step  int // of the standard deviation
	width float64
	first int // number of the first cell
	cells []moments
}

// moments are the weight of normals, and its sums with their means, counted from the middle of the cell, and with their variances and
// the squares of those.
type moments struct{ weight, first, second float64 }

// add gathers normals of one standard deviation, their weights times a factor.
func (of *coarse) add(m mixture, factor float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range m {
		low, high = min(low, m[i].mean), max(high, m[i].mean)
	}
	if len(of.bands) == 0 {
		of.origin = m[0].mean
	}
	sd := m[0].sd
	b := of.band(sd, low-of.origin, high-of.origin)
	for i := range m {
		n := &m[i]
		mean := n.mean - of.origin
		at := b.cell(mean)
		c, off, w := &b.cells[at-b.first], mean-b.middle(at), n.weight*factor
		c.weight += w
		c.first += float64(w * off)
		c.second += float64(w * (float64(off*off) + float64(sd*sd)))
	}
}

// band returns the one for a standard deviation, with cells from low to high, counted from the origin.
func (of *coarse) band(sd, low, high float64) *band {
	step := int(math.Floor(math.Log(sd) / alike))
	var b *band
	for i := range of.bands {
		if of.bands[i].step == step {
			b = &of.bands[i]
		}
	}
	if b == nil {
		of.bands = append(of.bands, band{step: step, width: max(together*math.Exp(alike*float64(step)), (high-low)/mostCoarse)})
		b = &of.bands[len(of.bands)-1]
	}
	first, last := b.cell(low), b.cell(high)
	if len(b.cells) == 0 {
		b.first = first
	}
	if more := b.first - first; more > 0 {
		b.first, b.cells = first, append(make([]moments, more), b.cells...)
	}
	if more := last + 1 - b.first - len(b.cells); more > 0 {
		b.cells = append(b.cells, make([]moments, more)...)
	}
	return b
}

func (b *band) cell(mean float64) int { return int(math.Floor(mean / b.width)) }

func (b *band) middle(cell int) float64 { return b.width * (float64(cell) + 0.5) }

// mixture returns a normal for each cell that is not empty.
func (of *coarse) mixture() mixture {
	var m mixture
	for i := range of.bands {
		b := &of.bands[i]
		for at := range b.cells {
			if c := &b.cells[at]; c.weight > 0 {
				off := c.first / c.weight
				m = append(m, lognormal{c.weight, of.origin + b.middle(b.first+at) + off, math.Sqrt(c.second/c.weight - float64(off*off))})
			}
		}
	}
	return m
}
