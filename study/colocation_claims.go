package study

import (
	"fmt"
	"math"
	"slices"
)

// Statements of seed 000, and goals of our own, with one value for each seed, or world.
type (
	colocationCheck = checkOf[ColocationEvaluation]
	colocationClaim = claimOf[ColocationEvaluation]
)

// ofPlays returns a figure of a policy in a setting, one for each seed.
func ofPlays(queue, policy string, straggler float64, window int, figure func(r *QueueRun) float64) func(e *ColocationEvaluation) []float64 {
	return func(e *ColocationEvaluation) []float64 {
		var values []float64
		for i := range e.Runs {
			r := &e.Runs[i]
			if r.Part != ColocationWorlds && r.Queue == queue && r.Policy == policy && r.Straggler == straggler && r.Window == window {
				values = append(values, figure(r))
			}
		}
		return values
	}
}

func gain(r *QueueRun) float64     { return r.Gain }
func harmed(r *QueueRun) float64   { return r.Harmed }
func makespan(r *QueueRun) float64 { return r.Minutes }

// usual returns the gains on queue A or B as in the paper: a window of 5, and no stragglers.
func usual(queue, policy string) func(e *ColocationEvaluation) []float64 {
	return ofPlays(queue, policy, 0, windows()[0], gain)
}

// ahead subtracts values one by one.
func ahead(a, b func(e *ColocationEvaluation) []float64) func(e *ColocationEvaluation) []float64 {
	return func(e *ColocationEvaluation) []float64 {
		x, y := a(e), b(e)
		differences := make([]float64, min(len(x), len(y)))
		for i := range differences {
			differences[i] = x[i] - y[i]
		}
		return differences
	}
}

// ofWorlds returns the mean gains of a policy in perturbed worlds, one for each world.
func ofWorlds(queue, policy string) func(e *ColocationEvaluation) []float64 {
	return func(e *ColocationEvaluation) []float64 {
		var values []float64
		for i := range e.Queues {
			if r := &e.Queues[i]; r.Part == ColocationWorlds && r.Queue == queue && r.Policy == policy {
				values = append(values, r.Gain.Mean)
			}
		}
		return values
	}
}

// ofPairs returns a figure of tables 2 and 3.
func ofPairs(figure func(rms, mean, largest float64) float64) func(e *ColocationEvaluation) []float64 {
	return func(e *ColocationEvaluation) []float64 {
		if len(e.Pairs) == 0 {
			return nil
		}
		return []float64{figure(residuals(e.Pairs))}
	}
}

// spread returns how much the use of processors differs from minute to minute, compared with FIFO, one for each seed.
func spread(queue, policy string) func(e *ColocationEvaluation) []float64 {
	of := func(e *ColocationEvaluation, policy string) []float64 {
		i := slices.IndexFunc(e.Uses, func(u UseRow) bool { return u.Queue == queue && u.Policy == policy })
		if i < 0 {
			return nil
		}
		return e.Uses[i].Spread
	}
	return func(e *ColocationEvaluation) []float64 {
		ratios := slices.Clone(of(e, policy))
		for i, fifo := range of(e, armFIFO) {
			ratios[i] /= fifo
		}
		return ratios
	}
}

// wanted returns the probability of figure 8 with which a kind is wanted, relative to all kinds alike, one for each seed.
func wanted(scheduled, queued string) func(e *ColocationEvaluation) []float64 {
	return func(e *ColocationEvaluation) []float64 {
		for _, r := range e.Preferences {
			if r.Scheduled == scheduled && r.Queued == queued {
				return r.Seeds
			}
		}
		return nil
	}
}

// colocationClaims returns what is judged: statements of the paper, one about the baseline that it lacks, and goals of our own. The goals are those of the specification; the
// other bounds were written down after a look at early plays of a few seeds.
func colocationClaims() []colocationClaim {
	return slices.Concat(publishedClaims(), goalClaims(), furtherClaims())
}

