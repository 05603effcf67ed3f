package report

import (
	"fmt"
	"slices"
	"strconv"
)

// shown is a measure that tables for people hold.
type shown struct {
	measure     string
	group, name string
	rank        int  // of column
	hide        bool // where it is zero in every row
	whole       bool // counts: without decimals
}

func shownMeasures() []shown {
	return []shown{
		{"runs", "", "runs", 0, false, true},
		{"unfinished", "", "unfinished", 0, true, true},
		{"failed", "", "failed", 0, true, true},
		{"refused", "", "refused", 0, true, true},
		{"meanTurnaroundSeconds", "turnaround", "mean", 0, false, false},
		{"p50TurnaroundSeconds", "turnaround", "p50", 1, false, false},
		{"p95TurnaroundSeconds", "turnaround", "p95", 1, false, false},
		{"maxTurnaroundSeconds", "turnaround", "max", 9, false, false},
		{"meanQueueSeconds", "queueing", "mean", 0, false, false},
		{"p95QueueSeconds", "queueing", "p95", 4, false, false},
		{"maxQueueSeconds", "queueing", "max", 8, false, false},
		{"meanSlowdown", "slowdown", "mean", 3, false, false},
		{"p95Slowdown", "slowdown", "p95", 10, false, false},
		{"meanWaiting", "waiting", "mean", 7, false, false},
		{"maxWaiting", "waiting", "max", 9, false, true},
		{"cpuAllocation", "granted", "cpu", 2, false, false},
		{"memoryAllocation", "granted", "memory", 5, false, false},
		{"gpuAllocation", "granted", "gpu", 5, true, false},
		{"makespanSeconds", "", "makespan", 10, false, false},
		{"preemptions", "", "preemptions", 9, true, true},
		{"reclaims", "", "reclaims", 6, true, true},
	}
}

// none stands where there is no figure.
const none = "–"

// column returns the column of the measure; shares have their unit in each cell.
func (s *shown) column(m Measure) column {
	c := column{group: s.group, name: s.name, rank: s.rank}
	if m.Unit != "%" {
		c.unit = m.Unit
	}
	return c
}

// rowTable puts settings over their seeds into a table.
func rowTable(rows []Row) *table {
	t := &table{rows: len(rows)}
	settingColumns(t, func(row int) (policy, alloc string, preempt bool, seeds int) {
		r := &rows[row]
		return r.Policy, r.Alloc, r.Preempt, r.Seeds
	})
	for _, s := range shownMeasures() {
		measure := measureOf(s.measure)
		largest := 0.0
		for i := range rows {
			largest = max(largest, rows[i].Measures[s.measure].Mean)
		}
		if s.hide && largest == 0 {
			continue
		}
		places := decimals(largest)
		if s.whole {
			places = 0
		}
		t.add(s.column(measure), func(row int) string {
			i := rows[row].Measures[s.measure]
			if i.N == 0 {
				return none
			}
			return estimate(i, measure.Unit == "%", places)
		})
	}
	return t
}

// settingColumns adds the columns that say which setting a row is; preemption and seeds only where there are any.
func settingColumns(t *table, of func(row int) (policy, alloc string, preempt bool, seeds int)) {
	several := false
	for row := range t.rows {
		_, _, _, seeds := of(row)
		several = several || seeds != 1
	}
	t.add(column{name: "policy", words: true}, func(row int) string {
		policy, _, _, _ := of(row)
		return policy
	})
	t.add(column{name: "allocator", words: true}, func(row int) string {
		_, alloc, preempt, _ := of(row)
		return Cell{Alloc: alloc, Preempt: preempt}.Variant()
	})
	if several {
		t.add(column{name: "seeds"}, func(row int) string {
			_, _, _, seeds := of(row)
			return strconv.Itoa(seeds)
		})
	}
}

// measureOf returns the measure of a name that shownMeasures holds.
func measureOf(name string) Measure {
	all := Measures()
	return all[slices.IndexFunc(all, func(m Measure) bool { return m.Name == name })]
}

// estimate writes a mean with half of its interval, unless that is nothing.
func estimate(i Interval, share bool, places int) string {
	unit := ""
	if share {
		i.Mean, i.Low, i.High, places, unit = 100*i.Mean, 100*i.Low, 100*i.High, 1, " %"
	}
	return number(i.Mean, places) + plusMinus(i, places) + unit
}

// plusMinus writes half of an interval, or nothing if that is nothing at so many decimals.
func plusMinus(i Interval, places int) string {
	half := number((i.High-i.Low)/2, places)
	if half == number(0, places) {
		return ""
	}
	return " ±" + half
}

func changesTitle(baseline Cell) string { return "Change against " + baseline.Setting() }

// changeTable puts changes into a table, as shares of the baseline.
func changeTable(changes []Change) *table {
	t := &table{rows: len(changes)}
	settingColumns(t, func(row int) (policy, alloc string, preempt bool, seeds int) {
		c := &changes[row]
		return c.Policy, c.Alloc, c.Preempt, c.Seeds
	})
	for _, s := range shownMeasures() {
		measure := measureOf(s.measure)
		if s.group == "" && s.whole || s.hide && !changed(changes, s.measure) {
			continue // counts of runs are not compared as shares
		}
		t.add(s.column(measure), func(row int) string {
			c := &changes[row]
			i, ok := c.Relative[s.measure]
			switch {
			case measure.Unit == "%": // shares of the capacity differ by points
				return points(c.Difference[s.measure])
			case !ok:
				return none
			case number(100*i.Low, 1) == number(100*i.High, 1):
				return signed(100*i.Mean) + " %"
			}
			return signed(100*i.Mean) + " % (" + number(100*i.Low, 1) + " … " + number(100*i.High, 1) + ")"
		})
	}
	return t
}

