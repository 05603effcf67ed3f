package predict

import "math"

// mixture is a distribution of runtimes whose logarithm is one of several normals. Weights add up to 1.
type mixture []lognormal

type lognormal struct{ weight, mean, sd float64 }

// AtMost returns the probability that the runtime is at most so many seconds.
func (m mixture) AtMost(seconds float64) float64 {
	switch {
	case !(seconds > 0):
		return 0
	case math.IsInf(seconds, 1):
		return 1
	}
	p, _ := m.at(math.Log(seconds))
	return min(p, 1)
}

// Quantile returns the runtime in seconds that is not exceeded with probability p in (0,1): Newton's method, kept between bounds
// that are halved where it would leave them.
func (m mixture) Quantile(p float64) float64 {
	low, high, z := math.Inf(1), math.Inf(-1), 0.0
	for i := range m {
		n := &m[i]
		low, high = min(low, n.mean-float64(40*n.sd)), max(high, n.mean+float64(40*n.sd))
		z += float64(n.weight * n.mean)
	}
	for range 200 {
		f, density := m.at(z)
		if f < p {
			low = z
		} else {
			high = z
		}
		next := z - (f-p)/density
		if !(next > low && next < high) {
			next = low + (high-low)/2
		}
		if math.Abs(next-z) <= 1e-12 || high-low <= 1e-12 {
			z = next
			break
		}
		z = next
	}
	return math.Exp(z)
}

// at returns the probability that the logarithm of the runtime is at most z, and its density there.
func (m mixture) at(z float64) (p, density float64) {
	for i := range m {
		n := &m[i]
		u := (z - n.mean) / n.sd
		switch {
		case u > 9:
			p += n.weight
		case u > -9:
			p += float64(n.weight * 0.5 * math.Erfc(-u/math.Sqrt2))
			density += float64(n.weight / n.sd * math.Exp(-0.5*u*u))
		}
	}
	return p, density / math.Sqrt(2*math.Pi)
}

// median returns the runtime that is exceeded as often as not.
func (m mixture) median() float64 { return m.Quantile(0.5) }
