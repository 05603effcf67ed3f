package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noisyRuns makes runs of a curve of Ernest's, at scale-outs from 4 to 24, with normal noise in the logarithm.
func noisyRuns(n int, noise float64, seed uint64) (samples []Sample, truth func(x float64) float64) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	level, work, spread, each := 50+150*r.Float64(), 500+2000*r.Float64(), 20*r.Float64(), 4*r.Float64()
	truth = func(x float64) float64 { return level + work/x + spread*math.Log(x) + each*x }
	for range n {
		x := float64(4 + r.IntN(21))
		samples = append(samples, Sample{ScaleOut: x, Runtime: truth(x) * math.Exp(noise*r.NormFloat64())})
	}
	return samples, truth
}

// TestBayesNoise asks how many new runs lie between the quantiles 0.1 and 0.9.
func TestBayesNoise(t *testing.T) {
	normal := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	for _, tc := range []struct {
		runs      int
		noise     float64
		low, high float64
	}{
		{20, 0.01, 0.7, 0.88},
		{20, 0.1, 0.65, 0.85},
		{20, 0.4, 0.6, 0.85},
		{100, 0.01, 0.76, 0.84},
		{100, 0.025, 0.76, 0.84}, // each but the first and the last between two values of the specified prior
		{100, 0.06, 0.76, 0.84},
		{100, 0.15, 0.76, 0.84},
		{100, 0.4, 0.76, 0.84},
	} {
		within, n := 0.0, 0.0
		for seed := range 20 {
			samples, truth := noisyRuns(tc.runs, tc.noise, uint64(seed))
			m := mustFit(t, bayesErnest(), samples)
			for x := 5.0; x <= 23; x += 3 {
				d := m.Predict(At{ScaleOut: x})
				within += normal(math.Log(d.Quantile(.9)/truth(x))/tc.noise) - normal(math.Log(d.Quantile(.1)/truth(x))/tc.noise)
				n++
			}
		}
		if within /= n; within < tc.low || within > tc.high {
			t.Errorf("%d runs, noise %g: %.1f %% of new runs are between the quantiles, want %g to %g", tc.runs, tc.noise, 100*within, tc.low, tc.high)
		}
	}
}

// TestBayesVaries takes no run for wild where all vary much, and those that are.
func TestBayesVaries(t *testing.T) {
	for _, n := range []int{8, 12, 30, 100} {
		samples, _ := noisyRuns(n, 0.4, 7)
		if notes := mustFit(t, bayesErnest(), samples).Report().Notes; len(notes) > 0 {
			t.Errorf("%d runs: %v", n, notes)
		}
		samples, _ = noisyRuns(n, 0.04, 7)
		for i := range n / 5 {
			samples[i].Runtime *= 3
		}
		if notes := mustFit(t, bayesErnest(), samples).Report().Notes; len(notes) != n/5 {
			t.Errorf("%d runs, %d of them wild: %v", n, n/5, notes)
		}
	}
}

// TestBayesNoiseSteps compares noises that are weighed where they matter with even and fine steps.
func TestBayesNoiseSteps(t *testing.T) {
	even := calibrated()
	even.sigma = even.noise.start(0.005, math.Pow(110, 1.0/600), 601)
	even.noise = nil
	even.drop = 0
	for _, n := range []int{1, 3, 12, 50} {
		for _, noise := range []float64{0.001, 0.03, 0.4} {
			samples, _ := noisyRuns(n, noise, 3)
			rows := (&bayesModel{samples: samples}).rows()
			none := gridSettings(even, 0, nil)
			some, err := newPosterior(calibrated(), newBayesRows(slices.Clone(rows)), none)
			if err != nil {
				t.Fatal(err)
			}
			all, err := newPosterior(even, newBayesRows(rows), none)
			if err != nil {
				t.Fatal(err)
			}
			if len(some.blocks) > 3*60 {
				t.Errorf("%d runs, noise %g: %d blocks", n, noise, len(some.blocks))
			}
			if math.Abs(some.evidence-all.evidence) > 0.12 {
				t.Errorf("%d runs, noise %g: log evidence %g, with even steps %g", n, noise, some.evidence, all.evidence)
			}
			for _, x := range []float64{4, 13, 24, 40} {
				for _, p := range []float64{.05, .1, .5, .9, .95} {
					if got := all.whole(x, nil).AtMost(some.whole(x, nil).Quantile(p)); math.Abs(got-p) > 0.005 {
						t.Errorf("%d runs, noise %g: quantile %g at %g is with even steps that of %g", n, noise, p, x, got)
					}
				}
			}
		}
	}
}

// TestBayesDoubtful tries every run as the wild one, and looks for those with a say that are not held for doubtful.
func TestBayesDoubtful(t *testing.T) {
	prior := calibrated()
	none := gridSettings(prior, 0, nil)
	for seed := range 40 {
		samples, _ := noisyRuns(4+seed%9, []float64{0.01, 0.05, 0.2}[seed%3], uint64(seed))
		if seed%2 == 0 {
			samples[2].Runtime *= 1.5 + float64(seed%4)
		}
		data := newBayesRows((&bayesModel{samples: samples}).rows())
		p, err := newPosterior(prior, data, none)
		if err != nil {
			t.Fatal(err)
		}
		b := belief{{p.evidence, p}}
		for i := range data.rows {
			other, err := newPosterior(prior, data.wild(prior.wild.noise, i), none)
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, answer{other.evidence + prior.wild.odds(), other})
		}
		doubtful := p.doubtful()
		for i, probability := range b.probabilities()[1:] {
			if probability > 0.02 && !slices.Contains(doubtful, i) {
				t.Errorf("seed %d: run %d of %d is wild with probability %.3f, but not held for doubtful", seed, i, len(samples), probability)
			}
		}
	}
}
