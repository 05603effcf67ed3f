package predict

import (
	"cmp"
	"math"
	"slices"
)

// noisePrior is what is believed of the noise: the logarithm of its standard deviation s is normal.
type noisePrior struct {
	median float64 // of s
	spread float64 // standard deviation of ln s
}

// start returns so many standard deviations, each a factor times the one before it.
func (n *noisePrior) start(first, factor float64, count int) []likely {
	columns := make([]column, count)
	for i := range columns {
		columns[i].sigma = first
		first *= factor
	}
	n.divide(columns)
	of := make([]likely, count)
	for i := range of {
		of[i] = likely{columns[i].sigma, columns[i].prior}
	}
	return of
}

// density returns the logarithm of the density of ln s.
func (n *noisePrior) density(s float64) float64 {
	u := math.Log(s/n.median) / n.spread
	return float64(-0.5*u*u) - math.Log(n.spread*math.Sqrt(2*math.Pi))
}

// column is the combinations with one standard deviation of the noise.
type column struct {
	sigma  float64
	prior  float64 // logarithm of its probability
	peak   float64 // logarithm of its probability (density, if there is one) among other columns
	blocks []block // by amplitude
	atMost float64 // bound of top

	weights []float64 // by amplitude, shape and setting: over the heaviest
	sum     float64   // of the weights
	top     float64   // logarithm of the heaviest, with the prior of all but the noise
	best    int       // which that is
}

const (
	crowded     = 0.4 // a column with more than this share of the weight gets closer neighbours
	mostHalving = 12  // rounds
	negligible  = 30  // difference of logarithms of weights
)

// columns weighs the noises of the prior. If it has a density, these are but a start: where the runs tell noises apart more finely than
// they are apart, so that nearly all weight is on one or two of them, those halfway to the neighbours are weighed too, until it is on
// more. So steps are about as wide as the uncertainty of ln s, which is 1/√(2n) after n runs; with far finer steps, probabilities differ by
// less than 0.005, and the evidence by an eighth at most (TestBayesNoiseSteps).
func (p *posterior) columns(left *residuals) ([]column, error) {
	values := make([]float64, len(p.prior.sigma))
	for i, s := range p.prior.sigma {
		values[i] = s.value
	}
	var columns []column
	for range mostHalving {
		for _, v := range values {
			c, err := p.newColumn(v, left)
			if err != nil {
				return nil, err
			}
			columns = append(columns, c)
		}
		p.weighLikely(columns, left)
		slices.SortFunc(columns, func(a, b column) int { return cmp.Compare(a.sigma, b.sigma) })
		if p.prior.noise == nil {
			for i, s := range p.prior.sigma {
				columns[i].prior, columns[i].peak = s.logp, s.logp
			}
			break
		}
		p.prior.noise.divide(columns)
		if values = between(columns); len(values) == 0 {
			break
		}
	}
	return columns, nil
}

// weighLikely weighs the columns that are not yet weighed, but those that cannot have a share of the weight worth telling, nor the best
// part: the likeliest by their bounds first.
func (p *posterior) weighLikely(columns []column, left *residuals) {
	slices.SortStableFunc(columns, func(a, b column) int { return cmp.Compare(b.atMost, a.atMost) })
	top, small := math.Inf(-1), math.Inf(-1)
	count := func(c *column) {
		top = max(top, c.top)
		if c.sigma <= wildSigma {
			small = max(small, c.top)
		}
	}
	for i := range columns {
		count(&columns[i])
	}
	for i := range columns {
		c := &columns[i]
		if c.weights == nil && (c.atMost > top-negligible || c.sigma <= wildSigma && c.atMost > small-negligible) {
			p.weigh(c, left)
			count(c)
		}
	}
}

// between returns the noises halfway between crowded columns and their neighbours, rising.
func between(columns []column) []float64 {
	var of []float64
	for i, share := range shares(columns) {
		for _, other := range []int{i - 1, i + 1} {
			if share > crowded && other >= 0 && other < len(columns) {
				of = append(of, math.Sqrt(columns[i].sigma*columns[other].sigma))
			}
		}
	}
	slices.Sort(of)
	return slices.Compact(of)
}

