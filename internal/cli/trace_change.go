package cli

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail/trace"
)

// traceConvertOptions is what `dovetail trace convert` was asked to do.
type traceConvertOptions struct {
	In     traceInput
	Out    fileOutput
	To     string // a format: dovetail or zoe
	Expect bool   // policies are told the runtime
	Sort   bool
}

func newTraceConvert(e *environment, run func(context.Context, *traceConvertOptions) error) *cobra.Command {
	var o traceConvertOptions
	var expect string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write a trace in Dovetail's own format",
		Long: `Write a trace in Dovetail's own format, or in the seven columns of Zoe's simulator if these can say all that matters of
each job. Jobs are written as they are read, and so in the same order; --sort reads all of them first.

Many traces do not say what their users expected. Then policies that order by size know no sizes, unless
--expect runtime tells them what really happened.`,
		Example: `  dovetail trace convert NASA.swf.gz --out nasa.jsonl.gz
  dovetail trace convert NASA.swf.gz --expect runtime | dovetail trace info -
  dovetail trace convert jobs.jsonl --to zoe --out jobs.txt`,
		Args: exactly(1, oneTrace),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.In.File = args[0]
			if o.To != trace.Own && o.To != trace.Zoe {
				return usagef("--to %s: expected %s or %s", o.To, trace.Own, trace.Zoe)
			}
			if expect != "" && expect != "runtime" {
				return usagef("--expect %s: expected runtime, or nothing to leave it as it is", expect)
			}
			o.Expect = expect != ""
			return orDefault(run, e.traceConvert)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.To, "to", trace.Own, "write this `format`: dovetail or zoe")
	f.StringVar(&expect, "expect", "", "what policies are told: `runtime`, the true one (default: what the trace says)")
	f.BoolVar(&o.Sort, "sort", false, "read the whole trace first, and write it in order of submission")
	o.In.flags(cmd)
	o.Out.flags(cmd)
	return cmd
}

func (e *environment) traceConvert(ctx context.Context, o *traceConvertOptions) error {
	write := trace.Write
	if o.To == trace.Zoe {
		write = trace.WriteZoe
	}
	change := func(jobs jobStream) jobStream { return jobs }
	if o.Expect {
		change = trace.Expect
	}
	if !o.Sort {
		return e.rewrite(ctx, &o.In, &o.Out, change, write)
	}
	w, err := trace.Load(ctx, o.In.File, o.In.Options)
	if err != nil {
		return err
	}
	err = o.Out.write(e.out, func(to io.Writer) error { return write(to, change(trace.Each(w.Jobs))) })
	if err != nil {
		return cause(ctx, err)
	}
	return e.written(&o.Out, len(w.Jobs), w.Notices)
}

// traceCutOptions is what `dovetail trace cut` was asked to keep.
type traceCutOptions struct {
	In     traceInput
	Out    fileOutput
	Window trace.Window
}

func newTraceCut(e *environment, run func(context.Context, *traceCutOptions) error) *cobra.Command {
	var o traceCutOptions
	cmd := &cobra.Command{
		Use:   "cut FILE",
		Short: "Write a part of a trace",
		Long: `Write the jobs of a trace that were submitted within some time, or the first ones. --from and --to are times of the
trace: since its beginning, not since its first job. In the part, time begins at --from, or else at its first job;
deadlines move with it.`,
		Example: `  dovetail trace cut jobs.swf.gz --from 24h --to 48h --out day2.jsonl
  dovetail trace cut YH1.tr.gz --first 100 | dovetail trace info -`,
		Args: exactly(1, oneTrace),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.In.File = args[0]
			set := cmd.Flags().Changed
			switch w := o.Window; {
			case !set("from") && !set("to") && !set("first"):
				return usagef("expected --from, --to or --first: which part of the trace?")
			case set("first") && w.First < 1:
				return usagef("--first %d: expected 1 or more", w.First)
			case w.From < 0 || w.To < 0:
				return usagef("--from and --to must not be negative: they are times since the beginning of the trace")
			case set("to") && w.To <= w.From:
				return usagef("--to %v is not after --from %v", w.To, w.From)
			}
			o.Window.From = o.Window.From.Round(time.Microsecond)
			return orDefault(run, e.traceCut)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.Window.From, "from", 0, "jobs that were submitted at this `time` of the trace or later, such as 24h")
	f.DurationVar(&o.Window.To, "to", 0, "jobs that were submitted before this `time` of the trace")
	f.IntVar(&o.Window.First, "first", 0, "only the first `N` of them")
	o.In.flags(cmd)
	o.Out.flags(cmd)
	return cmd
}

