package study

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail/report"
)

// WriteText writes the claims for people: each with what it was judged by.
func (e *ZoeEvaluation) WriteText(w io.Writer) error {
	var b bytes.Buffer
	writeClaims(&b, e.Claims)
	if len(e.Rules) > 0 {
		fmt.Fprintln(&b, "Our rules against those of Zoe's simulator: mean turnaround in seconds; a ratio below 1 is a gain.")
		fmt.Fprintf(&b, "  %-8s %-9s %-9s %12s %12s %12s   %-24s %s\n", "workload", "policy", "allocator", "Zoe's",
			"ours, one", "ours, nodes", "one to Zoe's", "nodes to one")
		for i := range e.Rules {
			r := &e.Rules[i]
			m := &r.Mean
			fmt.Fprintf(&b, "  %-8s %-9s %-9s %12s %12s %12s   %-24s %s\n", r.Workload, r.Policy, r.Alloc,
				mean(m.Peer, 0), mean(m.OneMachine, 0), mean(m.Nodes, 0),
				interval(m.Rules, 3), interval(m.Placement, 3))
		}
		fmt.Fprintln(&b)
	}
	writeVerdicts(&b, e.Claims)
	if len(e.Claims) > 0 {
		fmt.Fprintf(&b, "Reasons, of %s: %s; and for verdicts that are the same here, the report of --out.\n", zoeReasonsOf, zoeReasonsIn)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeClaims writes each claim with what it was judged by.
func writeClaims(b *bytes.Buffer, claims []Claim) {
	for i := range claims {
		c := &claims[i]
		fmt.Fprintf(b, "%-17s %s, %s: %q\n", c.ID, strings.ToUpper(string(c.Verdict)), c.Where, c.Words)
		for j := range c.Checks {
			k := &c.Checks[j]
			fmt.Fprintf(b, "  %-8s %-66s %-24s seed: %-20s expected: %s\n", k.result(), k.What, k.value(), k.Seed, k.rule())
		}
		if c.Missing != "" {
			fmt.Fprintf(b, "  %s\n", c.verdict())
		}
		fmt.Fprintln(b)
	}
}

// writeVerdicts writes how many claims have which verdict.
func writeVerdicts(b *bytes.Buffer, claims []Claim) {
	n := make(map[Verdict]int)
	for i := range claims {
		n[claims[i].Verdict]++
	}
	fmt.Fprintf(b, "%d reproduced, %d partly, %d not reproduced, %d not judged. In brackets: 95 %% confidence intervals over seeds.\n",
		n[Reproduced], n[Partly], n[NotReproduced], n[NotJudged])
}

// WriteMarkdown writes the notices, and the claims, what they were judged by, and the comparison of rules, as Markdown tables.
func (e *ZoeEvaluation) WriteMarkdown(w io.Writer) error {
	for _, n := range e.Notices {
		if _, err := fmt.Fprintf(w, "Notice: %s.\n\n", n); err != nil {
			return err
		}
	}
	return writeMarkdown(w, e.Sections())
}

func writeMarkdown(w io.Writer, sections []report.Section) error {
	var b bytes.Buffer
	for _, s := range sections {
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		line := func(cells []string) {
			for _, c := range cells {
				b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
			}
			b.WriteString("|\n")
		}
		line(s.Columns)
		b.WriteString(strings.Repeat("| --- ", len(s.Columns)) + "|\n")
		for _, row := range s.Rows {
			line(row)
		}
		fmt.Fprintf(&b, "\n%s\n\n", s.Note)
	}
	_, err := w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return err
}

// claimSections returns the tables of claims and of what they were judged by.
func claimSections(list []Claim) []report.Section {
	claims := report.Section{Title: "Claims", Columns: []string{"claim", "the seed says", "verdict", "calibration"}}
	claims.Note = "Reproduced: all checks hold. Partly: some do. Not reproduced: none does."
	checks := report.Section{Title: "Checks", Columns: []string{"claim", "measured here", "the seed", "expected", "here", "holds"}}
	checks.Note = "In brackets: 95 % confidence intervals over seeds. A check holds if the mean is as expected; a question mark says that the interval " +
		"reaches across the bound."
	for i := range list {
		c := &list[i]
		claims.Rows = append(claims.Rows, []string{c.ID, c.Where + ": “" + c.Words + "”", c.verdict(), c.Calibrated})
		for j := range c.Checks {
			k := &c.Checks[j]
			checks.Rows = append(checks.Rows, []string{c.ID, k.What, k.Seed, k.rule(), k.value(), k.result()})
		}
	}
	return []report.Section{claims, checks}
}

// Sections returns the tables of the evaluation for a report, which is to show the notices beside them.
func (e *ZoeEvaluation) Sections() []report.Section {
	all := claimSections(e.Claims)
	claims := &all[0]
	claims.Columns = append(claims.Columns, "why, of "+e.ReasonsOf)
	for i := range e.Claims {
		claims.Rows[i] = append(claims.Rows[i], e.Claims[i].Why)
	}
	if len(e.Rules) > 0 {
		rules := report.Section{
			Title: "What our own rules gain or lose",
			Columns: []string{"workload", "policy", "allocator", "turnaround, s", "Zoe's simulator", "ours, one machine",
				"ours, nodes", "one machine to Zoe's", "nodes to one machine"},
			Note: "A ratio below 1 is a gain; – where nothing was started.",
		}
		for i := range e.Rules {
			r := &e.Rules[i]
			rules.Rows = append(rules.Rows, r.row("mean", &r.Mean), r.row("median", &r.Median))
		}
		all = append(all, rules)
	}
	return append(all, e.cellSection())
}

func (r *ZoeRule) row(name string, t *ZoeTurnaround) []string {
	return []string{
		r.Workload, r.Policy, r.Alloc, name, interval(t.Peer, 0), interval(t.OneMachine, 0), interval(t.Nodes, 0),
		interval(t.Rules, 3), interval(t.Placement, 3),
	}
}

// cellSection is a line for each setting of each part.
func (e *ZoeEvaluation) cellSection() report.Section {
	s := report.Section{
		Title: "Settings",
		Columns: []string{
			"workload", "policy", "allocator", "seeds", "mean turnaround, s", "median turnaround, s", "mean queueing, s",
			"waiting", "running", "cpu", "memory",
		},
		Note: "Waiting, running, cpu and memory are means while applications arrive, cpu and memory as shares of the cluster.",
	}
	found := newEvidence(e.Cells)
	seen := make(map[at]bool)
	for i := range e.Cells {
		c := &e.Cells[i]
		a := at{c.Part, c.Policy, c.Alloc, c.Preempt}
		if seen[a] {
			continue
		}
		seen[a] = true
		of := func(m zoeMeasure) report.Interval {
			return report.Estimate(found.values([]at{a}, func(c []*ZoeCell) float64 { return m(c[0]) }))
		}
		mean := of(meanTurnaround)
		s.Rows = append(s.Rows, []string{
			c.Part, c.Policy, c.Variant(), strconv.Itoa(mean.N), interval(mean, 0), interval(of(medianTurnaround), 0),
			interval(of(meanQueueing), 0), interval(of(waiting), 1), interval(of(serving), 1),
			interval(of(cpuAllocation), 3), interval(of(memoryAllocation), 3),
		})
	}
	return s
}

// verdict writes the verdict, and why there is none if cells are missing.
func (c *Claim) verdict() string {
	if c.Missing != "" {
		return string(c.Verdict) + ": " + c.Missing
	}
	return string(c.Verdict)
}

// value writes what was measured.
func (c *Check) value() string { return interval(c.Value, c.places()) }

// places returns how many decimals the check is written with.
func (c *Check) places() int {
	switch v := math.Abs(c.Value.Mean); {
	case v >= 100:
		return 0
	case v >= 10:
		return 1
	}
	return 3
}

// rule writes what is expected.
func (c *Check) rule() string {
	bound := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case c.Low == nil:
		return "at most " + bound(*c.High) + unit(c.Unit)
	case c.High == nil:
		return "at least " + bound(*c.Low) + unit(c.Unit)
	}
	return bound(*c.Low) + " to " + bound(*c.High) + unit(c.Unit)
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

// result says whether the check holds.
func (c *Check) result() string {
	word := "no"
	switch {
	case c.Value.N == 0:
		return "missing"
	case !c.judged:
		return "–"
	case c.Holds:
		word = "yes"
	}
	if !c.Clear {
		word += "?"
	}
	return word
}

// interval writes a mean and its confidence interval.
func interval(i report.Interval, places int) string {
	if i.N < 2 {
		return mean(i, places)
	}
	return mean(i, places) + " [" + decimal(i.Low, places) + ", " + decimal(i.High, places) + "]"
}

// mean writes the mean of an interval, or a dash if there is none.
func mean(i report.Interval, places int) string {
	if i.N == 0 {
		return "–"
	}
	return decimal(i.Mean, places)
}

func decimal(v float64, places int) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', places, 64), "-", "−", 1)
}
