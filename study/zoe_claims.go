package study

import (
	"slices"

	"github.com/dovetail-sched/dovetail/report"
)

// zoeClaims returns the statements of the seed, in its order, word by word; what is ours about them is in Where. What a claim is judged by,
// and within which bounds, stands here and nowhere else. Where the seed gives a ratio such as 0.63, the bounds leave it some 20 to 30 %; where it gives an order of magnitude, or a
// time on its own machine and traces, a factor of 2 and more; where it says more or less, they are 1.
func zoeClaims() []Claim {
	var all []Claim
	for _, of := range []func() []Claim{
		claimsOnPolicies, claimsOnQueues, claimsOnSizes, claimsOnHRRN, claimsOnInelastic, claimsOnPreemption, claimsOnTestbed,
	} {
		all = append(all, of()...)
	}
	return all
}

// What was chosen with the seed's figures in view, as trace/generate_zoe.go and trace/generate_testbed.go say.
const (
	calibratedLoad = "The load was chosen such that FIFO rigid has a mean turnaround of some 10⁶ s, and flexible about half of it."
	calibratedSize = "The load was chosen such that SJF-2D has a mean turnaround of some 10⁴ s, and SJF-3D less."
	calibratedBed  = "The seed gives no runtimes of its testbed. Ours were chosen such that a queue builds up, and the last application " +
		"ends after some three hours with flexible and four with rigid; the gain in allocation follows from that."
)

func claimsOnPolicies() []Claim {
	halved := Claim{
		ID: "10.2-turnaround", Where: "§10.2, figure 4 left",
		Words:      "the median turnaround is halved when compared to the baseline",
		Calibrated: calibratedLoad,
	}
	sizes := Claim{
		ID: "10.2-size-based", Where: "§10.2, figure 4 left",
		Words: "the benefits of a size-based policy in further decreasing turnaround times",
	}
	best := Claim{
		ID: "10.2-malleable", Where: "§10.2, figures 7 to 14",
		Words: "our solution performs far better than a rigid scheduler and slightly better than a malleable regarding of the policy used to sort the queue",
	}
	for _, p := range zoePolicies()[:2] {
		halved.Checks = append(halved.Checks,
			ratio(title(p)+": median turnaround, flexible to rigid", "0.5", between(0.35, 0.65), medianTurnaround,
				batch(p, "flexible"), batch(p, "rigid")))
	}
	for _, a := range []string{"rigid", "flexible"} {
		sizes.Checks = append(sizes.Checks,
			ratio(a+": median turnaround, SJF to FIFO", "less", less(), medianTurnaround, batch("sjf", a), batch("fifo", a)))
	}
	for _, p := range zoePolicies() {
		best.Checks = append(best.Checks,
			ratio(title(p)+": mean turnaround, flexible to rigid", "far better", atMost(0.8), meanTurnaround,
				batch(p, "flexible"), batch(p, "rigid")),
			ratio(title(p)+": mean turnaround, flexible to malleable", "slightly better", between(0.7, 1), meanTurnaround,
				batch(p, "flexible"), batch(p, "malleable")))
	}
	return []Claim{halved, sizes, best}
}

func claimsOnQueues() []Claim {
	queueing := Claim{
		ID: "10.2-queueing", Where: "§10.2, figure 4 centre",
		Words: "both kinds of applications spend less time waiting in a queue to be served",
	}
	slowdown := Claim{
		ID: "10.2-slowdown", Where: "§10.2, figure 4 right",
		Words: "our scheduling approach does not impose a high toll on application runtime",
	}
	queues := Claim{
		ID: "10.2-queues", Where: "§10.2, figure 5",
		Words: "a smaller number of applications waiting to be served, as well as a larger number of applications running in the system",
	}
	magnitude := Claim{
		ID: "10.2-sjf-queue", Where: "§10.2, figure 5",
		Words: "the number of applications waiting is almost one order of magnitude smaller compared to a FIFO policy, while the number of running applications is similar",
	}
	allocation := Claim{ID: "10.2-allocation", Where: "§10.2, figure 6",
		Words: "more than 20% gains in both CPU and RAM allocation"}
	for _, p := range zoePolicies()[:2] {
		flexible, rigid := batch(p, "flexible"), batch(p, "rigid")
		for _, kind := range []string{report.BatchElastic, report.BatchRigid} {
			queueing.Checks = append(queueing.Checks,
				ratio(title(p)+" "+kind+": mean queueing, flexible to rigid", "less", less(), meanQueue(kind), flexible, rigid),
				difference(title(p)+" "+kind+": median queueing, flexible − rigid", "less", atMost(0), medianQueue(kind),
					flexible, rigid))
		}
		slowdown.Checks = append(slowdown.Checks,
			figure(title(p)+" B-E: mean slowdown", "", "not high", atMost(1.25), meanSlowdown(report.BatchElastic), flexible))
		queues.Checks = append(queues.Checks,
			ratio(title(p)+": mean number waiting, flexible to rigid", "smaller", less(), waiting, flexible, rigid),
			ratio(title(p)+": mean number running, flexible to rigid", "larger", atLeast(1), serving, flexible, rigid))
		allocation.Checks = append(allocation.Checks,
			ratio(title(p)+": mean cpu allocation, flexible to rigid", "1.2", atLeast(1.2), cpuAllocation, flexible, rigid),
			ratio(title(p)+": mean memory allocation, flexible to rigid", "1.2", atLeast(1.2), memoryAllocation, flexible, rigid))
	}
	for _, a := range []string{"rigid", "flexible"} {
		magnitude.Checks = append(magnitude.Checks,
			atFullScale(ratio(a+": mean number waiting, FIFO to SJF", "almost 10", between(5, 20), waiting,
				batch("fifo", a), batch("sjf", a))),
			atFullScale(ratio(a+": mean number running, SJF to FIFO", "similar", between(0.75, 1.33), serving,
				batch("sjf", a), batch("fifo", a))))
	}
	return []Claim{queueing, slowdown, queues, magnitude, allocation}
}

