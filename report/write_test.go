package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// golden compares with a file of testdata, and rewrites it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s changed; look at it and run with -update if it is right (-want +got):\n%s", name, diff)
	}
}

// cellOf is a cell with round figures.
func cellOf(policy, alloc string, seed uint64, turnaround float64) Metrics {
	return Metrics{
		Cell: Cell{Policy: policy, Alloc: alloc, Seed: seed}, Runs: 100, MeanTurnaround: turnaround, P50Turnaround: turnaround / 2,
		P95Turnaround: 2 * turnaround, MaxTurnaround: 5 * turnaround, MeanQueue: turnaround / 4, MeanSlowdown: 1.5, MeanWaiting: turnaround / 100,
		MaxWaiting: int(turnaround), CPUAllocation: 0.5, MemoryAllocation: 0.25, Makespan: 10 * turnaround, Reclaims: int(seed),
	}
}

// document is a small report: two settings over two seeds, one of them preempting, and a difference.
func document(t *testing.T) *Document {
	t.Helper()
	d := &Document{Cells: []Metrics{
		cellOf("fifo", "rigid", 1, 100), cellOf("fifo", "rigid", 2, 120),
		cellOf("srpt-3d", "flexible", 1, 60), cellOf("srpt-3d", "flexible", 2, 66),
	}}
	d.Cells[2].Preempt, d.Cells[3].Preempt = true, true
	d.Summary = Summarise(d.Cells)
	d.Baseline = &Cell{Policy: "fifo", Alloc: "rigid"}
	var err error
	if d.Changes, err = Against(d.Cells, *d.Baseline); err != nil {
		t.Fatal(err)
	}
	d.Differences = []Difference{Compare(beforeAndAfter())}
	return d
}

// beforeAndAfter is a workload of four runs under two policies; one run ends in the first schedule only.
func beforeAndAfter() (before, after *Schedule) {
	job := func(id int64, user, class string, submit, finish time.Duration) Job {
		return Job{ID: id, User: user, Class: class, Kind: dovetail.Batch, Submit: submit * second, Start: submit * second, Finish: finish * second}
	}
	before = &Schedule{Cell: Cell{Policy: "recorded"}, Jobs: []Job{
		job(1, "ann", "spark", 0, 10), job(2, "bob", "spark", 0, 20), job(3, "ann", "mpi|a", 5, 35), job(4, "bob", "mpi|a", 5, 15),
	}}
	after = &Schedule{Cell: Cell{Policy: "sjf", Alloc: "flexible"}, Jobs: []Job{
		job(3, "ann", "mpi|a", 5, 29), job(2, "bob", "spark", 0, 22), job(1, "ann", "spark", 0, 6), job(4, "bob", "mpi|a", 5, -5),
	}}
	after.Jobs[3].Finish = -1
	return before, after
}

func TestSummarise(t *testing.T) {
	d := document(t)
	if len(d.Summary) != 2 || d.Summary[0].Seeds != 2 || !d.Summary[1].Preempt {
		t.Fatalf("rows: %+v", d.Summary)
	}
	// Means 110 and 63; of two seeds that differ by d, half of the interval is 12.706205·d/2.
	for i, want := range []Interval{{110, 110 - 127.06205, 110 + 127.06205, 2}, {63, 63 - 38.118615, 63 + 38.118615, 2}} {
		if diff := cmp.Diff(want, d.Summary[i].Measures["meanTurnaroundSeconds"], nearly); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	if len(d.Summary[0].Measures) != len(Measures()) {
		t.Errorf("%d measures, want all %d", len(d.Summary[0].Measures), len(Measures()))
	}
}

// Measures names every number of Metrics as JSON does, so that no figure of one cell is missing over seeds.
func TestMeasuresAreMetrics(t *testing.T) {
	b, err := json.Marshal(Metrics{GPUAllocation: 1, DiskAllocation: 1})
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]any)
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, m := range Measures() {
		if _, ok := fields[m.Name]; !ok {
			t.Errorf("measure %s is no field of Metrics", m.Name)
		}
		delete(fields, m.Name)
	}
	for _, cell := range []string{"policy", "alloc", "preempt", "seed"} {
		delete(fields, cell)
	}
	if len(fields) > 0 {
		t.Errorf("fields of Metrics that are no measure: %v", fields)
	}
}

