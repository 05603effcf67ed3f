package predict

import (
	"math"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// TestCoarse holds thinned mixtures against the whole ones, for few runs and for many.
func TestCoarse(t *testing.T) {
	all := besideRuns(40, "wordcount")
	for _, n := range []int{1, 2, 3, 6, 12, 20, 40} {
		fitted, err := bayesCoBell().Fit(all[:n], Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, ok := fitted.(*bayesModel)
		if !ok {
			t.Fatalf("a %T", fitted)
		}
		for _, x := range []float64{1, 4, 11.5, 25, 60} {
			for _, overlap := range []float64{0, 0.4, 1} {
				over := m.over([]dovetail.Overlap{{Class: "wordcount", Ratio: overlap}})
				var whole mixture
				for _, answer := range m.post {
					for _, n := range answer.whole(x, over) {
						whole = append(whole, lognormal{n.weight * answer.weight, n.mean, n.sd})
					}
				}
				thin := m.post.at(x, 0, over)
				if len(whole) > 10*plenty && len(thin) > len(whole)/4 {
					t.Errorf("%d runs, scale-out %g, overlap %g: %d normals of %d", n, x, overlap, len(thin), len(whole))
				}
				for _, p := range []float64{0.01, 0.1, 0.5, 0.8, 0.9, 0.99} {
					y := thin.Quantile(p)
					if off := math.Abs(whole.AtMost(y) - p); off > 5e-4 {
						t.Errorf("%d runs, scale-out %g, overlap %g: the quantile %g is one of %g", n, x, overlap, p, whole.AtMost(y))
					}
				}
			}
		}
	}
}

// whole returns what is believed of a runtime, not thinned out.
func (p *posterior) whole(x float64, over []float64) mixture {
	var m mixture
	p.each(x, 0, over, func(block mixture) { m = append(m, block...) })
	return m.spread(p.kinks(x))
}
