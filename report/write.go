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
	Partial     bool         `json:"partial,omitempty"` // the sweep was interrupted: see Break
	Missing     []Missing    `json:"missing,omitempty"` // cells of such a sweep; by setting
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

// WriteMarkdown writes the summary, and changes and differences if there are any, as Markdown tables. It begins with what is missing.
func WriteMarkdown(w io.Writer, d *Document) error {
	var b bytes.Buffer
	if gap := d.Gap(); gap != "" {
		b.WriteString(gap + "\n\n")
	}
	rowTable(d.Summary).markdown(&b)
	if without := d.Without(); without != "" {
		b.WriteString("\n" + without + "\n")
	}
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