func TestAgainst(t *testing.T) {
	d := document(t)
	if len(d.Changes) != 1 || d.Changes[0].Seeds != 2 {
		t.Fatalf("changes: %+v", d.Changes)
	}
	c := d.Changes[0]
	// Differences −40 and −54; ratios 0.6 and 0.55.
	if diff := cmp.Diff(Interval{-47, -47 - 12.706205*7, -47 + 12.706205*7, 2}, c.Difference["meanTurnaroundSeconds"], nearly); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Interval{-0.425, -0.425 - 12.706205*0.025, -0.425 + 12.706205*0.025, 2}, c.Relative["meanTurnaroundSeconds"], nearly); diff != "" {
		t.Errorf("relative (-want +got):\n%s", diff)
	}
	if _, ok := c.Relative["failed"]; ok {
		t.Error("there is a relative change of a baseline that is 0")
	}
	if _, err := Against(d.Cells, Cell{Policy: "sjf"}); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("a baseline that is not there: %v", err)
	}
	alone, err := Against([]Metrics{cellOf("fifo", "rigid", 1, 1), cellOf("sjf", "rigid", 2, 1)}, Cell{Policy: "fifo", Alloc: "rigid"})
	if err != nil || len(alone) != 0 {
		t.Errorf("settings without a common seed: %+v, %v; want none", alone, err)
	}
}

