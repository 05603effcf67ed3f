package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Document is what the machine-readable report of a simulation holds.
type Document struct {
	Cells       []Metrics    `json:"cells"`
	Summary     []Row        `json:"summary,omitempty"`     // over seeds
	Baseline    *Cell        `json:"baseline,omitempty"`    // of Changes
	Changes     []Change     `json:"changes,omitempty"`     // against Baseline
	Differences []Difference `json:"differences,omitempty"` // recorded history against replays
}

// WriteJSON writes the document, indented, with a line feed at its end.
func WriteJSON(w io.Writer, d *Document) error {
	c := *d
	if c.Cells == nil {
		c.Cells = []Metrics{} // "cells" is always a list
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&c); err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return deliver(w, &b)
}

// WriteCSV writes a line a cell with every figure; shares are in [0,1].
func WriteCSV(w io.Writer, cells []Metrics) error {
	var b bytes.Buffer
	b.WriteString("policy,alloc,preempt,seed")
	for _, m := range Measures() {
		b.WriteString("," + m.Name)
	}
	b.WriteString(",journalHash\n")
	for i := range cells {
		c := &cells[i]
		fmt.Fprintf(&b, "%s,%s,%t,%d", csvField(c.Policy), csvField(c.Alloc), c.Preempt, c.Seed)
		for _, m := range Measures() {
			b.WriteString("," + strconv.FormatFloat(m.Of(c), 'f', -1, 64))
		}
		b.WriteString("," + csvField(c.JournalHash) + "\n")
	}
	return deliver(w, &b)
}

// WriteTable writes the rows as a table of aligned text at most width columns wide (0: 120): if it grows wider, the columns that
// matter least are left out. Over several seeds, ± is half of the 95 % confidence interval.
func WriteTable(w io.Writer, rows []Row, width int) error { return rowTable(rows).text(w, width) }

// WriteChanges writes, as WriteTable does, what would have changed against the baseline.
func WriteChanges(w io.Writer, baseline Cell, changes []Change, width int) error {
	if _, err := fmt.Fprintf(w, "%s\n", changesTitle(baseline)); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return changeTable(changes).text(w, width)
}

