package predict

import (
	"math"
	"sort"

	"github.com/dovetail-sched/dovetail"
)

// Bounds of a runtime in a table, in seconds: every number can be divided by, and written down.
const (
	least = 1e-9
	most  = 1e18
)

// Levels returns the levels of the quantiles that Tabulate writes down, rising.
func Levels() []float64 {
	return []float64{.01, .025, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .975, .99}
}

// Tabulate writes down what a model says at these scale-outs (rising) for runs with an input of so many bytes (0: as in most
// samples): quantiles in seconds, alone[scale-out][level], and the same beside each neighbour class all the time (overlap 1), in the order given;
// Beside.Runs is left to the caller. A model that knows no spread (Exactly) has the one level .5. Quantiles do not fall from a level to the next,
// and are nowhere less beside a neighbour than alone: a model that says so has seen too little of it.
func Tabulate(m Model, scaleOuts []int, input float64, neighbours []string) (levels []float64, alone [][]float64, beside []dovetail.Beside) {
	levels = []float64{.5}
	for _, x := range scaleOuts {
		if _, exact := m.Predict(At{ScaleOut: float64(x), Input: input}).(Exactly); !exact {
			levels = Levels()
			break
		}
	}
	column := func(overlaps []dovetail.Overlap) [][]float64 {
		rows := make([][]float64, len(scaleOuts))
		for i, x := range scaleOuts {
			rows[i] = quantiles(m.Predict(At{ScaleOut: float64(x), Input: input, Overlaps: overlaps}), levels)
		}
		return rows
	}
	alone = column(nil)
	for _, class := range neighbours {
		rows := column([]dovetail.Overlap{{Class: class, Ratio: 1}})
		for i := range rows {
			for l := range rows[i] {
				rows[i][l] = max(rows[i][l], alone[i][l])
			}
		}
		beside = append(beside, dovetail.Beside{Class: class, Seconds: rows})
	}
	return levels, alone, beside
}

// quantiles returns the quantiles of a distribution, within bounds and rising. A model that fails to give one (NaN) rules nothing out:
// the runtime is as long as can be.
func quantiles(d Distribution, levels []float64) []float64 {
	row, low := make([]float64, len(levels)), least
	for l, p := range levels {
		q := d.Quantile(p)
		if math.IsNaN(q) {
			q = most
		}
		low = min(max(q, low), most)
		row[l] = low
	}
	return row
}

// Table is the distribution of a runtime that an outlook tells of a scale-out and neighbours. It refers to both; its methods allocate
// nothing.
//
// Between two scale-outs of the outlook quantiles are interpolated linearly in ln x and ln seconds; outside they are those of the nearest. Neighbours add up: the
// p-quantile is Q(p) = alone(p) + Σ ratio·(beside(p) − alone(p)), as if a run that is slow by itself were also the one that neighbours slow down
// most (comonotone). That overstates the spread a little, and so never promises too much. A class that the outlook knows nothing of counts as no neighbour.
// Between two levels ln Q is linear in the normal quantile of the level, and beyond the outer ones it goes on with the slope of the last
// two: a lognormal distribution keeps its shape.
type Table struct {
	outlook  *dovetail.Outlook
	overlaps []dovetail.Overlap
	low      int     // the scale-out in the outlook at or below
	share    float64 // of the way from there to the next, in ln x
	scale    float64 // of all runtimes
	total    float64 // of the ratios of classes that are known
}

// Known reports whether an outlook has a table at all.
func Known(o *dovetail.Outlook) bool { return o != nil && len(o.ScaleOuts) > 0 && len(o.Levels) > 0 }

// Lookup returns the distribution of the runtime at a scale-out beside these neighbours. The outlook must be Known. Ratios below 0
// count as 0.
func Lookup(o *dovetail.Outlook, scaleOut float64, overlaps []dovetail.Overlap) Table {
	t := Table{outlook: o, overlaps: overlaps, scale: 1}
	xs := o.ScaleOuts
	if next := sort.Search(len(xs), func(i int) bool { return float64(xs[i]) > scaleOut }); next > 0 {
		t.low = next - 1
		if next < len(xs) {
			t.share = math.Log(scaleOut/float64(xs[t.low])) / math.Log(float64(xs[next])/float64(xs[t.low]))
		}
	}
	for i := range overlaps {
		if b := t.beside(i); b != nil && overlaps[i].Ratio > 0 {
			t.total += overlaps[i].Ratio
		}
	}
	return t
}

// Runtime returns what Lookup does, as a Distribution; nil if the outlook is not Known.
func Runtime(o *dovetail.Outlook, scaleOut float64, overlaps []dovetail.Overlap) Distribution {
	if !Known(o) {
		return nil
	}
	return Lookup(o, scaleOut, overlaps)
}

