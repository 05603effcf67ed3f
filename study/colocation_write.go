package study

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail/report"
)

// WriteText writes claims and tables for people.
func (e *ColocationEvaluation) WriteText(w io.Writer) error {
	return writeEvaluation(w, e.Claims, e.tables())
}

// WriteMarkdown writes claims and tables as Markdown.
func (e *ColocationEvaluation) WriteMarkdown(w io.Writer) error {
	return writeMarkdown(w, e.Sections())
}

// Sections returns the tables of the evaluation for a report.
func (e *ColocationEvaluation) Sections() []report.Section {
	return append(claimSections(e.Claims), e.tables()...)
}

// tables returns those of what was measured.
func (e *ColocationEvaluation) tables() []report.Section {
	var all []report.Section
	if len(e.Pairs) > 0 {
		all = append(all, e.pairsTable())
	}
	if s := e.queuesTable(); len(s.Rows) > 0 {
		all = append(all, s)
	}
	if s := e.worldsTable(); len(s.Rows) > 0 {
		all = append(all, s)
	}
	if s := e.furtherTable(); len(s.Rows) > 0 {
		all = append(all, s)
	}
	if len(e.Uses) > 0 {
		all = append(all, e.usesTable())
	}
	if len(e.Preferences) > 0 {
		all = append(all, e.preferencesTable(), e.ratesTable())
	}
	return all
}

func decimals(v float64, places int) string { return strconv.FormatFloat(v, 'f', places, 64) }

func (e *ColocationEvaluation) pairsTable() report.Section {
	rms, mean, largest := residuals(e.Pairs)
	s := report.Section{
		Title:   "Jobs beside each other (tables 2 and 3)",
		Columns: []string{"table", "nodes", "job", "beside", "alone, s", "paper, %", "model, %", "residual"},
		Note: fmt.Sprintf("By how much longer a job takes on shared nodes than on nodes of its own. Residuals: root of the mean square %.1f points, mean %.1f, largest %.1f.",
			rms, mean, largest),
	}
	for i := range e.Pairs {
		r := &e.Pairs[i]
		s.Rows = append(s.Rows, []string{
			strconv.Itoa(r.Table), strconv.Itoa(r.Nodes), r.Job, r.Beside, decimals(r.Separated, 0), decimals(r.Paper, 1), decimals(r.Model, 1), decimals(r.Residual(), 1),
		})
	}
	return s
}

// gains is a table of gains over FIFO: a line for each policy, a column for each setting.
func gains(title, note string, policies []string, columns []string, cell func(policy string, column int) (QueueRow, bool)) report.Section {
	s := report.Section{Title: title, Columns: append([]string{"policy"}, columns...), Note: note}
	for _, p := range policies {
		row := []string{p}
		for i := range columns {
			r, ok := cell(p, i)
			switch {
			case !ok:
				row = append(row, "")
			case p == armFIFO:
				row = append(row, decimals(r.Minutes.Mean, 1)+" min")
			default:
				row = append(row, interval(r.Gain, 1))
			}
		}
		if strings.Join(row[1:], "") != "" {
			s.Rows = append(s.Rows, row)
		}
	}
	return s
}

// policyNames returns all, in the order in which tables show them.
func policyNames() []string {
	return []string{
		armFIFO, armRandom, armWary, armGreedy, armRA, armRAStar, armCareful, armCold, armPrice, armGoesOn, armOracle, lpBound,
	}
}

// find returns a row.
func (e *ColocationEvaluation) find(part, world, queue, policy string, straggler float64, window int) (QueueRow, bool) {
	for _, r := range e.Queues {
		if r.Part == part && r.World == world && r.Queue == queue && r.Policy == policy && r.Straggler == straggler && r.Window == window {
			return r, true
		}
	}
	return QueueRow{}, false
}

func (e *ColocationEvaluation) queuesTable() report.Section {
	type at struct {
		queue     string
		straggler float64
		window    int
	}
	var all []at
	var columns []string
	for _, queue := range []string{queueA, queueB} {
		for _, straggler := range stragglers() {
			for _, window := range windows() {
				all = append(all, at{queue, straggler, window})
				columns = append(columns, fmt.Sprintf("%s, s=%g, n=%d", queue, straggler, window))
			}
		}
	}
	return gains("Queues A and B: by how much shorter than FIFO, %",
		"s: stragglers, n: window. In brackets: 95 % confidence intervals over seeds; each seed has its own runtimes and random nodes, the same for all policies.",
		policyNames(), columns, func(policy string, i int) (QueueRow, bool) {
			return e.find(ColocationQueues, published(0).name, all[i].queue, policy, all[i].straggler, all[i].window)
		})
}

func (e *ColocationEvaluation) worldsTable() report.Section {
	var columns []string
	for _, queue := range []string{queueA, queueB} {
		for i := range perturbedWorlds {
			columns = append(columns, fmt.Sprintf("%s, world %d", queue, i+1))
		}
	}
	s := gains("Perturbed worlds: by how much shorter than FIFO, %", "Vectors, caps and durations times 0.75 to 1.25; window 5, no stragglers.",
		policyNames(), columns, func(policy string, i int) (QueueRow, bool) {
			queue := []string{queueA, queueB}[i/perturbedWorlds]
			return e.find(ColocationWorlds, fmt.Sprintf("perturbed %d", i%perturbedWorlds+1), queue, policy, 0, windows()[0])
		})
	s.Columns = append(s.Columns, "A, mean", "B, mean")
	for i, row := range s.Rows {
		for _, queue := range []string{queueA, queueB} {
			mean := ""
			if row[0] != armFIFO {
				mean = interval(report.Estimate(ofWorlds(queue, row[0])(e)), 1)
			}
			s.Rows[i] = append(s.Rows[i], mean)
		}
	}
	for i := range s.Rows { // intervals are within worlds: too wide to show
		for k := 1; k <= len(columns); k++ {
			s.Rows[i][k], _, _ = strings.Cut(s.Rows[i][k], " (")
			s.Rows[i][k], _, _ = strings.Cut(s.Rows[i][k], " [")
		}
	}
	return s
}