func TestCompare(t *testing.T) {
	d := Compare(beforeAndAfter())
	if d.Runs != 3 || d.Alone != 1 {
		t.Errorf("%d paired, %d alone; want 3 and 1", d.Runs, d.Alone)
	}
	// Run 1: 10 → 6 s, run 2: 20 → 22 s, run 3: 30 → 24 s.
	t975of2 := 4.302653
	all := Interval{-8.0 / 3, 0, 0, 3}
	half := t975of2 * 4.163331999 / 1.7320508075688772 // deviation of −4, 2, −6: √(52/3)
	all.Low, all.High = all.Mean-half, all.Mean+half
	want := []DifferenceRow{
		{By: "all", Runs: 3, Before: 20, After: 52.0 / 3, Change: all, Relative: -8.0 / 60},
		{By: "kind", Name: "B-R", Runs: 3, Before: 20, After: 52.0 / 3, Change: all, Relative: -8.0 / 60},
		{By: "class", Name: "mpi|a", Runs: 1, Before: 30, After: 24, Change: Interval{-6, -6, -6, 1}, Relative: -0.2},
		{By: "class", Name: "spark", Runs: 2, Before: 15, After: 14, Change: Interval{-1, -1 - 12.706205*3, -1 + 12.706205*3, 2}, Relative: -1.0 / 15},
		{By: "user", Name: "ann", Runs: 2, Before: 20, After: 15, Change: Interval{-5, -5 - 12.706205, -5 + 12.706205, 2}, Relative: -0.25},
		{By: "user", Name: "bob", Runs: 1, Before: 20, After: 22, Change: Interval{2, 2, 2, 1}, Relative: 0.1},
	}
	if diff := cmp.Diff(want, d.Groups, nearly); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// A run that failed in a play did less than its work, so that its time says nothing; one that failed on record has a replay of just that
// work.
func TestCompareFailures(t *testing.T) {
	for _, tc := range []struct {
		reason        string
		before, after dovetail.Outcome // of run 1
		recorded      bool
		runs, failed  int
	}{
		{"nothing fails", dovetail.OutcomeSucceeded, dovetail.OutcomeSucceeded, false, 3, 0},
		{"it fails in the second play", dovetail.OutcomeSucceeded, dovetail.OutcomeFailed, false, 2, 1},
		{"it is lost in the first play", dovetail.OutcomeLost, dovetail.OutcomeSucceeded, false, 2, 1},
		{"it times out in both", dovetail.OutcomeTimedOut, dovetail.OutcomeTimedOut, false, 2, 1},
		{"it failed on record", dovetail.OutcomeFailed, dovetail.OutcomeSucceeded, true, 3, 0},
		{"it succeeded on record, and fails in the play", dovetail.OutcomeSucceeded, dovetail.OutcomeFailed, true, 2, 1},
	} {
		before, after := beforeAndAfter()
		before.Recorded, before.Jobs[0].Outcome, after.Jobs[2].Outcome = tc.recorded, tc.before, tc.after
		d := Compare(before, after)
		if d.Runs != tc.runs || d.Failed != tc.failed || d.Alone != 1 {
			t.Errorf("%s: %d paired, %d failed, %d alone; want %d, %d, 1", tc.reason, d.Runs, d.Failed, d.Alone, tc.runs, tc.failed)
		}
		if said := strings.Contains(d.title(), "; without 1 more that failed when played"); said != (tc.failed > 0) {
			t.Errorf("%s: the title is %q", tc.reason, d.title())
		}
	}
}

// Where no run did its work there is no figure: neither 0, nor a mean with that 0 in it, nor a change.
func TestSeedsWithoutFigures(t *testing.T) {
	cells := []Metrics{cellOf("fifo", "rigid", 1, 100), cellOf("fifo", "rigid", 2, 120), cellOf("sjf", "rigid", 1, 60), cellOf("sjf", "rigid", 2, 0), cellOf("edf", "rigid", 1, 0)}
	for i := range cells {
		c := &cells[i]
		c.Groups = []Group{{By: ByKind, Name: BatchRigid, Runs: 100, MeanTurnaround: c.MeanTurnaround}}
		if c.MeanTurnaround == 0 {
			c.Failed, c.Groups[0].Failed = c.Runs, c.Runs
		}
	}
	const measure = "meanTurnaroundSeconds"
	rows := Summarise(cells)
	for i, want := range []Interval{{Mean: 110, N: 2}, {Mean: 60, N: 1}, {}} {
		if got := rows[i].Measures[measure]; got.Mean != want.Mean || got.N != want.N || rows[i].Measures["makespanSeconds"].N != rows[i].Seeds {
			t.Errorf("%s: %s %+v of %d seeds; want a mean of %v over %d", rows[i].Policy, measure, got, rows[i].Seeds, want.Mean, want.N)
		}
	}
	changes, err := Against(cells, Cell{Policy: "fifo", Alloc: "rigid"})
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := changes[0].Relative[measure]; !ok || r.Mean != -0.4 || r.N != 1 {
		t.Errorf("sjf against fifo: %+v, %v; want −0.4 of the one seed in which runs of both did their work", r, ok)
	}
	if r, ok := changes[1].Relative[measure]; ok {
		t.Errorf("edf against fifo: %+v; want nothing", r)
	}
	var page bytes.Buffer
	if err := WriteHTML(&page, &Report{Document: Document{Cells: cells, Summary: rows}}); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`<td[^>]*>edf</td>(\s*<td[^>]*>[^<]*</td>)+`)
	for _, table := range row.FindAllString(page.String(), -1) {
		if !strings.Contains(table, ">"+none+"</td>") {
			t.Errorf("a row without figures shows some: %s", table)
		}
	}
	if n := len(row.FindAllString(page.String(), -1)); n != 2 {
		t.Errorf("the page has %d rows of edf; want one of the settings and one of the kinds of runs", n)
	}
}

func TestTablesGolden(t *testing.T) {
	d := document(t)
	var b bytes.Buffer
	for _, width := range []int{0, 80} {
		for _, err := range []error{
			WriteTable(&b, d.Summary, width), WriteChanges(&b, *d.Baseline, d.Changes, width), WriteDifference(&b, &d.Differences[0], width),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	golden(t, "tables.txt", b.String())
	b.Reset()
	if err := WriteMarkdown(&b, d); err != nil {
		t.Fatal(err)
	}
	golden(t, "tables.md", b.String())
	b.Reset()
	if err := WriteJSON(&b, &Document{Cells: []Metrics{small().Metrics()}, Summary: d.Summary[:0]}); err != nil {
		t.Fatal(err)
	}
	golden(t, "cells.json", b.String())
}

// However narrow, a table keeps its width if the columns that matter most allow, and every line has the same columns.
func TestTableWidth(t *testing.T) {
	rows := Summarise(document(t).Cells)
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.IntRange(70, 250).Draw(rt, "width")
		var b bytes.Buffer
		if err := WriteTable(&b, rows, width); err != nil {
			rt.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				rt.Fatalf("a line of %d characters at width %d:\n%s", n, width, b.String())
			}
		}
	})
}

