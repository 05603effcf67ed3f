package predict

import (
	"fmt"
	"math"

	"github.com/dovetail-sched/dovetail/fit"
)

// bellFrom is the number of runs up to which Bell, as deployed by its authors, is Ernest alone.
const bellFrom = 5

// bell is Bell's automatic choice (Thamsen et al., IPCCC 2016) between Ernest and local linear regression by cross-validation, one
// split for each scale-out but the smallest and the largest, the lowest mean relative error first. Up to 5 runs, and with fewer
// than 3 scale-outs, it is Ernest, and so it is outside the scale-outs that were tried.
func bell() Method {
	return Method{
		Name: "bell",
		Text: "Ernest, or local linear regression between the scale-outs tried, whichever cross-validation prefers; blind to neighbours",
		Fit: func(from []Sample, o Options) (Model, error) {
			return fitSized(from, func(d *samples) (*classic, error) {
				m, err := newClassic("bell", d, false, o)
				if err != nil {
					return nil, err
				}
				ties, err := m.smooth(o)
				if err != nil {
					return nil, err
				}
				m.report.Picked = "ernest"
				if m.report.Runs <= bellFrom {
					return m, nil
				}
				h, score := ties.Bandwidth()
				parametric := ernestScore(ties)
				if h > 0 && score <= parametric {
					m.useLocal(ties, h, o)
				}
				return m, nil
			})
		},
	}
}

// smooth returns the runtimes of the kept runs as they would have been without neighbours, at the reference size, at the whole number
// next to their average scale-out: each in proportion to what the form says. Whole numbers make few groups of many averages, and
// bandwidths are no finer.
func (m *classic) smooth(o Options) (*fit.Ties, error) {
	n := len(m.kept.points)
	x, y := make([]float64, n), make([]float64, n)
	for i := range m.kept.points {
		p := &m.kept.points[i]
		x[i] = math.Round(p.x)
		y[i] = p.y / m.form.longer(p, m.kept.size(p))
		if there := m.form.alone(x[i]) / m.form.alone(p.x); positive(there) {
			y[i] *= there
		}
	}
	weights := make([]float64, n)
	for i, v := range y {
		weights[i] = 1
		if !o.Unweighted {
			weights[i] = 1 / v / v
		}
	}
	return fit.NewTies(x, y, weights)
}

// useLocal replaces f(x) by local regression between the scale-outs tried.
func (m *classic) useLocal(ties *fit.Ties, h float64, o Options) {
	m.local, m.width = ties, h
	m.report.Picked = fmt.Sprintf("local linear regression, bandwidth %.0f", h)
	m.report.SSE = 0
	for i, w := range m.kept.weights(o) {
		p := &m.kept.points[i]
		miss := float64(ties.Local(p.x, h)*m.form.longer(p, m.kept.size(p))) - p.y
		m.report.SSE += float64(w * miss * miss)
	}
}

// ernestScore returns the cross-validated error of Ernest's form on the same splits as those of local regression.
func ernestScore(ties *fit.Ties) float64 {
	return ties.LeaveOneGroupOut(func(held int) float64 {
		columns := make([][]float64, 4)
		var y, weights []float64
		for g, x := range ties.X {
			if g == held {
				continue
			}
			for j, v := range basis(x) {
				columns[j] = append(columns[j], v)
			}
			mean, weight := ties.Mean(g)
			y, weights = append(y, mean), append(weights, weight)
		}
		s, err := fit.NNLS(columns, y, weights)
		if err != nil {
			return math.Inf(1)
		}
		f := form{theta: [4]float64(s.X)}
		return f.alone(ties.X[held])
	})
}
