package neighbours_test

import (
	"fmt"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
)

// write returns the report in Markdown.
func write(s *study) string {
	var b strings.Builder
	c := &s.Setting
	fmt.Fprintf(&b, "%d repetitions, seed %d. %d runs in bursts of %d of a kind, two at a time; each takes %g s alone. Window %d, γ %g, period %s, signal %s.\n\n",
		len(s.Repetitions), c.Seed, c.Runs, c.Burst, c.Seconds, c.Window, c.Step, c.Period, c.Signal)
	b.WriteString("| repetitions | arm | makespan, s | turnaround, s | alike side by side | drawn | busy with other things |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	later := s.Repetitions[min(1, len(s.Repetitions)):]
	writeArms(&b, "all", c, s.Repetitions)
	writeArms(&b, "after the first", c, later)
	b.WriteString("\nIn brackets 95 % confidence intervals over repetitions. Alike side by side: share of the time with two runs in which they were of one kind. Drawn: " +
		"runs that others waited for, or that had a choice. The last column: processors of two that did anything else than the runs, on average.\n\n")
	fmt.Fprintf(&b, "| repetitions | arm | against | makespan, %% shorter | turnaround, %% shorter |\n| --- | --- | --- | --- | --- |\n")
	writeGains(&b, "all", c, s.Repetitions)
	writeGains(&b, "after the first", c, later)
	b.WriteString("\n")
	for k, arm := range c.Arms {
		if n := len(s.Repetitions); n > 0 {
			writeMatrix(&b, arm, &s.Repetitions[n-1].Passes[k].Known)
		}
	}
	writePasses(&b, s)
	return b.String()
}

func writeArms(b *strings.Builder, words string, c *setting, all []repetition) {
	for k, arm := range c.Arms {
		var makespan, turnaround []float64
		alike, drawn, others := 0.0, 0, 0.0
		for i := range all {
			x := &all[i].Passes[k]
			makespan, turnaround = append(makespan, x.Makespan), append(turnaround, x.Turnaround)
			alike += x.pairs().alike() / float64(len(all))
			others += x.Others / float64(len(all))
			drawn += x.Drawn
		}
		if len(all) > 0 {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %.0f %% | %.1f | %.2f |\n", words, arm, estimate(makespan, "%.1f"), estimate(turnaround, "%.1f"),
				100*alike, float64(drawn)/float64(len(all)), others)
		}
	}
}

// writeGains compares every arm with the first, and with the one that shuffles.
func writeGains(b *strings.Builder, words string, c *setting, all []repetition) {
	for base, against := range c.Arms {
		if base > 0 && against != "random" {
			continue
		}
		for k, arm := range c.Arms {
			if k == base || k == 0 || len(all) == 0 {
				continue
			}
			makespan, turnaround := gains(all, k, base)
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", words, arm, against, estimate(makespan, "%+.1f"), estimate(turnaround, "%+.1f"))
		}
	}
}

// gains returns by how many per cent of the base an arm is shorter, repetition by repetition.
func gains(all []repetition, arm, base int) (makespan, turnaround []float64) {
	for i := range all {
		x, y := &all[i].Passes[arm], &all[i].Passes[base]
		makespan = append(makespan, 100*(1-x.Makespan/y.Makespan))
		turnaround = append(turnaround, 100*(1-x.Turnaround/y.Turnaround))
	}
	return makespan, turnaround
}

// writeMatrix writes what an arm has learned.
func writeMatrix(b *strings.Builder, arm string, n *dovetail.Neighbours) {
	fmt.Fprintf(b, "What %s has learned; in a cell: how many times as long runs of the row take beside the column (90 %% interval; runs), and π of the column and mean goodness.\n\n| |", arm)
	for _, k := range kinds() {
		fmt.Fprintf(b, " %s |", k)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(kinds())) + "\n")
	for _, row := range n.Rows {
		fmt.Fprintf(b, "| %s |", row.Class)
		for _, k := range kinds() {
			fmt.Fprintf(b, " %s |", cell(&row, k))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// cell writes what is known of a pair.
func cell(row *dovetail.NeighbourRow, newcomer string) string {
	var parts []string
	for i := range row.Pairs {
		p := &row.Pairs[i]
		if p.Newcomer != newcomer {
			continue
		}
		if s := p.Slowdown; s != nil {
			parts = append(parts, fmt.Sprintf("%.2f (%.2f to %.2f; %d)", s.Times, s.Low, s.High, s.Runs))
		}
		if p.Updates > 0 {
			parts = append(parts, fmt.Sprintf("π %.2f, G %.2f (%.0f)", p.Likes, p.Goodness, p.Updates))
		}
	}
	return strings.Join(parts, "; ")
}

// writePasses writes a line for each pass.
func writePasses(b *strings.Builder, s *study) {
	b.WriteString("| repetition |")
	for _, arm := range s.Setting.Arms {
		fmt.Fprintf(b, " %s: s | turnaround, s | side by side |", arm)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- | --- | --- |", len(s.Setting.Arms)) + "\n")
	for i := range s.Repetitions {
		fmt.Fprintf(b, "| %d |", i+1)
		for k := range s.Repetitions[i].Passes {
			x := &s.Repetitions[i].Passes[k]
			fmt.Fprintf(b, " %.1f | %.1f | %s |", x.Makespan, x.Turnaround, x.pairs())
		}
		b.WriteString("\n")
	}
}

// pairs is for how long two kinds ran side by side, in seconds; kinds in order.
type pairs map[[2]string]float64

// pairs returns who ran beside whom.
func (x *pass) pairs() pairs {
	met := make(pairs)
	for i, r := range x.Played {
		for _, o := range x.Played[:i] {
			if together := min(r.Ended, o.Ended) - max(r.Started, o.Started); together > 0 {
				met[[2]string{min(r.Kind, o.Kind), max(r.Kind, o.Kind)}] += together
			}
		}
	}
	return met
}

// alike returns the share of the time in which both were of one kind.
func (p pairs) alike() float64 {
	same, all := 0.0, 0.0
	for k, seconds := range p {
		all += seconds
		if k[0] == k[1] {
			same += seconds
		}
	}
	if all == 0 {
		return 0
	}
	return same / all
}

// String says for each pair of kinds for how long it was there.
func (p pairs) String() string {
	var parts []string
	for i, a := range kinds() {
		for _, c := range kinds()[i:] {
			if seconds := p[[2]string{a, c}]; seconds >= .5 {
				parts = append(parts, fmt.Sprintf("%s+%s %.0f", a, c, seconds))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// estimate writes a mean, and its confidence interval if there is one.
func estimate(values []float64, format string) string {
	i := report.Estimate(values)
	if i.N < 2 {
		return fmt.Sprintf(format, i.Mean)
	}
	return fmt.Sprintf(format+" ["+format+", "+format+"]", i.Mean, i.Low, i.High)
}
