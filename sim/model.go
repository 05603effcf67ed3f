package sim

import (
	"fmt"
	"math"
	"math/bits"
	"sort"

	"github.com/dovetail-sched/dovetail/trace"
)

// Whole is what one replica on a node of full speed counts in Model.Rate.
const Whole = 100

// Model says how fast a run progresses with the replicas that it holds. It is pure.
type Model interface {
	// Rate returns the speed of a job, in units of the model per microsecond, while replicas that add up to so many hundredths
	// are at work: Whole for each, less for one on a slow node. Not falling in hundredths, positive for Whole and more. A job's
	// work is Rate(all of its replicas) × Runtime.
	Rate(j *trace.Job, hundredths int64) int64
}

// Linear is the model of seed 004 §8.2: every replica does as much as any other. W = T·(C+E), T' = W/(C+x).
type Linear struct{}

// Rate returns the hundredths themselves.
func (Linear) Rate(_ *trace.Job, hundredths int64) int64 { return hundredths }

// Curve is a model with the speedup curve of Amdahl's law and a cost of coordination: with n replicas a job runs at the speed
// n / (1 + Serial·(n−1) + Coordination·n·(n−1)), the universal scalability law (Gunther 1993), relative to one replica.
type Curve struct {
	Serial       float64 // share of the work that cannot be done in parallel, in [0,1]
	Coordination float64 // cost of agreement between each pair of replicas, at least 0
}

// precision is the units of a Curve that one replica makes in a microsecond.
const precision = 1 << 10

// Rate returns the speedup × 1024. Past its peak the curve is flat: a run does not become slower by replicas it need not use.
func (c Curve) Rate(_ *trace.Job, hundredths int64) int64 {
	n := float64(hundredths) / Whole
	if n <= 1 {
		return int64(n * precision)
	}
	if c.Coordination > 0 {
		n = min(n, max(1, math.Sqrt((1-c.Serial)/c.Coordination)))
	}
	cost := 1 + float64(c.Serial*(n-1)) + float64(c.Coordination*n*(n-1))
	return max(1, int64(n/cost*precision))
}

// Points is a model by measured scale-outs: the speed between two of them is interpolated, beyond the last it stays.
type Points []Point

// Point says that a job with so many replicas runs so many times as fast as with one.
type Point struct {
	Replicas int
	Speedup  float64
}

// Rate returns the interpolated speedup × 1024.
func (p Points) Rate(_ *trace.Job, hundredths int64) int64 {
	n := float64(hundredths) / Whole
	prev := Point{Replicas: 0, Speedup: 0}
	i := sort.Search(len(p), func(i int) bool { return float64(p[i].Replicas) >= n })
	if i > 0 {
		prev = p[i-1]
	}
	if i == len(p) {
		return max(1, int64(prev.Speedup*precision))
	}
	share := (n - float64(prev.Replicas)) / float64(p[i].Replicas-prev.Replicas)
	return max(1, int64((prev.Speedup+float64(share*(p[i].Speedup-prev.Speedup)))*precision))
}

// work returns all that is to be done for a job, in units of the model.
func work(m Model, j *trace.Job) (int64, error) {
	rate, us := m.Rate(j, int64(j.Full())*Whole), j.Runtime.Microseconds()
	if rate <= 0 || us <= 0 {
		return 0, fmt.Errorf("job %d: expected at least one replica and a runtime of at least 1 µs, not %d replicas for %s", j.ID, j.Full(), j.Runtime)
	}
	if high, low := bits.Mul64(uint64(rate), uint64(us)); high != 0 || low > math.MaxInt64 {
		return 0, fmt.Errorf("job %d: %s on %d replicas is more work than can be counted; scale the runtimes down", j.ID, j.Runtime, j.Full())
	}
	return rate * us, nil
}

// duration returns the time that so much work takes at a rate, rounded to the nearest microsecond, half up; at least 0.
func duration(left, rate int64) int64 {
	if left <= 0 {
		return 0
	}
	q, r := left/rate, left%rate
	if r >= rate-r {
		q++
	}
	return q
}
