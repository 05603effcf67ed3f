package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail/fit"
)

// posterior is what a Bayesian model believes after it has seen runs: a weight for every combination of a noise, an amplitude, a
// shape and a setting. Given one, the logarithm of a runtime is normal.
type posterior struct {
	prior    *bayesPrior
	data     *bayesRows
	settings []setting
	blocks   []block   // by noise and amplitude
	levels   []float64 // by shape: mean of ln y − ln S over the rows
	shifts   []float64 // by setting: mean of its shift over the rows
	parts    []part    // in order of block, shape, setting; those that weigh too little are left out
	best     part      // the heaviest with a noise of at most wildSigma
	evidence float64   // logarithm of the marginal density of the runtimes' logarithms
}

// part is a combination.
type part struct {
	block, shape, setting int32
	weight                float64
}

// block is what combinations with one noise and one amplitude share: the factor of the covariance of the sites' means,
// and what is left of these means, whitened by it.
type block struct {
	sigma, amp float64
	base       float64 // logarithm of the part of the weights that they share, but for the prior of the noise
	factor     *fit.Cholesky
	curves     [][]float64 // by shape: whitened site means of ln y − ln S, less their mean
	slows      [][]float64 // by setting: whitened site means of the shift, less its mean
}

// residuals is what is left of the runs by shape and by setting, before it is whitened.
type residuals struct {
	curves, slows [][]float64 // as in block
	within        []float64   // by setting: sum of squares within the sites, which is all that runs say beyond their sites' means
}

// newPosterior weighs every combination by the rows.
func newPosterior(prior *bayesPrior, data *bayesRows, settings []setting) (*posterior, error) {
	p := &posterior{prior: prior, data: data, settings: settings, levels: make([]float64, len(prior.shapes)), shifts: make([]float64, len(settings))}
	left := &residuals{make([][]float64, len(prior.shapes)), make([][]float64, len(settings)), make([]float64, len(settings))}
	for k := range left.curves {
		s := &prior.shapes[k]
		logs := make([]float64, len(data.sites))
		for g, x := range data.sites {
			logs[g] = s.logAt(x)
		}
		of := func(r *bayesRow) float64 { return r.z - logs[r.site] }
		p.levels[k] = data.mean(of)
		left.curves[k], _ = data.siteMeans(of)
		subtract(left.curves[k], p.levels[k])
	}
	for j := range settings {
		shift := func(r *bayesRow) float64 { return settings[j].shift(r.x, r.size, r.over) }
		p.shifts[j] = data.mean(shift)
		left.slows[j], _ = data.siteMeans(shift)
		subtract(left.slows[j], p.shifts[j])
		_, left.within[j] = data.siteMeans(func(r *bayesRow) float64 { return r.z - shift(r) })
	}
	columns, err := p.columns(left)
	if err != nil {
		return nil, err
	}
	p.join(columns)
	return p, nil
}

func subtract(values []float64, mean float64) {
	for i := range values {
		values[i] -= mean
	}
}

// newBlock factors the covariance of the sites' means.
func (p *posterior) newBlock(sigma float64, amp likely) (block, error) {
	a := make([][]float64, len(p.data.sites))
	for g, x := range p.data.sites {
		a[g] = make([]float64, g+1)
		for h, other := range p.data.sites[:g+1] {
			a[g][h] = p.prior.covariance(amp.value, x, other)
		}
		a[g][g] += float64(sigma*sigma) / p.data.weight[g]
	}
	factor, err := fit.NewCholesky(a)
	if err != nil {
		return block{}, fmt.Errorf("runtimes cannot be told from noise: %w", err)
	}
	b := block{sigma: sigma, amp: amp.value, factor: factor}
	b.base = p.constant(&b) + amp.logp
	return b, nil
}

// whiten whitens what is left of the sites' means.
func (b *block) whiten(left *residuals) {
	white := func(vectors [][]float64) [][]float64 {
		of := make([][]float64, len(vectors))
		for i, v := range vectors {
			of[i] = slices.Clone(v)
			b.factor.Whiten(of[i])
		}
		return of
	}
	b.curves, b.slows = white(left.curves), white(left.slows)
}

// covariance returns that of level and deviation at two scale-outs.
func (p *bayesPrior) covariance(amp, x, other float64) float64 {
	far := math.Log(x/other) / deviationLong
	k := math.Exp(-0.5 * far * far)
	if x == other {
		k += p.own
	}
	return levelVariance + float64(amp*amp*k)
}

