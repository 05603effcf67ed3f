package study

import (
	"math"
	"strconv"
	"strings"
)

// zoeMeasure is a figure of one cell.
type zoeMeasure func(c *ZoeCell) float64

func meanTurnaround(c *ZoeCell) float64   { return c.ended(c.MeanTurnaround) }
func medianTurnaround(c *ZoeCell) float64 { return c.ended(c.P50Turnaround) }
func meanQueueing(c *ZoeCell) float64     { return c.ended(c.MeanQueue) }
func waiting(c *ZoeCell) float64          { return c.ArrivingWaiting }
func serving(c *ZoeCell) float64          { return c.ArrivingServing }
func cpuAllocation(c *ZoeCell) float64    { return c.ArrivingCPU }
func memoryAllocation(c *ZoeCell) float64 { return c.ArrivingMemory }

// ended is a figure over runs: not a number if none ended.
func (c *ZoeCell) ended(figure float64) float64 {
	if c.Runs == 0 {
		return math.NaN()
	}
	return figure
}

// Figures of one kind of runs.
func medianOf(kind string) zoeMeasure {
	return func(c *ZoeCell) float64 { return c.kind(kind).P50Turnaround }
}
func highTurnaround(kind string) zoeMeasure {
	return func(c *ZoeCell) float64 { return c.kind(kind).P95Turnaround }
}
func meanQueue(kind string) zoeMeasure {
	return func(c *ZoeCell) float64 { return c.kind(kind).MeanQueue }
}
func medianQueue(kind string) zoeMeasure {
	return func(c *ZoeCell) float64 { return c.kind(kind).P50Queue }
}
func highQueue(kind string) zoeMeasure {
	return func(c *ZoeCell) float64 { return c.kind(kind).P95Queue }
}
func meanSlowdown(kind string) zoeMeasure {
	return func(c *ZoeCell) float64 { return c.kind(kind).MeanSlowdown }
}

// orNone is a time that may be zero, as a number that others can be divided by: with one second more.
func orNone(m zoeMeasure) zoeMeasure { return func(c *ZoeCell) float64 { return m(c) + 1 } }

// bounds are those of a check; nil is none.
type bounds struct{ low, high *float64 }

func between(low, high float64) bounds { return bounds{&low, &high} }
func atLeast(low float64) bounds       { return bounds{low: &low} }
func atMost(high float64) bounds       { return bounds{high: &high} }

// within2 means within a factor of 2 of so many seconds.
func within2(seconds float64) bounds { return between(math.Round(seconds/2), math.Round(seconds*2)) }

// less means that the second of two settings has more; equal will do.
func less() bounds { return atMost(1) }

// batch is a setting on the batch workload.
func batch(policy, alloc string) at { return at{zoeBatch, policy, alloc, false} }

// ratio checks a figure of one setting over that of another, seed by seed.
func ratio(what, seed string, b bounds, m zoeMeasure, over, under at) Check {
	return Check{
		What: what, Seed: seed, Low: b.low, High: b.high, needs: []at{over, under},
		of: func(c []*ZoeCell) float64 { return quotient(m(c[0]), m(c[1])) },
	}
}

// quotient returns a/b; 1 if they are equal, nothing among them.
func quotient(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

// difference checks how much more a figure, in seconds, is in one setting than in another.
func difference(what, seed string, b bounds, m zoeMeasure, one, other at) Check {
	return Check{
		What: what, Unit: "s", Seed: seed, Low: b.low, High: b.high, needs: []at{one, other},
		of: func(c []*ZoeCell) float64 { return m(c[0]) - m(c[1]) },
	}
}

// figure checks a figure of one setting.
func figure(what, unit, seed string, b bounds, m zoeMeasure, of at) Check {
	return Check{What: what, Unit: unit, Seed: seed, Low: b.low, High: b.high, needs: []at{of},
		of: func(c []*ZoeCell) float64 { return m(c[0]) }}
}

// atFullScale makes a check one that is judged at full scale only: what it looks at grows with the length of a workload.
func atFullScale(c Check) Check {
	c.Full = true
	return c
}

// alike checks that two settings do the same to every run: 1 if so, 0 if not.
func alike(what string, one, other at) Check {
	b := atLeast(1)
	return Check{What: what, Seed: "exactly", Low: b.low, needs: []at{one, other}, of: func(c []*ZoeCell) float64 {
		if c[0].Fates == c[1].Fates {
			return 1
		}
		return 0
	}}
}

// title writes the name of a policy as the seed does.
func title(policy string) string { return strings.ToUpper(policy) }

// inSeconds writes a number as the seed does: 38,341.
func inSeconds(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	if n := len(s); n > 3 {
		s = s[:n-3] + "," + s[n-3:]
	}
	if n := len(s); n > 7 {
		s = s[:n-7] + "," + s[n-7:]
	}
	return s + " s"
}
