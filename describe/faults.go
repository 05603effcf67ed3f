package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
)

// maxFaults is the number of faults after which the others are only counted.
const maxFaults = 100

// report collects the faults of one text. Fields are paths such as components[1].command[0].
type report struct {
	faults  []dovetail.Fault
	more    int                 // faults beyond maxFaults
	at      map[string]position // of each field that was read
	damaged []string            // fields whose value could not be read: whatever else is said of them would mislead
}

type position struct{ line, column int }

func newReport() *report { return &report{at: make(map[string]position)} }

// saw records where the value of a field stands.
func (r *report) saw(field string, n *yaml.Node) { r.at[field] = position{n.Line, n.Column} }

// given reports whether the text says anything about the field.
func (r *report) given(field string) bool {
	_, ok := r.at[field]
	return ok
}

// full reports whether further faults are only counted.
func (r *report) full() bool { return len(r.faults) >= maxFaults }

// misread adds a fault at a node whose value could not be read.
func (r *report) misread(n *yaml.Node, field, format string, args ...any) {
	r.damage(field)
	r.place(position{n.Line, n.Column}, field, format, args...)
}

// damage says that nothing more is to be said of a field. Beyond maxFaults nothing is said anyway.
func (r *report) damage(field string) {
	if !r.full() {
		r.damaged = append(r.damaged, field)
	}
}

// wrong adds a fault of a value that was read. It is placed at the field, or at the nearest one around it that the text
// has. Nothing is added if the field, or one around it, could not be read.
func (r *report) wrong(field, format string, args ...any) {
	if r.isDamaged(field) {
		return
	}
	p, around := r.at[field], field
	for p.line == 0 && around != "" {
		around = around[:max(strings.LastIndexAny(around, ".["), 0)]
		p = r.at[around]
	}
	r.place(p, field, format, args...)
}

func (r *report) place(p position, field, format string, args ...any) {
	if r.full() {
		r.more++
		return
	}
	r.faults = append(r.faults, dovetail.Fault{
		Line: p.line, Column: p.column, Field: clip(field), Message: fmt.Sprintf(format, args...),
	})
}

// isDamaged reports whether the field, or one around it, could not be read.
func (r *report) isDamaged(field string) bool {
	return slices.ContainsFunc(r.damaged, func(d string) bool { return within(field, d) })
}

// isIncomplete reports whether something in the field could not be read.
func (r *report) isIncomplete(field string) bool {
	return slices.ContainsFunc(r.damaged, func(d string) bool { return within(d, field) })
}

// isLost is isDamaged for any of several fields without indices: components.after stands for that of any component.
func (r *report) isLost(fields ...string) bool {
	return slices.ContainsFunc(r.damaged, func(d string) bool {
		d = withoutIndices(d)
		return slices.ContainsFunc(fields, func(f string) bool { return within(f, d) })
	})
}

// within reports whether a field is, or lies in, another one.
func within(field, around string) bool {
	return strings.HasPrefix(field, around) &&
		(around == "" || len(field) == len(around) || field[len(around)] == '.' || field[len(around)] == '[')
}

func withoutIndices(field string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(field, "[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, field, _ = strings.Cut(after, "]")
	}
}

// err returns the faults as one error, in the order of the text, or nil if there is none.
func (r *report) err(what, file string) error {
	if len(r.faults) == 0 {
		return nil
	}
	return invalid(what, file, r.sorted()...)
}

// sorted returns the faults in the order of the text.
func (r *report) sorted() []dovetail.Fault {
	slices.SortStableFunc(r.faults, func(a, b dovetail.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.more > 0 {
		return append(r.faults, dovetail.Fault{Message: fmt.Sprintf("and %d more", r.more)})
	}
	return r.faults
}

// invalid makes the error for faults in a text.
func invalid(what, file string, faults ...dovetail.Fault) error {
	e := dovetail.Errorf(dovetail.Invalid, "%s is not valid; correct what is listed", what)
	if file != "" {
		e.Message = file + ": " + e.Message
	}
	e.Faults = faults
	return e
}

// nearest returns the known name that was probably meant, or "".
func nearest(name string, known []string) string {
	best, bestDistance := "", max(1, min(len(name)/3, 3))+1
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		if d := len(k) - len(name); d >= bestDistance || -d >= bestDistance {
			continue
		}
		if d := distance(name, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, replace, or swap with their neighbour to turn a into b (optimal
// string alignment).
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// didYouMean returns "; did you mean x?" or, if nothing is near, which names there are.
func didYouMean(name string, known []string) string {
	if k := nearest(name, known); k != "" {
		return "; did you mean " + k + "?"
	}
	if len(known) == 0 {
		return "; there are none"
	}
	const most = 30
	if len(known) > most {
		return fmt.Sprintf("; known are %s and %d more", strings.Join(known[:most], ", "), len(known)-most)
	}
	return "; known are " + strings.Join(known, ", ")
}

// clip shortens what a stranger wrote to a length that fits into a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