// Scaled returns the distribution of a runtime that is so many times as long.
func (t Table) Scaled(factor float64) Table {
	t.scale *= factor
	return t
}

// beside returns the table of the class of an overlap, or nil.
func (t *Table) beside(overlap int) [][]float64 {
	for i := range t.outlook.Beside {
		if b := &t.outlook.Beside[i]; b.Class == t.overlaps[overlap].Class {
			return b.Seconds
		}
	}
	return nil
}

// between returns a quantile of a table at the scale-out.
func (t *Table) between(rows [][]float64, level int) float64 {
	y := rows[t.low][level]
	if t.share == 0 || rows[t.low+1][level] == y {
		return y
	}
	return y * math.Exp(t.share*math.Log(rows[t.low+1][level]/y))
}

// sum returns alone + Σ ratio·(beside − alone) at a level.
func (t *Table) sum(level int) float64 {
	alone := t.between(t.outlook.Alone, level)
	q := alone
	if t.total > 0 {
		for i := range t.overlaps {
			if rows := t.beside(i); rows != nil && t.overlaps[i].Ratio > 0 {
				q += float64(t.overlaps[i].Ratio * max(0, t.between(rows, level)-alone))
			}
		}
	}
	return float64(q * t.scale)
}

// at returns the quantile of a level. With ratios of more than 1 in all, what neighbours add may fall from a level to the next by more than the
// runtime rises: quantiles do not.
func (t *Table) at(level int) float64 {
	q := t.sum(level)
	if t.total > 1 {
		for l := range level {
			q = max(q, t.sum(l))
		}
	}
	return q
}

// probit returns the quantile of the standard normal distribution.
func probit(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Quantile returns the runtime in seconds that is not exceeded with probability p in (0,1).
func (t Table) Quantile(p float64) float64 {
	levels := t.outlook.Levels
	next := sort.Search(len(levels), func(l int) bool { return levels[l] >= p })
	if next < len(levels) && levels[next] == p {
		return t.at(next)
	}
	if len(levels) == 1 {
		return t.at(0)
	}
	low := min(max(next-1, 0), len(levels)-2)
	a, b := t.at(low), t.at(low+1)
	za, zb := probit(levels[low]), probit(levels[low+1])
	return a * math.Exp(math.Log(b/a)*(probit(p)-za)/(zb-za))
}

// AtMost returns the probability that the runtime is at most so many seconds: the inverse of Quantile.
func (t Table) AtMost(seconds float64) float64 {
	levels := t.outlook.Levels
	next := sort.Search(len(levels), func(l int) bool { return t.at(l) > seconds })
	if len(levels) == 1 {
		return float64(next)
	}
	if seconds <= 0 {
		return 0
	}
	low := min(max(next-1, 0), len(levels)-2)
	a, b := t.at(low), t.at(low+1)
	if !(b > a) { // all that lies beyond the outer levels is where they are
		if next == 0 {
			return 0
		}
		return 1
	}
	za, zb := probit(levels[low]), probit(levels[low+1])
	z := za + float64((zb-za)*math.Log(seconds/a)/math.Log(b/a))
	return 0.5 * math.Erfc(-z/math.Sqrt2)
}

// Check returns what is wrong with an outlook, or "": levels or scale-outs that do not rise, tables that have not one row for each
// scale-out and one column for each level, runtimes that are not positive and finite or fall with the level.
func Check(o *dovetail.Outlook) string {
	for i, p := range o.Levels {
		if !(p > 0 && p < 1) || i > 0 && p <= o.Levels[i-1] {
			return "levels must rise and lie in (0,1)"
		}
	}
	for i, x := range o.ScaleOuts {
		if x < 1 || i > 0 && x <= o.ScaleOuts[i-1] {
			return "scale-outs must rise from 1 on"
		}
	}
	for _, s := range o.First {
		if s.ScaleOut < 1 || !(s.Seconds > 0 && s.Seconds <= most) {
			return "a first run has no scale-out or no runtime"
		}
	}
	if !tabular(o, o.Alone) {
		return "the runtimes alone are no table of positive seconds by scale-out and level"
	}
	for i := range o.Beside {
		if !tabular(o, o.Beside[i].Seconds) {
			return "the runtimes beside " + o.Beside[i].Class + " are no table of positive seconds by scale-out and level"
		}
	}
	return ""
}

func tabular(o *dovetail.Outlook, rows [][]float64) bool {
	if len(rows) != len(o.ScaleOuts) {
		return false
	}
	for _, row := range rows {
		if len(row) != len(o.Levels) {
			return false
		}
		for l, y := range row {
			if !(y > 0 && y <= most) || l > 0 && y < row[l-1] {
				return false
			}
		}
	}
	return true
}
