package study

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// The second experiment (seed 001, section IV-D): 26 machines; a job K on 24 of them, and after a random delay the job J on 4 to 25,
// which is to take 350 s.
const (
	targetSeconds = 350.0
	targetNodes   = 26
	scaleK        = 24
	lowJ, highJ   = 4, 25
	runsOfPair    = 20
	bootstrapRuns = 6
	priorRuns     = 20   // of K, before
	targetNoise   = 0.03 // deviation of runtimes
	faultShare    = 0.05 // of the runs of J, in the world with faults
	faultFactor   = 1.8  // by which they take longer
	longestDelay  = 1.15 // in runtimes of K: sometimes it is over before J comes
	pairEvery     = 2 * time.Hour
)

// truth is how long jobs really take: what the models are to find out. Runtimes, curves and slowdowns are ours, chosen such that
// the target is mostly feasible; the seed's are not known.
//
// While two runs share nodes both are slowed down at once: the rate of progress is divided by 1 + α·share. This is what the seed's
// equation 3 says of a whole run, and is finer than it: a run that is longer because of its neighbour overlaps more with it.
type truth struct {
	curves map[string][4]float64
	alphas map[[2]string][2]float64 // a and b of (who, beside whom)
}

func cobellTruth() *truth {
	return &truth{
		curves: map[string][4]float64{
			"sgd": {60, 2600, 0, 2}, "cc": {40, 2000, 12, 1},
			"wordcount": {90, 7000, 0, 2}, "pagerank": {50, 5000, 10, 1}, "kmeans": {30, 3600, 5, 1},
		},
		alphas: map[[2]string][2]float64{
			{"sgd", "wordcount"}: {0.40, 1.5}, {"sgd", "pagerank"}: {0.25, 0.8}, {"sgd", "cc"}: {0.35, 1.0}, {"sgd", "kmeans"}: {0.10, 0.3},
			{"cc", "wordcount"}: {0.45, 1.2}, {"cc", "pagerank"}: {0.30, 0.5}, {"cc", "sgd"}: {0.40, 1.0}, {"cc", "kmeans"}: {0.15, 0.2},
			{"wordcount", "sgd"}: {0.25, 0.5}, {"pagerank", "sgd"}: {0.20, 0.5}, {"kmeans", "sgd"}: {0.30, 0.5},
			{"wordcount", "cc"}: {0.20, 0.5}, {"pagerank", "cc"}: {0.25, 0.5}, {"kmeans", "cc"}: {0.35, 0.5},
		},
	}
}

// alone returns the runtime of a class at a scale-out without neighbours, in seconds.
func (t *truth) alone(class string, x float64) float64 {
	theta := t.curves[class]
	return ernest(&theta, x)
}

// alpha returns by how much a class at a scale-out is slowed down by a run of another on all of its nodes.
func (t *truth) alpha(class, beside string, x float64) float64 {
	ab := t.alphas[[2]string{class, beside}]
	return ab[0] + ab[1]/x
}

// unitsOfTruth is the units of work that a job whose runtime is a second does in a microsecond.
const unitsOfTruth = 1e8

// Rate makes the truth the simulator's model of progress.
func (t *truth) Rate(j *trace.Job, hundredths int64) int64 {
	return int64(unitsOfTruth / t.alone(j.App.Name, max(float64(hundredths)/sim.Whole, 1)))
}

// Slowdown makes the truth the simulator's interference.
func (t *truth) Slowdown(j, by *trace.Job, replicas int) float64 {
	return t.alpha(j.App.Name, by.App.Name, float64(replicas))
}

// pairing is which jobs meet, and how often it was tried before.
type pairing struct {
	job, beside string
	repetition  int // from 1
	faults      bool
}

func (p *pairing) String() string {
	return fmt.Sprintf("%s beside %s, repetition %d, faults %v", p.job, p.beside, p.repetition, p.faults)
}

// pairings returns all of the experiment: each of two jobs beside each of the four others.
func pairings(repetitions int, faults bool) []pairing {
	var all []pairing
	for _, job := range []string{"sgd", "cc"} {
		for _, beside := range []string{"wordcount", "pagerank", "kmeans", "sgd", "cc"} {
			for r := range repetitions {
				if beside != job {
					all = append(all, pairing{job, beside, r + 1, faults})
				}
			}
		}
	}
	return all
}