// divide gives each column the probability that the trapezoidal rule does: its density, times half of the way from the column before it
// to the one after it.
func (n *noisePrior) divide(columns []column) {
	last := len(columns) - 1
	for i := range columns {
		c := &columns[i]
		c.peak = n.density(c.sigma)
		c.prior = c.peak + math.Log(0.5*math.Log(columns[min(i+1, last)].sigma/columns[max(i-1, 0)].sigma))
	}
}

// shares returns the share of each column of the weight.
func shares(columns []column) []float64 {
	top := math.Inf(-1)
	for i := range columns {
		top = max(top, columns[i].top+columns[i].prior)
	}
	of, sum := make([]float64, len(columns)), 0.0
	for i := range columns {
		c := &columns[i]
		of[i] = math.Exp(c.top+c.prior-top) * c.sum
		sum += of[i]
	}
	for i := range of {
		of[i] /= sum
	}
	return of
}

// newColumn makes a column, not yet weighed. No combination of it weighs more than if its curve went through the mean of every site.
func (p *posterior) newColumn(sigma float64, left *residuals) (column, error) {
	c := column{sigma: sigma, top: math.Inf(-1), atMost: math.Inf(-1)}
	for _, amp := range p.prior.amp {
		b, err := p.newBlock(sigma, amp)
		if err != nil {
			return column{}, err
		}
		c.blocks = append(c.blocks, b)
		c.atMost = max(c.atMost, b.base)
	}
	c.atMost -= slices.Min(left.within) / (2 * sigma * sigma)
	return c, nil
}

// weigh weighs the combinations of a column.
func (p *posterior) weigh(c *column, left *residuals) {
	c.weights = make([]float64, 0, len(p.prior.amp)*len(p.prior.shapes)*len(p.settings))
	for i := range c.blocks {
		b := &c.blocks[i]
		b.whiten(left)
		for k, curve := range b.curves {
			for j, slow := range b.slows {
				far := left.within[j]/(c.sigma*c.sigma) + apart(curve, slow)
				l := b.base + p.prior.shapes[k].logp + p.settings[j].logp - float64(0.5*far)
				if l > c.top {
					c.top, c.best = l, len(c.weights)
				}
				c.weights = append(c.weights, l)
			}
		}
	}
	least := math.Log(p.prior.drop) - 10 // what is less is dropped anyway, and exp is slow
	for i, l := range c.weights {
		if l -= c.top; l > least {
			c.weights[i] = math.Exp(l)
			c.sum += c.weights[i]
		} else {
			c.weights[i] = 0
		}
	}
}

// apart returns the squared distance of two vectors of the same length, as four sums, which a processor adds up at a time.
func apart(u, v []float64) float64 {
	var a, b, c, d float64
	v = v[:len(u)]
	for len(u) >= 4 && len(v) >= 4 {
		e, f, g, h := u[0]-v[0], u[1]-v[1], u[2]-v[2], u[3]-v[3]
		a += float64(e * e)
		b += float64(f * f)
		c += float64(g * g)
		d += float64(h * h)
		u, v = u[4:], v[4:]
	}
	for i := range u {
		e := u[i] - v[i]
		a += float64(e * e)
	}
	return (a + b) + (c + d)
}

// join makes evidence, blocks, parts and the best of them.
func (p *posterior) join(columns []column) {
	top, best := math.Inf(-1), math.Inf(-1)
	for i := range columns {
		top = max(top, columns[i].top+columns[i].prior)
	}
	sum := 0.0
	for i := range columns {
		c := &columns[i]
		sum += float64(math.Exp(c.top+c.prior-top) * c.sum)
	}
	p.evidence = top + math.Log(sum)
	each := len(p.prior.shapes) * len(p.settings)
	of := func(at int, weight float64) part {
		return part{int32(len(p.blocks) + at/each), int32(at % each / len(p.settings)), int32(at % len(p.settings)), weight}
	}
	kept := 0.0
	for i := range columns {
		c := &columns[i]
		if c.weights == nil {
			continue // its blocks are not whitened, and no part is of them
		}
		if l := c.top + c.peak; l > best && c.sigma <= wildSigma {
			best, p.best = l, of(c.best, 0)
		}
		scale := math.Exp(c.top+c.prior-top) / sum
		for at, w := range c.weights {
			if w *= scale; w > p.prior.drop {
				p.parts = append(p.parts, of(at, w))
				kept += w
			}
		}
		p.blocks = append(p.blocks, c.blocks...)
	}
	for i := range p.parts {
		p.parts[i].weight /= kept
	}
}
