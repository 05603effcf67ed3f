package trace

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
)

func zoe() Generator {
	return Generator{Name: "zoe", Doc: "Zoe's simulated workload (seed 004 §10.1), batch and interactive", Default: 80000, Generate: zoeJobs}
}

func zoeJobs(seed uint64, n int) []Job {
	arrivals, kinds := stream(seed, "arrivals"), stream(seed, "kinds")
	sizes, runtimes := stream(seed, "sizes"), stream(seed, "runtimes")
	next := Bursts(0.6, 4*time.Second, 150*time.Second, 0.9)
	jobs := make([]Job, n)
	at := time.Duration(0)
	for i := range jobs {
		at = next(arrivals, at)
		kind, core, elastic := dovetail.Batch, 1, 0
		median, sigma, name := 400.0, 1.8, "batch-elastic"
		switch u := kinds.Float64(); {
		case u < 0.2:
			kind, name = dovetail.Interactive, "interactive"
			core, elastic = 1+sizes.IntN(4), logUniform(sizes, 1, 300)
			median, sigma = 7200, 1.2
		case u < 0.2+0.8*0.2:
			core, name = logUniform(sizes, 3, 1000), "batch-rigid"
		default:
			core, elastic = 1+sizes.IntN(4), logUniform(sizes, 3, 1000)
		}
		runtime := micros(min(max(median*math.Exp(sigma*runtimes.NormFloat64()), 30), 1.8e6))
		jobs[i] = Job{ID: int64(i + 1), Submit: at, Runtime: runtime, App: &dovetail.Application{
			APIVersion: dovetail.APIVersion, Name: name, Kind: kind, Expected: dovetail.Duration(runtime),
			Components: []dovetail.Component{{
				Name: "worker", Count: core, Max: core + elastic,
				Resources: dovetail.Resources{dovetail.CPU: 100 + 50*sizes.Int64N(30), dovetail.Memory: (64 + 64*sizes.Int64N(50)) << 20},
			}},
		}}
	}
	return jobs
}

func logUniform(rng *rand.Rand, low, high float64) int {
	return int(low * math.Pow(high/low, rng.Float64()))
}
