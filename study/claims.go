package study

// checkOf is a check with where its values come from in an evaluation.
type checkOf[E any] struct {
	Check
	values func(e *E) []float64
}

// claimOf is a claim with such checks.
type claimOf[E any] struct {
	Claim
	checks []checkOf[E]
}

// expecting is a check of values within bounds.
func expecting[E any](what, unit, seed string, b bounds, values func(e *E) []float64) checkOf[E] {
	return checkOf[E]{Check{What: what, Unit: unit, Seed: seed, Low: b.low, High: b.high}, values}
}

// judged returns claims with what was measured.
func judged[E any](e *E, claims []claimOf[E]) []Claim {
	var all []Claim
	for _, c := range claims {
		for i := range c.checks {
			k := &c.checks[i]
			k.measure(k.values(e))
			c.Checks = append(c.Checks, k.Check)
		}
		c.conclude()
		all = append(all, c.Claim)
	}
	return all
}
