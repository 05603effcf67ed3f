package study

// zoeReasonsOf is the run that zoeReasons is about; zoeReasonsIn describes it.
const (
	zoeReasonsOf = "the run with 80,000 applications and 10 seeds"
	zoeReasonsIn = "docs/experiments.md"
)

// zoeReason is how we read what came out of that run.
type zoeReason struct {
	verdict Verdict // in that run
	text    string
}

// reason explains the verdict. What was read from another run helps only where the verdict is the same.
func (c *Claim) reason() {
	if r, known := zoeReasons()[c.ID]; known && r.verdict == c.Verdict {
		c.Why = r.text
	}
}

// zoeReasons explains claims, by ID. It is a reading, not computed: docs/experiments.md has the figures that it is of. A claim that is
// reproduced without further ado has none.
func zoeReasons() map[string]zoeReason {
	return map[string]zoeReason{
		"10.2-turnaround": {Partly, "It was halved with FIFO. With SJF the mean fell by a third, and the median rose, by a " +
			"sixth: most runs are short and wait little with either allocator."},
		"10.2-malleable": {Partly, "It was better by a fifth and more, which is more than slightly, and with FIFO by three tenths, which " +
			"was just past the bound."},
		"10.2-queueing": {Partly, "It was less on average for both kinds and policies. With SJF the median run waited longer, by " +
			"some twenty minutes: flexible starts the cores of long runs that rigid keeps out, and cores are never taken back."},
		"10.2-sjf-queue": {Partly, "It was more than an order of magnitude: our backlog with FIFO was longer than the seed's."},
		"10.2-allocation": {Reproduced, "It was a quarter and more with FIFO, a little more than a fifth with SJF: rigid fills gaps " +
			"with short runs there, so there is less to gain."},
		"10.3-srpt": {Reproduced, "2D2 was worse than 2D1 by 4 % and 3D2 than 3D1 by 1 %: just within the bounds, " +
			"and seeds differed by more than that. We rank by what is missing now, the seed's simulator by what was missing " +
			"when components were last added."},
		"10.3-rigid": {Partly, "Two dimensions brought most of it, but the third still helped, by a tenth or so: short jobs of " +
			"many small components no longer wait behind those of few big ones."},
		"10.3-allocation": {Partly, "What was allocated of processors rose by 1 % with the second dimension and fell by 2 % with the third; " +
			"of memory it was alike, as seeds differed by more."},
		"10.3-utilization": {Reproduced, "By at most 1.5 %, and seven of the eight intervals reached below 1: there was hardly a difference."},
		"10.3-table": {Partly, "About two thirds of the seed's throughout, so the ratios of sizes agreed. HRRN-2D and -3D are other " +
			"policies here: see 10.3-hrrn."},
		"10.3-hrrn": {Partly, "HRRN was worse than SJF, by some 10 to 20 %. But more dimensions improved it, as they did with the others, " +
			"because our size divides the wait. The seed's multiplies."},
		"10.3-hrrn-peer": {Partly, "By the seed's own rules HRRN-2D and -3D were far worse, even more than it says; in one " +
			"dimension HRRN and SJF were about alike. Its simulator takes now for 0: that figure says nothing about aging."},
		"10.4-same": {Reproduced, "To the microsecond, for every run."},
		"10.4-table": {Partly, "FIFO was within a factor of two, to which the load was chosen. SJF took a little less than " +
			"half of the seed's. Our HRRN was worse than SJF by a quarter, where the seed's is three times worse."},
		"10.5-interactive": {Reproduced, "It was more than two orders: they did not wait at all. Whoever may preempt finds elastic replicas to " +
			"take, since all batch applications together hold more than enough."},
		"10.5-batch": {Partly, "It was batch that gained most with SJF, SRPT and HRRN: with preemption every short run takes elastic " +
			"replicas of long ones, not only an interactive one. With FIFO, where only interactive runs do, the median batch " +
			"run paid a sixth."},
		"10.5-price": {NotReproduced, "The queue shrank instead, for the same reason as in 10.5-batch, and allocation did not drop: what is taken " +
			"from one is given to another at once."},
		"11-turnaround": {Partly, "Elastic runs gained as much as in the seed. Rigid ones gained as much as elastic ones, and more than " +
			"in the seed: they wait in one line, and their runtimes, which the seed does not give, are short against the " +
			"wait."},
		"11-allocation": {NotReproduced, "It was more than in the seed. It follows from the runtimes that we chose."},
	}
}
