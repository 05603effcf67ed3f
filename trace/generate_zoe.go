package trace

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Zoe's simulated cluster (seed 004 §10.1): 100 machines of 32 cores and 128 GB.
const (
	zoeMachines   = 100
	zoeCores      = 32_000        // millicores of a machine
	zoeMemory     = 128 << 30     // bytes of a machine
	zoeWorkLimit  = 16 * time.Hour // see zoeDraw.batch
	zoeSource     = "seed 004 §10.1"
	zoeBurst      = 0.6
	zoeBurstGap   = 4 * time.Second
	zoePause      = 150 * time.Second
	zoePauseSigma = 0.9
)

// zoe is the simulated workload of Zoe's evaluation with interactive applications (seed 004 §10.5).
func zoe() Generator {
	return Generator{
		Name: "zoe", Default: 80_000,
		Doc:      "Zoe's simulated workload: 80 % batch, of which 80 % elastic and 20 % rigid, and 20 % interactive",
		Generate: func(seed uint64, n int) []Job { return zoeJobs(seed, n, everything) },
	}
}

// zoeBatch is the same without the interactive applications, as in seed 004 §10.2 and §10.3.
func zoeBatch() Generator {
	return Generator{
		Name: "zoe-batch", Default: 64_000,
		Doc:      "the batch applications of zoe, at the same times",
		Generate: func(seed uint64, n int) []Job { return zoeJobs(seed, n, batchOnly) },
	}
}

// zoeInelastic is zoeBatch where every component is core, as in seed 004 §10.4.
func zoeInelastic() Generator {
	return Generator{
		Name: "zoe-inelastic", Default: 64_000,
		Doc:      "the batch applications of zoe with all of their components core",
		Generate: func(seed uint64, n int) []Job { return zoeJobs(seed, n, inelastic) },
	}
}

// zoeVariant says what of Zoe's workload is wanted.
type zoeVariant int

const (
	everything zoeVariant = iota
	batchOnly
	inelastic
)

// zoeDraw draws Zoe's applications.
type zoeDraw struct {
	kinds, counts, shapes, runtimes *rand.Rand
	apps                            apps
}

func zoeJobs(seed uint64, n int, v zoeVariant) []Job {
	arrivals := stream(seed, "arrivals")
	next := Bursts(zoeBurst, zoeBurstGap, zoePause, zoePauseSigma)
	d := zoeDraw{
		kinds: stream(seed, "kinds"), counts: stream(seed, "counts"), shapes: stream(seed, "shapes"), runtimes: stream(seed, "runtimes"),
		apps: newApps(),
	}
	jobs := make([]Job, 0, n)
	for at := time.Duration(0); len(jobs) < n; at = next(arrivals, at) {
		s := d.application()
		switch {
		case v != everything && s.kind == dovetail.Interactive:
			continue
		case v == inelastic:
			s.core, s.name = s.full, "batch-inelastic"
		}
		jobs = append(jobs, Job{ID: int64(len(jobs) + 1), Submit: at, Runtime: s.runtime, App: d.apps.of(&s)})
	}
	return jobs
}

// application draws the next application.
func (d *zoeDraw) application() shape {
	switch u := d.kinds.Float64(); {
	case u < 0.2:
		return d.interactive()
	case u < 0.2+0.8*0.2:
		s := d.batch()
		s.name, s.core = "batch-rigid", s.full
		return s
	default:
		s := d.batch()
		s.name, s.core = "batch-elastic", 1+d.counts.IntN(min(4, s.full-1))
		return s
	}
}

func (d *zoeDraw) batch() shape {
	s := shape{kind: dovetail.Batch, full: int(quantile(zoeBatchComponents(), d.counts.Float64()))}
	d.fit(&s)
	for {
		s.runtime = millis(quantile(zoeBatchRuntimes(), d.runtimes.Float64()))
		if float64(share(&s)*s.runtime.Seconds()) <= zoeWorkLimit.Seconds() {
			return s
		}
	}
}

func (d *zoeDraw) interactive() shape {
	s := shape{name: "interactive", kind: dovetail.Interactive, core: 1 + d.counts.IntN(4)}
	s.full = s.core + int(quantile(zoeInteractiveElastic(), d.counts.Float64()))
	d.fit(&s)
	s.runtime = millis(quantile(zoeInteractiveRuntimes(), d.runtimes.Float64()))
	return s
}

// fit draws what one replica needs, again until all of them fit the cluster.
func (d *zoeDraw) fit(s *shape) {
	node := dovetail.Resources{dovetail.CPU: zoeCores, dovetail.Memory: zoeMemory}
	for {
		a := d.shapes.NormFloat64()
		b := float64(zoeCorrelation*a) + float64(math.Sqrt(1-zoeCorrelation*zoeCorrelation)*d.shapes.NormFloat64())
		s.each[dovetail.CPU] = int64(quantile(zoeCPU(), normalCDF(a)))
		s.each[dovetail.Memory] = int64(quantile(zoeMiB(), normalCDF(b))) << 20
		if s.full <= zoeMachines*s.each.Count(node, s.full) {
			return
		}
	}
}

// share returns the largest share of the cluster that all replicas take.
func share(s *shape) float64 {
	return float64(s.full) * max(float64(s.each[dovetail.CPU])/(zoeMachines*zoeCores), float64(s.each[dovetail.Memory])/(zoeMachines*zoeMemory))
}

const zoeCorrelation = 0.63

func zoeBatchComponents() []point {
	return []point{{0, 3}, {0.1, 3}, {0.25, 4}, {0.5, 10}, {0.75, 50}, {0.9, 204}, {0.95, 351}, {0.99, 2010}, {0.999, 5000}, {1, 20_010}}
}

func zoeInteractiveElastic() []point {
	return []point{{0, 1}, {0.5, 5}, {0.9, 40}, {0.99, 200}, {1, 300}}
}

func zoeBatchRuntimes() []point {
	return []point{{0, 30}, {0.05, 65}, {0.1, 78}, {0.25, 257}, {0.5, 1114}, {0.75, 2985}, {0.9, 10_900}, {0.95, 24_800}, {0.99, 183_000}, {1, 2_400_000}}
}

func zoeInteractiveRuntimes() []point {
	return []point{{0, 600}, {0.5, 10_800}, {0.9, 43_200}, {0.99, 259_200}, {1, 1_209_600}}
}

func zoeCPU() []point {
	return []point{{0, 10}, {0.25, 12}, {0.5, 105}, {0.75, 511}, {0.9, 1209}, {0.95, 1780}, {0.99, 4231}, {1, 6000}}
}

func zoeMiB() []point {
	return []point{{0, 4}, {0.05, 15}, {0.1, 24}, {0.25, 75}, {0.5, 293}, {0.75, 1174}, {0.9, 3484}, {0.95, 5540}, {0.99, 9284}, {1, 36_864}}
}
