package report

import "io"

// Report is what a page about a simulation shows.
type Report struct {
	Title    string
	Command  string // that made it; may be empty
	About    []Fact // what was simulated: trace, cluster, seeds
	Notes    []string
	Document Document
	Figures  []Figure
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// WriteHTML writes the report as one HTML page that needs nothing else.
func WriteHTML(w io.Writer, r *Report) error { return nil }
