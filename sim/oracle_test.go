package sim_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/policy"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// request is one application of the seed's examples, in units.
type request struct {
	core, elastic   int
	seconds, submit float64
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s*1e6)) * time.Microsecond }

func requests(all []request) []trace.Job {
	jobs := make([]trace.Job, len(all))
	for i, q := range all {
		app := &dovetail.Application{
			APIVersion: dovetail.APIVersion, Name: "app", Kind: dovetail.Batch, Expected: dovetail.Duration(seconds(q.seconds)),
			Components: []dovetail.Component{{Name: "unit", Count: q.core, Max: q.core + q.elastic, Resources: dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 30}}},
		}
		jobs[i] = trace.Job{ID: int64(i + 1), Submit: seconds(q.submit), Runtime: seconds(q.seconds), App: app}
	}
	return jobs
}

func units(n int) []dovetail.Node {
	return []dovetail.Node{{Name: "n", Capacity: dovetail.Resources{dovetail.CPU: int64(n) * 1000, dovetail.Memory: int64(n) << 30}}}
}

func play(t testing.TB, o sim.Options, jobs []trace.Job) *report.Schedule {
	t.Helper()
	out, err := sim.Play(t.Context(), o, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range out.Jobs {
		if j.Finish < 0 || j.Outcome != dovetail.OutcomeSucceeded {
			t.Fatalf("job %d did not succeed: %+v", j.ID, j)
		}
	}
	return out
}

func config(policy, alloc string) dovetail.Config {
	cfg := dovetail.DefaultConfig()
	cfg.Policy, cfg.Alloc = policy, alloc
	return cfg
}

func meanTurnaround(s *report.Schedule) float64 {
	sum := 0.0
	for _, j := range s.Jobs {
		sum += (j.Finish - j.Submit).Seconds()
	}
	return sum / float64(len(s.Jobs))
}

// TestExamples plays the two examples that were computed by hand: seed 004, figure 2, and one with 20 units.
func TestExamples(t *testing.T) {
	figure2 := []request{{3, 4, 10, 0}, {3, 3, 10, 0}, {3, 5, 10, 0}, {3, 2, 10, 0}}
	twenty := []request{{6, 4, 20, 0}, {6, 2, 25, 0}, {8, 8, 12.5, 0}, {19, 1, 7.5, 5}}
	for _, tc := range []struct {
		reason, alloc, reclaim string
		units                  int
		requests               []request
		mean                   float64
		ends                   []float64 // nil: not given
	}{
		{"figure 2, top", "rigid", "any", 10, figure2, 25, []float64{10, 20, 30, 40}},
		{"figure 2, middle", "malleable", "any", 10, figure2, 20, nil},
		{"figure 2, bottom", "flexible", "any", 10, figure2, 19.25, nil},
		{"20 units, rigid", "rigid", "any", 20, twenty, 30.625, nil},
		{"20 units, malleable", "malleable", "any", 20, twenty, 28.75, nil},
		{"20 units, flexible: reclaiming early is not always good", "flexible", "any", 20, twenty, 30, nil},
		{"20 units, a FIFO newcomer may take nothing from those before it", "flexible", "lower", 20, twenty, 28.75, []float64{20, 25, 33.75, 41.25}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			cfg := config("fifo", tc.alloc)
			cfg.Reclaim = tc.reclaim
			out := play(t, sim.Options{Nodes: units(tc.units), Config: cfg, Validate: true}, requests(tc.requests))
			if got := meanTurnaround(out); math.Abs(got-tc.mean) > 1e-6 {
				t.Errorf("mean turnaround %.7f s, want %.7f", got, tc.mean)
			}
			for i, want := range tc.ends {
				if got := out.Jobs[i].Finish.Seconds(); math.Abs(got-want) > 1e-6 {
					t.Errorf("job %d ends at %.7f s, want %.7f", i+1, got, want)
				}
			}
		})
	}
}

// inelastic draws a workload in which every replica is core.
func inelastic(seed uint64, n int) []trace.Job {
	rng := rand.New(rand.NewPCG(seed, 2))
	all := make([]request, n)
	at := 0.0
	for i := range all {
		at += rng.ExpFloat64() * 20
		all[i] = request{core: 1 + rng.IntN(12), seconds: 1 + rng.ExpFloat64()*100, submit: at}
	}
	return requests(all)
}

