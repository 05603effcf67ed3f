package report

import (
	"fmt"
	"slices"
	"strings"
)

// Missing is the cells of one setting that an interrupted sweep did not come to.
type Missing struct {
	Policy  string   `json:"policy"`
	Alloc   string   `json:"alloc"`
	Preempt bool     `json:"preempt"`
	Seeds   []uint64 `json:"seeds"` // rising
}

// Break notes that the document may hold a part of a sweep only: of these cells, those that are not in it are missing.
func (d *Document) Break(wanted []Cell) {
	there := make(map[Cell]bool, len(d.Cells))
	for i := range d.Cells {
		there[d.Cells[i].Cell] = true
	}
	index := make(map[Cell]int)
	for _, c := range wanted {
		if there[c] {
			continue
		}
		at, seen := index[c.setting()]
		if !seen {
			at = len(d.Missing)
			index[c.setting()] = at
			d.Missing = append(d.Missing, Missing{Policy: c.Policy, Alloc: c.Alloc, Preempt: c.Preempt})
		}
		d.Missing[at].Seeds = append(d.Missing[at].Seeds, c.Seed)
	}
	d.Partial = len(d.Missing) > 0
}

// Gap says in words that the document is partial, and which cells are missing; it is empty if none are. "Partial: 3 of 4 cells; seeds
// differ between rows. Missing: seed 2 of sjf rigid."
func (d *Document) Gap() string {
	if !d.Partial {
		return ""
	}
	cells := len(d.Cells)
	gaps := make(map[Cell]string) // the seeds that a setting lacks
	members := make(map[string][]string)
	var order []string
	for _, m := range d.Missing {
		cells += len(m.Seeds)
		c, seeds := Cell{Policy: m.Policy, Alloc: m.Alloc, Preempt: m.Preempt}, ranges(m.Seeds)
		gaps[c] = seeds
		if members[seeds] == nil {
			order = append(order, seeds)
		}
		members[seeds] = append(members[seeds], c.Setting())
	}
	text := fmt.Sprintf("Partial: %d of %d cells", len(d.Cells), cells)
	if slices.ContainsFunc(d.Cells, func(m Metrics) bool { return gaps[m.setting()] != gaps[d.Cells[0].setting()] }) {
		text += "; seeds differ between rows"
	}
	for i, seeds := range order {
		text += []string{". Missing: ", "; "}[min(i, 1)] + seeds + " of " + strings.Join(members[seeds], ", ")
	}
	return text + "."
}

// ranges writes rising numbers of seeds: "seeds 3, 5 to 7".
func ranges(seeds []uint64) string {
	text := "seed "
	if len(seeds) > 1 {
		text = "seeds "
	}
	for i := 0; i < len(seeds); {
		j := i
		for j+1 < len(seeds) && seeds[j+1] == seeds[j]+1 {
			j++
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(seeds[i])
		switch {
		case j == i+1:
			text += fmt.Sprintf(", %d", seeds[j])
		case j > i:
			text += fmt.Sprintf(" to %d", seeds[j])
		}
		i = j + 1
	}
	return text
}

// Without says in words which runs the figures leave out; it is empty if there are none.
func (d *Document) Without() string {
	if !slices.ContainsFunc(d.Cells, func(m Metrics) bool { return m.Failed > 0 }) {
		return ""
	}
	return "Turnaround, queueing, slowdown and fairness are over the runs that did their work, without those that failed, timed out or were lost."
}
