// Package policy answers: which run should be served next?
//
// A policy is an Order: a rank that depends on a Job, its size and the time. The lowest rank is served first; ties go to the
// earliest arrival. The size of a run is 1D (time), 2D (time × replicas) or 3D (time × Σ cpu × memory); seed 004, table 10.3a.
package policy

import (
	"fmt"
	"strings"
	"time"
)

// UnknownTime is the runtime assumed of a run that says nothing about its own.
const UnknownTime = time.Hour

// Job is what an order may know of a run.
type Job struct {
	Submitted time.Time
	Deadline  time.Time     // zero: none
	Expected  time.Duration // runtime at full scale; 0: unknown
	Cautious  time.Duration // … that is exceeded once in ten times; 0: as Expected
	Done      float64       // share of the work that is done, in [0,1]
	All       Extent        // of all replicas it can use
	Missing   Extent        // of those it still lacks
}

// Extent measures a set of replicas: how many, and the sum of their cpu × memory (cores × GiB).
type Extent struct {
	Replicas int
	Area     float64
}

// Plus returns e and n more replicas of so many millicores and bytes. A replica that says nothing of one of them counts as if it
// asked for one core, or one GiB: it is not a run of no size.
func (e Extent) Plus(n int, millicores, bytes int64) Extent {
	if millicores == 0 {
		millicores = 1000
	}
	if bytes == 0 {
		bytes = 1 << 30
	}
	e.Replicas += n
	e.Area += float64(n) * (float64(millicores) / 1000) * (float64(bytes) / (1 << 30))
	return e
}

// Rank is a key: lowest first, compared entry by entry.
type Rank [2]float64

// Less reports whether r is served before o.
func (r Rank) Less(o Rank) bool { return r[0] < o[0] || r[0] == o[0] && r[1] < o[1] }

// Order is one queueing discipline. Rank is pure and finite.
//
// If the rank of a waiting run moves, it moves steadily: the first entry is linear in now (rounding aside: to 1 part in 10¹³), the
// second stands still. The core relies on it to rank only those afresh that can have come to the front.
type Order struct {
	Name     string
	Moves    bool // the rank of a waiting run changes with time, linearly
	Sized    bool // the rank depends on the size of a run
	Shrinks  bool // the rank of a run in service changes with the work done and the replicas it holds
	Backfill bool // runs behind one that does not fit may start
	Reserves bool // … only if that does not delay the first of those that do not fit, as far as runtimes are predicted
	Rank     func(j *Job, now time.Time) Rank
}

// size is the measure that an order multiplies time by.
type size func(e Extent) float64

func oneD(Extent) float64     { return 1 }
func twoD(e Extent) float64   { return float64(e.Replicas) }
func threeD(e Extent) float64 { return e.Area }

func (j *Job) time() float64 {
	if j.Expected <= 0 {
		return UnknownTime.Seconds()
	}
	return j.Expected.Seconds()
}

// Orders returns every policy, by name.
func Orders() []Order {
	orders := []Order{
		{Name: "fifo", Rank: fifo},
		{Name: "fifo-backfill", Rank: fifo, Backfill: true},
		{Name: "fifo-easy", Rank: fifo, Backfill: true, Reserves: true},
	}
	for _, s := range []struct {
		suffix string
		of     size
	}{{"", oneD}, {"-2d", twoD}, {"-3d", threeD}} {
		orders = append(orders,
			Order{Name: "sjf" + s.suffix, Sized: true, Rank: sjf(s.of)},
			Order{Name: "srpt" + s.suffix, Sized: true, Rank: srpt(s.of, all), Shrinks: true},
			Order{Name: "hrrn" + s.suffix, Sized: true, Rank: hrrn(s.of), Moves: true, Shrinks: true},
			Order{Name: "edf" + s.suffix, Sized: true, Rank: edf(s.of)},
		)
		if s.suffix != "" {
			orders = append(orders,
				Order{Name: "srpt" + s.suffix + "1", Sized: true, Rank: srpt(s.of, all), Shrinks: true},
				Order{Name: "srpt" + s.suffix + "2", Sized: true, Rank: srpt(s.of, missing), Shrinks: true},
			)
		}
	}
	return orders
}

// Find returns the order with this name; the error lists the names there are.
func Find(name string) (Order, error) {
	var names []string
	for _, o := range Orders() {
		if o.Name == name {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return Order{}, fmt.Errorf("unknown policy %q; expected one of %s", name, strings.Join(names, ", "))
}

// fifo leaves everything to the tie rule: the earliest arrival.
func fifo(*Job, time.Time) Rank { return Rank{} }

// sjf ranks by size: shortest job first.
func sjf(s size) func(*Job, time.Time) Rank {
	return func(j *Job, _ time.Time) Rank { return Rank{j.time() * s(j.All)} }
}

func all(j *Job) Extent     { return j.All }
func missing(j *Job) Extent { return j.Missing }

// srpt ranks by remaining size: shortest remaining processing time. The extent is of all replicas (SRPT-2D1, 3D1) or of those
// still to be scheduled (2D2, 3D2).
func srpt(s size, of func(*Job) Extent) func(*Job, time.Time) Rank {
	return func(j *Job, _ time.Time) Rank { return Rank{(1 - j.Done) * j.time() * s(of(j))} }
}

// hrrn ranks by response ratio, highest first: 1 + wait/size. With one dimension that is the textbook's (wait + T)/T. In 2D and
// 3D the size divides the wait, so that small runs are favoured as in SJF; the seed multiplies the ratio by it instead, which
// favours big ones.
func hrrn(s size) func(*Job, time.Time) Rank {
	const tiny = 1e-15 // keeps the ratio of a run of no size finite
	return func(j *Job, now time.Time) Rank {
		work := max(j.time()*s(j.All), tiny)
		return Rank{-now.Sub(j.Submitted).Seconds() / work}
	}
}

// edf ranks by deadline, earliest first, then by size, with a runtime that is rarely exceeded; runs without a deadline come last.
func edf(s size) func(*Job, time.Time) Rank {
	const never = float64(1 << 62)
	return func(j *Job, _ time.Time) Rank {
		t := j.time()
		if j.Cautious > 0 {
			t = j.Cautious.Seconds()
		}
		if j.Deadline.IsZero() {
			return Rank{never, t * s(j.All)}
		}
		return Rank{float64(j.Deadline.UnixMicro()), t * s(j.All)}
	}
}
