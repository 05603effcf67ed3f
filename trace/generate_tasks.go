package trace

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// taskClass is one class of jobs in a task trace.
type taskClass struct {
	name  string
	share float64                      // of all jobs
	tasks func(rng *rand.Rand) float64 // how many tasks a job has beyond the first; rounded
	mean  func(rng *rand.Rand) float64 // of the durations of its tasks, in seconds
}

// classNote says how Table 1 of seed 002 is read.
const classNote = "Table 1 does not say which duration of a job it counts by. It is read as the mean of its tasks."

// taskJobs draws the first n jobs of a task trace. The durations of a job's tasks are Gaussian with a variance of twice the
// mean, in seconds; what is not positive is drawn again.
func taskJobs(seed uint64, n int, next Arrivals, classes []taskClass) []Job {
	arrivals, kinds := stream(seed, "arrivals"), stream(seed, "kinds")
	counts, means, durations := stream(seed, "counts"), stream(seed, "means"), stream(seed, "durations")
	made := newApps()
	jobs := make([]Job, n)
	at := time.Duration(0)
	for i := range jobs {
		at = next(arrivals, at)
		c := pick(classes, kinds.Float64())
		tasks := make([]time.Duration, 1+int(math.Round(c.tasks(counts))))
		mean := c.mean(means)
		for k := range tasks {
			tasks[k] = millis(positiveNormal(durations, mean, math.Sqrt(2*mean)))
		}
		jobs[i] = poolJob(int64(i+1), at, tasks, c.name, &made)
	}
	return jobs
}

// pick returns the class in whose share u falls.
func pick(classes []taskClass, u float64) *taskClass {
	for i := range classes[:len(classes)-1] {
		if u < classes[i].share {
			return &classes[i]
		}
		u -= classes[i].share
	}
	return &classes[len(classes)-1]
}

// poolJob makes a job of tasks, as the reader of .tr files does: one component of as many replicas as there are tasks, one
// of them core, of one cpu each, and a runtime such that its work is the sum of all durations, rounded.
func poolJob(id int64, at time.Duration, tasks []time.Duration, name string, made *apps) Job {
	var sum time.Duration
	for _, d := range tasks {
		sum += d
	}
	n := time.Duration(len(tasks))
	s := shape{
		name: name, kind: dovetail.Batch, core: 1, full: len(tasks), each: dovetail.Resources{dovetail.CPU: 1000},
		runtime: max(time.Microsecond, (sum / n).Round(time.Microsecond)),
	}
	return Job{ID: id, Submit: at, Runtime: s.runtime, Tasks: tasks, App: made.of(&s)}
}

// exponential draws from an exponential distribution of this mean.
func exponential(mean float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return mean * rng.ExpFloat64() }
}

// either draws from an exponential distribution: of the first mean with probability p, otherwise of the second.
func either(p, first, second float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		u, x := rng.Float64(), rng.ExpFloat64()
		if u < p {
			return first * x
		}
		return second * x
	}
}

// above adds a constant to what is drawn.
func above(low float64, draw func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return low + draw(rng) }
}

// logUniform draws a number between low and high whose logarithm is uniform.
func logUniform(low, high float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return quantile([]point{{0, low}, {1, high}}, rng.Float64()) }
}

// noneOr draws 0 with probability p, and otherwise from an exponential distribution such that the mean of all is this one.
func noneOr(p, mean float64) func(*rand.Rand) float64 { return either(p, 0, mean/(1-p)) }

// jobsUpTo measures the share of jobs whose tasks take at most so many seconds on average.
func jobsUpTo(seconds float64) func([]Job) float64 {
	return func(jobs []Job) float64 {
		return ratio(jobs, anyJob, func(j *Job) bool { return j.Runtime.Seconds() <= seconds })
	}
}

// tasksUpTo measures the share of tasks that take at most so many seconds.
func tasksUpTo(seconds float64) func([]Job) float64 {
	return func(jobs []Job) float64 {
		all, some := 0, 0
		for i := range jobs {
			for _, d := range jobs[i].Tasks {
				all++
				if d.Seconds() <= seconds {
					some++
				}
			}
		}
		return float64(some) / float64(max(1, all))
	}
}

// meanTasks measures how many tasks a job has on average.
func meanTasks(jobs []Job) float64 { return average(tasksOf)(jobs) }

// classOf limits v to the jobs of a class.
func classOf(class string, v value) value {
	return func(j *Job) (float64, bool) {
		x, ok := v(j)
		return x, ok && j.App.Name == class
	}
}

// furtherTasks returns how many tasks a job has beyond the first.
func furtherTasks(j *Job) (float64, bool) { return float64(len(j.Tasks) - 1), len(j.Tasks) > 0 }

// average measures the mean of a value over the jobs that have it.
func average(v value) func([]Job) float64 {
	return func(jobs []Job) float64 { return mean(valuesOf(jobs, v)) }
}

// taskVariance measures the variance of the durations of a job's tasks by their mean, in seconds, over all jobs: the sum of the
// squared distances from each job's mean, by what it would be if every job's variance were its mean.
func taskVariance(jobs []Job) float64 {
	square, unit := 0.0, 0.0
	for i := range jobs {
		tasks := jobs[i].Tasks
		sum := 0.0
		for _, d := range tasks {
			sum += d.Seconds()
		}
		m := sum / max(1, float64(len(tasks)))
		for _, d := range tasks {
			square += float64((d.Seconds() - m) * (d.Seconds() - m))
		}
		unit += float64(m * float64(max(1, len(tasks))-1))
	}
	if unit == 0 {
		return 0
	}
	return square / unit
}
