package trace

import (
	"iter"
	"math"
	"math/bits"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Summary is what `dovetail trace info` says of a trace. Times are in seconds.
type Summary struct {
	Jobs     int                   `json:"jobs"`
	Replicas int64                 `json:"replicas"`        // core and elastic, of all jobs
	Tasks    int64                 `json:"tasks,omitempty"` // of a task trace
	Kinds    map[dovetail.Kind]int `json:"kinds"`           // jobs of each
	Rigid    int                   `json:"rigid"`           // jobs without elastic replicas
	Hinted   int                   `json:"hinted"`          // jobs whose runtime policies are told something of
	First    float64               `json:"firstSubmitSeconds"`
	Last     float64               `json:"lastSubmitSeconds"`
	Core     Spread                `json:"core"`
	Elastic  Spread                `json:"elastic"`
	Full     Spread                `json:"full"`
	Runtime  Spread                `json:"runtimeSeconds"`
	Gap      Spread                `json:"interArrivalSeconds"`
	Demand   Demand                `json:"demand"`
}

// Demand is the work of all jobs: the sum over them of runtime × what all of their replicas need.
type Demand struct {
	ReplicaSeconds float64 `json:"replicaSeconds"`
	CoreSeconds    float64 `json:"coreSeconds"`
	GiBSeconds     float64 `json:"gibSeconds"`
	GPUSeconds     float64 `json:"gpuSeconds,omitempty"`
	MeanCores      float64 `json:"meanCores"` // divided by the time from the first to the last submission; 0 if that is 0
	MeanGiB        float64 `json:"meanGib"`
	MeanGPUs       float64 `json:"meanGpus,omitempty"`
}

// Spread is how a figure is distributed over jobs. Percentiles are the smallest values that so many jobs do not exceed: exact up
// to 4,095 (replicas or microseconds), and within 0.05 % above.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"standardDeviation"`
	Min       float64 `json:"min"`
	P10       float64 `json:"p10"`
	P50       float64 `json:"p50"`
	P90       float64 `json:"p90"`
	P95       float64 `json:"p95"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
}

// Summarise reads all jobs and keeps none of them. It returns the first error that they yield.
func Summarise(jobs iter.Seq2[Job, error]) (*Summary, error) {
	s := &Summary{Kinds: map[dovetail.Kind]int{}}
	var core, elastic, full, runtime, gap histogram
	var first, last, before time.Duration
	for j, err := range jobs {
		if err != nil {
			return nil, err
		}
		if s.Jobs > 0 {
			gap.add((j.Submit - before).Abs().Microseconds())
			first, last = min(first, j.Submit), max(last, j.Submit)
		} else {
			first, last = j.Submit, j.Submit
		}
		before = j.Submit
		s.add(&j)
		core.add(int64(j.Core()))
		elastic.add(int64(j.Full() - j.Core()))
		full.add(int64(j.Full()))
		runtime.add(j.Runtime.Microseconds())
	}
	s.First, s.Last = first.Seconds(), last.Seconds()
	s.Core, s.Elastic, s.Full = core.spread(1), elastic.spread(1), full.spread(1)
	s.Runtime, s.Gap = runtime.spread(1e6), gap.spread(1e6)
	if span := s.Last - s.First; span > 0 {
		d := &s.Demand
		d.MeanCores, d.MeanGiB, d.MeanGPUs = d.CoreSeconds/span, d.GiBSeconds/span, d.GPUSeconds/span
	}
	return s, nil
}

// add counts a job.
func (s *Summary) add(j *Job) {
	s.Jobs++
	s.Replicas += int64(j.Full())
	s.Tasks += int64(len(j.Tasks))
	s.Kinds[j.App.Kind]++
	if j.Core() == j.Full() {
		s.Rigid++
	}
	if j.App.Expected != 0 || j.App.Size != 0 {
		s.Hinted++
	}
	seconds := j.Runtime.Seconds()
	s.Demand.ReplicaSeconds += float64(seconds * float64(j.Full()))
	for i := range j.App.Components {
		c := &j.App.Components[i]
		each := float64(seconds * float64(c.Limit()))
		s.Demand.CoreSeconds += float64(each * float64(c.Resources[dovetail.CPU]) / 1000)
		s.Demand.GiBSeconds += float64(each * float64(c.Resources[dovetail.Memory]) / (1 << 30))
		s.Demand.GPUSeconds += float64(each * float64(c.Resources[dovetail.GPU]))
	}
}

// histogram counts numbers that are not negative, those with the same leading subBits+1 binary digits together (as HdrHistogram
// does). So it needs the same memory for any number of them.
type histogram struct {
	counts    []int64
	n         int64
	low, high int64
	mean      float64 // by Welford's method (Technometrics 4(3), 1962), and
	squares   float64 // the sum of squared differences from it
}

const subBits = 11

// slot returns where a number is counted.
func slot(v int64) int {
	shift := max(0, bits.Len64(uint64(v))-subBits-1)
	return shift<<subBits + int(v>>shift)
}

// middle returns the number in the middle of those that are counted at a slot.
func middle(i int) int64 {
	if i < 2<<subBits {
		return int64(i)
	}
	shift := i>>subBits - 1
	low := int64(i-shift<<subBits) << shift
	return low + int64(1)<<shift/2
}

func (h *histogram) add(v int64) {
	i := slot(v)
	if i >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, i+1-len(h.counts))...)
	}
	h.counts[i]++
	if h.n == 0 {
		h.low, h.high = v, v
	}
	h.n++
	h.low, h.high = min(h.low, v), max(h.high, v)
	d := float64(v) - h.mean
	h.mean += d / float64(h.n)
	h.squares += float64(d * (float64(v) - h.mean))
}

// percentile returns the smallest number that a share p of all does not exceed.
func (h *histogram) percentile(p float64) int64 {
	rank := max(1, int64(math.Ceil(p*float64(h.n))))
	for i, n := range h.counts {
		if rank -= n; rank <= 0 {
			return min(max(middle(i), h.low), h.high)
		}
	}
	return h.high
}

// spread returns the distribution with all numbers divided by a unit.
func (h *histogram) spread(unit float64) Spread {
	if h.n == 0 {
		return Spread{}
	}
	at := func(p float64) float64 { return float64(h.percentile(p)) / unit }
	return Spread{
		Mean: h.mean / unit, Deviation: math.Sqrt(h.squares/float64(h.n)) / unit,
		Min: float64(h.low) / unit, P10: at(0.1), P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99), Max: float64(h.high) / unit,
	}
}
