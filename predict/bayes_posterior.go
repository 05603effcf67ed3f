package predict

import (
	"fmt"
	"math"

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
	block, shape, setting int
	weight                float64
}

// block is what combinations with one noise and one amplitude share: the factor of the covariance of the sites' means,
// and what is left of these means, whitened by it.
type block struct {
	sigma, amp likely
	factor     *fit.Cholesky
	curves     [][]float64 // by shape: whitened site means of ln y − ln S, less their mean
	slows      [][]float64 // by setting: whitened site means of the shift, less its mean
}

// newPosterior weighs every combination by the rows.
func newPosterior(prior *bayesPrior, data *bayesRows, settings []setting) (*posterior, error) {
	p := &posterior{prior: prior, data: data, settings: settings, levels: make([]float64, len(prior.shapes)), shifts: make([]float64, len(settings))}
	curves := make([][]float64, len(prior.shapes))
	for k := range curves {
		s := &prior.shapes[k]
		logs := make([]float64, len(data.sites))
		for g, x := range data.sites {
			logs[g] = s.logAt(x)
		}
		left := func(r *bayesRow) float64 { return r.z - logs[r.site] }
		p.levels[k] = data.mean(left)
		curves[k], _ = data.siteMeans(left)
		subtract(curves[k], p.levels[k])
	}
	slows, within := make([][]float64, len(settings)), make([]float64, len(settings))
	for j := range settings {
		shift := func(r *bayesRow) float64 { return settings[j].shift(r.x, r.size, r.over) }
		p.shifts[j] = data.mean(shift)
		slows[j], _ = data.siteMeans(shift)
		subtract(slows[j], p.shifts[j])
		_, within[j] = data.siteMeans(func(r *bayesRow) float64 { return r.z - shift(r) })
	}
	for _, sigma := range prior.sigma {
		for _, amp := range prior.amp {
			b, err := p.newBlock(sigma, amp, curves, slows)
			if err != nil {
				return nil, err
			}
			p.blocks = append(p.blocks, b)
		}
	}
	p.weigh(within)
	return p, nil
}

func subtract(values []float64, mean float64) {
	for i := range values {
		values[i] -= mean
	}
}