func TestEmptyDocument(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, &Document{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "{\n  \"cells\": []\n}\n" {
		t.Errorf("JSON of nothing: %q", got)
	}
	for reason, write := range map[string]func() error{
		"table":    func() error { return WriteTable(&b, nil, 80) },
		"markdown": func() error { return WriteMarkdown(&b, &Document{}) },
		"csv":      func() error { return WriteCSV(&b, nil) },
		"page":     func() error { return WriteHTML(&b, &Report{}) },
	} {
		if err := write(); err != nil {
			t.Errorf("%s of nothing: %v", reason, err)
		}
	}
}

func TestCSV(t *testing.T) {
	cells := []Metrics{cellOf(`od,d "policy"`, "rigid", 1, 100), small().Metrics()}
	var b bytes.Buffer
	if err := WriteCSV(&b, cells); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || lines[1][0] != `od,d "policy"` || lines[2][len(lines[2])-1] != "abc" {
		t.Errorf("lines: %q", lines)
	}
	for i, name := range lines[0] {
		if name == "meanTurnaroundSeconds" && lines[2][i] != "15" {
			t.Errorf("%s is %s, want 15", name, lines[2][i])
		}
	}
}

func TestPerRun(t *testing.T) {
	var b bytes.Buffer
	p := NewPerRun(&b)
	job := func(id int64, submit, start, finish time.Duration) Job {
		return Job{ID: id, Submit: submit * time.Microsecond, Start: start * time.Microsecond, Finish: finish * time.Microsecond}
	}
	lost := job(4, 1000, 2000, 3000)
	lost.Outcome = dovetail.OutcomeLost // so it never finished its work
	for _, s := range []*Schedule{
		{Cell: Cell{Policy: "fifo", Alloc: "rigid", Seed: 7}, Jobs: []Job{job(1, 0, 499, 500), job(2, 1499, 1500, 61_000_999)}},
		{Cell: Cell{Policy: "sjf", Alloc: "flexible", Preempt: true}, Jobs: []Job{job(3, 999_500, -1, -1), lost}},
	} {
		if err := p.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `policy,alloc,seed,id,submit,start,finish
fifo,rigid,7,1,0.000,0.000,0.001
fifo,rigid,7,2,0.001,0.002,61.001
sjf,flexible+preempt,0,3,1.000,,
sjf,flexible+preempt,0,4,0.001,0.002,
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestWritersReturnErrors(t *testing.T) {
	d := document(t)
	p := NewPerRun(brokenWriter{})
	for reason, write := range map[string]func() error{
		"json":       func() error { return WriteJSON(brokenWriter{}, d) },
		"csv":        func() error { return WriteCSV(brokenWriter{}, d.Cells) },
		"table":      func() error { return WriteTable(brokenWriter{}, d.Summary, 0) },
		"changes":    func() error { return WriteChanges(brokenWriter{}, *d.Baseline, d.Changes, 0) },
		"difference": func() error { return WriteDifference(brokenWriter{}, &d.Differences[0], 0) },
		"markdown":   func() error { return WriteMarkdown(brokenWriter{}, d) },
		"page":       func() error { return WriteHTML(brokenWriter{}, &Report{}) },
		"runs":       func() error { return errors.Join(p.Write(small()), p.Flush()) },
		"svg":        func() error { return Figures([]*Digest{small().Digest()})[0].WriteSVG(brokenWriter{}) },
		"png":        func() error { return Figures([]*Digest{small().Digest()})[0].WritePNG(brokenWriter{}) },
	} {
		if err := write(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v, want the writer's error", reason, err)
		}
	}
}