// constant returns the part of the logarithm of the density that does not depend on what is left of the runtimes.
func (p *posterior) constant(b *block) float64 {
	n, sites := float64(len(p.data.rows)), float64(len(p.data.sites))
	c := -0.5*n*math.Log(2*math.Pi) - 0.5*b.factor.LogDet() - (n-sites)*math.Log(b.sigma)
	for i := range p.data.rows {
		noise := p.data.rows[i].noise
		c -= 0.5 * math.Log(noise)
		if noise != 1 && p.prior.wild.density > 0 { // in place of that of its noise, which is so great that it is the same everywhere
			c += math.Log(p.prior.wild.density*b.sigma) + float64(0.5*math.Log(2*math.Pi*noise))
		}
	}
	for _, w := range p.data.weight {
		c -= 0.5 * math.Log(w)
	}
	return c
}

// leaveOut returns how far each row is from what the other rows say of it under one part, and the standard deviation of that.
func (p *posterior) leaveOut(q *part) (off, sd []float64) {
	b, set, d := &p.blocks[q.block], &p.settings[q.setting], p.data
	curve := &p.prior.shapes[q.shape]
	left := func(r *bayesRow) float64 {
		return r.z - curve.logAt(d.sites[r.site]) - p.levels[q.shape] - set.shift(r.x, r.size, r.over) + p.shifts[q.setting]
	}
	means, _ := d.siteMeans(left)
	solved := slices.Clone(means)
	b.factor.Solve(solved)
	diagonal := b.factor.InverseDiagonal()
	off, sd = make([]float64, len(d.rows)), make([]float64, len(d.rows))
	for i := range d.rows {
		r := &d.rows[i]
		own := 1 / (b.sigma * b.sigma * r.noise) // inverse of the variance of its noise
		v := b.sigma * b.sigma / d.weight[r.site]
		inverse := own - own*own*(v-v*v*diagonal[r.site]) // of the covariance of all rows, by Woodbury's identity
		off[i] = own * (left(r) - means[r.site] + v*solved[r.site]) / inverse
		sd[i] = 1 / math.Sqrt(inverse)
	}
	return off, sd
}

// far returns how far each row is from what the other rows say of it, in standard deviations, under the best part.
func (p *posterior) far() []float64 {
	far, sd := p.leaveOut(&p.best)
	for i := range far {
		far[i] = math.Abs(far[i]) / sd[i]
	}
	return far
}

// each calls use for every block with the normals of its parts, which have one standard deviation. They are what is believed of a
// runtime, but for a change of slope; use must not keep them.
func (p *posterior) each(x, size float64, over []float64, use func(block mixture)) {
	logs, shifts := make([]float64, len(p.prior.shapes)), make([]float64, len(p.settings))
	for k := range logs {
		logs[k] = p.prior.shapes[k].logAt(x) + p.levels[k]
	}
	for j := range shifts {
		shifts[j] = p.settings[j].shift(x, size, over) - p.shifts[j]
	}
	var m mixture
	for i := 0; i < len(p.parts); {
		b := p.parts[i].block
		curves, slows, sd := p.deviation(&p.blocks[b], x)
		for k := range curves {
			curves[k] += logs[k]
		}
		for j := range slows {
			slows[j] = shifts[j] - slows[j]
		}
		for m = m[:0]; i < len(p.parts) && p.parts[i].block == b; i++ {
			q := &p.parts[i]
			m = append(m, lognormal{q.weight, curves[q.shape] + slows[q.setting], sd})
		}
		use(m)
	}
}

// deviation returns what the means of the sites say of level and deviation at x, for each shape and each setting, and the
// standard deviation of the logarithm of a runtime there, noise included.
func (p *posterior) deviation(b *block, x float64) (curves, slows []float64, sd float64) {
	w := make([]float64, len(p.data.sites))
	for g, site := range p.data.sites {
		w[g] = p.prior.covariance(b.amp, x, site)
	}
	b.factor.Whiten(w)
	along := func(vectors [][]float64) []float64 {
		of := make([]float64, len(vectors))
		for i, v := range vectors {
			for g, u := range v {
				of[i] += float64(w[g] * u)
			}
		}
		return of
	}
	variance := p.prior.covariance(b.amp, x, x) + float64(b.sigma*b.sigma)
	for _, u := range w {
		variance -= float64(u * u)
	}
	return along(b.curves), along(b.slows), math.Sqrt(max(variance, b.sigma*b.sigma))
}