// zoeTable103b is table 10.3b: mean turnaround with the flexible allocator, in seconds.
func zoeTable103b() []struct {
	policy  string
	seconds float64
} {
	return []struct {
		policy  string
		seconds float64
	}{
		{"sjf-2d", 38_340.68}, {"srpt-2d1", 38_767.29}, {"srpt-2d2", 39_425.82}, {"hrrn-2d", 89_596.90},
		{"sjf-3d", 33_451.60}, {"srpt-3d1", 33_418.51}, {"srpt-3d2", 33_413.45}, {"hrrn-3d", 229_691.64},
	}
}

func claimsOnSizes() []Claim {
	fewer := func(more, fewer, alloc string, seed string, b bounds) Check {
		return ratio(alloc+": mean turnaround, "+title(more)+" to "+title(fewer), seed, b, meanTurnaround,
			batch(more, alloc), batch(fewer, alloc))
	}
	flexible := Claim{
		ID: "10.3-flexible", Where: "§10.3, table 10.3b, figures 24 to 29 (three dimensions, SJF and SRPT)",
		Words:      "Since our flexible scheduler allows only the indispensable (inelastic) services to be launched … it performs better than a one or two dimensional definitions",
		Calibrated: calibratedSize,
		Checks: []Check{
			fewer("sjf-2d", "sjf", "flexible", "better", less()), fewer("sjf-3d", "sjf-2d", "flexible", "0.872", less()),
			fewer("srpt-2d1", "srpt", "flexible", "better", less()), fewer("srpt-3d1", "srpt-2d1", "flexible", "0.862", less()),
		},
	}
	remaining := Claim{
		ID: "10.3-srpt", Where: "table 10.3b (SRPT-2D1 38,767.29, SRPT-2D2 39,425.82; SRPT-3D1 33,418.51, SRPT-3D2 33,413.45)",
		Words: "Turn around time (in second) between different definitions of size in our flexible scheduler",
		Checks: []Check{
			fewer("srpt-2d2", "srpt-2d1", "flexible", "1.017", between(1, 1.05)),
			fewer("srpt-3d2", "srpt-3d1", "flexible", "1.000", between(0.99, 1.01)),
		},
	}
	malleable := Claim{
		ID: "10.3-malleable", Where: "§10.3, figures 18 to 23 (SJF and SRPT)",
		Words: "with a malleable and with our flexible scheduler … we can have lower turn around time … with a three dimensional definition of size",
		Checks: []Check{
			fewer("sjf-2d", "sjf", "malleable", "better", less()), fewer("sjf-3d", "sjf-2d", "malleable", "better", less()),
			fewer("srpt-2d1", "srpt", "malleable", "better", less()), fewer("srpt-3d1", "srpt-2d1", "malleable", "better", less()),
		},
	}
	rigid := Claim{
		ID: "10.3-rigid", Where: "§10.3, figures 15 to 17 (SJF and SRPT)",
		Words: "this is not true for rigid schedulers … in all cases having a two dimensional definition is sufficient to obtain good results",
		Checks: []Check{
			fewer("sjf-2d", "sjf", "rigid", "better", less()), fewer("sjf-3d", "sjf-2d", "rigid", "no better", atLeast(0.97)),
			fewer("srpt-2d1", "srpt", "rigid", "better", less()),
			fewer("srpt-3d1", "srpt-2d1", "rigid", "no better", atLeast(0.97)),
		},
	}
	table := Claim{
		ID: "10.3-table", Where: "table 10.3b",
		Words: "Turn around time (in second) between different definitions of size in our flexible scheduler", Calibrated: calibratedSize,
	}
	for _, row := range zoeTable103b() {
		table.Checks = append(table.Checks, atFullScale(
			figure(title(row.policy)+": mean turnaround", "s", inSeconds(row.seconds), within2(row.seconds), meanTurnaround,
				batch(row.policy, "flexible"))))
	}
	return slices.Concat([]Claim{flexible, remaining, malleable, rigid}, claimsOnSizesAndAllocation(), []Claim{table})
}

