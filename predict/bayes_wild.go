package predict

import "math"

// belief is what is believed of a class under each answer to the question which of its runs was wild, with the probabilities of the
// answers.
type belief []answer

type answer struct {
	weight float64
	*posterior
}

const (
	fewestTried = 4    // runs of which one may be wild
	mostTried   = 12   // runs of which each is tried
	wildShare   = 20   // one in so many is given more noise at a time
	surelyWild  = 0.9  // probability from which a run is wild, and others are looked for
	unlikely    = 1e-4 // an answer with less probability is left out
)

// believe weighs the rows. Of few runs each is tried as the wild one, which costs a posterior a run, and what follows is averaged by
// the evidence: with so few, residuals do not tell which of them it was. Where one is surely wild, and there may be more, it stays
// so, and the others are tried. Of many runs, residuals tell (robustPosterior).
func believe(prior *bayesPrior, data *bayesRows, settings []setting) (belief, error) {
	n := len(data.rows)
	if prior.wild == 0 || n < fewestTried || n > mostTried {
		p, err := robustPosterior(prior, data, settings)
		return belief{{1, p}}, err
	}
	for left := max(1, n/5); ; left-- {
		b, wildest, err := tryEach(prior, data, settings)
		if err != nil || left == 1 || wildest < 0 {
			return b.likely(), err
		}
		data = data.wild(wildest)
	}
}

// tryEach weighs the rows as they are, and with each of them wild. It returns which of them surely is, or -1.
func tryEach(prior *bayesPrior, data *bayesRows, settings []setting) (b belief, surely int, err error) {
	p, err := newPosterior(prior, data, settings)
	if err != nil {
		return nil, -1, err
	}
	odds := math.Log(prior.wild / (1 - prior.wild))
	b = append(b, answer{p.evidence, p})
	rows := []int{-1}
	for i := range data.rows {
		if data.rows[i].noise != 1 {
			continue
		}
		p, err := newPosterior(prior, data.wild(i), settings)
		if err != nil {
			return nil, -1, err
		}
		b = append(b, answer{p.evidence + odds, p})
		rows = append(rows, i)
	}
	top, sum := math.Inf(-1), 0.0
	for i := range b {
		top = max(top, b[i].weight)
	}
	for i := range b {
		b[i].weight = math.Exp(b[i].weight - top)
		sum += b[i].weight
	}
	surely = -1
	for i := range b {
		if b[i].weight /= sum; b[i].weight > surelyWild {
			surely = rows[i]
		}
	}
	return b, surely, nil
}

// likely returns the answers that are not unlikely.
func (b belief) likely() belief {
	var of belief
	sum := 0.0
	for _, a := range b {
		if a.weight >= unlikely {
			of = append(of, a)
			sum += a.weight
		}
	}
	for i := range of {
		of[i].weight /= sum
	}
	return of
}

// at returns what is believed of a runtime, thinned out.
func (b belief) at(x, size float64, over []float64) mixture {
	var m mixture
	for _, a := range b {
		for _, n := range a.at(x, size, over).coarse() {
			n.weight *= a.weight
			m = append(m, n)
		}
	}
	return m
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

// wild returns the rows with one of them wild.
func (of *bayesRows) wild(row int) *bayesRows {
	other := &bayesRows{rows: append([]bayesRow(nil), of.rows...), sites: of.sites}
	other.rows[row].noise = wildNoise
	other.weigh()
	return other
}
