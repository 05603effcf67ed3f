package learn

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Defaults says what rows mean that do not say it themselves.
type Defaults struct {
	App   string    // application of rows without one
	Class string    // job class of every row, whatever it says; empty: application and parameters, as of a run
	Input int64     // bytes: of rows without an input size, and the whole that an input_fraction is a part of; 0: unknown, and wholeInput
	Ended time.Time // of the first row without an end; each further one ends a microsecond later, so that their order is kept
}

// wholeInput is the bytes that the fraction 1 of an input of unknown size stands for. Only ratios of sizes matter for what is learned.
const wholeInput = 1_000_000_000

// unnamedNeighbour is the job class of neighbours in a file that does not name them.
const unnamedNeighbour = "neighbour"

// column names a field of a row.
type column int

const (
	colRuntime column = iota
	colScaleOut
	colStretches
	colClass
	colJob
	colParams
	colContext
	colFramework
	colMachine
	colInput
	colInputMB
	colInputFraction
	colOverlap
	colNeighbour
	colEnded
	colOutcome
	colPreempted
	colRunID
	numColumns
)

// columnOf returns the column with this name, in lower case; -1 if there is none.
func columnOf(name string) column {
	switch name {
	case "runtime_s":
		return colRuntime
	case "scale_out", "cores":
		return colScaleOut
	case "stretches":
		return colStretches
	case "class":
		return colClass
	case "job", "app":
		return colJob
	case "params":
		return colParams
	case "context":
		return colContext
	case "framework":
		return colFramework
	case "machine_type":
		return colMachine
	case "input_size":
		return colInput
	case "data_size_mb":
		return colInputMB
	case "input_fraction":
		return colInputFraction
	case "overlap":
		return colOverlap
	case "neighbour":
		return colNeighbour
	case "ended":
		return colEnded
	case "outcome":
		return colOutcome
	case "preempted":
		return colPreempted
	case "run_id", "rep":
		return colRunID
	}
	return -1
}

const knownColumns = "runtime_s, scale_out (or cores), job (or app), class, params, context, framework, machine_type, input_size (or data_size_MB, " +
	"or input_fraction), overlap, neighbour, stretches, ended, outcome, preempted, run_id (or rep)"