// newBlock factors the covariance of the sites' means, and whitens what is left of them.
func (p *posterior) newBlock(sigma, amp likely, curves, slows [][]float64) (block, error) {
	a := make([][]float64, len(p.data.sites))
	for g, x := range p.data.sites {
		a[g] = make([]float64, g+1)
		for h, other := range p.data.sites[:g+1] {
			a[g][h] = p.prior.covariance(amp.value, x, other)
		}
		a[g][g] += float64(sigma.value*sigma.value) / p.data.weight[g]
	}
	factor, err := fit.NewCholesky(a)
	if err != nil {
		return block{}, fmt.Errorf("runtimes cannot be told from noise: %w", err)
	}
	b := block{sigma: sigma, amp: amp, factor: factor}
	whiten := func(vectors [][]float64) [][]float64 {
		white := make([][]float64, len(vectors))
		for i, v := range vectors {
			white[i] = append([]float64(nil), v...)
			factor.Whiten(white[i])
		}
		return white
	}
	b.curves, b.slows = whiten(curves), whiten(slows)
	return b, nil
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

// weigh computes evidence, parts and the best of them. The sum of squares within the sites, by setting, is all that the runs say
// beyond their sites' means.
func (p *posterior) weigh(within []float64) {
	logs := make([]float64, 0, len(p.blocks)*len(p.prior.shapes)*len(p.settings))
	top, best := math.Inf(-1), math.Inf(-1)
	for i := range p.blocks {
		b := &p.blocks[i]
		base := p.constant(b) + b.sigma.logp + b.amp.logp
		for k, curve := range b.curves {
			for j, slow := range b.slows {
				far := within[j] / (b.sigma.value * b.sigma.value)
				for g, u := range curve {
					e := u - slow[g]
					far += float64(e * e)
				}
				l := base + p.prior.shapes[k].logp + p.settings[j].logp - 0.5*far
				logs = append(logs, l)
				top = max(top, l)
				if l > best && b.sigma.value <= wildSigma {
					best, p.best = l, part{block: i, shape: k, setting: j}
				}
			}
		}
	}
	sum := 0.0
	for i := range logs {
		if logs[i] -= top; logs[i] > math.Log(p.prior.drop)-10 { // what is less is dropped anyway, and exp is slow
			logs[i] = math.Exp(logs[i])
			sum += logs[i]
		} else {
			logs[i] = 0
		}
	}
	p.evidence = top + math.Log(sum)
	p.keep(logs, p.prior.drop*sum)
}

// keep makes the parts: combinations with more than the least weight, their weights adding up to 1.
func (p *posterior) keep(weights []float64, least float64) {
	sum, at := 0.0, 0
	for i := range p.blocks {
		for k := range p.prior.shapes {
			for j := range p.settings {
				if w := weights[at]; w > least {
					sum += w
					p.parts = append(p.parts, part{i, k, j, w})
				}
				at++
			}
		}
	}
	for i := range p.parts {
		p.parts[i].weight /= sum
	}
}

// constant returns the part of the logarithm of the density that does not depend on what is left of the runtimes.
func (p *posterior) constant(b *block) float64 {
	n, sites := float64(len(p.data.rows)), float64(len(p.data.sites))
	c := -0.5*n*math.Log(2*math.Pi) - 0.5*b.factor.LogDet() - (n-sites)*math.Log(b.sigma.value)
	for i := range p.data.rows {
		c -= 0.5 * math.Log(p.data.rows[i].noise)
	}
	for _, w := range p.data.weight {
		c -= 0.5 * math.Log(w)
	}
	return c
}

// far returns how far each row is from what the other rows say of it, in standard deviations, under the best part.
func (p *posterior) far() []float64 {
	b, set, d := &p.blocks[p.best.block], &p.settings[p.best.setting], p.data
	curve := &p.prior.shapes[p.best.shape]
	left := func(r *bayesRow) float64 {
		return r.z - curve.logAt(d.sites[r.site]) - p.levels[p.best.shape] - set.shift(r.x, r.size, r.over) + p.shifts[p.best.setting]
	}
	means, _ := d.siteMeans(left)
	solved := append([]float64(nil), means...)
	b.factor.Solve(solved)
	diagonal := b.factor.InverseDiagonal()
	deviations := make([]float64, len(d.rows))
	for i := range d.rows {
		r := &d.rows[i]
		own := 1 / (b.sigma.value * b.sigma.value * r.noise) // inverse of the variance of its noise
		v := b.sigma.value * b.sigma.value / d.weight[r.site]
		inverse := own - own*own*(v-v*v*diagonal[r.site]) // of the covariance of all rows, by Woodbury's identity
		deviations[i] = math.Abs(own*(left(r)-means[r.site]+v*solved[r.site])) / math.Sqrt(inverse)
	}
	return deviations
}

// at returns what is believed of a runtime.
func (p *posterior) at(x, size float64, over []float64) mixture {
	kinks := p.kinks(x)
	m := make(mixture, len(p.parts), len(p.parts)*len(kinks)) // without kinks at first: their sd is a variance
	logs, shifts := make([]float64, len(p.prior.shapes)), make([]float64, len(p.settings))
	for k := range logs {
		logs[k] = p.prior.shapes[k].logAt(x) + p.levels[k]
	}
	for j := range shifts {
		shifts[j] = p.settings[j].shift(x, size, over) - p.shifts[j]
	}
	last := -1
	var curves, slows []float64 // by shape and setting: what the sites' means say of the deviation at x
	var variance float64
	for i, q := range p.parts {
		b := &p.blocks[q.block]
		if q.block != last {
			curves, slows, variance = p.deviation(b, x)
			last = q.block
		}
		m[i] = lognormal{q.weight, logs[q.shape] + curves[q.shape] + shifts[q.setting] - slows[q.setting], variance}
	}
	for _, k := range kinks[1:] {
		for _, n := range m[:len(p.parts)] {
			m = append(m, lognormal{n.weight * k.weight, n.mean, math.Sqrt(n.sd + k.variance)})
		}
	}
	for i := range p.parts {
		m[i].weight *= kinks[0].weight
		m[i].sd = math.Sqrt(m[i].sd + kinks[0].variance)
	}
	return m
}

// deviation returns what the means of the sites say of level and deviation at x, for each shape and each setting, and the
// variance of the logarithm of a runtime there, noise included.
func (p *posterior) deviation(b *block, x float64) (curves, slows []float64, variance float64) {
	w := make([]float64, len(p.data.sites))
	for g, site := range p.data.sites {
		w[g] = p.prior.covariance(b.amp.value, x, site)
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
	variance = p.prior.covariance(b.amp.value, x, x) + float64(b.sigma.value*b.sigma.value)
	for _, u := range w {
		variance -= float64(u * u)
	}
	return along(b.curves), along(b.slows), max(variance, b.sigma.value*b.sigma.value)
}

// kink is what a change of slope outside the range of the runs may add to the variance.
type kink struct{ weight, variance float64 }

// kinks returns those at x.
func (p *posterior) kinks(x float64) []kink {
	sites := p.data.sites
	far := max(0, math.Log(x/sites[len(sites)-1]), math.Log(sites[0]/x))
	if far == 0 || len(p.prior.kink) == 0 {
		return []kink{{weight: 1}}
	}
	of := make([]kink, len(p.prior.kink))
	for i, l := range p.prior.kink {
		of[i] = kink{math.Exp(l.logp), l.value * l.value * far * far}
	}
	return of
}

// robustPosterior weighs the rows, and gives those that are wild more noise: one after the other the wildest, if it is farther than
// wildBeyond from what the others say, up to one row in five. Of many rows, one in twenty at a time.
func robustPosterior(prior *bayesPrior, data *bayesRows, settings []setting) (*posterior, error) {
	p, err := newPosterior(prior, data, settings)
	n := len(data.rows)
	if err != nil || n < fewestTried {
		return p, err
	}
	for left := max(1, n/5); left > 0; {
		found := data.markWild(p.far(), min(left, max(1, n/wildShare)))
		if found == 0 {
			break
		}
		left -= found
		if p, err = newPosterior(prior, data, settings); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// markWild gives more noise to the rows that are farthest from what the others say, if that is farther than wildBeyond, and returns
// how many they were.
func (of *bayesRows) markWild(far []float64, most int) (found int) {
	for ; found < most; found++ {
		row := -1
		for i := range of.rows {
			if of.rows[i].noise == 1 && far[i] > wildBeyond && (row < 0 || far[i] > far[row]) {
				row = i
			}
		}
		if row < 0 {
			break
		}
		of.rows[row].noise = wildNoise
	}
	of.weigh()
	return found
}