func publishedClaims() []colocationClaim {
	return []colocationClaim{
		{Claim: Claim{
			ID: "tables", Where: "§3.3, tables 2 and 3", Words: "durations on shared nodes, 19 jobs",
			Calibrated: "17 figures of the model were fitted to these 19 durations: it describes them, and foretells nothing.",
		}, checks: []colocationCheck{
			expecting("residuals, root of the mean square", "points", "4.0 (reference)", atMost(4.2), ofPairs(func(rms, _, _ float64) float64 { return rms })),
			expecting("residuals, mean", "points", "3.6 (reference)", atMost(3.8), ofPairs(func(_, mean, _ float64) float64 { return mean })),
			expecting("residuals, largest", "points", "7.5 (reference)", atMost(8), ofPairs(func(_, _, largest float64) float64 { return largest })),
		}},
		{Claim: Claim{
			ID: "fifo", Where: "tables 5 and 6", Words: "FIFO takes 148.5 min for queue A and 137.0 min for queue B",
			Calibrated: "The common time scale was set to give 148.5 min for queue A.",
		}, checks: []colocationCheck{
			expecting("queue A, FIFO", "min", "148.5", between(145.5, 151.5), ofPlays(queueA, armFIFO, 0, windows()[0], makespan)),
			expecting("queue B, FIFO", "min", "137.0", between(134, 140), ofPlays(queueB, armFIFO, 0, windows()[0], makespan)),
		}},
		{Claim: Claim{ID: "table-5", Where: "table 5", Words: "RA 7 %, RA* 8 % shorter than FIFO on queue A"}, checks: []colocationCheck{
			expecting("queue A, RA", "%", "7", between(4, 10), usual(queueA, armRA)), expecting("queue A, RA*", "%", "8", between(5, 11), usual(queueA, armRAStar)),
		}},
		{Claim: Claim{ID: "table-6", Where: "table 6", Words: "no improvement for queue B"}, checks: []colocationCheck{
			expecting("queue B, RA", "%", "0", between(-2, 2), usual(queueB, armRA)), expecting("queue B, RA*", "%", "0", between(-2, 2), usual(queueB, armRAStar)),
		}},
		{Claim: Claim{ID: "shuffling", Where: "ours: the paper has no such baseline", Words: "what is learned is the reason: RA is better than random order in the window"},
			checks: []colocationCheck{
				expecting("queue A, RA − random", "points", "", atLeast(0.5), ahead(usual(queueA, armRA), usual(queueA, armRandom))),
				expecting("queue A, RA* − random", "points", "", atLeast(0.5), ahead(usual(queueA, armRAStar), usual(queueA, armRandom))),
			}},
		{Claim: Claim{ID: "figure-6", Where: "§6.2, figures 6 and 7", Words: "use is more even over time with RA for queue A; for B it was even already"},
			checks: []colocationCheck{
				expecting("queue A, deviation of the use of processors, RA to FIFO", "", "less", atMost(0.8), spread(queueA, armRA)),
				expecting("queue B, deviation of the use of processors, RA to FIFO", "", "alike", between(0.7, 1.3), spread(queueB, armRA)),
			}},
		{Claim: Claim{ID: "figure-8", Where: "§6.2, figure 8", Words: "CC is everybody's favourite; TPC-H 10 is wanted least, least of all by TPC-H"},
			checks: []colocationCheck{
				expecting("TPC-H 10 wants CC", "", "most", atLeast(0.35), wanted("tpch10", "cc")),
				expecting("TPC-H 3 wants CC", "", "most", atLeast(0.35), wanted("tpch3", "cc")),
				expecting("K-Means wants CC", "", "most", atLeast(0.35), wanted("kmeans", "cc")),
				expecting("TPC-H 10 wants TPC-H 10", "", "< 0.001", atMost(0.15), wanted("tpch10", "tpch10")),
				expecting("TPC-H 3 wants TPC-H 10", "", "< 0.001", atMost(0.15), wanted("tpch3", "tpch10")),
			}},
	}
}

func goalClaims() []colocationClaim {
	all := goalsOf(armPrice, "", "price, rates from one earlier pass")
	return append(all, goalsOf(armGoesOn, "-on", "price that knows the runs of one earlier pass and goes on learning, as the daemon does")...)
}

