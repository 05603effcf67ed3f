package predict_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// golden reads reference figures, which are not shipped with the code: without them the test is skipped.
func golden(t *testing.T, name string, into any) {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", "goldens", name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the reference figures %s are not here", path)
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOverlappingGolden(t *testing.T) {
	var g struct {
		Tolerance float64 `json:"rel_tol"`
		Cases     []struct {
			F0      float64 `json:"f0"`
			Alpha   float64 `json:"alpha"`
			Elapsed float64 `json:"elapsed"`
			C       float64 `json:"C"`
			Total   float64 `json:"r_star"`
			Overlap float64 `json:"overlap"`
			Ratio   float64 `json:"ov"`
		} `json:"cases"`
	}
	golden(t, "algorithm1.json", &g)
	if len(g.Cases) < 50 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for _, c := range g.Cases {
		overlap, total := predict.Overlapping(c.F0, c.Alpha, c.Elapsed, c.C)
		near(t, "total", total, c.Total, g.Tolerance)
		if math.Abs(overlap-c.Overlap) > g.Tolerance*c.Total { // it is the difference of two times that may be nearly the same
			t.Errorf("%+v: overlap %g", c, overlap)
		}
		if math.Abs(overlap/c.C-c.Ratio) > g.Tolerance*c.Total/c.C {
			t.Errorf("%+v: ratio %g", c, overlap/c.C)
		}
	}
}

// The closed form is what the iteration of Algorithm 1 converges to.
func TestOverlappingIsWhereTheIterationEnds(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	between := func(low, high float64) float64 { return low * math.Exp(draw.Float64()*math.Log(high/low)) }
	for range 20_000 {
		f0, alpha, target := between(1, 10_000), between(.001, 100), between(.1, 10_000)
		elapsed := draw.Float64() * 1.2 * f0
		if draw.IntN(10) == 0 {
			alpha = 0
		}
		r, step := f0, math.Inf(1)
		for n := 0; n < 20_000 && math.Abs(step) > 1e-13*r; n++ {
			next := f0 * (1 + alpha*min(max(r-elapsed, 0), target)/r)
			r, step = next, next-r
		}
		overlap, total := predict.Overlapping(f0, alpha, elapsed, target)
		if math.Abs(total-r) > 1e-8*r || math.Abs(overlap-min(max(r-elapsed, 0), target)) > 1e-8*r {
			t.Fatalf("f0 %g, alpha %g, elapsed %g, target %g: total %.12g, by iteration %.12g (last step %g)", f0, alpha, elapsed, target, total, r, step)
		}
		if ratio := overlap / target; ratio < 0 || ratio > 1 {
			t.Fatalf("ratio %g", ratio)
		}
	}
}

func TestLasting(t *testing.T) {
	d := lognormal{100, .2}
	near(t, "has just begun", predict.Lasting(d, 0, .5), 100, 1e-12)
	// Given that it is not among the 84.13 % that end within one standard deviation above the median, half of the others end by 92.07 %.
	near(t, "is overdue", predict.Lasting(d, 100*math.Exp(.2), .5), d.Quantile(1-d2/2), 1e-9)
	near(t, "should long have ended", predict.Lasting(d, 1e9, .5), 1.05e9, 1e-12)
	near(t, "with more confidence", predict.Lasting(d, 0, .9), d.Quantile(.9), 1e-9)
	near(t, "without a spread", predict.Lasting(predict.Exactly(100), 40, .5), 100, 0)
	near(t, "without a spread, overdue", predict.Lasting(predict.Exactly(100), 200, .5), 210, 1e-12)
}

const d2 = 0.15865525393145707 // of a normal distribution that is more than one standard deviation above the mean

func TestRatio(t *testing.T) {
	o := outlook(power{exponent: 1, beside: map[string]float64{"j": .5}}, []int{1, 2, 4}, "j")
	overlap, _ := predict.Overlapping(250, .5, 100, 350)
	near(t, "as Algorithm 1 says", predict.Ratio(o, 1, 4, 100, "j", 350), overlap/350, 1e-12)
	near(t, "beside one that does not slow it down", predict.Ratio(o, 1, 4, 100, "k", 350), 150./350, 1e-12)
	near(t, "with twice the input", predict.Ratio(o, 2, 4, 100, "k", 350), 1, 1e-12)
	near(t, "overdue: as long again as it must last by now", predict.Ratio(o, 1, 4, 300, "k", 350), 15./350, 1e-9)
	near(t, "nothing is known", predict.Ratio(nil, 1, 4, 300, "k", 350), 1, 0)
	near(t, "nothing is known yet", predict.Ratio(&dovetail.Outlook{}, 1, 4, 300, "k", 350), 1, 0)
}