// TestAllCoreIsRigid: without elastic replicas the flexible allocator does what the rigid one does, application by application,
// under every policy (seed 004, table 10.4a).
func TestAllCoreIsRigid(t *testing.T) {
	for _, order := range policy.Orders() {
		for seed := range uint64(3) {
			jobs := inelastic(seed, 300)
			var outs [3]*report.Schedule
			for i, alloc := range []string{"rigid", "flexible", "malleable"} {
				outs[i] = play(t, sim.Options{Nodes: units(20), Config: config(order.Name, alloc)}, jobs)
			}
			for i := range jobs {
				if a, b, c := outs[0].Jobs[i], outs[1].Jobs[i], outs[2].Jobs[i]; a != b || a != c {
					t.Fatalf("%s, seed %d: job %d: rigid %+v, flexible %+v, malleable %+v", order.Name, seed, i+1, a, b, c)
				}
			}
		}
	}
}

// TestShortestFirstIsBest: of runs that each fill the machine and are all there at once, no order has a lower mean turnaround than
// shortest first. All orders of up to five are tried.
func TestShortestFirstIsBest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "runs")
		all := make([]request, n)
		for i := range all {
			all[i] = request{core: rapid.IntRange(1, 10).Draw(rt, "core"), seconds: float64(rapid.IntRange(1, 50).Draw(rt, "seconds"))}
			all[i].elastic = 10 - all[i].core
		}
		best := math.Inf(1)
		permute(all, func(order []request) {
			best = min(best, meanTurnaround(play(t, sim.Options{Nodes: units(10), Config: config("fifo", "rigid")}, requests(order))))
		})
		for _, name := range []string{"sjf", "srpt", "sjf-2d", "srpt-3d"} {
			if got := meanTurnaround(play(t, sim.Options{Nodes: units(10), Config: config(name, "rigid")}, requests(all))); math.Abs(got-best) > 1e-6 {
				rt.Fatalf("%s: mean turnaround %.6f s, the best of all orders has %.6f", name, got, best)
			}
		}
	})
}

func permute(all []request, f func([]request)) {
	var rec func(int)
	rec = func(k int) {
		if k == len(all) {
			f(slices.Clone(all))
			return
		}
		for i := k; i < len(all); i++ {
			all[k], all[i] = all[i], all[k]
			rec(k + 1)
			all[k], all[i] = all[i], all[k]
		}
	}
	rec(0)
}

// algorithm1 plays requests under FIFO by seed 004's Algorithm 1 as printed, with ≤ in place of <, in exact fractions.
func algorithm1(total int, all []request) []*big.Rat {
	type state struct {
		q    request
		left *big.Rat
		held int
	}
	var line, serving []int
	states, ends := make([]state, len(all)), make([]*big.Rat, len(all))
	now, next := new(big.Rat), 0
	for i, q := range all {
		states[i] = state{q: q, left: new(big.Rat).Mul(new(big.Rat).SetFloat64(q.seconds), big.NewRat(int64(q.core+q.elastic), 1))}
	}
	sum := func(f func(q request) int) int {
		n := 0
		for _, i := range serving {
			n += f(states[i].q)
		}
		return n
	}
	rebalance := func() {
		for len(line) > 0 && sum(func(q request) int { return q.core + q.elastic }) < total &&
			states[line[0]].q.core+sum(func(q request) int { return q.core }) <= total {
			serving, line = append(serving, line[0]), line[1:]
		}
		avail := total - sum(func(q request) int { return q.core })
		for _, i := range serving {
			g := min(states[i].q.elastic, avail)
			states[i].held = states[i].q.core + g
			avail -= g
		}
	}
	for {
		var at *big.Rat
		if next < len(all) {
			at = new(big.Rat).SetFloat64(all[next].submit)
		}
		for _, i := range serving {
			end := new(big.Rat).Add(now, new(big.Rat).Quo(states[i].left, big.NewRat(int64(states[i].held), 1)))
			if at == nil || end.Cmp(at) < 0 {
				at = end
			}
		}
		if at == nil {
			return ends
		}
		for _, i := range serving {
			done := new(big.Rat).Mul(new(big.Rat).Sub(at, now), big.NewRat(int64(states[i].held), 1))
			states[i].left.Sub(states[i].left, done)
		}
		now = at
		serving = slices.DeleteFunc(serving, func(i int) bool {
			if states[i].left.Sign() > 0 {
				return false
			}
			ends[i] = now
			return true
		})
		rebalance()
		for ; next < len(all) && new(big.Rat).SetFloat64(all[next].submit).Cmp(now) == 0; next++ {
			line = append(line, next)
		}
		rebalance()
	}
}