// goalsOf returns the goals, to be met by one way to use what an earlier pass taught.
func goalsOf(policy, suffix, words string) []colocationClaim {
	goal := func(id, what string) colocationClaim {
		return colocationClaim{Claim: Claim{ID: id + suffix, Where: "ours", Words: words + ": " + what}}
	}
	a, b := goal("goal-A", "at least 8 % over FIFO on queue A"), goal("goal-B", "at least 2.5 % over FIFO on queue B")
	over := goal("goal-over", "at least 3 points over random order and over RA on queue A")
	moon := goal("moonshot", "at least 10 % over FIFO on queue A everywhere")
	for _, straggler := range stragglers() {
		for _, window := range windows() {
			where := fmt.Sprintf(", stragglers %g, window %d", straggler, window)
			price := ofPlays(queueA, policy, straggler, window, gain)
			a.checks = append(a.checks, expecting("queue A"+where, "%", "", atLeast(8), price))
			moon.checks = append(moon.checks, expecting("queue A"+where, "%", "", atLeast(10), price))
			b.checks = append(b.checks, expecting("queue B"+where, "%", "", atLeast(2.5), ofPlays(queueB, policy, straggler, window, gain)))
			for _, other := range []string{armRandom, armRA} {
				over.checks = append(over.checks,
					expecting("over "+other+where, "points", "", atLeast(3), ahead(price, ofPlays(queueA, other, straggler, window, gain))))
			}
		}
	}
	worlds := goal("goal-worlds", "at least 10 % on A and 3.5 % on B in the mean of six perturbed worlds")
	worlds.checks = []colocationCheck{
		expecting("queue A, mean over worlds", "%", "10.4 (reference)", atLeast(10), ofWorlds(queueA, policy)),
		expecting("queue B, mean over worlds", "%", "3.9 (reference)", atLeast(3.5), ofWorlds(queueB, policy)),
	}
	moon.checks = append(moon.checks, expecting("queue A, the least of the worlds", "%", "5.7 (reference)", atLeast(10), func(e *ColocationEvaluation) []float64 {
		gains := ofWorlds(queueA, policy)(e)
		if len(gains) == 0 {
			return nil
		}
		return []float64{slices.Min(gains)}
	}))
	return []colocationClaim{a, b, over, worlds, moon}
}

func furtherClaims() []colocationClaim {
	window := windows()[1]
	mixed := func(policy string) func(e *ColocationEvaluation) []float64 {
		return ofPlays(queueMixed, policy, 0, window, gain)
	}
	harm := func(policy string, figure func(*QueueRun) float64) func(e *ColocationEvaluation) []float64 {
		return ofPlays(queueHarm, policy, 0, window, figure)
	}
	return []colocationClaim{
		{Claim: Claim{ID: "learning", Where: "ours", Words: "a queue in random order, on which shuffling gains nothing and learning does"}, checks: []colocationCheck{
			expecting("random", "%", "", atMost(1), mixed(armRandom)),
			expecting("price − random", "points", "", atLeast(3), ahead(mixed(armPrice), mixed(armRandom))),
			expecting("price, nothing known − random", "points", "", atLeast(1), ahead(mixed(armCold), mixed(armRandom))),
			expecting("RA* − random", "points", "", atLeast(1), ahead(mixed(armRAStar), mixed(armRandom))),
		}},
		{Claim: Claim{ID: "harm", Where: "ours", Words: "jobs that harm each other are kept apart when it is known: random order that avoids a slowdown of 1.3, and price"}, checks: []colocationCheck{
			expecting("node-hours of harmful pairs, random with a slowdown to random", "", "", atMost(0.5), relative(harm(armWary, harmed), harm(armRandom, harmed))),
			expecting("gain of random with a slowdown over random", "points", "", atLeast(1), ahead(harm(armWary, gain), harm(armRandom, gain))),
			expecting("node-hours of harmful pairs, price to FIFO", "", "", atMost(0.2), relative(harm(armPrice, harmed), harm(armFIFO, harmed))),
			expecting("gain of price over FIFO", "%", "", atLeast(10), harm(armPrice, gain)),
		}},
	}
}

// relative divides values one by one; what cannot be divided is left out.
func relative(a, b func(e *ColocationEvaluation) []float64) func(e *ColocationEvaluation) []float64 {
	return func(e *ColocationEvaluation) []float64 {
		x, y := a(e), b(e)
		var ratios []float64
		for i := range min(len(x), len(y)) {
			if q := x[i] / y[i]; !math.IsNaN(q) && !math.IsInf(q, 0) {
				ratios = append(ratios, q)
			}
		}
		return ratios
	}
}
