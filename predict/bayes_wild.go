package predict

import (
	"cmp"
	"math"
	"slices"
)

// belief is what is believed of a class under each answer to the question which of its runs was wild, with the probabilities of the
// answers.
type belief []answer

type answer struct {
	weight float64
	*posterior
}

const (
	fewestTried = 4     // runs of which one may be wild
	mostTried   = 12    // runs of which each is tried
	wildShare   = 20    // one in so many is given more noise at a time
	mayBeWild   = 0.1   // probability that any run is wild, from which more are looked for
	unlikely    = 0.005 // an answer with less probability is left out
)

// believe weighs the rows. Of few runs each that may be wild is tried as such, which costs a posterior, and what follows is averaged by
// the evidence: with so few, the residuals of the best curve do not tell which of them it was. Where one may well be, there may be more: the
// others are tried beside the likeliest, up to one run in five. Of many runs, residuals tell (robustPosterior).
func believe(prior *bayesPrior, data *bayesRows, settings []setting) (belief, error) {
	n := len(data.rows)
	if prior.wild.share == 0 || n < fewestTried || n > mostTried {
		p, err := robustPosterior(prior, data, settings)
		return belief{{1, p}}, err
	}
	base, err := newPosterior(prior, data, settings)
	if err != nil {
		return nil, err
	}
	b := belief{{base.evidence, base}}
	for k := 1; k <= max(1, n/5) && (k == 1 || b.anyWild() > mayBeWild); k++ {
		first := len(b)
		for _, i := range base.doubtful() {
			p, err := newPosterior(prior, base.data.wild(prior.wild.noise, i), settings)
			if err != nil {
				return nil, err
			}
			b = append(b, answer{p.evidence + float64(float64(k)*prior.wild.odds()), p})
		}
		if len(b) == first {
			break
		}
		base = slices.MaxFunc(b[first:], func(a, b answer) int { return cmp.Compare(a.weight, b.weight) }).posterior
	}
	return b.likely(), nil
}

// doubtful returns the rows that may be wild: of each, the odds are those of the prior, times the density of a wild runtime over the one
// that the other rows give to this one. The latter is taken under the heaviest part of each block alone, which is far from exact, but tells
// whether the row is worth a posterior of its own (TestBayesDoubtful).
func (p *posterior) doubtful() []int {
	odds := make([]float64, len(p.data.rows))
	for i := 0; i < len(p.parts); {
		top, weight := p.parts[i], 0.0
		for ; i < len(p.parts) && p.parts[i].block == top.block; i++ {
			weight += p.parts[i].weight
			if p.parts[i].weight > top.weight {
				top = p.parts[i]
			}
		}
		off, sd := p.leaveOut(&top)
		for r := range odds {
			u := off[r] / sd[r]
			odds[r] += float64(weight * sd[r] * math.Sqrt(2*math.Pi) * math.Exp(0.5*u*u))
		}
	}
	var rows []int
	for i, o := range odds {
		if p.data.rows[i].noise == 1 && math.Log(o)+p.prior.wild.odds()+math.Log(p.prior.wild.density) > math.Log(unlikely) {
			rows = append(rows, i)
		}
	}
	return rows
}

// anyWild returns the probability that any run was wild, given answers with logarithms of weights.
func (b belief) anyWild() float64 {
	of := b.probabilities()
	return 1 - of[0]
}

// probabilities returns those of answers with logarithms of weights.
func (b belief) probabilities() []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, a := range b {
		top = max(top, a.weight)
	}
	of := make([]float64, len(b))
	for i, a := range b {
		of[i] = math.Exp(a.weight - top)
		sum += of[i]
	}
	for i := range of {
		of[i] /= sum
	}
	return of
}

// likely makes probabilities of logarithms of weights, and returns the answers that are not unlikely.
func (b belief) likely() belief {
	var of belief
	sum := 0.0
	for i, p := range b.probabilities() {
		if p >= unlikely {
			of = append(of, answer{p, b[i].posterior})
			sum += p
		}
	}
	for i := range of {
		of[i].weight /= sum
	}
	return of
}

// at returns what is believed of a runtime, thinned out if it is many normals.
func (b belief) at(x, size float64, over []float64) mixture {
	parts := 0
	for _, a := range b {
		parts += len(a.parts)
	}
	var m mixture
	thin := new(coarse)
	for _, a := range b {
		a.each(x, size, over, func(block mixture) {
			if parts > plenty {
				thin.add(block, a.weight)
				return
			}
			for _, n := range block {
				n.weight *= a.weight
				m = append(m, n)
			}
		})
	}
	if parts > plenty {
		m = thin.mixture()
	}
	return m.spread(b[0].kinks(x)) // which are the same whoever was wild
}

// wildness returns the probability of each sample that it was wild.
func (b belief) wildness(samples int) []float64 {
	of := make([]float64, samples)
	for _, a := range b {
		for i := range a.data.rows {
			if r := &a.data.rows[i]; r.noise != 1 {
				of[r.index] += a.weight
			}
		}
	}
	return of
}

// wild returns the rows with some of them wild.
func (of *bayesRows) wild(noise float64, rows ...int) *bayesRows {
	other := &bayesRows{rows: slices.Clone(of.rows), sites: of.sites}
	for _, row := range rows {
		other.rows[row].noise = noise
	}
	other.weigh()
	return other
}

// robustPosterior weighs the rows, and gives those that are wild more noise: one after the other the wildest, if it is farther than
// wildBeyond from what the others say, up to one row in five. Of many rows, one in twenty at a time. If it is known how likely a run
// is to be wild, the number that has the greatest evidence is taken: where all runs vary much, none is wild.
func robustPosterior(prior *bayesPrior, data *bayesRows, settings []setting) (*posterior, error) {
	p, err := newPosterior(prior, data, settings)
	n := len(data.rows)
	if err != nil || n < fewestTried {
		return p, err
	}
	best, top, marked := p, p.evidence, 0
	for left := max(1, n/5); marked < left; {
		found := p.data.wildest(p.far(), min(left-marked, max(1, n/wildShare)))
		if len(found) == 0 {
			break
		}
		marked += len(found)
		if p, err = newPosterior(prior, p.data.wild(prior.wild.noise, found...), settings); err != nil {
			return nil, err
		}
		if l := p.evidence + float64(float64(marked)*prior.wild.odds()); prior.wild.share == 0 || l > top {
			best, top = p, l
		}
	}
	return best, nil
}

// wildest returns the rows that are farthest from what the others say, if that is farther than wildBeyond.
func (of *bayesRows) wildest(far []float64, most int) []int {
	var found []int
	for i := range of.rows {
		if of.rows[i].noise == 1 && far[i] > wildBeyond {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(far[b], far[a]) })
	return found[:min(most, len(found))]
}