// meeting is one run of K and one of J.
type meeting struct {
	delay          float64 // seconds from the start of K until J comes
	noiseJ, noiseK float64 // by which runtimes are multiplied, faults included
	fault          bool    // of J
}

// meetings draws what happens by chance. It does not depend on the policy, so that policies are compared on the same luck.
func (p *pairing) meetings(t *truth) []meeting {
	seed := uint64(p.repetition)
	for _, c := range p.job + "/" + p.beside {
		seed = seed*31 + uint64(c)
	}
	r := rand.New(rand.NewPCG(seed, 0xc0be22))
	all := make([]meeting, runsOfPair)
	for i := range all {
		m := &all[i]
		m.noiseK = max(0.5, 1+targetNoise*r.NormFloat64())
		m.noiseJ = max(0.5, 1+targetNoise*r.NormFloat64())
		m.delay = t.alone(p.beside, scaleK) * m.noiseK * longestDelay * r.Float64()
		m.fault = r.Float64() < faultShare && p.faults
		if m.fault {
			m.noiseJ *= faultFactor
		}
	}
	return all
}

// race returns how long J takes at a scale-out, and for which share of it K is beside it on J's nodes, averaged over nodes. It is the simulator's
// interference worked out for two runs, of which J holds the nodes of K first.
func (t *truth) race(p *pairing, m *meeting, x int) (seconds, overlap float64) {
	both := min(x, scaleK)
	shareJ, shareK := float64(both)/float64(x), float64(both)/scaleK
	alone := t.alone(p.job, float64(x)) * m.noiseJ
	left := t.alone(p.beside, scaleK)*m.noiseK - m.delay
	if left <= 0 {
		return alone, 0
	}
	slowJ := 1 + float64(t.alpha(p.job, p.beside, float64(x))*shareJ)
	slowK := 1 + float64(t.alpha(p.beside, p.job, scaleK)*shareK)
	if alone*slowJ <= left*slowK {
		return alone * slowJ, shareJ
	}
	until := left * slowK
	seconds = until + alone - until/slowJ
	return seconds, shareJ * until / seconds
}

// applications returns J, which is to meet the target, and K. A node of 8 cores and 16 GiB holds one replica of each, and no two of either: so J
// shares its nodes with K, as all jobs do on the seed's cluster.
func (p *pairing) applications(confidence float64) (j, k *dovetail.Application) {
	j = &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: p.job, Kind: dovetail.Batch,
		Target: &dovetail.Target{Runtime: dovetail.Duration(targetSeconds * float64(time.Second)), Confidence: confidence},
		Components: []dovetail.Component{{
			Name: "worker", Count: lowJ, Max: highJ, Resources: dovetail.Resources{dovetail.CPU: 5000, dovetail.Memory: 6 << 30},
		}},
	}
	k = &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: p.beside, Kind: dovetail.Batch,
		Components: []dovetail.Component{{
			Name: "worker", Count: scaleK, Resources: dovetail.Resources{dovetail.CPU: 3000, dovetail.Memory: 10 << 30},
		}},
	}
	return j, k
}

// prior draws the runs of K that there were before: at its scale-out, beside J for some of the time, or not at all.
func (p *pairing) prior(t *truth) []dovetail.Past {
	r := rand.New(rand.NewPCG(uint64(p.repetition), 0xc0be33))
	all := make([]dovetail.Past, priorRuns)
	for i := range all {
		ov := min(max(2*r.Float64()-0.5, 0), 1)
		past := dovetail.Past{
			Class: p.beside, App: p.beside, Outcome: dovetail.OutcomeSucceeded, ScaleOut: scaleK,
			Ended:   sim.Epoch().Add(time.Duration(i-priorRuns) * pairEvery),
			Runtime: t.alone(p.beside, scaleK) * (1 + float64(t.alpha(p.beside, p.job, scaleK)*ov)) * (1 + targetNoise*r.NormFloat64()),
		}
		if ov > 0 {
			past.Overlaps = []dovetail.Overlap{{Class: p.job, Ratio: ov}}
		}
		all[i] = past
	}
	return all
}
