package predict

import "math"

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

// spread returns the mixture with a change of slope.
func (m mixture) spread(kinks []kink) mixture {
	if len(kinks) == 1 && kinks[0].variance == 0 {
		return m
	}
	of := make(mixture, 0, len(m)*len(kinks))
	for _, k := range kinks {
		for _, n := range m {
			of = append(of, lognormal{n.weight * k.weight, n.mean, math.Sqrt(float64(n.sd*n.sd) + k.variance)})
		}
	}
	return of
}