// TestFlexibleIsAlgorithm1: under FIFO and on one machine of units the flexible allocator gives every run the end that Algorithm 1
// gives it, computed in fractions by another program; up to the microseconds that rounding costs.
func TestFlexibleIsAlgorithm1(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := make([]request, rapid.IntRange(1, 5).Draw(rt, "runs"))
		at := 0
		for i := range all {
			at += rapid.IntRange(0, 30).Draw(rt, "gap")
			core := rapid.IntRange(1, 10).Draw(rt, "core")
			all[i] = request{core, rapid.IntRange(0, 12-core).Draw(rt, "elastic"), float64(rapid.IntRange(1, 50).Draw(rt, "seconds")), float64(at)}
		}
		want := algorithm1(12, all)
		out := play(t, sim.Options{Nodes: units(12), Config: config("fifo", "flexible"), Validate: true}, requests(all))
		for i := range all {
			exact, _ := want[i].Float64()
			if got := out.Jobs[i].Finish.Seconds(); math.Abs(got-exact) > 20e-6 {
				rt.Fatalf("job %d ends at %.6f s, Algorithm 1 says %.6f; requests %+v", i+1, got, exact, all)
			}
		}
	})
}

// TestMMc holds the mean wait of single-replica runs with exponential times against Erlang's C formula.
func TestMMc(t *testing.T) {
	for _, tc := range []struct {
		servers int
		load    float64
	}{{1, 0.6}, {4, 0.7}, {10, 0.8}} {
		t.Run(fmt.Sprintf("M/M/%d, load %v", tc.servers, tc.load), func(t *testing.T) {
			const service = 10.0 // seconds, mean
			var means []float64
			for seed := range uint64(8) {
				rng := rand.New(rand.NewPCG(seed, 3))
				all := make([]request, 20_000)
				at := 0.0
				for i := range all {
					at += rng.ExpFloat64() * service / (tc.load * float64(tc.servers))
					all[i] = request{core: 1, seconds: max(1e-6, rng.ExpFloat64()*service), submit: at}
				}
				out := play(t, sim.Options{Nodes: units(tc.servers), Config: config("fifo", "flexible")}, requests(all))
				sum := 0.0
				for _, j := range out.Jobs {
					sum += (j.Start - j.Submit).Seconds()
				}
				means = append(means, sum/float64(len(all)))
			}
			mean, variance := 0.0, 0.0
			for _, m := range means {
				mean += m / float64(len(means))
			}
			for _, m := range means {
				variance += (m - mean) * (m - mean) / float64(len(means)-1)
			}
			want := erlangC(tc.servers, tc.load) * service / (float64(tc.servers) * (1 - tc.load))
			if margin := 3.5 * math.Sqrt(variance/float64(len(means))); math.Abs(mean-want) > margin || margin > want/5 {
				t.Errorf("mean wait %.3f s ± %.3f, Erlang's formula says %.3f", mean, margin, want)
			}
		})
	}
}

// erlangC returns the probability that an arrival at an M/M/c queue with this load of each server has to wait.
func erlangC(c int, load float64) float64 {
	a := load * float64(c)
	sum, term := 0.0, 1.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	return term / (1 - load) / (sum + term/(1-load))
}

// TestTimesScale: with all times k times as long, everything happens k times as late, under every policy.
func TestTimesScale(t *testing.T) {
	const k = 8
	rng := rand.New(rand.NewPCG(5, 4))
	all := make([]request, 120)
	at := 0.0
	for i := range all {
		at += float64(rng.IntN(20))
		core := 1 + rng.IntN(8)
		all[i] = request{core, rng.IntN(13 - core), float64(1 + rng.IntN(80)), at}
	}
	longer := slices.Clone(all)
	for i := range longer {
		longer[i].seconds *= k
		longer[i].submit *= k
	}
	for _, order := range policy.Orders() {
		for _, alloc := range []string{"rigid", "malleable", "flexible"} {
			o := sim.Options{Nodes: units(12), Config: config(order.Name, alloc)}
			a, b := play(t, o, requests(all)), play(t, o, requests(longer))
			for i := range all {
				if d := (b.Jobs[i].Finish - k*a.Jobs[i].Finish).Abs(); d > time.Millisecond {
					t.Fatalf("%s/%s: job %d ends at %s, with times × %d at %s", order.Name, alloc, i+1, a.Jobs[i].Finish, k, b.Jobs[i].Finish)
				}
			}
		}
	}
}
