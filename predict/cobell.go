package predict

import (
	"fmt"
	"math"
)

// cobell is the parametric model with neighbours: f(x) (1 + Σ (a + b/x) ov), seed 001, section III.B. The seed has one neighbour;
// that several add up is an extension.
func cobell() Method {
	return Method{
		Name: "cobell",
		Text: "Ernest, times 1 + (a + b/x) overlap for each class of neighbours",
		Fit: func(from []Sample, o Options) (Model, error) {
			return fitSized(from, func(d *samples) (*classic, error) { return newClassic("cobell", d, true, o) })
		},
	}
}

// cobellNP is the non-parametric model with neighbours (seed 001, section III.B.2): the slowdowns of the parametric one, and in place of
// f(x) local linear regression of the runtimes without them, with the bandwidth that cross-validation picks. Like Bell it is
// parametric up to 5 runs, with fewer than 3 scale-outs, and outside those that were tried.
func cobellNP() Method {
	return Method{
		Name: "cobell-np",
		Text: "CoBell with local linear regression between the scale-outs tried in place of Ernest",
		Fit: func(from []Sample, o Options) (Model, error) {
			return fitSized(from, func(d *samples) (*classic, error) { return newSmooth(d, o) })
		},
	}
}

func newSmooth(d *samples, o Options) (*classic, error) {
	m, err := newClassic("cobell-np", d, true, o)
	if err != nil {
		return nil, err
	}
	ties, err := m.smooth(o)
	if err != nil {
		return nil, err
	}
	m.report.Picked = "parametric"
	h, score := ties.Bandwidth()
	if m.report.Runs <= bellFrom || h == 0 {
		return m, nil
	}
	m.useLocal(ties, h, o)
	if parametric := ernestScore(ties); parametric < score && !math.IsInf(score, 1) {
		m.report.Notes = append(m.report.Notes, fmt.Sprintf(
			"cross-validation prefers the parametric form: mean relative error %.3f, local regression %.3f", parametric, score))
	}
	return m, nil
}
