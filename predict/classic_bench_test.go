package predict

import (
	"math"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// manyRuns is 200 runs at 24 scale-outs beside one neighbour.
func manyRuns() []Sample {
	var runs []Sample
	for i := range 200 {
		x, ov := float64(1+i%24), float64(i*37%101)/100
		noise := 1 + 0.03*math.Sin(float64(i*i))
		runs = append(runs, Sample{
			ScaleOut: x, Runtime: (40 + 900/x + 3*x) * (1 + (0.5+0.7/x)*ov) * noise,
			Overlaps: []dovetail.Overlap{{Class: "k", Ratio: ov}},
		})
	}
	return runs
}

// BenchmarkClassic fits 200 runs and predicts at 24 scale-outs.
func BenchmarkClassic(b *testing.B) {
	samples := manyRuns()
	for _, m := range []Method{ernest(), bell(), cobell(), cobellNP()} {
		b.Run(m.Name, func(b *testing.B) {
			for b.Loop() {
				model, err := m.Fit(samples, Options{})
				if err != nil {
					b.Fatal(err)
				}
				for x := range 24 {
					model.Predict(At{ScaleOut: float64(1 + x), Overlaps: samples[1].Overlaps})
				}
			}
		})
	}
}
