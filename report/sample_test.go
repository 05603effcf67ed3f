package report

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// played returns a schedule of n runs on c servers, first come first served, as a small stand-in for the simulator: kinds,
// classes and users differ, elastic runs become shorter by a gain in [0,1).
func played(cell Cell, n, c int, gain float64) *Schedule {
	rng := rand.New(rand.NewPCG(cell.Seed, 7))
	s := &Schedule{Cell: cell, Capacity: dovetail.Resources{dovetail.CPU: int64(c) * 1000, dovetail.Memory: int64(c) << 30}}
	free := make([]time.Duration, c)
	at := time.Duration(0)
	type change struct {
		at               time.Duration
		waiting, serving int32
		elastic          bool
	}
	var changes []change
	for i := range n {
		at += time.Duration(rng.ExpFloat64()*1.1e8) / time.Duration(c) / 1000 * 1000
		runtime := time.Duration(math.Exp(rng.NormFloat64()*1.2)*5e7) / 1000 * 1000
		j := Job{
			ID: int64(i + 1), Class: []string{"spark", "flink", "mpi"}[i%3], User: "u" + strconv.Itoa(i%7), Kind: dovetail.Batch, Core: 2,
			Runtime: runtime, Submit: at, Outcome: dovetail.OutcomeSucceeded,
		}
		took := runtime
		switch i % 5 {
		case 0:
			j.Kind = dovetail.Interactive
		case 1, 2, 3:
			j.Elastic = 4
			took = time.Duration(float64(runtime)*(2-gain)) / 1000 * 1000
		}
		k := slices.Index(free, slices.Min(free))
		j.Start = max(at, free[k])
		j.Finish = j.Start + took
		free[k] = j.Finish
		s.Jobs = append(s.Jobs, j)
		changes = append(changes, change{j.Submit, 1, 0, false}, change{j.Start, -1, 1, j.Elastic > 0}, change{j.Finish, 0, -1, j.Elastic > 0})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var now Level
	core, elastic := int32(0), int32(0)
	for i, ch := range changes {
		now.At, now.Waiting, now.Serving = ch.at, now.Waiting+ch.waiting, now.Serving+ch.serving
		if ch.elastic {
			elastic += ch.serving
		} else {
			core += ch.serving
		}
		for k := range [...]dovetail.ResourceKind{dovetail.CPU, dovetail.Memory} {
			now.Core[k] = float32(core)/float32(c) + 0.3*float32(elastic)/float32(c)
			now.Elastic[k] = 0.7 * float32(elastic) / float32(c)
		}
		if i+1 == len(changes) || changes[i+1].at > ch.at {
			s.Levels = append(s.Levels, now)
		}
	}
	return s
}

// sweep plays settings as a sweep would.
func sweep(policies, allocs []string, seeds, n int) (all []*Schedule) {
	for p, policy := range policies {
		for a, alloc := range allocs {
			for seed := range seeds {
				cell := Cell{Policy: policy, Alloc: alloc, Preempt: a >= 3, Seed: uint64(seed + 1)}
				all = append(all, played(cell, n, 10+2*p, 0.3*float64(a)))
			}
		}
	}
	return all
}