func (e *environment) traceCut(ctx context.Context, o *traceCutOptions) error {
	return e.rewrite(ctx, &o.In, &o.Out, func(jobs jobStream) jobStream { return trace.Cut(jobs, o.Window) }, trace.Write)
}

// traceScaleOptions is what `dovetail trace scale` was asked to change.
type traceScaleOptions struct {
	In      traceInput
	Out     fileOutput
	Factors trace.Factors
}

func newTraceScale(e *environment, run func(context.Context, *traceScaleOptions) error) *cobra.Command {
	var o traceScaleOptions
	cmd := &cobra.Command{
		Use:   "scale FILE",
		Short: "Write a trace with more or less load, or with other times",
		Long: `Write a trace with other times:

  --load K     jobs arrive K times as fast, and are as long as before: K times the load
  --runtime K  jobs, their tasks and what policies are told of them are K times as long: K times the load
  --time K     everything, arrivals too, takes K times as long: the same load

Given together, they are applied together. A deadline (finishBy) stays as far behind its job's submission, times the
factors by which the job got longer. A replica count is never changed.`,
		Example: `  dovetail trace scale jobs.swf.gz --load 1.2 --out busy.jsonl
  dovetail trace scale YH1.tr.gz --time 0.001 | dovetail trace info -   # as fast as a demonstration`,
		Args: exactly(1, oneTrace),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.In.File = args[0]
			if o.Factors == (trace.Factors{Time: 1, Load: 1, Runtime: 1}) {
				return usagef("expected --load, --runtime or --time with a number other than 1")
			}
			return orDefault(run, e.traceScale)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.Factors.Load, "load", 1, "divide times of submission by `K`")
	f.Float64Var(&o.Factors.Runtime, "runtime", 1, "multiply runtimes by `K`")
	f.Float64Var(&o.Factors.Time, "time", 1, "multiply all times by `K`")
	o.In.flags(cmd)
	o.Out.flags(cmd)
	return cmd
}

func (e *environment) traceScale(ctx context.Context, o *traceScaleOptions) error {
	return e.rewrite(ctx, &o.In, &o.Out, func(jobs jobStream) jobStream { return trace.Scale(jobs, o.Factors) }, trace.Write)
}

// jobStream is a trace that is being read.
type jobStream = iter.Seq2[trace.Job, error]

// rewrite changes a trace while it is read, and writes it.
func (e *environment) rewrite(ctx context.Context, in *traceInput, out *fileOutput, change func(jobStream) jobStream, write func(io.Writer, jobStream) error) error {
	f, err := trace.Open(ctx, in.File)
	if err != nil {
		return err
	}
	defer f.Close()
	r := trace.Read(f, in.name(), in.Options)
	n := 0
	counting := func(yield func(trace.Job, error) bool) {
		for j, err := range change(e.counted(r.Jobs())) {
			n++
			if !yield(j, err) {
				return
			}
		}
	}
	if err := out.write(e.out, func(w io.Writer) error { return write(w, counting) }); err != nil {
		return cause(ctx, err)
	}
	return e.written(out, n, r.Notices())
}

// traceWritten is what the commands say that wrote a trace to a file.
type traceWritten struct {
	File    string   `json:"file"`
	Jobs    int      `json:"jobs"`
	Notices []string `json:"notices"`
}

// written says what was written: to standard output nothing but the trace goes.
func (e *environment) written(out *fileOutput, n int, notices []string) error {
	if e.format != text && out.File != "" {
		return e.show(traceWritten{out.File, n, append([]string{}, notices...)}, nil)
	}
	for _, notice := range notices {
		e.say("Notice: %s", printable(notice))
	}
	if out.File != "" {
		e.note("%s written to %s.", plural(n, "job was", "jobs were"), out.File)
	}
	return nil
}
