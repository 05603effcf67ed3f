package report

import (
	"encoding/json"

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

// Summarise puts the seeds of each setting together, in the order in which settings come first.
func Summarise(cells []Metrics) []Row {
	var rows []Row
	for i := range cells {
		rows = append(rows, Row{Policy: cells[i].Policy, Alloc: cells[i].Alloc, Preempt: cells[i].Preempt, Seeds: 1})
	}
	return rows
}

// Change is how one setting differs from a baseline, seed by seed.
type Change struct {
	Policy     string              `json:"policy"`
	Alloc      string              `json:"alloc"`
	Preempt    bool                `json:"preempt"`
	Seeds      int                 `json:"seeds"`      // that both have
	Difference map[string]Interval `json:"difference"` // this setting − the baseline, by Measure.Name, in the measure's unit
	Relative   map[string]Interval `json:"relative"`   // that over the baseline; without measures of which the baseline is 0
}

// Against compares every other setting with the baseline (whose Seed is ignored), paired by seed. It is an error if there is no
// such baseline.
func Against(cells []Metrics, baseline Cell) ([]Change, error) {
	for i := range cells {
		if cells[i].setting() == baseline.setting() {
			return nil, nil
		}
	}
	return nil, dovetail.Errorf(dovetail.Invalid, "the baseline %s is not among the cells", baseline.Setting())
}

// setting is a cell without its seed.
func (c Cell) setting() Cell {
	c.Seed = 0
	return c
}

// Setting names the cell without its seed: "fifo flexible", "fifo flexible+preempt".
func (c Cell) Setting() string { return c.Policy + " " + c.Variant() }

// Variant names how capacity is shared: the allocator, and whether it preempts: "flexible+preempt".
func (c Cell) Variant() string {
	if c.Preempt {
		return c.Alloc + "+preempt"
	}
	return c.Alloc
}
