package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// generateOptions is what `dovetail trace generate` was asked to do.
type generateOptions struct {
	Workload string
	Seed     uint64
	Jobs     int // 0: as many as were published
	Out      string
	Force    bool
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
			return orDefault(run, e.generate)(cmd.Context(), &o)
		},
	}
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "the `number` that all random numbers follow from")
	cmd.Flags().IntVar(&o.Jobs, "jobs", 0, "`how many` jobs (default: as many as were published)")
	cmd.Flags().StringVar(&o.Out, "out", "", "`file` for the trace; compressed if its name ends in .gz")
	cmd.Flags().BoolVar(&o.Force, "force", false, "overwrite the file if it exists")
	return cmd
}

func generatorNames() []string {
	var names []string
	for _, g := range trace.Generators() {
		names = append(names, g.Name)
	}
	return names
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
}

// compared compares a generated workload with what was published about it; ok is false if no generator has its name.
func compared(w *trace.Workload, seed uint64) (g generated, ok bool) {
	for _, known := range trace.Generators() {
		if known.Name == w.Name {
			return generated{w.Name, seed, len(w.Jobs), known.Default, trace.Compare(w.Jobs, known.Published)}, true
		}
	}
	return g, false
}

// write prints the comparison for people.
func (g *generated) write(w io.Writer, paint painter) error {
	fmt.Fprintf(w, "%s, seed %d: %s\n\n", g.Workload, g.Seed, plural(g.Jobs, "job", "jobs"))
	t := newTable("", "PUBLISHED", "HERE", "", "SOURCE")
	for i := range g.Marginals {
		m := &g.Marginals[i]
		verdict := paint(green, "agrees")
		if !m.Agrees {
			verdict = paint(yellow, "differs")
		}
		t.add(m.Name, unitText(m.Published, m.Unit), unitText(strconv.FormatFloat(m.Measured, 'g', 4, 64), m.Unit), verdict, m.Source)
	}
	if err := t.write(w, paint); err != nil {
		return err
	}
	if g.Jobs < g.Published {
		fmt.Fprintf(w, "\nWith %d jobs instead of %d, rare jobs may be missing and shares may be off.\n", g.Jobs, g.Published)
	}
	return nil
}

// unitText puts a unit behind a figure.
func unitText(figure, unit string) string {
	if unit == "" || strings.ContainsAny(figure, "(abcdefghijklmnopqrstuvwxyz") {
		return figure
	}
	return figure + " " + unit
}

func (e *environment) generate(_ context.Context, o *generateOptions) error {
	w, err := trace.Generate(o.Workload, o.Seed, o.Jobs)
	if err != nil {
		return err
	}
	g, _ := compared(w, o.Seed)
	if o.Out == "" {
		if err := trace.Write(e.out, each(w.Jobs)); err != nil {
			return err
		}
		return e.showOn(e.err, e.errPaint, &g)
	}
	if err := writeTraceFile(o.Out, o.Force, w.Jobs); err != nil {
		return err
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

// each yields jobs as readers of traces do.
func each(jobs []trace.Job) iter.Seq2[trace.Job, error] {
	return func(yield func(trace.Job, error) bool) {
		for i := range jobs {
			if !yield(jobs[i], nil) {
				return
			}
		}
	}
}

// writeTraceFile writes jobs to a file, compressed if its name says so. A file that exists is left alone unless forced.
func writeTraceFile(file string, force bool, jobs []trace.Job) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !force {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(file, flags, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return dovetail.Errorf(dovetail.Conflict, "%s exists; choose another file, or overwrite it with --force", file)
	case err != nil:
		return dovetail.Errorf(dovetail.Invalid, "cannot write the trace: %v; choose another file with --out", err)
	}
	err = writeTrace(f, strings.HasSuffix(file, ".gz"), jobs)
	return errors.Join(err, f.Close())
}

func writeTrace(w io.Writer, compress bool, jobs []trace.Job) error {
	if !compress {
		return trace.Write(w, each(jobs))
	}
	z := gzip.NewWriter(w)
	return errors.Join(trace.Write(z, each(jobs)), z.Close())
}
