package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// besideRuns makes runs whose runtimes follow CoBell with noise of a standard deviation of 3 %.
func besideRuns(n int, classes ...string) []Sample {
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]Sample, n)
	for i := range samples {
		x := float64(4 + r.IntN(21))
		slow := 1.0
		s := Sample{ScaleOut: x}
		for _, class := range classes {
			o := min(max(2*r.Float64()-0.5, 0), 1)
			slow += (0.46 + 0.66/x) * o
			s.Overlaps = append(s.Overlaps, dovetail.Overlap{Class: class, Ratio: o})
		}
		s.Runtime = (113.5 + 1513.5/x + 2.875*x) * slow * math.Exp(0.03*r.NormFloat64())
		samples[i] = s
	}
	return samples
}

func BenchmarkBayes(b *testing.B) {
	b.Run("ernest", func(b *testing.B) { benchmarkBayes(b, bayesErnest(), besideRuns(200)) })
	b.Run("cobell", func(b *testing.B) { benchmarkBayes(b, bayesCoBell(), besideRuns(200, "wordcount")) })
	b.Run("cobell-wild", func(b *testing.B) {
		samples := besideRuns(200, "wordcount")
		for i := 0; i < len(samples); i += 20 {
			samples[i].Runtime *= 1.8
		}
		benchmarkBayes(b, bayesCoBell(), samples)
	})
	b.Run("cobell-few", func(b *testing.B) { benchmarkBayes(b, bayesCoBell(), besideRuns(12, "wordcount")) })
	b.Run("two-classes", func(b *testing.B) { benchmarkBayes(b, bayesCoBell(), besideRuns(200, "grep", "wordcount")) })
}

// benchmarkBayes fits, and predicts median and probability at 24 scale-outs.
func benchmarkBayes(b *testing.B, method Method, samples []Sample) {
	b.Helper()
	for b.Loop() {
		m, err := method.Fit(samples, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for x := range 24 {
			d := m.Predict(At{ScaleOut: float64(x + 1), Overlaps: samples[0].Overlaps})
			d.Quantile(0.5)
			d.AtMost(350)
		}
	}
}
