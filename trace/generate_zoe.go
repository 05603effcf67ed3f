package trace

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Zoe's simulated workload (seed 004 §10.1). Published and followed to the letter: 80,000 applications, 80 % batch and 20 %
// interactive, batch 80 % elastic and 20 % rigid; the ranges of components, resources and runtimes; bimodal gaps between
// arrivals; a cluster of 100 machines of 32 cores and 128 GB; roughly three months for each run.
//
// The shapes in between are sampled from the traces of Google 2011, as in the seed. Its figure 3 is a picture, so they are
// fitted to what is known of those traces: the shapes of 4,058 running jobs (counts of tasks, cpu and memory of one), and
// the runtimes of a thousand applications that were derived from them.
//
// Not published, and therefore our calibration: the load, the largest share of the cluster that one application asks for,
// the most work that one application is, the two modes of the gaps, and most about interactive applications. They were chosen
// such that the seed's regime holds for zoe-batch on its cluster: mean turnaround of some 10⁶ s with FIFO and the rigid
// allocator (Table 10.4a: 1.3·10⁶), about half of that with the flexible one (§10.2), and some 10⁴ s with SJF-2D, less with
// SJF-3D (Table 10.3b: 38,000 and 33,000). That takes more work than the cluster can do while applications arrive, in the
// first 60 days, and a month more to do the rest; over three months the work of zoe is about nine tenths of what it can do.
//
// Fewer jobs are the beginning of this: the same arrivals and shapes, but a queue takes time to build up. Few applications
// are most of the work, so the load of a thousand jobs may be half of the usual, or twice. Comparisons want 20,000 or more.
const (
	zoeSource   = "seed 004 §10.1"
	zoeMachines = 100
	zoeCores    = 32_000    // millicores of a machine
	zoeMemory   = 128 << 30 // bytes of a machine

	zoeInteractive = 0.2 // of all applications
	zoeRigid       = 0.2 // of the batch applications
	zoeMostCore    = 4   // most core components of an elastic application: a client, a master and the first workers

	zoeBurst    = 0.6               // of all gaps are short
	zoeShortGap = 3 * time.Second   // median
	zoeLongGap  = 122 * time.Second // median; the mean of all gaps is 64.7 s, so that 80,000 take 60 days
	zoeSpread   = 0.7               // standard deviation of the logarithm of either

	zoeLargest  = 0.5            // of the cluster, asked for by one application: a rigid one must be able to start
	zoeMostWork = 48 * time.Hour // of the whole cluster, for one application
	zoeLikeness = 0.63           // correlation of the logarithms of cpu and memory of one task
)

// zoe is the workload of seed 004 §10.5.
func zoe() Generator {
	return Generator{
		Name: "zoe", Default: 80_000,
		Doc:       "Zoe's simulated workload: batch applications, elastic and rigid, and interactive ones",
		Generate:  func(seed uint64, n int) []Job { return zoeJobs(seed, n, everything) },
		Published: append(zoeBatchMarginals(), zoeMixMarginals()...),
	}
}

// zoeBatch is the workload of seed 004 §10.2 and §10.3, which omit the interactive applications.
func zoeBatch() Generator {
	return Generator{
		Name: "zoe-batch", Default: 64_000,
		Doc:       "the batch applications of zoe, at the same times",
		Generate:  func(seed uint64, n int) []Job { return zoeJobs(seed, n, batchOnly) },
		Published: zoeBatchMarginals(),
	}
}

// zoeInelastic is the workload of seed 004 §10.4: that of zoeBatch where every component is core.
func zoeInelastic() Generator {
	return Generator{
		Name: "zoe-inelastic", Default: 64_000,
		Doc:      "the batch applications of zoe with all of their components core",
		Generate: func(seed uint64, n int) []Job { return zoeJobs(seed, n, inelastic) },
		Published: []Marginal{
			{Name: "applications with elastic components", Published: "none", Source: "seed 004 §10.4", Measure: elasticShare},
			zoeLoad(),
		},
	}
}

// zoeVariant says what of Zoe's workload is wanted.
type zoeVariant int

const (
	everything zoeVariant = iota
	batchOnly
	inelastic
)

