package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

// The files that `dovetail experiment --out` writes beside the page and its figures.
const (
	claimsJSON     = "claims.json"
	claimsMarkdown = "claims.md"
)

// experimentOptions is what `dovetail experiment zoe` was asked to do.
type experimentOptions struct {
	Applications int
	Seeds        int
	Only         []string
	Trace        traceInput // without a file: no trace
	Hash         bool
	Workers      int
	Out          string // directory of a report
	Force        bool
	Command      string // for the report: how to repeat it
}

func newExperiment(e *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment",
		Short: "Repeat a published evaluation, and judge its statements",
		Long: "Repeat a published evaluation with Dovetail's own core on simulated machines, and judge each of its statements\n" +
			"by what comes out.",
		Example: "  dovetail experiment zoe\n  dovetail experiment zoe --full --out zoe-report\n  dovetail experiment cobell\n  dovetail experiment colocation",
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExperimentZoe(e, nil), newExperimentCobell(e, nil), newExperimentColocation(e, nil))
	return cmd
}

// experimentLong has room for the two scales and the claims.
const experimentLong = `Repeat the evaluation of Zoe (IOStack D5.2, 2016, sections 10.2 to 10.5 and 11): FIFO, SJF, SRPT and HRRN with the
rigid, the malleable and the flexible allocator, the definitions of size of table 10.3a, the inelastic workload,
preemption with interactive applications, and the testbed. Each statement of that evaluation is shown with what was
measured here and a verdict: reproduced if everything it is judged by is as expected, partly if something is, not
reproduced if nothing is. docs/experiments.md says more.

By default it is a small picture of the published workload, %d applications and %d seeds: its biggest applications
are cut to the same share of the whole, and submissions moved together until the load is the same. --full is the
workload as published, %d applications and %d seeds; statements about seconds are judged there only.

--trace adds a comparison with the model of Zoe's own simulator on a trace of a thousand applications, on 25 nodes of
40 cores and 56 GiB, and on one machine of as much.

The claims are: %s.`

func newExperimentZoe(e *environment, run func(context.Context, *experimentOptions) error) *cobra.Command {
	var o experimentOptions
	var full bool
	cmd := &cobra.Command{
		Use:   "zoe",
		Short: "Repeat the evaluation of Zoe, and judge its statements",
		Long: fmt.Sprintf(experimentLong, study.ZoeSmall, study.ZoeSmallSeeds, study.ZoeFull, study.ZoeFullSeeds,
			strings.Join(study.ZoeIDs(), ", ")),
		Example: "  dovetail experiment zoe\n  dovetail experiment zoe --only 10.4-same,11-turnaround\n" +
			"  dovetail experiment zoe --full --seeds 1 --out zoe-report",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.read(full, cmd.Flags().Changed); err != nil {
				return err
			}
			o.Command = commandLine(cmd)
			return orDefault(run, e.experimentZoe)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Applications, "jobs", study.ZoeSmall, fmt.Sprintf("how `many` applications, batch and interactive, from %d to %d", study.ZoeFewest, study.ZoeFull))
	f.IntVar(&o.Seeds, "seeds", study.ZoeSmallSeeds, "how `many` workloads")
	f.BoolVar(&full, "full", false, fmt.Sprintf("the scale as published: --jobs %d --seeds %d", study.ZoeFull, study.ZoeFullSeeds))
	f.StringSliceVar(&o.Only, "only", nil, "only these `claims` (default: all)")
	f.StringVar(&o.Trace.File, "trace", "", "compare with Zoe's simulator on the `file` of a trace as well, or - for standard input")
	o.Trace.flags(cmd)
	f.BoolVar(&o.Hash, "journal-hash", false,
		"a hash of each cell's journal in -o json and --out: equal hashes mean equal decisions")
	f.StringVar(&o.Out, "out", "", "write a report into this `directory`: a page, claims as JSON and Markdown, figures")
	f.BoolVar(&o.Force, "force", false, "replace what is in --out")
	f.IntVar(&o.Workers, "workers", 0, "how `many` cells run at once (default: one a core)")
	complete(cmd, map[string][]string{"only": study.ZoeIDs()})
	return cmd
}

// read checks what was asked for.
func (o *experimentOptions) read(full bool, changed func(flag string) bool) error {
	if full {
		if changed("jobs") {
			return usagef("--full and --jobs exclude each other: --full is --jobs %d", study.ZoeFull)
		}
		o.Applications = study.ZoeFull
		if !changed("seeds") {
			o.Seeds = study.ZoeFullSeeds
		}
	}
	for i, id := range o.Only {
		o.Only[i] = strings.TrimSpace(id)
		if !slices.Contains(study.ZoeIDs(), o.Only[i]) {
			return usagef("there is no claim %q; choose from %s", id, strings.Join(study.ZoeIDs(), ", "))
		}
	}
	switch {
	case o.Applications < study.ZoeFewest || o.Applications > study.ZoeFull:
		return usagef("--jobs %d: expected from %d to %d", o.Applications, study.ZoeFewest, study.ZoeFull)
	case o.Seeds < 1 || o.Seeds > maxSeeds:
		return usagef("--seeds %d: expected from 1 to %d", o.Seeds, maxSeeds)
	case o.Workers < 0:
		return usagef("--workers %d: expected 1 or more, or 0 for one a core", o.Workers)
	}
	return nil
}