// WriteDifference writes, as WriteTable does, who would have been served better or worse.
func WriteDifference(w io.Writer, d *Difference, width int) error {
	if _, err := fmt.Fprintf(w, "%s\n", d.title()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return d.table().text(w, width)
}

// WriteMarkdown writes the summary, and changes and differences if there are any, as Markdown tables.
func WriteMarkdown(w io.Writer, d *Document) error {
	var b bytes.Buffer
	rowTable(d.Summary).markdown(&b)
	if d.Baseline != nil {
		b.WriteString("\n" + changesTitle(*d.Baseline) + "\n\n")
		changeTable(d.Changes).markdown(&b)
	}
	for i := range d.Differences {
		b.WriteString("\n" + d.Differences[i].title() + "\n\n")
		d.Differences[i].table().markdown(&b)
	}
	return deliver(w, &b)
}

// shown is a measure that tables for people hold.
type shown struct {
	measure     string
	group, name string
	rank        int  // of column
	hide        bool // where it is zero in every row
}

func shownMeasures() []shown {
	return []shown{
		{"runs", "", "runs", 0, false},
		{"unfinished", "", "unfinished", 0, true},
		{"failed", "", "failed", 0, true},
		{"refused", "", "refused", 0, true},
		{"meanTurnaroundSeconds", "turnaround, s", "mean", 0, false},
		{"p50TurnaroundSeconds", "turnaround, s", "p50", 1, false},
		{"p95TurnaroundSeconds", "turnaround, s", "p95", 1, false},
		{"maxTurnaroundSeconds", "turnaround, s", "max", 9, false},
		{"meanQueueSeconds", "queueing, s", "mean", 0, false},
		{"p95QueueSeconds", "queueing, s", "p95", 4, false},
		{"maxQueueSeconds", "queueing, s", "max", 8, false},
		{"meanSlowdown", "slowdown", "mean", 3, false},
		{"p95Slowdown", "slowdown", "p95", 10, false},
		{"meanWaiting", "waiting", "mean", 7, false},
		{"maxWaiting", "waiting", "max", 9, false},
		{"cpuAllocation", "granted", "cpu", 2, false},
		{"memoryAllocation", "granted", "memory", 5, false},
		{"gpuAllocation", "granted", "gpu", 5, true},
		{"makespanSeconds", "", "makespan, s", 10, false},
		{"reclaims", "", "reclaims", 6, true},
	}
}

// rowTable puts settings over their seeds into a table.
func rowTable(rows []Row) *table {
	t := &table{rows: len(rows)}
	settingColumns(t, func(row int) (policy, alloc string, preempt bool, seeds int) {
		r := &rows[row]
		return r.Policy, r.Alloc, r.Preempt, r.Seeds
	})
	for _, s := range shownMeasures() {
		measure, _ := measureOf(s.measure)
		largest := 0.0
		for i := range rows {
			largest = max(largest, rows[i].Measures[s.measure].Mean)
		}
		if s.hide && largest == 0 {
			continue
		}
		places := decimals(largest)
		if s.group == "" {
			places = 0
		}
		t.add(column{group: s.group, name: s.name, rank: s.rank}, func(row int) string {
			return estimate(rows[row].Measures[s.measure], measure.Unit == "%", places)
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

func measureOf(name string) (Measure, bool) {
	for _, m := range Measures() {
		if m.Name == name {
			return m, true
		}
	}
	return Measure{}, false
}

// estimate writes a mean with half of its interval, unless that is nothing.
func estimate(i Interval, share bool, places int) string {
	half := (i.High - i.Low) / 2
	switch {
	case share && half > 0:
		return number(100*i.Mean, 1) + " ±" + number(100*half, 1) + " %"
	case share:
		return percent(i.Mean)
	case half > 0:
		return number(i.Mean, places) + " ±" + number(half, places)
	}
	return number(i.Mean, places)
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
		measure, _ := measureOf(s.measure)
		if s.group == "" && s.measure != "makespanSeconds" {
			continue // counts of runs are not compared as shares
		}
		t.add(column{group: s.group, name: s.name, rank: s.rank}, func(row int) string {
			c := &changes[row]
			i, ok := c.Relative[s.measure]
			switch {
			case measure.Unit == "%": // shares of the capacity differ by points
				return points(c.Difference[s.measure])
			case !ok:
				return "–"
			case i.High > i.Low:
				return signed(i.Mean) + " (" + number(100*i.Low, 1) + " … " + number(100*i.High, 1) + ")"
			}
			return signed(i.Mean)
		})
	}
	return t
}

// points writes the difference of two shares in points of a hundred.
func points(i Interval) string {
	s := number(100*i.Mean, 1)
	if i.Mean > 0 {
		s = "+" + s
	}
	if half := (i.High - i.Low) / 2; half > 0 {
		s += " ±" + number(100*half, 1)
	}
	return s + " pt"
}

func (d *Difference) title() string {
	return fmt.Sprintf("Mean turnaround under %s against %s: %d runs that ended in both, %d in one of them only",
		d.After.Setting(), d.Before.Setting(), d.Runs, d.Alone)
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
	t.add(column{name: "name", words: true}, func(row int) string { return d.Groups[row].Name })
	t.add(column{name: "runs"}, func(row int) string { return strconv.Itoa(d.Groups[row].Runs) })
	t.add(column{group: "turnaround, s", name: "before"}, func(row int) string { return number(d.Groups[row].Before, places) })
	t.add(column{group: "turnaround, s", name: "after"}, func(row int) string { return number(d.Groups[row].After, places) })
	t.add(column{group: "change", name: "s"}, func(row int) string { return estimate(d.Groups[row].Change, false, places) })
	t.add(column{group: "change", name: "%"}, func(row int) string { return signed(d.Groups[row].Relative) })
	return t
}