// zoeJobs draws the first n applications. The variants skip and change applications after they were drawn, so that the same
// seed gives the same applications in all of them.
func zoeJobs(seed uint64, n int, v zoeVariant) []Job {
	d := zoeDraw{
		kinds: stream(seed, "kinds"), counts: stream(seed, "counts"), needs: stream(seed, "needs"), runtimes: stream(seed, "runtimes"),
	}
	arrivals, next := stream(seed, "arrivals"), Bursts(zoeBurst, zoeShortGap, zoeLongGap, zoeSpread)
	made := newApps()
	jobs := make([]Job, 0, n)
	for at := next(arrivals, 0); len(jobs) < n; at = next(arrivals, at) {
		s := d.application()
		switch {
		case v != everything && s.kind == dovetail.Interactive:
			continue
		case v == inelastic:
			s.core, s.name = s.full, "batch-inelastic"
		}
		jobs = append(jobs, Job{ID: int64(len(jobs) + 1), Submit: at, Runtime: s.runtime, App: made.of(&s)})
	}
	return jobs
}

// zoeDraw draws Zoe's applications, each aspect from its own random numbers.
type zoeDraw struct{ kinds, counts, needs, runtimes *rand.Rand }

// application draws the next application.
func (d *zoeDraw) application() shape {
	kind, rigid := d.kinds.Float64(), d.kinds.Float64()
	count, core := d.counts.Float64(), d.counts.IntN(zoeMostCore)
	if kind < zoeInteractive {
		s := shape{name: "interactive", kind: dovetail.Interactive, core: 1 + core}
		s.full = s.core + int(quantile(zoeInteractiveElastic(), count))
		d.fit(&s, zoeInteractiveRuntimes())
		return s
	}
	s := shape{name: "batch-elastic", kind: dovetail.Batch, full: int(quantile(zoeBatchComponents(), count))}
	s.core = min(1+core, s.full-1)
	if rigid < zoeRigid {
		s.name, s.core = "batch-rigid", s.full
	}
	d.fit(&s, zoeBatchRuntimes())
	return s
}

// fit draws what one replica needs, again until all replicas fit the cluster next to as many others, and then the runtime,
// again until the work is not too much.
func (d *zoeDraw) fit(s *shape, runtimes []point) {
	node := dovetail.Resources{dovetail.CPU: zoeCores, dovetail.Memory: zoeMemory}
	rest := math.Sqrt(1 - float64(zoeLikeness*zoeLikeness))
	for fits := false; !fits; {
		x, y := d.needs.NormFloat64(), d.needs.NormFloat64()
		y = float64(zoeLikeness*x) + float64(rest*y)
		s.each[dovetail.CPU] = int64(quantile(zoeMillicores(), normalCDF(x)))
		s.each[dovetail.Memory] = int64(quantile(zoeMebibytes(), normalCDF(y))) << 20
		fits = zoeShare(s.full, s.each) <= zoeLargest && s.full <= zoeMachines*s.each.Count(node, s.full)
	}
	share := zoeShare(s.full, s.each)
	for fits := false; !fits; {
		s.runtime = millis(quantile(runtimes, d.runtimes.Float64()))
		fits = float64(share*s.runtime.Seconds()) <= zoeMostWork.Seconds()
	}
}

// zoeShare returns the share of Zoe's cluster that n replicas take, of the resource of which they take the largest one.
func zoeShare(n int, each dovetail.Resources) float64 {
	cpu := float64(int64(n)*each[dovetail.CPU]) / (zoeMachines * zoeCores)
	return max(cpu, float64(int64(n)*each[dovetail.Memory])/(zoeMachines*zoeMemory))
}

// zoeBatchComponents is how many components a batch application has: the task counts of those jobs of Google 2011 that have
// at least three, which is the "few to tens of thousands" of seed 004 §10.1.
func zoeBatchComponents() []point {
	return []point{
		{0, 3}, {0.1, 3}, {0.25, 4}, {0.5, 10}, {0.75, 50}, {0.9, 204}, {0.95, 351}, {0.99, 2010}, {0.999, 5000}, {1, 20_010},
	}
}

// zoeInteractiveElastic is how many elastic components an interactive application has: "up to hundreds" (seed 004 §10.1).
func zoeInteractiveElastic() []point {
	return []point{{0, 1}, {0.5, 5}, {0.9, 40}, {0.99, 200}, {1, 300}}
}

// zoeBatchRuntimes is in seconds: the runtimes of the thousand derived applications, from 12 s to a day, stretched on a
// logarithmic scale to the published "few dozen seconds to several weeks", and 12 % longer in between: that sets the load.
func zoeBatchRuntimes() []point {
	return []point{
		{0, 30}, {0.05, 73}, {0.1, 87}, {0.25, 288}, {0.5, 1250}, {0.75, 3340}, {0.9, 12_200}, {0.95, 27_800}, {0.99, 205_000},
		{1, 2_419_200},
	}
}

