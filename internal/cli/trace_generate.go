package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail/trace"
)

// generateOptions is what `dovetail trace generate` was asked to do.
type generateOptions struct {
	Workload string
	Seed     uint64
	Jobs     int // 0: as many as were published
	Out      fileOutput
}

func newTraceGenerate(e *environment, run func(context.Context, *generateOptions) error) *cobra.Command {
	o := generateOptions{}
	cmd := &cobra.Command{
		Use:   "generate WORKLOAD",
		Short: "Generate a workload from published distributions",
		Long: `Generate a workload from published distributions, and compare it with what was published about it. The same
seed gives the same jobs; fewer jobs are the first ones of more.

The trace goes to standard output, in dovetail's own format, and the comparison to standard error; with --out,
the trace goes to that file, and the comparison to standard output. -o json is for the comparison.

` + generatorsText(),
		Example: `  dovetail trace generate zoe --out zoe.jsonl.gz
  dovetail trace generate zoe-batch --seed 7 --jobs 5000 | dovetail trace info -
  dovetail trace generate yahoo --out yahoo.jsonl -o json`,
		Args:              exactly(1, "a WORKLOAD: "+strings.Join(generatorNames(), ", ")),
		ValidArgsFunction: cobra.FixedCompletions(generatorNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("jobs") && o.Jobs < 1 {
				return usagef("--jobs %d: expected 1 or more", o.Jobs)
			}
			o.Workload = args[0]
			if err := knownWorkload(o.Workload); err != nil {
				return err
			}
			return orDefault(run, e.generate)(cmd.Context(), &o)
		},
	}
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "the `number` that all random numbers follow from")
	cmd.Flags().IntVar(&o.Jobs, "jobs", 0, "`how many` jobs (default: as many as were published)")
	o.Out.flags(cmd)
	return cmd
}

func generatorNames() []string {
	var names []string
	for _, g := range trace.Generators() {
		names = append(names, g.Name)
	}
	return names
}

// knownWorkload refuses the name of a workload that nobody can generate.
func knownWorkload(name string) error {
	if names := generatorNames(); !slices.Contains(names, name) {
		return usagef("there is no workload %q; choose one of %s", name, strings.Join(names, ", "))
	}
	return nil
}

// generatorsText lists the workloads for the help.
func generatorsText() string {
	var b strings.Builder
	b.WriteString("Workloads, and how many jobs they have by default:\n")
	for _, g := range trace.Generators() {
		fmt.Fprintf(&b, "  %-14s %6d  %s\n", g.Name, g.Default, g.Doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// generated is what a program gets to know of a generated workload.
type generated struct {
	Workload  string             `json:"workload"`
	Seed      uint64             `json:"seed"`
	Jobs      int                `json:"jobs"`
	Published int                `json:"publishedJobs"` // the figures below are about so many jobs
	Marginals []trace.Comparison `json:"marginals"`
	Notes     []string           `json:"notes,omitempty"` // what has to be known to judge them
}

// compared compares a generated workload with what was published about it; ok is false if no generator has its name.
func compared(w *trace.Workload, seed uint64) (g generated, ok bool) {
	for _, known := range trace.Generators() {
		if known.Name == w.Name {
			return generated{w.Name, seed, len(w.Jobs), known.Default, trace.Compare(w.Jobs, known.Published), known.Notes}, true
		}
	}
	return g, false
}

// write prints the comparison for people.
func (g *generated) write(w io.Writer, paint painter) error {
	fmt.Fprintf(w, "%s, seed %d: %s\n\n", g.Workload, g.Seed, plural(g.Jobs, "job", "jobs"))
	t := newTable("FIGURE", "PUBLISHED", "HERE", "", "SOURCE")
	for i := range g.Marginals {
		m := &g.Marginals[i]
		verdict := paint(green, "agrees")
		if !m.Agrees {
			verdict = paint(yellow, "differs")
		}
		t.add(m.Name, m.Published, figure(m), verdict, m.Source)
	}
	if err := t.write(w, paint); err != nil {
		return err
	}
	for _, note := range g.Notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	if g.Jobs < g.Published {
		fmt.Fprintf(w, "\nWith %d jobs instead of %d, rare jobs may be missing and shares may be off.\n", g.Jobs, g.Published)
	}
	return nil
}

// figure writes what was measured as the published figure is written: in percent, or with its unit.
func figure(m *trace.Comparison) string {
	switch {
	case strings.Contains(m.Published, "%"):
		return strconv.FormatFloat(100*m.Measured, 'f', 1, 64) + " %"
	case m.Measured >= 1000:
		return strings.TrimSpace(strconv.FormatFloat(m.Measured, 'f', 0, 64) + " " + m.Unit)
	}
	return strings.TrimSpace(strconv.FormatFloat(m.Measured, 'g', 4, 64) + " " + m.Unit)
}

func (e *environment) generate(ctx context.Context, o *generateOptions) error {
	w, err := trace.Generate(o.Workload, o.Seed, o.Jobs)
	if err != nil {
		return err
	}
	if err := o.Out.write(e.out, func(to io.Writer) error { return trace.Write(to, trace.Each(w.Jobs)) }); err != nil {
		return cause(ctx, err)
	}
	g, _ := compared(w, o.Seed)
	if o.Out.File == "" {
		return e.showOn(e.err, e.errPaint, &g)
	}
	return e.showOn(e.out, e.paint, &g)
}

// showOn writes a comparison to one of the streams, as people or programs want it.
func (e *environment) showOn(w io.Writer, paint painter, g *generated) error {
	if e.format == text {
		return g.write(w, paint)
	}
	data, err := e.format.encode(g)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
