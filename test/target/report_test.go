package target_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
)

// write returns the report in Markdown.
func write(seed uint64, trials []played) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d trials, seed %d. A job of the kind wordcount (%s of processor time, %d to %d workers, each with %g of a processor) is to end within %s of its start "+
		"with a probability of %g. A job of the kind kmeans (%s, %d workers) is submitted %s before it to %s after it. Scale-outs are reconsidered every %s.\n\n",
		len(trials), seed, work, least, most, replicasCPU/1000., target, confidence, besideWork, beside, -earliest, latest, replan)
	learned := trials[min(exploring, len(trials)):]
	b.WriteString("| runs | arm | met the target | late ones exceed it by | at worst by | runtime, s | node-seconds | busy with other things |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	writeSummaries(&b, "all", trials)
	writeSummaries(&b, "after the bootstrap", learned)
	b.WriteString("\nIn brackets 95 % confidence intervals over runs. The last column: processors of two that did anything else than these two jobs, on average.\n\n")
	b.WriteString("| runs | with prediction, against | met by it alone | met by the other alone | runtime, s | node-seconds |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- |\n")
	writeDifferences(&b, "all", trials)
	writeDifferences(&b, "after the bootstrap", learned)
	b.WriteString("\n")
	writeTrials(&b, trials)
	return b.String()
}

func writeSummaries(b *strings.Builder, words string, trials []played) {
	if len(trials) == 0 {
		return
	}
	for i, a := range arms() {
		s := summarise(trials, i)
		excess, worst := "", ""
		if s.met < s.runs {
			excess, worst = percent(s.excess), percent(s.worst)
		}
		fmt.Fprintf(b, "| %s | %s | %d of %d, %s | %s | %s | %s | %s | %.2f |\n", words, a.words, s.met, s.runs, percent(float64(s.met)/float64(s.runs)),
			excess, worst, estimate(s.took, "%.1f"), estimate(s.nodeSeconds, "%.0f"), s.others)
	}
}

func writeDifferences(b *strings.Builder, words string, trials []played) {
	if len(trials) == 0 {
		return
	}
	for i, a := range arms()[1:] {
		d := compare(trials, i+1)
		fmt.Fprintf(b, "| %s | %s | %d | %d | %s | %s |\n", words, a.words, d.only, d.other, estimate(d.took, "%+.1f"), estimate(d.nodeSeconds, "%+.0f"))
	}
}

// writeTrials writes a line for each trial.
func writeTrials(b *strings.Builder, trials []played) {
	b.WriteString("| run | neighbour, s | there for | chosen by | scale-out | predicted, s |")
	for _, a := range arms() {
		fmt.Fprintf(b, " %s: s | node-s |", a.words)
	}
	b.WriteString("\n| --- | --- | --- | --- | --- | --- |" + strings.Repeat(" --- | --- |", len(arms())) + "\n")
	for i := range trials {
		p := &trials[i]
		first := &p.outcomes[0]
		median := ""
		if first.median > 0 {
			median = fmt.Sprintf("%.1f", first.median)
		}
		fmt.Fprintf(b, "| %d | %+.1f | %s | %s | %s | %s |", p.trial.number, p.trial.delay.Seconds(), percent(first.beside),
			chosenBy(first.choices), scaleOuts(first.choices), median)
		for k := range p.outcomes {
			o, mark := &p.outcomes[k], ""
			if !o.met() {
				mark = " late"
			}
			fmt.Fprintf(b, " %.1f%s | %.0f |", o.took, mark, o.nodeSeconds)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "\nNeighbour: when it was submitted, counted from the job; there for: its share of the run with prediction. Scale-out: as chosen "+
		"at the start, and whenever it was reconsidered with another result. Late: more than %s.\n", target.Round(time.Second))
}

// chosenBy returns by what a run's first choice was made.
func chosenBy(choices []dovetail.Choice) string {
	if len(choices) == 0 {
		return ""
	}
	return choices[0].Model
}

// scaleOuts writes the scale-outs that were chosen for a run one after the other.
func scaleOuts(choices []dovetail.Choice) string {
	var parts []string
	last := 0
	for i := range choices {
		if x := choices[i].ScaleOut; x != last {
			parts = append(parts, fmt.Sprint(x))
			last = x
		}
	}
	return strings.Join(parts, ", ")
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// estimate writes a mean, and its confidence interval if there is one.
func estimate(i report.Interval, format string) string {
	if i.N < 2 {
		return fmt.Sprintf(format, i.Mean)
	}
	return fmt.Sprintf(format+" ["+format+", "+format+"]", i.Mean, i.Low, i.High)
}