// zoeInteractiveRuntimes is in seconds: from ten minutes to a week, half of them more than two hours. The seed only says
// that they are "much longer" than those of batch applications (§10.5).
func zoeInteractiveRuntimes() []point {
	return []point{{0, 600}, {0.5, 7200}, {0.9, 28_800}, {0.99, 172_800}, {1, 604_800}}
}

// zoeMillicores is the cpu of one task of Google 2011's jobs with at least three, from 10 millicores, below which nobody
// asks, to the published 6 cores.
func zoeMillicores() []point {
	return []point{{0, 10}, {0.25, 12}, {0.5, 105}, {0.75, 511}, {0.9, 1209}, {0.95, 1780}, {0.99, 4231}, {1, 6000}}
}

// zoeMebibytes is the memory of one task of the same jobs: "few MB to a few dozens GB" (seed 004 §10.1).
func zoeMebibytes() []point {
	return []point{
		{0, 4}, {0.05, 15}, {0.1, 24}, {0.25, 75}, {0.5, 293}, {0.75, 1174}, {0.9, 3484}, {0.95, 5540}, {0.99, 9284}, {1, 36_864},
	}
}

// zoeBatchMarginals are the published figures about batch applications.
func zoeBatchMarginals() []Marginal {
	return []Marginal{
		{"rigid, of the batch applications", "20 %", 0.19, 0.21, "", zoeSource, zoeRigidShare},
		{"gaps between arrivals: bimodality", "bimodal", 5.0 / 9, 1, "", zoeSource, gapBimodality},
		{"fewest components of a batch application", "a few", 2, 5, "", zoeSource, extreme(least, batchOf(fullOf))},
		{"most components of a batch application", "tens of thousands", 1e4, 1e5, "", zoeSource, extreme(most, batchOf(fullOf))},
		{"most cpu of a component", "up to 6 cores", 5, 6, "cores", zoeSource, extreme(most, cpuOf)},
		{"least memory of a component", "few MB", 2, 10, "MiB", zoeSource, extreme(least, memoryOf)},
		{"most memory of a component", "few dozens GB", 24 << 10, 64 << 10, "MiB", zoeSource, extreme(most, memoryOf)},
		{"shortest runtime", "few dozen seconds", 20, 60, "s", zoeSource, extreme(least, runtimeOf)},
		{"longest runtime", "several weeks", 2 * 604_800, 6 * 604_800, "s", zoeSource, extreme(most, runtimeOf)},
		zoeLoad(),
	}
}

// zoeMixMarginals are the published figures about interactive applications.
func zoeMixMarginals() []Marginal {
	return []Marginal{
		{"interactive, of all applications", "20 %", 0.19, 0.21, "", zoeSource, interactiveShare},
		{"most elastic components of an interactive application", "hundreds", 100, 999, "", zoeSource, extreme(most, zoeElasticOf)},
		{"median runtime, interactive to batch", "much longer", 2, 100, "", "seed 004 §10.5", zoeRuntimeRatio},
	}
}

// zoeLoad is the one marginal that is ours.
func zoeLoad() Marginal {
	return Marginal{"work to what the cluster can do while they arrive", "not published", 1.05, 1.55, "", "our calibration", zoeOffered}
}

// zoeOffered returns the work of all jobs, with all of their components, by what Zoe's cluster can do from the first
// submission to the last, for the resource that is needed most.
func zoeOffered(jobs []Job) float64 {
	var cpu, memory float64
	for i := range jobs {
		c := &jobs[i].App.Components[0]
		replicas := float64(c.Limit()) * jobs[i].Runtime.Seconds()
		cpu += float64(replicas * float64(c.Resources[dovetail.CPU]))
		memory += float64(replicas * float64(c.Resources[dovetail.Memory]))
	}
	return max(cpu/(zoeMachines*zoeCores), memory/(zoeMachines*zoeMemory)) / spanOf(jobs)
}

func zoeRigidShare(jobs []Job) float64 {
	return ratio(jobs, func(j *Job) bool { return j.App.Kind == dovetail.Batch }, func(j *Job) bool { return j.Core() == j.Full() })
}

func zoeElasticOf(j *Job) (float64, bool) {
	return float64(j.Full() - j.Core()), j.App.Kind == dovetail.Interactive
}

func zoeRuntimeRatio(jobs []Job) float64 {
	of := func(kind dovetail.Kind) float64 {
		return median(jobs, func(j *Job) (float64, bool) { return j.Runtime.Seconds(), j.App.Kind == kind })
	}
	if batch := of(dovetail.Batch); batch > 0 {
		return of(dovetail.Interactive) / batch
	}
	return 0
}
