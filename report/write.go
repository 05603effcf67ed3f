package report

import "io"

// Document is what the machine-readable report of a simulation holds.
type Document struct {
	Cells       []Metrics    `json:"cells"`
	Summary     []Row        `json:"summary,omitempty"`     // over seeds
	Baseline    *Cell        `json:"baseline,omitempty"`    // of Changes
	Changes     []Change     `json:"changes,omitempty"`     // against Baseline
	Differences []Difference `json:"differences,omitempty"` // recorded history against replays
}

// WriteJSON writes the document, indented, with a line feed at its end.
func WriteJSON(w io.Writer, d *Document) error { return nil }

// WriteCSV writes a line a cell with every figure; shares are in [0,1].
func WriteCSV(w io.Writer, cells []Metrics) error { return nil }

// WriteTable writes the rows as a table of aligned text at most width columns wide (0: 120): if it grows wider, the columns that
// matter least are left out.
func WriteTable(w io.Writer, rows []Row, width int) error { return nil }

// WriteChanges writes, as WriteTable does, what would have changed against the baseline.
func WriteChanges(w io.Writer, baseline Cell, changes []Change, width int) error { return nil }

// WriteDifference writes, as WriteTable does, who would have been served better or worse.
func WriteDifference(w io.Writer, d *Difference, width int) error { return nil }

// WriteMarkdown writes the rows, and the changes if there are any, as Markdown tables.
func WriteMarkdown(w io.Writer, d *Document) error { return nil }