// Rows reads finished runs from CSV text, one a row, as they come; name is what errors call it. The first row names the columns, in any order; docs/history.md has
// their table. runtime_s (seconds) and scale_out are required; what a row leaves empty is as Defaults say, a run without an
// outcome succeeded. An error is a dovetail.Invalid one that names the text, line and column and what was expected there, and ends the
// sequence; a text without any run is one.
func Rows(r io.Reader, name string, d Defaults) iter.Seq2[dovetail.Past, error] {
	return func(yield func(dovetail.Past, error) bool) {
		c := csv.NewReader(r)
		c.ReuseRecord = true
		t := table{csv: c, name: name, defaults: d}
		if err := t.header(); err != nil {
			yield(dovetail.Past{}, err)
			return
		}
		for n := 0; ; n++ {
			record, err := c.Read()
			switch {
			case errors.Is(err, io.EOF) && n == 0:
				yield(dovetail.Past{}, t.fault(2, 1, "", "expected at least one run below the names of the columns"))
				return
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(dovetail.Past{}, t.syntax(err))
				return
			}
			p, err := t.row(record)
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// table reads one text.
type table struct {
	csv      *csv.Reader
	name     string
	defaults Defaults
	names    []string        // of the columns, as the text has them
	at       [numColumns]int // index of each column; -1: there is none
	undated  int64           // rows without an end so far
}

func (t *table) fault(line, col int, field, message string) error {
	e := dovetail.Errorf(dovetail.Invalid, "%s cannot be read as finished runs", t.name)
	e.Faults = []dovetail.Fault{{Line: line, Column: col, Field: field, Message: message}}
	return e
}

// syntax says where a text ceased to be CSV.
func (t *table) syntax(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("read %s: %w", t.name, err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return t.fault(parse.Line, parse.Column, "", fmt.Sprintf("expected %d values, one for each column", len(t.names)))
	}
	return t.fault(parse.Line, parse.Column, "", "not valid CSV: "+parse.Err.Error())
}

// header reads the names of the columns.
func (t *table) header() error {
	record, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return t.fault(1, 1, "", "expected a first row with the names of the columns, such as scale_out,runtime_s; the text is empty")
	}
	if err != nil {
		return t.syntax(err)
	}
	t.names = slices.Clone(record)
	t.names[0] = strings.TrimPrefix(t.names[0], "\ufeff") // spreadsheets put it there
	for i := range t.at {
		t.at[i] = -1
	}
	for i, original := range t.names {
		line, col := t.csv.FieldPos(i)
		name := strings.ToLower(strings.TrimSpace(original))
		c := columnOf(name)
		if c < 0 {
			return t.fault(line, col, original, refusal(name))
		}
		if other := t.at[c]; other >= 0 {
			return t.fault(line, col, original, fmt.Sprintf("says the same as the column %s; keep one of them", t.names[other]))
		}
		t.at[c] = i
	}
	return t.missing()
}

// missing reports a column that is required and not there, or one too many.
func (t *table) missing() error {
	sizes := 0
	for _, c := range []column{colInput, colInputMB, colInputFraction} {
		if t.at[c] >= 0 {
			sizes++
		}
	}
	switch {
	case t.at[colRuntime] < 0:
		return t.fault(1, 1, "runtime_s", "expected a column with this name: the runtime in seconds")
	case t.at[colScaleOut] < 0:
		return t.fault(1, 1, "scale_out", "expected a column with this name (or cores): how many replicas the run had")
	case sizes > 1:
		return t.fault(1, 1, "input_size", "expected only one of input_size, data_size_MB and input_fraction")
	case t.at[colNeighbour] >= 0 && t.at[colOverlap] < 0:
		return t.fault(1, 1, "overlap", "expected a column with this name beside neighbour: the share of the run that it was there")
	}
	return nil
}

// refusal says what is wrong with the name of a column that is not known.
func refusal(name string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	switch {
	case has("stage"):
		return "this is a table of stages: expected one row for each run, with the runtime of all of it"
	case has(";", "\t"):
		return "expected commas between the columns"
	case has("runtime", "duration", "elapsed", "seconds", "time"):
		return "unknown column; a runtime is expected in seconds, in a column named runtime_s"
	case has("overlap", "ratio"):
		return "unknown column; an overlap is expected as a share (1: all the time, on all nodes), in a column named overlap"
	case has("input", "size", "bytes"):
		return "unknown column; an input size is expected in bytes or with a unit (24GB), in a column named input_size"
	case strings.Trim(name, "0123456789.-+e") == "":
		return "expected the name of a column; the first row must name them: " + knownColumns
	}
	return "unknown column; expected one of " + knownColumns
}

// row reads one run. The record is valid only until the next one is read.
func (t *table) row(record []string) (dovetail.Past, error) {
	r := row{table: t, record: record}
	p := dovetail.Past{
		Outcome: dovetail.Outcome(r.text(colOutcome)), Preempted: r.boolean(colPreempted), InputSize: r.input(), Ended: r.ended(),
		Overlaps: r.overlaps(), Stretches: r.stretches(), NodeClasses: r.list(colMachine), App: r.text(colJob), Class: r.text(colClass),
	}
	p.Params = r.params()
	if p.Outcome == "" {
		p.Outcome = dovetail.OutcomeSucceeded
	} else if !slices.Contains(outcomes(), p.Outcome) {
		r.wrong(colOutcome, fmt.Sprintf("expected succeeded, failed, cancelled, timedout or lost, found %q", clip(string(p.Outcome))))
	}
	least := 1.0
	if p.Outcome != dovetail.OutcomeSucceeded {
		least = 0 // it may never have had all of its core
	}
	p.ScaleOut = r.number(colScaleOut, "a number of replicas, at least 1", least, mostReplicas)
	p.Runtime = r.number(colRuntime, "a runtime in seconds, more than 0", math.SmallestNonzeroFloat64*least, longest)
	t.classify(&p)
	return p, r.err
}

// Bounds of what is read. Whoever has more has another unit.
const (
	longest      = 1e10 // runtime in seconds: 300 years
	mostReplicas = 1e6  // scale-out, or runs of a class beside a run
)

// classify names application and job class as far as the row did not.
func (t *table) classify(p *dovetail.Past) {
	if p.App == "" {
		p.App = t.defaults.App
	}
	if t.defaults.Class != "" {
		p.Class = t.defaults.Class
	}
	switch {
	case p.App == "":
		p.App = dovetail.AppOf(p.Class)
	case p.Class == "":
		p.Class = dovetail.ClassOf(p.App, p.Params)
	}
}

// row is the values of one run. The first error stays.
type row struct {
	*table
	record []string
	err    error
}

// text returns the value of a column without space around it; "" if there is none.
func (r *row) text(c column) string {
	if i := r.at[c]; i >= 0 {
		return strings.Clone(strings.TrimSpace(r.record[i]))
	}
	return ""
}

func (r *row) wrong(c column, message string) {
	if r.err == nil {
		line, col := r.csv.FieldPos(r.at[c])
		r.err = r.fault(line, col, r.names[r.at[c]], message)
	}
}

// number reads a finite number within bounds.
func (r *row) number(c column, what string, least, most float64) float64 {
	s := r.text(c)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= least && v <= most) {
		r.wrong(c, fmt.Sprintf("expected %s, found %q", what, clip(s)))
		return 0
	}
	return v
}

func (r *row) boolean(c column) bool {
	s := r.text(c)
	if s != "" && s != "true" && s != "false" {
		r.wrong(c, fmt.Sprintf("expected true or false, found %q", clip(s)))
	}
	return s == "true"
}

// list reads values separated by semicolons.
func (r *row) list(c column) []string {
	s := r.text(c)
	if s == "" {
		return nil
	}
	return split(s)
}

// ended returns when the run ended, in whole microseconds.
func (r *row) ended() time.Time {
	s := r.text(colEnded)
	if s == "" {
		r.undated++
		return r.defaults.Ended.Add(time.Duration(r.undated-1) * time.Microsecond).UTC().Truncate(time.Microsecond)
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		r.wrong(colEnded, fmt.Sprintf("expected a time such as 2026-05-01T18:00:00Z, found %q", clip(s)))
	}
	return at.UTC().Truncate(time.Microsecond)
}

// input returns the input size in bytes.
func (r *row) input() int64 {
	const most = 1 << 60
	if s := r.text(colInput); s != "" {
		n, err := dovetail.ParseSize(s)
		if err != nil {
			r.wrong(colInput, err.Error())
		}
		return n
	}
	if r.text(colInputMB) != "" {
		return int64(math.Round(r.number(colInputMB, "a size in MB (1,000,000 bytes)", 0, most/1e6) * 1e6))
	}
	if r.text(colInputFraction) != "" {
		whole := r.defaults.Input
		if whole == 0 {
			whole = wholeInput
		}
		return int64(math.Round(r.number(colInputFraction, "the part of the input that was read, more than 0 and at most 1", 1e-9, 1) * float64(whole)))
	}
	return r.defaults.Input
}

// overlaps returns how much of the run its neighbours were there, in order of class.
func (r *row) overlaps() []dovetail.Overlap {
	ratios := r.list(colOverlap)
	names, named := []string{unnamedNeighbour}, r.at[colNeighbour] >= 0
	if named {
		names = r.list(colNeighbour)
	}
	if len(ratios) == 0 && len(names) == 0 || len(ratios) == 0 && !named {
		return nil
	}
	if len(ratios) != len(names) && (len(ratios) != 1 || len(names) != 0 || ratios[0] != "0") {
		r.wrong(colOverlap, fmt.Sprintf("expected as many overlaps as neighbours, %d; found %d", len(names), len(ratios)))
		return nil
	}
	most, what := 1.0, "a share of the run between 0 and 1 (not a percentage)"
	if named { // several runs of one class add up
		most, what = mostReplicas, "a share of the run, 0 or more"
	}
	var all []dovetail.Overlap
	for i, name := range names {
		v, err := strconv.ParseFloat(strings.TrimSpace(ratios[i]), 64)
		if err != nil || !(v >= 0 && v <= most) {
			r.wrong(colOverlap, fmt.Sprintf("expected %s, found %q", what, clip(ratios[i])))
		}
		if v > 0 {
			all = append(all, dovetail.Overlap{Class: name, Ratio: v})
		}
	}
	slices.SortFunc(all, func(a, b dovetail.Overlap) int { return strings.Compare(a.Class, b.Class) })
	for i := range all {
		if all[i].Class == "" {
			r.wrong(colNeighbour, "expected the job class of every neighbour, separated by semicolons")
		}
		if i > 0 && all[i].Class == all[i-1].Class {
			r.wrong(colNeighbour, fmt.Sprintf("expected every neighbour once; %q is there twice", clip(all[i].Class)))
		}
	}
	return all
}

// stretches returns the scale-out over time.
func (r *row) stretches() []dovetail.Stretch {
	var all []dovetail.Stretch
	for _, s := range r.list(colStretches) {
		n, sec, _ := strings.Cut(s, ":")
		scaleOut, bad := strconv.Atoi(n)
		seconds, err := strconv.ParseFloat(sec, 64)
		if bad != nil || err != nil || scaleOut < 0 || !(seconds > 0 && seconds <= longest) {
			r.wrong(colStretches, fmt.Sprintf("expected scale-outs with their seconds, such as 4:120.5;8:60, found %q", clip(s)))
		}
		all = append(all, dovetail.Stretch{ScaleOut: scaleOut, Seconds: seconds})
	}
	return all
}

// params returns the parameters: those of the column params, the context and the framework.
func (r *row) params() map[string]string {
	all := make(map[string]string)
	for _, s := range r.list(colParams) {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			r.wrong(colParams, fmt.Sprintf("expected parameters such as input=small;top=10, found %q", clip(s)))
		}
		all[name] = value
	}
	for name, c := range map[string]column{"context": colContext, "framework": colFramework} {
		if v := r.text(c); v != "" {
			all[name] = v
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// clip shortens what a stranger wrote.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func outcomes() []dovetail.Outcome {
	return []dovetail.Outcome{
		dovetail.OutcomeSucceeded, dovetail.OutcomeFailed, dovetail.OutcomeCancelled, dovetail.OutcomeTimedOut, dovetail.OutcomeLost,
	}
}
