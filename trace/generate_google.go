package trace

// The Google-like task trace: seed 002 Table 1 has 506,400 jobs with 17,889,700 tasks; a tenth of the jobs is the default,
// because all of the tasks together take 150 MB.
//
// Table 1 divides jobs and tasks at 100 s and 1000 s. Each of the three classes has its share of the jobs, the mean number
// of tasks that gives its share of the tasks, and mean durations whose logarithm is uniform, a
// little away from 100 s: durations of tasks vary about the mean. Six jobs in ten have one task
// (the shapes of Google 2011); the others have an exponential number.
//
// Not in the seed: that the trace covers 29 days, which is what is known of it and gives the mean gap; Poisson arrivals; and
// the longest mean duration of five hours. With it the mean demand is about 14,500 slots, so that 12,000 are too few and
// 20,000 are not: seed 002 §3.2 calls a cluster of 12,000 slots extremely loaded, and one of 20,000 moderately.
const (
	googleGap    = 29 * day / 506_400
	googleSingle = 0.6 // of the jobs of each class have one task
)

func google() Generator {
	const table = "seed 002 Table 1"
	return Generator{
		Name: "google", Default: 50_640,
		Doc:      "a task trace like that of Google 2011, a tenth of it",
		Generate: func(seed uint64, n int) []Job { return taskJobs(seed, n, Poisson(googleGap), googleClasses()) },
		Published: []Marginal{
			{"tasks of a job, on average", "35.3 (17889.7k of 506.4k jobs)", 33.3, 37.3, "", table, meanTasks},
			{"jobs whose tasks take at most 1000 s on average", "89.0 %", 0.88, 0.90, "", table, jobsUpTo(1000)},
			{"jobs whose tasks take at most 100 s on average", "42.7 %", 0.417, 0.437, "", table, jobsUpTo(100)},
			{"jobs whose tasks take at most 10 s on average", "0.0 %", 0, 0.005, "", table, jobsUpTo(10)},
			{"tasks that take at most 1000 s", "69.7 %", 0.667, 0.727, "", table, tasksUpTo(1000)},
			{"tasks that take at most 100 s", "7.6 %", 0.061, 0.091, "", table, tasksUpTo(100)},
			{"tasks that take at most 10 s", "0.0 %", 0, 0.005, "", table, tasksUpTo(10)},
			{"mean gap between arrivals", "4.95 s (506.4k in 29 days)", 4.8, 5.1, "s", table + "; the trace's length", meanGap},
		},
		Notes: []string{classNote},
	}
}

func googleClasses() []taskClass {
	return []taskClass{
		{"google-short", 0.427, noneOr(googleSingle, 5.3), logUniform(20, 95)},
		{"google-medium", 0.463, noneOr(googleSingle, 46.4), logUniform(108, 1000)},
		{"google-long", 0.110, noneOr(googleSingle, 96.3), logUniform(1000, 18_000)},
	}
}
