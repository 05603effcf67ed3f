package predict

import (
	"math"
	"sort"
)

// drawn is the number of settings that are weighed when there are several neighbour classes.
const drawn = 256

// gridSettings returns every combination of a, b and beta for at most one neighbour class. No beta: it is 0.
func gridSettings(prior *bayesPrior, classes int, beta []likely) []setting {
	if beta == nil {
		beta = []likely{{}}
	}
	var grid []setting
	for _, s := range beta {
		if classes == 0 {
			grid = append(grid, setting{beta: s.value, logp: s.logp})
			continue
		}
		for _, a := range prior.a {
			for _, b := range prior.b {
				grid = append(grid, setting{a: []float64{a.value}, b: []float64{b.value}, beta: s.value, logp: a.logp + b.logp + s.logp})
			}
		}
	}
	return grid
}

// drawnSettings returns settings for several neighbour classes, of which there are too many for a grid. What the runs say of one
// class, with the other classes and beta at their posterior means, is found in two rounds over the classes. Settings are then drawn
// from the product of these distributions, each mixed with its prior, and their prior probabilities are corrected for having been drawn
// (importance sampling), so that the weights by all runs are those of the full model. The draws are a Kronecker sequence, which is
// even and always the same (Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018).
func drawnSettings(prior *bayesPrior, data *bayesRows, classes int, beta []likely) ([]setting, error) {
	factors := make([]factor, 0, classes+1)
	for k := range classes {
		factors = append(factors, factor{class: k, values: gridSettings(prior, 1, nil)})
	}
	if beta != nil {
		factors = append(factors, factor{class: -1, values: gridSettings(prior, 0, beta)})
	}
	for i := range factors {
		factors[i].set(nil)
	}
	rough := *prior
	rough.noise = nil // where to draw from need not be known finely
	for range 2 {
		for i := range factors {
			if err := factors[i].learn(&rough, data, factors, classes); err != nil {
				return nil, err
			}
		}
	}
	steps := kronecker(len(factors))
	settings := make([]setting, drawn)
	for d := range settings {
		s := setting{a: make([]float64, classes), b: make([]float64, classes), logp: -math.Log(drawn)}
		for i := range factors {
			_, u := math.Modf(0.5 + float64(float64(d+1)*steps[i]))
			f := &factors[i]
			at := min(sort.SearchFloat64s(f.upTo, u), len(f.values)-1)
			f.put(&s, &f.values[at])
			s.logp += f.values[at].logp - f.drawn[at]
		}
		settings[d] = s
	}
	return settings, nil
}

// factor is what settings are drawn from for one class, or for beta.
type factor struct {
	class  int       // -1: beta
	values []setting // with prior probabilities
	mean   setting   // of the distribution
	drawn  []float64 // logarithms of the probabilities of being drawn
	upTo   []float64 // their sums
}

// priorShare is the share of draws that the prior has.
const priorShare = 0.25

// set takes posterior weights of the values; nil: their prior.
func (f *factor) set(weights []float64) {
	f.mean = setting{a: []float64{0}, b: []float64{0}}
	f.drawn, f.upTo = make([]float64, len(f.values)), make([]float64, len(f.values))
	sum := 0.0
	for i := range f.values {
		v := &f.values[i]
		before := math.Exp(v.logp)
		w := before
		if weights != nil {
			w = weights[i]
		}
		if f.class >= 0 {
			f.mean.a[0] += float64(w * v.a[0])
			f.mean.b[0] += float64(w * v.b[0])
		}
		f.mean.beta += float64(w * v.beta)
		p := float64((1-priorShare)*w) + float64(priorShare*before)
		sum += p
		f.drawn[i], f.upTo[i] = math.Log(p), sum
	}
}

// put copies what the factor is about into a setting of all classes.
func (f *factor) put(s, value *setting) {
	if f.class < 0 {
		s.beta = value.beta
		return
	}
	s.a[f.class], s.b[f.class] = value.a[0], value.b[0]
}

// learn weighs the values of this factor, the others being at their means.
func (f *factor) learn(prior *bayesPrior, data *bayesRows, factors []factor, classes int) error {
	settings := make([]setting, len(f.values))
	for i := range settings {
		s := &settings[i]
		s.a, s.b, s.logp = make([]float64, classes), make([]float64, classes), f.values[i].logp
		for g := range factors {
			factors[g].put(s, &factors[g].mean)
		}
		f.put(s, &f.values[i])
	}
	p, err := newPosterior(prior, data, settings)
	if err != nil {
		return err
	}
	weights := make([]float64, len(settings))
	for _, q := range p.parts {
		weights[q.setting] += q.weight
	}
	f.set(weights)
	return nil
}

// kronecker returns the steps of an even sequence in so many dimensions: powers of 1/φ, where φ^(d+1) = φ + 1.
func kronecker(dimensions int) []float64 {
	phi := 2.0
	for range 64 {
		phi = math.Pow(1+phi, 1/float64(dimensions+1))
	}
	steps := make([]float64, dimensions)
	for i := range steps {
		steps[i] = math.Pow(phi, -float64(i+1))
	}
	return steps
}
