package study

// zoeReasons says, for claims by ID, how we read what comes out at full scale. It is a reading, not computed: docs/experiments.md has
// the figures that it is of. A claim that is reproduced without further ado has none.
func zoeReasons() map[string]string {
	return map[string]string{
		"10.2-turnaround": "Halved with FIFO. With SJF the mean falls by a third, and the median rises, by a " +
			"sixth: most runs are short and wait little with either allocator.",
		"10.2-malleable": "By a fifth and more, which is more than slightly, and with FIFO by three tenths, which " +
			"is just past the bound. At a small scale flexible and malleable are alike but for FIFO.",
		"10.2-queueing": "Less on average for both kinds and policies. With SJF the median run waits longer, by " +
			"some twenty minutes at full scale: flexible starts the cores of long runs that rigid keeps out, and cores are " +
			"never taken back.",
		"10.2-sjf-queue": "More than an order of magnitude: our backlog with FIFO is longer than the seed's. At a small " +
			"scale it has no time to build up.",
		"10.2-allocation": "A quarter and more with FIFO, a little more than a fifth with SJF: rigid fills gaps " +
			"with short runs there, so there is less to gain. At a small scale it is 12 to 16 %.",
		"10.3-srpt": "At full scale 2D2 is worse than 2D1 by 4 % and 3D2 than 3D1 by 1 %: just within the bounds, " +
			"and seeds differ by more than that. We rank by what is missing now, the seed's simulator by what was missing " +
			"when components were last added.",
		"10.3-rigid": "Two dimensions bring most of it, but the third still helps, by a tenth or so: short jobs of " +
			"many small components no longer wait behind those of few big ones.",
		"10.3-table": "About two thirds of the seed's throughout, so the ratios of sizes agree. HRRN-2D and -3D are other " +
			"policies here: see 10.3-hrrn.",
		"10.3-hrrn": "HRRN is worse than SJF, by some 10 to 20 %. But more dimensions improve it, as they do with the others, " +
			"because our size divides the wait. The seed's multiplies.",
		"10.3-hrrn-peer": "By the seed's own rules HRRN-2D and -3D are far worse, even more than it says; in one " +
			"dimension HRRN and SJF are about alike. Its simulator takes now for 0: that figure says nothing about aging.",
		"10.4-same": "To the microsecond, for every run.",
		"10.4-table": "FIFO is within a factor of two, to which the load was chosen. SJF takes a little less than " +
			"half of the seed's. Our HRRN is worse than SJF by a quarter, where the seed's is three times worse.",
		"10.5-interactive": "More than two orders: they do not wait at all. Whoever may preempt finds elastic replicas to " +
			"take, since all batch applications together hold more than enough.",
		"10.5-batch": "It is batch that gains most with SJF, SRPT and HRRN: with preemption every short run takes elastic " +
			"replicas of long ones, not only an interactive one. With FIFO, where only interactive runs do, the median batch " +
			"run pays a sixth.",
		"10.5-price": "The queue shrinks instead, for the same reason, and allocation does not drop: what is taken from one " +
			"is given to another at once.",
		"11-turnaround": "Elastic runs gain as much as in the seed. Rigid ones gain as much as elastic ones, and more than " +
			"in the seed: they wait in one line, and their runtimes, which the seed does not give, are short against the " +
			"wait.",
		"11-allocation": "More than in the seed. It follows from the runtimes that we chose.",
	}
}