func (e *ColocationEvaluation) furtherTable() report.Section {
	s := report.Section{
		Title: "Queues of our own", Columns: []string{"queue", "policy", "minutes", "gain, %", "turnaround, gain in %", "scan beside scan, node-hours"},
		Note: "Mixed: 16 jobs that only read a disk, 16 that only compute and 16 that only send, in random order. Harmful: the same in fours, and two that read " +
			"one disk get half of it. Window 12, no stragglers.",
	}
	for _, queue := range []string{queueMixed, queueHarm} {
		for _, policy := range policyNames() {
			for i := range e.Queues {
				if r := &e.Queues[i]; r.Part == ColocationFurther && r.Queue == queue && r.Policy == policy {
					row := []string{queue, policy, decimals(r.Minutes.Mean, 1), interval(r.Gain, 1), interval(r.Stay, 1), interval(r.Harmed, 1)}
					if policy == lpBound {
						row[4], row[5] = "", ""
					}
					s.Rows = append(s.Rows, row)
				}
			}
		}
	}
	return s
}

func (e *ColocationEvaluation) usesTable() report.Section {
	s := report.Section{
		Title: "How nodes were used (figures 6 and 7)", Columns: []string{"queue", "policy", "processors, %", "deviation", "I/O wait, %", "disk, %", "network, %"},
		Note: "Mean over nodes and minutes until the last job began, and over seeds. Deviation: of the use of processors from minute to minute, in points. No stragglers, window 5.",
	}
	for i := range e.Uses {
		u := &e.Uses[i]
		s.Rows = append(s.Rows, []string{
			u.Queue, u.Policy, decimals(100*u.CPU, 1), decimals(100*u.CPUSpread, 1), decimals(100*u.Wait, 1), decimals(100*u.Disk, 1), decimals(100*u.Net, 1),
		})
	}
	return s
}

// kindsOf returns the kinds of figure 8.
func kindsOf(rows []PreferenceRow) []string {
	var kinds []string
	for _, r := range rows {
		if r.Scheduled == rows[0].Scheduled {
			kinds = append(kinds, r.Queued)
		}
	}
	return kinds
}

func (e *ColocationEvaluation) preferencesTable() report.Section {
	kinds := kindsOf(e.Preferences)
	s := report.Section{
		Title: "Who is wanted beside whom (figure 8)", Columns: append([]string{"scheduled"}, kinds...),
		Note: "Probability with which a job of the row wants a queued one of the column, after one pass of RA over queue A; mean over seeds.",
	}
	for i := 0; i < len(e.Preferences); i += len(kinds) {
		row := []string{e.Preferences[i].Scheduled}
		for k := range kinds {
			row = append(row, decimals(e.Preferences[i+k].Mean, 3))
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func (e *ColocationEvaluation) ratesTable() report.Section {
	s := report.Section{
		Title: "Rates of progress, and what one earlier pass says of them", Columns: []string{"job", "beside", "true", "learned", "off, %"},
		Note: "Queue A, 12 runs of each kind, mean over seeds. Learned rates are relative to the usual pace of a kind; here they are times what makes the means of a kind alike. " +
			"Off: root of the mean square of the relative error.",
	}
	for _, r := range e.Rates {
		s.Rows = append(s.Rows, []string{r.Class, r.Beside, decimals(r.True, 3), decimals(r.Learned, 3), decimals(100*r.Off, 1)})
	}
	return s
}

// Figures returns the pictures of the evaluation, as figures 6 to 8 of the seed.
func (e *ColocationEvaluation) Figures() ([]report.Figure, error) {
	var all []report.Figure
	if len(e.Uses) > 0 {
		all = append(all, e.usesFigure())
	}
	if len(e.Preferences) > 0 {
		f, err := e.preferencesFigure()
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func (e *ColocationEvaluation) usesFigure() report.Figure {
	d := report.Dots{
		Name: "colocation-use", Title: "Use of all nodes over time (seed 000, figures 6 and 7)", X: "minutes", Y: "use, %", Joined: true,
		Series: []string{"processors", "I/O wait", "disk", "network"}, Notes: "the first seed, a point a minute",
	}
	for i := range e.Uses {
		u := &e.Uses[i]
		p := report.DotsPanel{Title: "Queue " + u.Queue + ", " + u.Policy, Series: make([][]report.DotsPoint, len(d.Series))}
		for _, c := range u.First {
			for k, v := range []float64{c.CPU, c.Wait, c.Disk, c.Net} {
				p.Series[k] = append(p.Series[k], report.DotsPoint{X: c.At, Y: 100 * v})
			}
		}
		d.Panels = append(d.Panels, p)
	}
	return d.Figure()
}

func (e *ColocationEvaluation) preferencesFigure() (report.Figure, error) {
	kinds := kindsOf(e.Preferences)
	m := report.HeatMap{
		Title: "Probability to be chosen", Down: "scheduled", Across: "queued", Rows: kinds, Columns: kinds,
		Text: func(v float64) string { return decimals(v, 2) },
	}
	for i := 0; i < len(e.Preferences); i += len(kinds) {
		var row []float64
		for k := range kinds {
			row = append(row, e.Preferences[i+k].Mean)
		}
		m.Values = append(m.Values, row)
	}
	return report.HeatMaps("colocation-preferences", "Who is wanted beside whom (seed 000, figure 8)", "after one pass of RA over queue A; mean over seeds", m)
}
