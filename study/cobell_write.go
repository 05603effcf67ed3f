package study

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
	"github.com/dovetail-sched/dovetail/report"
)

// WriteText writes claims and tables for people.
func (e *CobellEvaluation) WriteText(w io.Writer) error {
	return writeEvaluation(w, e.Claims, e.tables())
}

// writeEvaluation writes claims, tables, and how many claims came out how.
func writeEvaluation(w io.Writer, claims []Claim, tables []report.Section) error {
	var b bytes.Buffer
	writeClaims(&b, claims)
	for i := range tables {
		writeTable(&b, &tables[i])
	}
	if len(claims) > 0 {
		writeVerdicts(&b, claims)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeTable writes a table in columns.
func writeTable(b *bytes.Buffer, s *report.Section) {
	fmt.Fprintln(b, s.Title)
	widths := make([]int, len(s.Columns))
	rows := append([][]string{s.Columns}, s.Rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		line := " "
		for i, cell := range row {
			line += fmt.Sprintf(" %-*s", widths[i]+1, cell)
		}
		b.Write(bytes.TrimRight([]byte(line), " "))
		fmt.Fprintln(b)
	}
	if s.Note != "" {
		fmt.Fprintln(b, s.Note)
	}
	fmt.Fprintln(b)
}

// WriteMarkdown writes claims and tables as Markdown.
func (e *CobellEvaluation) WriteMarkdown(w io.Writer) error { return writeMarkdown(w, e.Sections()) }

// Sections returns the tables of the evaluation for a report.
func (e *CobellEvaluation) Sections() []report.Section {
	return append(claimSections(e.Claims), e.tables()...)
}

// tables returns those of what was measured.
func (e *CobellEvaluation) tables() []report.Section {
	var all []report.Section
	if len(e.Errors) > 0 {
		all = append(all, e.errorsTable())
	}
	if len(e.Policies) > 0 {
		all = append(all, e.policiesTable())
	}
	if e.Data != nil {
		all = append(all, e.Data.Sections()...)
	}
	return all
}

func (e *CobellEvaluation) errorsTable() report.Section {
	s := report.Section{
		Title:   "How well models fit the runs they learned from",
		Columns: []string{"runs", "model", "RMSE, s", "MAE, s", "MAPE, %", "table II"},
		Note:    "100 runs of SGD beside WordCount, in sample, squares of seconds as in the seed. In brackets: 95 % confidence intervals over data sets.",
	}
	for i := range e.Errors {
		m := &e.Errors[i]
		row := []string{m.Generator, m.Method, interval(m.RMSE, 2), interval(m.MAE, 2), interval(m.MAPE, 2), ""}
		if k := slices.IndexFunc(tableTwo(), func(f fitted) bool { return f.name == m.Method }); k >= 0 {
			f := tableTwo()[k]
			row[1], row[5] = f.words, strconv.FormatFloat(f.mape, 'f', 2, 64)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func (e *CobellEvaluation) policiesTable() report.Section {
	s := report.Section{
		Title:   "How runs met a target of 350 s",
		Columns: []string{"policy", "faults", "runs", "over, %", "over by 7.2 %, %", "most over, %", "node-seconds", "off, %", "over with faulty, %"},
		Note: "Runs after the first six, that were not faulty and whose target was feasible with 25 replicas. Off: mean of |runtime / target − 1|. Over with " +
			"faulty: share of runs that took longer than the target, with those that were made to take 1.8 times as long. In brackets: 95 % confidence " +
			"intervals over repetitions. Loop: outside the scheduler, with a scale-out chosen once.",
	}
	f := func(v float64, places int) string { return strconv.FormatFloat(v, 'f', places, 64) }
	for i := range e.Policies {
		r := &e.Policies[i]
		faults := "none"
		if r.Faults {
			faults = "1 in 20"
		}
		s.Rows = append(s.Rows, []string{
			r.Policy, faults, strconv.Itoa(r.Runs), interval(r.Interval, 1), f(r.Far, 1), f(r.MaxExcess, 1), f(r.NodeSeconds, 0), f(r.Off, 1), f(r.All, 1),
		})
	}
	return s
}

// Figures returns the pictures of the evaluation, as the seed's figures 2 and 3.
func (e *CobellEvaluation) Figures() ([]report.Figure, error) {
	var all []report.Figure
	if len(e.Errors) > 0 {
		f, err := surfaceFigure()
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(e.Runs) > 0 {
		all = append(all, e.boxesFigure(), e.runsFigure())
	}
	return all, nil
}

// surfaceFigure draws the first calibrated data set as the seed's figure 2: what CoBell makes of it.
func surfaceFigure() (report.Figure, error) {
	g := generators()[1]
	samples := g.draw(1)
	method, err := predict.Find("cobell")
	if err != nil {
		return report.Figure{}, err
	}
	m, err := method.Fit(samples, predict.Options{Unweighted: true})
	if err != nil {
		return report.Figure{}, err
	}
	at := func(x int, overlap float64) predict.Distribution {
		return m.Predict(predict.At{ScaleOut: float64(x), Overlaps: []dovetail.Overlap{{Class: besideModels, Ratio: overlap}}})
	}
	c := report.Curve{Title: "SGD beside WordCount: what CoBell learns of 100 runs (seed 001, figure 2)"}
	var scaleOuts []int
	for x := g.low; x <= 24; x++ {
		scaleOuts = append(scaleOuts, x)
	}
	c.Curve = dovetail.Curve{Class: "sgd", Model: "cobell", Runs: len(samples)}
	c.Curve.Points, c.Curve.Chosen = predict.Curve(scaleOuts, func(x int) predict.Distribution { return at(x, 0) }, 0, 0)
	for i := range samples {
		r := report.CurveRun{ScaleOut: samples[i].ScaleOut, Seconds: samples[i].Runtime}
		for _, o := range samples[i].Overlaps {
			r.Overlap += o.Ratio
		}
		c.Runs = append(c.Runs, r)
	}
	c.Surface = &report.Surface{Beside: besideModels}
	const steps = 10
	for i := range steps + 1 {
		overlap := float64(i) / steps
		var row []float64
		for _, x := range scaleOuts {
			row = append(row, at(x, overlap).Quantile(.5))
		}
		c.Surface.Overlaps, c.Surface.Seconds = append(c.Surface.Overlaps, overlap), append(c.Surface.Seconds, row)
	}
	f, err := c.Figure()
	f.Name = "models-surface"
	return f, err
}

// judgedRun reports whether a run counts: after the bootstrap, without a fault, feasible.
func (r *TargetRun) judged() bool { return r.Number > bootstrapRuns && !r.Fault && r.Feasible }

func (e *CobellEvaluation) boxesFigure() report.Figure {
	b := report.Boxes{
		Name: "target-boxes", Title: "Runtimes of runs with a target of 350 s", Label: "runtime, s", Line: targetSeconds,
		Notes: "; runs after the first six, without faults, whose target was feasible",
	}
	for _, p := range targetPolicies() {
		box := report.Box{Name: p.name}
		for i := range e.Runs {
			if r := &e.Runs[i]; r.Policy == p.name && !r.Faults && r.judged() {
				box.Values = append(box.Values, r.Seconds)
			}
		}
		b.Boxes = append(b.Boxes, box)
	}
	return b.Figure()
}

func (e *CobellEvaluation) runsFigure() report.Figure {
	series := []string{namedBell, namedCoBell, namedBayes8}
	d := report.Dots{
		Name: "target-runs", Title: "Runs one after the other (seed 001, figure 3)", X: "run", Y: "runtime, s", Series: series, Line: targetSeconds,
		Notes: "all repetitions, without faults; the first six runs explore",
	}
	for _, pair := range pairings(1, false) {
		p := report.DotsPanel{Title: pair.job + " beside " + pair.beside, Series: make([][]report.DotsPoint, len(series))}
		for i := range e.Runs {
			r := &e.Runs[i]
			k := slices.Index(series, r.Policy)
			if k >= 0 && !r.Faults && r.Job == pair.job && r.Beside == pair.beside {
				shift := 0.22 * float64(k-1) // side by side
				p.Series[k] = append(p.Series[k], report.DotsPoint{X: float64(r.Number) + shift, Y: r.Seconds})
			}
		}
		d.Panels = append(d.Panels, p)
	}
	return d.Figure()
}