func claimsOnSizesAndAllocation() []Claim {
	less := Claim{
		ID: "10.3-allocation", Where: "§10.3 (rigid; SRPT is SJF there)",
		Words: "The resource allocation, however, decreases a bit in a rigid system as more information is added",
	}
	more := Claim{
		ID: "10.3-utilization", Where: "§10.3 (of what is allocated)",
		Words: "with a malleable and with our flexible scheduler … higher cluster resources utilization with a three dimensional definition of size",
	}
	for _, of := range []struct {
		name string
		zoeMeasure
	}{{"cpu", cpuAllocation}, {"memory", memoryAllocation}} {
		compare := func(c *Claim, alloc, one, other, seed string, b bounds) {
			c.Checks = append(c.Checks, ratio(alloc+": mean "+of.name+" allocation, "+title(one)+" to "+title(other), seed, b, of.zoeMeasure,
				batch(one, alloc), batch(other, alloc)))
		}
		compare(&less, "rigid", "sjf-2d", "sjf", "a bit less", atMost(1))
		compare(&less, "rigid", "sjf-3d", "sjf-2d", "a bit less", atMost(1))
		for _, alloc := range []string{"malleable", "flexible"} {
			compare(&more, alloc, "sjf-3d", "sjf", "higher", atLeast(1))
			compare(&more, alloc, "srpt-3d1", "srpt", "higher", atLeast(1))
		}
	}
	return []Claim{less, more}
}

func claimsOnHRRN() []Claim {
	const words = "The only policy that perform worst in all cases is HRRN"
	const where = "§10.3, table 10.3b (2D: 2.3 times SJF, 3D: 6.9 times)"
	ours := Claim{ID: "10.3-hrrn", Where: where, Words: words}
	theirs := Claim{ID: "10.3-hrrn-peer", Where: where + ", by the model of Zoe's simulator", Words: words}
	for _, c := range []struct {
		claim *Claim
		part  string
	}{{&ours, zoeBatch}, {&theirs, zoePeer}} {
		of := func(policy string) at { return at{c.part, policy, "flexible", false} }
		for _, row := range []struct{ suffix, seed string }{{"", "worse"}, {"-2d", "2.34"}, {"-3d", "6.87"}} {
			c.claim.Checks = append(c.claim.Checks,
				ratio("mean turnaround, "+title("hrrn"+row.suffix)+" to "+title("sjf"+row.suffix), row.seed,
					atLeast(1), meanTurnaround, of("hrrn"+row.suffix), of("sjf"+row.suffix)))
		}
		c.claim.Checks = append(c.claim.Checks, ratio("mean turnaround, HRRN-3D to HRRN-2D", "2.56", atLeast(1),
			meanTurnaround, of("hrrn-3d"), of("hrrn-2d")))
	}
	return []Claim{ours, theirs}
}

func claimsOnInelastic() []Claim {
	of := func(policy, alloc string) at { return at{zoeInelastic, policy, alloc, false} }
	same := Claim{
		ID: "10.4-same", Where: "§10.4, table 10.4a (which has PSJF and SRPT alike, too)",
		Words: "in the worst case our flexible scheduler will perform exactly the same as the rigid",
	}
	for _, p := range zoePolicies() {
		same.Checks = append(same.Checks, alike(title(p)+": every run starts and finishes alike, flexible and rigid",
			of(p, "flexible"), of(p, "rigid")))
	}
	same.Checks = append(same.Checks, alike("rigid: every run starts and finishes alike, SJF and SRPT", of("sjf", "rigid"),
		of("srpt", "rigid")))
	table := Claim{
		ID: "10.4-table", Where: "table 10.4a (FIFO 1,317,315.92, PSJF and SRPT 135,964.50, HRRN 407,952.05)",
		Words:      "Turn around time (in second) between a rigid and our flexible scheduler with a workload composed by only inelastic applications",
		Calibrated: calibratedLoad,
	}
	for _, row := range []struct {
		policy  string
		seconds float64
	}{{"fifo", 1_317_315.92}, {"sjf", 135_964.50}, {"srpt", 135_964.50}, {"hrrn", 407_952.05}} {
		table.Checks = append(table.Checks, atFullScale(
			figure(title(row.policy)+": mean turnaround", "s", inSeconds(row.seconds), within2(row.seconds), meanTurnaround,
				of(row.policy, "rigid"))))
	}
	table.Checks = append(table.Checks,
		atFullScale(ratio("mean turnaround, FIFO to SJF", "9.69", between(5, 20), meanTurnaround, of("fifo", "rigid"),
			of("sjf", "rigid"))),
		atFullScale(ratio("mean turnaround, HRRN to SJF", "3.00", between(1.5, 6), meanTurnaround, of("hrrn", "rigid"),
			of("sjf", "rigid"))))
	return []Claim{same, table}
}

