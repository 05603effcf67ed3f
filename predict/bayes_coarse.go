package predict

import "math"

// How a mixture is thinned out.
const (
	plenty     = 100  // normals; fewer are left as they are
	together   = 0.5  // standard deviations: normals of one standard deviation whose means are no farther apart are made one
	mostCoarse = 4096 // normals of one standard deviation
)

// coarse returns nearly the same distribution, with far fewer normals if there are many. Those of one standard deviation whose means lie
// together become one with their mean and variance, so that mean and variance of the whole stay the same; probabilities change by less than
// 1e-4 (TestCoarse). Few runs leave tens of thousands of combinations likely, and a table asks each for hundreds of quantiles.
func (m mixture) coarse() mixture {
	if len(m) <= plenty {
		return m
	}
	var bands []band
	of := make([]int, len(m))
	last := 0
	for i := range m {
		n := &m[i]
		if last >= len(bands) || bands[last].sd != n.sd {
			for last = 0; last < len(bands) && bands[last].sd != n.sd; last++ {
			}
			if last == len(bands) {
				bands = append(bands, band{sd: n.sd, low: n.mean, high: n.mean})
			}
		}
		b := &bands[last]
		b.low, b.high = min(b.low, n.mean), max(b.high, n.mean)
		of[i] = last
	}
	for i := range bands {
		bands[i].open()
	}
	for i := range m {
		bands[of[i]].add(&m[i])
	}
	var all mixture
	for i := range bands {
		all = bands[i].pour(all)
	}
	return all
}

// band is the normals of one standard deviation, with sums by the cells that their means are in.
type band struct {
	sd, low, high float64
	width         float64
	cells         []moments
}

// moments are the weight of normals, and its sums with their means, counted from the middle of the cell, and with the squares of those.
type moments struct{ weight, first, second float64 }

func (b *band) open() {
	b.width = max(together*b.sd, (b.high-b.low)/(mostCoarse-1))
	b.cells = make([]moments, int((b.high-b.low)/b.width)+1)
}

func (b *band) middle(cell int) float64 { return b.low + float64(b.width*(float64(cell)+0.5)) }

func (b *band) add(n *lognormal) {
	i := min(int((n.mean-b.low)/b.width), len(b.cells)-1)
	c, off := &b.cells[i], n.mean-b.middle(i)
	c.weight += n.weight
	c.first += float64(n.weight * off)
	c.second += float64(n.weight * off * off)
}

// pour appends a normal for each cell that is not empty.
func (b *band) pour(m mixture) mixture {
	for i := range b.cells {
		if c := &b.cells[i]; c.weight > 0 {
			off := c.first / c.weight
			spread := max(0, c.second/c.weight-float64(off*off))
			m = append(m, lognormal{c.weight, b.middle(i) + off, math.Sqrt(float64(b.sd*b.sd) + spread)})
		}
	}
	return m
}
