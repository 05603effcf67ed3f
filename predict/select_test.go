package predict_test

import (
	"math"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// cobell is seed 001's model with given parameters: (t0 + t1/x + t2 ln x + t3 x)·(1 + (a + b/x)·overlap).
type cobell [6]float64

func (p cobell) Report() predict.Report { return predict.Report{} }

func (p cobell) Predict(at predict.At) predict.Distribution {
	x := at.ScaleOut
	y := p[0] + p[1]/x + p[2]*math.Log(x) + p[3]*x
	for _, o := range at.Overlaps {
		y *= 1 + (p[4]+p[5]/x)*o.Ratio
	}
	return predict.Exactly(y)
}

func TestSelectGolden(t *testing.T) {
	var g struct {
		Cases []struct {
			P         cobell  `json:"p"`
			Ov        float64 `json:"ov"`
			Min       int     `json:"min"`
			Max       int     `json:"max"`
			Target    float64 `json:"target"`
			ScaleOut  int     `json:"scale_out"`
			Predicted float64 `json:"predicted"`
			Feasible  bool    `json:"feasible"`
		} `json:"cases"`
	}
	golden(t, "select_scaleout.json", &g)
	if len(g.Cases) < 20 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for i, c := range g.Cases {
		var xs []int
		for x := c.Min; x <= c.Max; x++ {
			xs = append(xs, x)
		}
		o := outlook(c.P, xs, "k")
		at := func(x int) predict.Distribution {
			return predict.Runtime(o, float64(x), []dovetail.Overlap{{Class: "k", Ratio: c.Ov}})
		}
		x, p, ok := predict.Select(c.Min, c.Max, .9, func(x int) float64 { return at(x).AtMost(c.Target) })
		near(t, "predicted", at(c.ScaleOut).Quantile(.5), c.Predicted, 1e-9)
		switch {
		case ok != c.Feasible:
			t.Errorf("case %d: feasible %t, expected %t", i, ok, c.Feasible)
		case c.Feasible && (x != c.ScaleOut || p != 1):
			t.Errorf("case %d: scale-out %d with probability %g, expected %d", i, x, p, c.ScaleOut)
		case !c.Feasible && (x != c.Max || p != 0): // the reference falls back to the fastest one; we to the largest
			t.Errorf("case %d: scale-out %d with probability %g, expected %d", i, x, p, c.Max)
		}
	}
}

func TestSelectNeverPicksTheBestOfTheInfeasible(t *testing.T) {
	p := map[int]float64{1: .7, 2: .1, 3: .2}
	x, best, ok := predict.Select(1, 3, .9, func(x int) float64 { return p[x] })
	if x != 3 || best != .2 || ok {
		t.Errorf("%d with %g, feasible %t", x, best, ok)
	}
	if x, best, ok := predict.Select(1, 3, .7, func(x int) float64 { return p[x] }); x != 1 || best != .7 || !ok {
		t.Errorf("%d with %g, feasible %t", x, best, ok)
	}
}

func TestBootstrapGolden(t *testing.T) {
	var g struct {
		Cases []struct {
			Min    int     `json:"min"`
			Max    int     `json:"max"`
			Target float64 `json:"target"`
			Steps  []struct {
				Run      int     `json:"run"`
				ScaleOut int     `json:"scale_out"`
				Runtime  float64 `json:"runtime"`
			} `json:"steps"`
		} `json:"cases"`
	}
	golden(t, "bootstrap.json", &g)
	if len(g.Cases) < 10 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for i, c := range g.Cases {
		var first []dovetail.Stretch
		for _, s := range c.Steps {
			if x := predict.Bootstrap(first, c.Min, c.Max, c.Target); x != s.ScaleOut {
				t.Errorf("case %d, run %d: scale-out %d, expected %d", i, s.Run, x, s.ScaleOut)
			}
			first = append(first, dovetail.Stretch{ScaleOut: s.ScaleOut, Seconds: s.Runtime})
		}
	}
}

func TestBootstrapKeepsToItsRange(t *testing.T) {
	// Runs that were made elsewhere, at scale-outs that this application cannot have.
	for n := range predict.Few {
		var first []dovetail.Stretch
		for i := range n {
			first = append(first, dovetail.Stretch{ScaleOut: 40 + i, Seconds: 100})
		}
		if x := predict.Bootstrap(first, 2, 8, 50); x < 2 || x > 8 {
			t.Errorf("after %d runs: scale-out %d", n, x)
		}
	}
}
