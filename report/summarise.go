package report

import (
	"encoding/json"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// Interval is a mean and its 95 % confidence interval (Student's t). With one value there is no interval: then Low and High are
// the mean, and JSON leaves them out.
type Interval struct {
	Mean, Low, High float64
	N               int // values
}

// MarshalJSON writes {"mean":…,"low":…,"high":…,"n":…}.
func (i Interval) MarshalJSON() ([]byte, error) {
	if i.N < 2 {
		return json.Marshal(struct {
			Mean float64 `json:"mean"`
			N    int     `json:"n"`
		}{i.Mean, i.N})
	}
	return json.Marshal(struct {
		Mean float64 `json:"mean"`
		Low  float64 `json:"low"`
		High float64 `json:"high"`
		N    int     `json:"n"`
	}{i.Mean, i.Low, i.High, i.N})
}

// Row is one setting over its seeds.
type Row struct {
	Policy   string              `json:"policy"`
	Alloc    string              `json:"alloc"`
	Preempt  bool                `json:"preempt"`
	Seeds    int                 `json:"seeds"`
	Measures map[string]Interval `json:"measures"` // by Measure.Name
}

// Summarise puts the seeds of each setting together, in the order in which settings come first. A figure over the runs that did their
// work is over the seeds in which there is such a run; Interval.N says how many.
func Summarise(cells []Metrics) []Row {
	var rows []Row
	for _, members := range bySetting(cells) {
		c := members[0].Cell
		row := Row{Policy: c.Policy, Alloc: c.Alloc, Preempt: c.Preempt, Seeds: len(members), Measures: make(map[string]Interval)}
		values := make([]float64, 0, len(members))
		for _, measure := range Measures() {
			values = values[:0]
			for _, m := range members {
				if measure.has(m) {
					values = append(values, measure.Of(m))
				}
			}
			row.Measures[measure.Name] = interval(values)
		}
		rows = append(rows, row)
	}
	return rows
}

// bySetting splits cells into one slice a setting, in the order in which settings come first.
func bySetting(cells []Metrics) [][]*Metrics {
	index := make(map[Cell]int)
	var all [][]*Metrics
	for i := range cells {
		key := cells[i].setting()
		at, seen := index[key]
		if !seen {
			at = len(all)
			index[key] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], &cells[i])
	}
	return all
}

// Change is how one setting differs from a baseline, seed by seed.
type Change struct {
	Policy     string              `json:"policy"`
	Alloc      string              `json:"alloc"`
	Preempt    bool                `json:"preempt"`
	Seeds      int                 `json:"seeds"`      // that both have
	Difference map[string]Interval `json:"difference"` // this setting − the baseline, by Measure.Name, in the measure's unit
	Relative   map[string]Interval `json:"relative"`   // that over the baseline, from −1; without measures of which a baseline is 0
}

// Against compares every other setting with the baseline (whose Seed is ignored), paired by seed; settings that share no seed
// with it are left out. It is an error if there is no such baseline.
func Against(cells []Metrics, baseline Cell) ([]Change, error) {
	base := make(map[uint64]*Metrics)
	for i := range cells {
		if cells[i].setting() == baseline.setting() {
			base[cells[i].Seed] = &cells[i]
		}
	}
	if len(base) == 0 {
		return nil, dovetail.Errorf(dovetail.Invalid, "there is no cell %q to compare with: name a policy and an allocator of this sweep",
			baseline.Setting())
	}
	var changes []Change
	for _, members := range bySetting(cells) {
		if members[0].setting() == baseline.setting() {
			continue
		}
		if c := against(members, base); c.Seeds > 0 {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// against compares the seeds of one setting with those of the baseline.
func against(members []*Metrics, base map[uint64]*Metrics) Change {
	m := members[0]
	c := Change{
		Policy: m.Policy, Alloc: m.Alloc, Preempt: m.Preempt,
		Difference: make(map[string]Interval), Relative: make(map[string]Interval),
	}
	for _, m := range members {
		if base[m.Seed] != nil {
			c.Seeds++
		}
	}
	for _, measure := range Measures() {
		var difference, relative []float64
		for _, m := range members {
			b := base[m.Seed]
			if b == nil || !measure.has(m) || !measure.has(b) {
				continue
			}
			is, was := measure.Of(m), measure.Of(b)
			difference = append(difference, is-was)
			if was != 0 {
				relative = append(relative, is/was-1)
			}
		}
		c.Difference[measure.Name] = interval(difference)
		if n := len(relative); n > 0 && n == len(difference) {
			i := interval(relative)
			i.Low = max(i.Low, -1) // no figure falls by more than all of it
			c.Relative[measure.Name] = i
		}
	}
	return c
}

// setting is a cell without its seed.
func (c Cell) setting() Cell {
	c.Seed = 0
	return c
}

// Setting names the cell without its seed: "fifo flexible", "fifo flexible+preempt", "fifo flexible, choose price".
func (c Cell) Setting() string {
	text := strings.TrimSpace(c.Policy + " " + c.Variant())
	if c.With != "" {
		text += ", " + c.With
	}
	return text
}

// Variant names how capacity is shared: the allocator, and whether it preempts: "flexible+preempt".
func (c Cell) Variant() string {
	if c.Preempt {
		return c.Alloc + "+preempt"
	}
	return c.Alloc
}
