package trace

import (
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// The workload of Zoe's testbed (seed 004 §11): 100 applications, 80 % elastic and 20 % rigid, on ten servers of 32 cores and
// 128 GB. Gaps between submissions are Gaussian with a mean of 60 s and a standard deviation of 40 s; negative ones are drawn
// again: the mean of the others is 65.6 s, and the last submission comes after about 108 minutes. The seed says "about 3 hours from the
// first submission to the last", which its own parameters contradict. The workload follows the gaps, and the comparison says that
// the span differs.
//
// Not published, and therefore ours: the core components of Spark are like its elastic ones; a TensorFlow worker uses 4
// cores, the share of a server that goes with 16 GB; use cases of one framework are equally likely; and the runtimes, which
// keep the testbed busy: with FIFO a queue builds up, and the last application ends after three hours with the flexible
// allocator, and after four with the rigid one.
const (
	testbedSource    = "seed 004 §11"
	testbedElastic   = 0.8
	testbedGap       = 60 * time.Second
	testbedDeviation = 40 * time.Second
	testbedVariation = 0.2 // standard deviation of runtimes by their mean
)

// testbedCase is one use case of the testbed.
type testbedCase struct {
	name       string
	core, full int
	cpu        int64 // cores of a component
	memory     int64 // GiB of a component
	runtime    time.Duration
}

func testbedElasticCases() []testbedCase {
	return []testbedCase{
		{"spark-forest", 3, 35, 1, 16, 8 * time.Minute},
		{"spark-forest", 3, 35, 1, 8, 8 * time.Minute},
		{"spark-als", 3, 27, 6, 16, 4 * time.Minute},
		{"spark-als", 3, 27, 6, 8, 4 * time.Minute},
	}
}

func testbedRigidCases() []testbedCase {
	return []testbedCase{
		{"tensorflow-single", 1, 1, 4, 16, 12 * time.Minute},
		{"tensorflow-distributed", 15, 15, 4, 16, 8 * time.Minute}, // 10 workers and 5 parameter servers
	}
}

func zoeTestbed() Generator {
	return Generator{
		Name: "zoe-testbed", Default: 100,
		Doc:      "the workload of Zoe's testbed of ten servers: Spark and TensorFlow",
		Generate: testbedJobs,
		Published: []Marginal{
			{"applications with elastic components", "80 %", 0.7, 0.9, "", testbedSource, elasticShare},
			{"mean gap between arrivals", "60 s; without negative ones 65.6 s", 54, 78, "s", testbedSource, meanGap},
			{"from the first submission to the last", "about 3 hours", 9000, 12_600, "s", testbedSource, spanOf},
			{"most components of an application", "35", 35, 35, "", testbedSource, extreme(most, fullOf)},
			{"most cpu of a component", "6 cores", 6, 6, "cores", testbedSource, extreme(most, cpuOf)},
			{"most memory of a component", "16 GB", 16 << 10, 16 << 10, "MiB", testbedSource, extreme(most, memoryOf)},
		},
		Notes: []string{
			"Seed 004 §11 contradicts itself: 100 applications with gaps of 60 s on average do not take about 3 hours from the first submission to the last, " +
				"but 99 minutes, or 108 when negative gaps are drawn again. The workload follows the gaps, so that its span differs.",
		},
	}
}

func testbedJobs(seed uint64, n int) []Job {
	kinds, runtimes, arrivals := stream(seed, "kinds"), stream(seed, "runtimes"), stream(seed, "arrivals")
	next, made := Gaussian(testbedGap, testbedDeviation), newApps()
	jobs := make([]Job, n)
	at := time.Duration(0)
	for i := range jobs {
		c := testbedDraw(kinds)
		mean := c.runtime.Seconds()
		s := shape{
			name: c.name, kind: dovetail.Batch, core: c.core, full: c.full,
			each:    dovetail.Resources{dovetail.CPU: c.cpu * 1000, dovetail.Memory: c.memory << 30},
			runtime: millis(positiveNormal(runtimes, mean, float64(testbedVariation*mean))),
		}
		jobs[i] = Job{ID: int64(i + 1), Submit: at, Runtime: s.runtime, App: made.of(&s)}
		at = next(arrivals, at)
	}
	return jobs
}

func testbedDraw(kinds *rand.Rand) testbedCase {
	elastic, which := kinds.Float64() < testbedElastic, kinds.IntN(4)
	if elastic {
		return testbedElasticCases()[which]
	}
	return testbedRigidCases()[which%2]
}