func claimsOnPreemption() []Claim {
	of := func(policy string, preempt bool) at { return at{zoeMixed, policy, "flexible", preempt} }
	const human, elastic = report.Interactive, report.BatchElastic
	waits := Claim{
		ID: "10.5-interactive", Where: "§10.5, figure 30 left",
		Words: "roughly two orders of magnitude less queuing times. Users do not wait for few dozens minutes but only few seconds",
		Checks: []Check{
			atFullScale(figure("SRPT Int: median queueing without preemption", "s", "few dozens minutes",
				between(600, 7200), medianQueue(human), of("srpt", false))),
		},
	}
	stable := Claim{
		ID: "10.5-batch", Where: "§10.5, figure 30",
		Words: "elastic batch applications pay with more variability (but stable for the median case) in queuing times",
	}
	price := Claim{
		ID: "10.5-price", Where: "§10.5, figures 31 to 33 (one dimension)",
		Words: "a drop in the resource utilization and an increase in the size of the pending queue",
	}
	for _, p := range zoePolicies() {
		with, without := of(p, true), of(p, false)
		waits.Checks = append(waits.Checks,
			ratio(title(p)+" Int: mean queueing + 1 s, without to with preemption", "some 100", atLeast(30),
				orNone(meanQueue(human)), without, with),
			figure(title(p)+" Int: median queueing with preemption", "s", "few seconds", atMost(10), medianQueue(human), with))
		stable.Checks = append(stable.Checks,
			ratio(title(p)+" B-E: median turnaround, with to without preemption", "stable", between(0.8, 1.25),
				medianOf(elastic), with, without),
			ratio(title(p)+" B-E: 95 % of queueing + 1 s, with to without preemption", "more variable", atLeast(1),
				orNone(highQueue(elastic)), with, without))
		price.Checks = append(price.Checks,
			ratio(title(p)+": mean cpu allocation, with to without preemption", "drops", less(), cpuAllocation, with, without),
			ratio(title(p)+": mean number waiting, with to without preemption", "increases", atLeast(1), waiting, with, without))
	}
	return []Claim{waits, stable, price}
}

func claimsOnTestbed() []Claim {
	flexible, rigid := at{zoeTestbed, "fifo", "flexible", false}, at{zoeTestbed, "fifo", "rigid", false}
	return []Claim{
		{
			ID: "11-turnaround", Where: "§11, figure 34 left",
			Words:      "the median turnaround times are 37% and 22% lower, for elastic and rigid applications respectively",
			Calibrated: calibratedBed,
			Checks: []Check{
				ratio("B-E: median turnaround, flexible to rigid", "0.63", between(0.5, 0.76),
					medianOf(report.BatchElastic), flexible, rigid),
				ratio("B-R: median turnaround, flexible to rigid", "0.78", between(0.65, 0.91), medianOf(report.BatchRigid),
					flexible, rigid),
			},
		},
		{
			ID: "11-tails", Where: "§11, figure 34 left",
			Words: "the tails of the distributions are in favor of our approach", Calibrated: calibratedBed,
			Checks: []Check{
				ratio("B-E: 95 % of turnaround, flexible to rigid", "less", less(), highTurnaround(report.BatchElastic),
					flexible, rigid),
				ratio("B-R: 95 % of turnaround, flexible to rigid", "less", less(), highTurnaround(report.BatchRigid),
					flexible, rigid),
			},
		},
		{
			ID: "11-allocation", Where: "§11, figure 34 right",
			Words: "a 20% improvement, in allocating and packing applications", Calibrated: calibratedBed,
			Checks: []Check{
				ratio("mean cpu allocation, flexible to rigid", "1.2", between(1.13, 1.3), cpuAllocation, flexible, rigid),
				ratio("mean memory allocation, flexible to rigid", "1.2", between(1.13, 1.3), memoryAllocation, flexible, rigid),
			},
		},
	}
}