func (e *environment) experimentZoe(ctx context.Context, o *experimentOptions) error {
	out := simulateOptions{Out: o.Out, Force: o.Force}
	tidy, err := reserve(&out)
	if err != nil {
		return err
	}
	defer tidy()
	bar := e.newBar()
	z := study.Zoe{
		Applications: o.Applications, Seeds: o.Seeds, Only: o.Only, Hash: o.Hash, Digests: o.Out != "", Workers: o.Workers,
		Progress: bar.show,
	}
	var notices []string
	if o.Trace.File != "" {
		w, err := trace.Load(ctx, o.Trace.File, o.Trace.Options)
		if err != nil {
			return cause(ctx, err)
		}
		z.Trace = w.Jobs
		notices = w.Notices
	}
	result, failed := z.Run(ctx)
	bar.leave()
	if result == nil || len(result.Cells) == 0 {
		return cause(ctx, failed)
	}
	notices = append(notices, result.Notices...)
	for _, n := range notices {
		e.say("Notice: %s.", printable(n))
	}
	err = e.conclude(&out, result, func() (*report.Report, error) {
		return &report.Report{
			Title: "The evaluation of Zoe, repeated", Command: o.Command, Notes: notices, Sections: result.Sections(), Figures: result.Figures(),
			About: []report.Fact{
				{Name: "Applications", Value: fmt.Sprint(o.Applications)}, {Name: "Seeds", Value: fmt.Sprintf("1 to %d", o.Seeds)}, tookFact(e.now().Sub(bar.started)),
			},
		}, nil
	})
	switch {
	case failed == nil:
	case ctx.Err() != nil:
		e.say("Interrupted: claims whose cells are missing are not judged.")
	default:
		e.say("A part of the experiment failed: claims that need it are not judged, the others are.")
	}
	if err != nil {
		return err
	}
	return cause(ctx, failed)
}

// evaluation is what an experiment comes to.
type evaluation interface {
	WriteText(w io.Writer) error
	WriteMarkdown(w io.Writer) error
}

// reserve makes the directory of a report, if there is to be one, before anything is simulated: afterwards it would be too late to ask for
// another. The function that it returns takes a directory that was made here and is still empty away again.
func reserve(out *simulateOptions) (tidy func(), err error) {
	if err := out.free(); err != nil {
		return nil, err
	}
	_, missing := os.Stat(out.Out)
	if err := out.makeDirectory(); err != nil {
		return nil, err
	}
	return func() {
		if out.Out != "" && missing != nil {
			_ = os.Remove(out.Out) // fails if it is not empty
		}
	}, nil
}

// conclude writes the report of an evaluation, if there is to be one, and prints the evaluation even if a file could not be written.
func (e *environment) conclude(out *simulateOptions, result evaluation, page func() (*report.Report, error)) error {
	var failed error
	if out.Out != "" {
		p, err := page()
		if err == nil {
			err = writeEvaluation(out, p, result)
		}
		failed = err
	}
	if err := e.show(result, result.WriteText); err != nil {
		return errors.Join(failed, err)
	}
	if out.Out != "" && failed == nil {
		e.note("The report is in %s.", out.Out)
	}
	return failed
}

func tookFact(took time.Duration) report.Fact {
	return report.Fact{Name: "Took", Value: fmt.Sprintf("%s on %s", span(took), plural(runtime.GOMAXPROCS(0), "core", "cores"))}
}

// writeEvaluation writes the page of an evaluation, its claims as Markdown and as JSON, and its figures. A file that cannot be written
// does not keep the others from being written; the error is about the first one.
func writeEvaluation(out *simulateOptions, page *report.Report, result evaluation) error {
	type file struct {
		name string
		fill func(io.Writer) error
	}
	files := []file{
		{pageFile, func(w io.Writer) error { return report.WriteHTML(w, page) }},
		{claimsMarkdown, result.WriteMarkdown},
		{claimsJSON, func(w io.Writer) error { return writeEncoded(w, result) }},
	}
	for _, f := range page.Figures {
		name := filepath.Join(figuresPath, f.Name)
		files = append(files, file{name + ".svg", f.WriteSVG}, file{name + ".png", f.WritePNG})
	}
	var first error
	for _, f := range files {
		if err := out.fill(f.name, f.fill); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// writeEncoded writes a value as JSON.
func writeEncoded(w io.Writer, v any) error {
	data, err := jsonText.encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
