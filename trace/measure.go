package trace

import (
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// value is one number of a job, and whether the job has it.
type value func(*Job) (float64, bool)

func anyJob(*Job) bool { return true }

func fullOf(j *Job) (float64, bool)    { return float64(j.Full()), true }
func runtimeOf(j *Job) (float64, bool) { return j.Runtime.Seconds(), true }
func tasksOf(j *Job) (float64, bool)   { return float64(len(j.Tasks)), len(j.Tasks) > 0 }

// cpuOf returns the cpu of one replica of the job's first component, in cores.
func cpuOf(j *Job) (float64, bool) {
	return float64(j.App.Components[0].Resources[dovetail.CPU]) / 1000, true
}

// memoryOf returns the memory of one replica of the job's first component, in MiB.
func memoryOf(j *Job) (float64, bool) {
	return float64(j.App.Components[0].Resources[dovetail.Memory]) / (1 << 20), true
}

// batchOf limits v to batch applications.
func batchOf(v value) value {
	return func(j *Job) (float64, bool) {
		x, ok := v(j)
		return x, ok && j.App.Kind == dovetail.Batch
	}
}

// valuesOf returns the numbers of those jobs that have one.
func valuesOf(jobs []Job, v value) []float64 {
	var found []float64
	for i := range jobs {
		if x, ok := v(&jobs[i]); ok {
			found = append(found, x)
		}
	}
	return found
}

func least(x []float64) float64 { return slices.Min(x) }
func most(x []float64) float64  { return slices.Max(x) }

// mean returns the mean of numbers, 0 if there are none.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / max(1, float64(len(x)))
}

// extreme measures the least or the most of a value, 0 if no job has it.
func extreme(which func([]float64) float64, v value) func([]Job) float64 {
	return func(jobs []Job) float64 {
		found := valuesOf(jobs, v)
		if len(found) == 0 {
			return 0
		}
		return which(found)
	}
}

// median returns the median of a value, 0 if no job has it.
func median(jobs []Job, v value) float64 {
	found := valuesOf(jobs, v)
	if len(found) == 0 {
		return 0
	}
	slices.Sort(found)
	return found[len(found)/2]
}

// ratio returns the share of jobs that are so among those that are of a kind, 0 if none is.
func ratio(jobs []Job, of, so func(*Job) bool) float64 {
	all, some := 0, 0
	for i := range jobs {
		if j := &jobs[i]; of(j) {
			all++
			if so(j) {
				some++
			}
		}
	}
	return float64(some) / float64(max(1, all))
}

func interactiveShare(jobs []Job) float64 {
	return ratio(jobs, anyJob, func(j *Job) bool { return j.App.Kind == dovetail.Interactive })
}

func elasticShare(jobs []Job) float64 {
	return ratio(jobs, anyJob, func(j *Job) bool { return j.Full() > j.Core() })
}

// spanOf returns the time from the first submission to the last in seconds, 1 if there is none.
func spanOf(jobs []Job) float64 {
	if len(jobs) < 2 {
		return 1
	}
	return max(1, (jobs[len(jobs)-1].Submit - jobs[0].Submit).Seconds())
}

// gapsOf returns the times between successive submissions in seconds.
func gapsOf(jobs []Job) []float64 {
	var gaps []float64
	for i := 1; i < len(jobs); i++ {
		gaps = append(gaps, (jobs[i].Submit - jobs[i-1].Submit).Seconds())
	}
	return gaps
}

// meanGap measures the mean time between successive submissions in seconds.
func meanGap(jobs []Job) float64 { return mean(gapsOf(jobs)) }

// gapVariation measures the standard deviation of the times between successive submissions by their mean.
func gapVariation(jobs []Job) float64 {
	gaps := gapsOf(jobs)
	m, square := mean(gaps), 0.0
	for _, g := range gaps {
		square += float64((g - m) * (g - m))
	}
	if m == 0 {
		return 0
	}
	return math.Sqrt(square/float64(len(gaps))) / m
}

// gapBimodality measures Sarle's coefficient, (skewness² + 1) / kurtosis, of the logarithms of the gaps: 5/9 for a uniform
// distribution, more for one with two modes, 1 for two values, 1/3 for a normal one. It is 0 for less than two gaps.
func gapBimodality(jobs []Job) float64 {
	var logs []float64
	for _, g := range gapsOf(jobs) {
		logs = append(logs, math.Log(max(g, 1e-6)))
	}
	m := mean(logs)
	var m2, m3, m4 float64
	for _, x := range logs {
		d := x - m
		m2 += float64(d * d)
		m3 += float64(d * d * d)
		m4 += float64(d * d * d * d)
	}
	if m4 == 0 {
		return 0
	}
	n := float64(len(logs))
	skewness := (m3 / n) / math.Pow(m2/n, 1.5)
	return (float64(skewness*skewness) + 1) / ((m4 / n) / float64((m2/n)*(m2/n)))
}
