package learn

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Writer writes finished runs as CSV text that Rows reads: what is learned of them is the same afterwards. Only the number of the
// run is no longer known, and Flush must be called at the end.
type Writer struct {
	csv *csv.Writer
	row []string
}

// NewWriter returns a writer, which writes the names of the columns first.
func NewWriter(w io.Writer) (*Writer, error) {
	c := csv.NewWriter(w)
	return &Writer{csv: c}, c.Write([]string{
		"run_id", "class", "app", "params", "ended", "outcome", "preempted", "runtime_s", "scale_out", "stretches", "input_size", "machine_type",
		"overlap", "neighbour",
	})
}

// Write adds a run.
func (w *Writer) Write(p *dovetail.Past) error {
	var params, stretches, ratios, names []string
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		params = append(params, name+"="+p.Params[name])
	}
	for _, s := range p.Stretches {
		stretches = append(stretches, strconv.Itoa(s.ScaleOut)+":"+number(s.Seconds))
	}
	for _, o := range p.Overlaps {
		ratios, names = append(ratios, number(o.Ratio)), append(names, o.Class)
	}
	id, input, preempted := "", "", ""
	if p.Run > 0 {
		id = strconv.FormatInt(int64(p.Run), 10)
	}
	if p.InputSize > 0 {
		input = strconv.FormatInt(p.InputSize, 10)
	}
	if p.Preempted {
		preempted = "true"
	}
	w.row = append(w.row[:0], id, p.Class, p.App, join(params), p.Ended.UTC().Format(time.RFC3339Nano), string(p.Outcome), preempted,
		number(p.Runtime), number(p.ScaleOut), join(stretches), input, join(p.NodeClasses), join(ratios), join(names))
	return w.csv.Write(w.row)
}

// Flush writes what is still in memory.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// number writes the shortest text that stands for exactly this number.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// escaper protects what separates the values of a list.
var escaper = strings.NewReplacer(`\`, `\\`, ";", `\;`)

// join writes values separated by semicolons; split reads them back.
func join(values []string) string {
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = escaper.Replace(v)
	}
	return strings.Join(escaped, ";")
}

// split is the inverse of join, of at least one value. Space around values does not count.
func split(s string) []string {
	var all []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == ';':
			all = append(all, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(s[i])
		}
	}
	return append(all, strings.TrimSpace(b.String()))
}
