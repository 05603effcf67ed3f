package study

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail/report"
)

// runtimesBlock is the tasks that one figure of a table is about.
type runtimesBlock struct {
	data, kind string
	runs       int
}

func (t *runtimesTask) block() runtimesBlock { return runtimesBlock{t.data, t.kind, t.runs} }

// runtimesRows sums up the scores of the model that is m-th, by block. Blocks come in the order of their first tasks.
func runtimesRows(name string, m int, tasks []runtimesTask, scores [][]runtimesScore) []RuntimesRow {
	var blocks []runtimesBlock
	for i := range tasks {
		if b := tasks[i].block(); !slices.Contains(blocks, b) {
			blocks = append(blocks, b)
		}
	}
	rows := make([]RuntimesRow, len(blocks))
	for i, b := range blocks {
		row := &rows[i]
		*row = RuntimesRow{Model: name, Data: b.data, Kind: b.kind, Runs: b.runs}
		var all, differences, ofJob []float64 // ofJob: of tasks of the job at hand; they follow each other
		job := ""
		next := func() {
			if len(ofJob) > 0 {
				differences = append(differences, report.Estimate(ofJob).Mean)
				ofJob = ofJob[:0]
			}
		}
		for k := range tasks {
			if tasks[k].block() != b {
				continue
			}
			if tasks[k].job != job {
				next()
				job = tasks[k].job
			}
			s := &scores[k][m]
			row.Tasks++
			row.Mean += s.mean
			row.Coverage += s.coverage
			row.Width += s.width
			row.Spread = row.Spread || s.spread
			all = append(all, s.errors...)
			ofJob = append(ofJob, s.mean-scores[k][0].mean)
		}
		next()
		row.Difference = report.Estimate(differences)
		n := float64(row.Tasks)
		row.Mean, row.Coverage, row.Width = row.Mean/n, row.Coverage/n, row.Width/n
		if !row.Spread {
			row.Coverage, row.Width = 0, 0
		}
		slices.Sort(all)
		row.Median = all[(len(all)-1)/2]
	}
	return rows
}

// title is the head of the column of a block.
func (r *RuntimesRow) title() string {
	if r.Runs == 0 {
		return r.Data + " " + r.Kind
	}
	return fmt.Sprintf("%s %s %d", r.Data, r.Kind, r.Runs)
}

// Sections returns the tables: a row for each model, a column for each block of tasks.
func (e *RuntimesResult) Sections() []report.Section {
	return []report.Section{
		e.section("Mean absolute error, per cent", "Mean over tasks. The number in the head of a column is that of the runs that were learned from.",
			func(r *RuntimesRow) string { return fmt.Sprintf("%.1f", r.Mean) }),
		e.section("Median absolute error, per cent", "Over all runs.",
			func(r *RuntimesRow) string { return fmt.Sprintf("%.1f", r.Median) }),
		e.section("Mean absolute error, difference to the reference", "Percentage points on the same tasks; in brackets the 95 % confidence interval over jobs and contexts (Student's t).",
			func(r *RuntimesRow) string {
				return fmt.Sprintf("%+.1f [%+.1f, %+.1f]", r.Difference.Mean, r.Difference.Low, r.Difference.High)
			}),
		e.section("Coverage of 90 % intervals", "Share of runs between the 5 % and the 95 % quantile.", func(r *RuntimesRow) string {
			if !r.Spread {
				return "–"
			}
			return fmt.Sprintf("%.3f", r.Coverage)
		}),
		e.section("Width of 90 % intervals", "Logarithm of the 95 % over the 5 % quantile.", func(r *RuntimesRow) string {
			if !r.Spread {
				return "–"
			}
			return fmt.Sprintf("%.3f", r.Width)
		}),
	}
}

func (e *RuntimesResult) section(title, note string, figure func(r *RuntimesRow) string) report.Section {
	s := report.Section{Title: title, Note: note, Columns: []string{"model"}}
	models := make(map[string]int)
	columns := make(map[string]int)
	for i := range e.Rows {
		r := &e.Rows[i]
		if _, ok := columns[r.title()]; !ok {
			columns[r.title()] = len(s.Columns)
			s.Columns = append(s.Columns, r.title())
		}
		at, ok := models[r.Model]
		if !ok {
			at = len(s.Rows)
			models[r.Model] = at
			s.Rows = append(s.Rows, []string{r.Model})
		}
		s.Rows[at] = append(s.Rows[at], figure(r))
	}
	return s
}

// WriteMarkdown writes the tables in Markdown.
func (e *RuntimesResult) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for _, s := range e.Sections() {
		fmt.Fprintf(&b, "**%s.** %s\n\n| %s |\n%s|\n", s.Title, s.Note, strings.Join(s.Columns, " | "), strings.Repeat("| --- ", len(s.Columns)))
		for _, row := range s.Rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