// points writes the difference of two shares in points of a hundred.
func points(i Interval) string {
	i.Mean, i.Low, i.High = 100*i.Mean, 100*i.Low, 100*i.High
	return signed(i.Mean) + plusMinus(i, 1) + " pt"
}

// changed reports whether a measure differs from the baseline anywhere.
func changed(changes []Change, measure string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Difference[measure].Mean != 0 })
}

func (d *Difference) title() string {
	before, after := d.Before.Setting(), d.After.Setting()
	if before == after { // what happened under a setting, and its replay
		before, after = "what was recorded", "in a replay under "+after
	} else {
		after = "under " + after
	}
	text := fmt.Sprintf("Mean turnaround %s against %s: %d runs that ended in both, %d in one of them only", after, before, d.Runs, d.Alone)
	if d.Failed > 0 {
		text += fmt.Sprintf("; without %d more that failed when played", d.Failed)
	}
	return text
}

// table puts the groups of a difference into a table.
func (d *Difference) table() *table {
	t := &table{rows: len(d.Groups)}
	largest := 0.0
	for i := range d.Groups {
		largest = max(largest, d.Groups[i].Before, d.Groups[i].After)
	}
	places := decimals(largest)
	t.add(column{name: "by", words: true}, func(row int) string { return d.Groups[row].By })
	t.add(column{name: "name", words: true}, func(row int) string {
		if g := &d.Groups[row]; g.Name != "" || g.By == ByAll {
			return g.Name
		}
		return "(none)"
	})
	t.add(column{name: "runs"}, func(row int) string { return strconv.Itoa(d.Groups[row].Runs) })
	t.add(column{group: "turnaround", name: "before", unit: "s"}, func(row int) string { return number(d.Groups[row].Before, places) })
	t.add(column{group: "turnaround", name: "after", unit: "s"}, func(row int) string { return number(d.Groups[row].After, places) })
	t.add(column{group: "change", name: "s"}, func(row int) string { return estimate(d.Groups[row].Change, false, places) })
	t.add(column{group: "change", name: "%"}, func(row int) string { return signed(100*d.Groups[row].Relative) + " %" })
	return t
}

// kindTable says how each kind of run fared under each setting: the means of its figures over seeds.
func kindTable(cells []Metrics) *table {
	var groups []Group
	var figures []bool // there are any
	var settings []Cell
	for _, members := range bySetting(cells) {
		for i := range members[0].Groups {
			if g := &members[0].Groups[i]; g.By == ByKind {
				mean, there := meanGroup(members, g.Name)
				groups, figures, settings = append(groups, mean), append(figures, there), append(settings, members[0].Cell)
			}
		}
	}
	t := &table{rows: len(groups)}
	t.add(column{name: "policy", words: true}, func(row int) string { return settings[row].Policy })
	t.add(column{name: "allocator", words: true}, func(row int) string { return settings[row].Variant() })
	t.add(column{name: "kind", words: true}, func(row int) string { return groups[row].Name })
	t.add(column{name: "runs"}, func(row int) string { return strconv.Itoa(groups[row].Runs) })
	if slices.ContainsFunc(groups, func(g Group) bool { return g.Failed > 0 }) {
		t.add(column{name: "failed"}, func(row int) string { return strconv.Itoa(groups[row].Failed) })
	}
	for _, c := range []struct {
		group, name, unit string
		of                func(*Group) float64
	}{
		{"turnaround", "mean", "s", func(g *Group) float64 { return g.MeanTurnaround }},
		{"turnaround", "p50", "s", func(g *Group) float64 { return g.P50Turnaround }},
		{"turnaround", "p95", "s", func(g *Group) float64 { return g.P95Turnaround }},
		{"queueing", "mean", "s", func(g *Group) float64 { return g.MeanQueue }},
		{"queueing", "p50", "s", func(g *Group) float64 { return g.P50Queue }},
		{"queueing", "p95", "s", func(g *Group) float64 { return g.P95Queue }},
		{"slowdown", "mean", "", func(g *Group) float64 { return g.MeanSlowdown }},
	} {
		largest := 0.0
		for i := range groups {
			largest = max(largest, c.of(&groups[i]))
		}
		t.add(column{group: c.group, name: c.name, unit: c.unit}, func(row int) string {
			if !figures[row] {
				return none
			}
			return number(c.of(&groups[row]), decimals(largest))
		})
	}
	return t
}

// meanGroup returns the means of a kind's figures over the seeds in which runs of it did their work; Runs and Failed are those of the
// first in which it occurs. It is false if no run did.
func meanGroup(members []*Metrics, kind string) (sum Group, ok bool) {
	n := 0.0
	for _, m := range members {
		for i := range m.Groups {
			g := &m.Groups[i]
			if g.By != ByKind || g.Name != kind {
				continue
			}
			if sum.Name == "" {
				sum.Name, sum.Runs, sum.Failed = g.Name, g.Runs, g.Failed
			}
			if g.Runs == g.Failed {
				continue
			}
			n++
			sum.MeanTurnaround += g.MeanTurnaround
			sum.P50Turnaround += g.P50Turnaround
			sum.P95Turnaround += g.P95Turnaround
			sum.MeanQueue += g.MeanQueue
			sum.P50Queue += g.P50Queue
			sum.P95Queue += g.P95Queue
			sum.MeanSlowdown += g.MeanSlowdown
		}
	}
	for _, v := range []*float64{
		&sum.MeanTurnaround, &sum.P50Turnaround, &sum.P95Turnaround, &sum.MeanQueue, &sum.P50Queue, &sum.P95Queue, &sum.MeanSlowdown,
	} {
		*v = ratio(*v, n)
	}
	return sum, n > 0
}
