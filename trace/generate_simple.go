package trace

import (
	"math"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// The simple workloads differ in their arrivals only. Their jobs have 1 to 4 core and 0 to 12 elastic replicas, each number
// equally likely, of one cpu and 2 GiB, and an exponential runtime with a mean of ten minutes. With all replicas a job holds
// 8.5 cpus on average, so at a mean gap of a minute the mean demand is 85 cpus. Nothing about them is fitted: they are for
// questions to which theory, or a simple argument, knows the answer.
const (
	simpleGap       = time.Minute
	simpleDeviation = 20 * time.Second
	simpleSwing     = 0.8
	simplePeak      = 14 * time.Hour
	simpleRuntime   = 10 * time.Minute
	simpleCore      = 4
	simpleElastic   = 12
	simpleSource    = "by construction"
)

func poisson() Generator {
	return simple("poisson", "simple jobs that arrive at random, one a minute on average", Poisson(simpleGap),
		Marginal{"deviation of the gaps, to their mean", "1", 0.95, 1.05, "", simpleSource, gapVariation})
}

func gaussian() Generator {
	return simple("gaussian", "simple jobs, one a minute with a standard deviation of 20 seconds", Gaussian(simpleGap, simpleDeviation),
		Marginal{"deviation of the gaps, to their mean", "1/3", 0.31, 0.35, "", simpleSource, gapVariation})
}

func diurnal() Generator {
	return simple("diurnal", "simple jobs that follow the day: nine times as many at 14:00 as at 02:00", Diurnal(simpleGap, simpleSwing, simplePeak),
		Marginal{"submitted in the twelve hours around 14:00", "75.5 %", 0.73, 0.78, "", simpleSource, peakShare})
}

// simple makes a generator of simple jobs, a week of them by default, that checks its arrivals by one figure.
func simple(name, doc string, next Arrivals, check Marginal) Generator {
	return Generator{
		Name: name, Doc: doc, Default: int(7 * day / simpleGap),
		Generate: func(seed uint64, n int) []Job { return simpleJobs(seed, n, name, next) },
		Published: []Marginal{
			{"mean gap between arrivals", "60 s", 56, 64, "s", simpleSource, meanGap},
			check,
			{"mean runtime", "600 s", 570, 630, "s", simpleSource, func(jobs []Job) float64 { return mean(valuesOf(jobs, runtimeOf)) }},
			{"replicas of a job, on average", "8.5", 8.3, 8.7, "", simpleSource, func(jobs []Job) float64 { return mean(valuesOf(jobs, fullOf)) }},
		},
	}
}

func simpleJobs(seed uint64, n int, name string, next Arrivals) []Job {
	arrivals, counts, runtimes := stream(seed, "arrivals"), stream(seed, "counts"), stream(seed, "runtimes")
	made := newApps()
	jobs := make([]Job, n)
	at := time.Duration(0)
	for i := range jobs {
		at = next(arrivals, at)
		s := shape{
			name: name, kind: dovetail.Batch, core: 1 + counts.IntN(simpleCore),
			each:    dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 2 << 30},
			runtime: millis(simpleRuntime.Seconds() * runtimes.ExpFloat64()),
		}
		s.full = s.core + counts.IntN(simpleElastic+1)
		jobs[i] = Job{ID: int64(i + 1), Submit: at, Runtime: s.runtime, App: made.of(&s)}
	}
	return jobs
}

// peakShare measures the share of jobs that are submitted in the twelve hours around simplePeak.
func peakShare(jobs []Job) float64 {
	return ratio(jobs, anyJob, func(j *Job) bool {
		return math.Abs(float64(j.Submit%day-simplePeak)) < float64(day/4)
	})
}
