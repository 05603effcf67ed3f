package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// traceInput is a trace that a command reads.
type traceInput struct {
	File    string // "-": standard input
	Options trace.Options
}

// traceInfoOptions is what `dovetail trace info` was asked to describe.
type traceInfoOptions struct{ In traceInput }

func newTrace(e *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Look at traces of workloads, and make other ones of them",
		Long: "Look at traces of workloads, and make other ones of them. A trace may be compressed with gzip. Its format is\n" +
			"recognised; --format names it if need be:\n" + formatsText(),
		Example: "  dovetail trace info jobs.swf.gz\n  dovetail trace convert jobs.swf.gz --out jobs.jsonl.gz",
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTraceInfo(e, nil), newTraceConvert(e, nil), newTraceCut(e, nil), newTraceScale(e, nil), newTraceGenerate(e, nil), newTraceRecord(e, nil))
	return cmd
}

// formatsText lists the formats that can be read.
func formatsText() string {
	var b strings.Builder
	for _, f := range trace.Formats() {
		fmt.Fprintf(&b, "\n  %-10s %s", f.Name, f.Doc)
	}
	return b.String()
}

// flags adds the flags that say how a trace is read.
func (in *traceInput) flags(cmd *cobra.Command) {
	var names []string
	for _, f := range trace.Formats() {
		names = append(names, f.Name)
	}
	cmd.Flags().StringVar(&in.Options.Format, "format", "", "read it as this `format`: "+strings.Join(names, ", ")+" (default: what it looks like)")
	cmd.Flags().BoolVar(&in.Options.SkipBad, "skip-bad", false, "count and report bad lines instead of giving up at the first one")
}

// name returns the file's name for people.
func (in *traceInput) name() string {
	if in.File == "-" {
		return "standard input"
	}
	return in.File
}

// oneTrace is what the commands ask for that read a trace.
const oneTrace = "the FILE of a trace, or - for standard input"

func newTraceInfo(e *environment, run func(context.Context, *traceInfoOptions) error) *cobra.Command {
	var o traceInfoOptions
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Say what is in a trace",
		Long: `Say what is in a trace: how many jobs of which kinds, how many replicas they have, how long they run, how they
arrive, and how much they ask for in all. "-" reads standard input. Nothing is kept of a job once it was counted, so a
trace may be of any length.`,
		Example: "  dovetail trace info jobs.swf.gz\n  dovetail trace info YH1.tr.gz -o json\n  dovetail trace info jobs.swf --skip-bad",
		Args:    exactly(1, oneTrace),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.In.File = args[0]
			return orDefault(run, e.traceInfo)(cmd.Context(), &o)
		},
	}
	o.In.flags(cmd)
	return cmd
}

// traceInfo is what `dovetail trace info` says.
type traceInfo struct {
	File   string `json:"file"`
	Format string `json:"format"`
	*trace.Summary

	Notices []string `json:"notices"`
}

func (e *environment) traceInfo(ctx context.Context, o *traceInfoOptions) error {
	in, err := trace.Open(ctx, o.In.File)
	if err != nil {
		return err
	}
	defer in.Close()
	r := trace.Read(in, o.In.name(), o.In.Options)
	s, err := trace.Summarise(e.counted(r.Jobs()))
	if err != nil {
		return err
	}
	info := traceInfo{o.In.name(), r.Format(), s, r.Notices()}
	if info.Notices == nil {
		info.Notices = []string{}
	}
	return e.show(info, func(w io.Writer) error { return e.writeTraceInfo(w, &info) })
}

func (e *environment) writeTraceInfo(w io.Writer, t *traceInfo) error {
	var kinds []string
	for _, k := range []dovetail.Kind{dovetail.Batch, dovetail.Interactive, dovetail.Service} {
		if n := t.Kinds[k]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %s", share(n, t.Jobs), k))
		}
	}
	kinds = append(kinds, share(t.Rigid, t.Jobs)+" rigid")
	tasks := ""
	if t.Tasks > 0 {
		tasks = strconv.FormatInt(t.Tasks, 10)
	}
	mean := ""
	if t.Last > t.First {
		mean = demand(t.Demand.MeanCores, t.Demand.MeanGiB, t.Demand.MeanGPUs, "") + ", from the first to the last submission"
	}
	err := list(w, e.paint,
		[2]string{"Trace", printable(t.File)},
		[2]string{"Format", t.Format},
		[2]string{"Jobs", fmt.Sprintf("%d: %s", t.Jobs, strings.Join(kinds, ", "))},
		[2]string{"Replicas", strconv.FormatInt(t.Replicas, 10)},
		[2]string{"Tasks", tasks},
		[2]string{"Submitted", fmt.Sprintf("from %s to %s, within %s", inSeconds(t.First), inSeconds(t.Last), inSeconds(t.Last-t.First))},
		[2]string{"Runtime known", share(t.Hinted, t.Jobs) + " to policies"},
		[2]string{"Demand", demand(t.Demand.CoreSeconds, t.Demand.GiBSeconds, t.Demand.GPUSeconds, "-seconds")},
		[2]string{"Mean demand", mean})
	if err != nil {
		return err
	}
	rows := newTable("A JOB'S", "MEAN", "DEVIATION", "MIN", "P10", "P50", "P90", "P95", "P99", "MAX")
	for _, r := range []struct {
		name string
		of   trace.Spread
		text func(float64) string
	}{
		{"core replicas", t.Core, amount}, {"elastic replicas", t.Elastic, amount}, {"all replicas", t.Full, amount},
		{"runtime", t.Runtime, inSeconds}, {"time since the one before", t.Gap, inSeconds},
	} {
		s := r.of
		cells := []string{r.name}
		for _, v := range []float64{s.Mean, s.Deviation, s.Min, s.P10, s.P50, s.P90, s.P95, s.P99, s.Max} {
			cells = append(cells, r.text(v))
		}
		rows.add(cells...)
	}
	fmt.Fprintln(w)
	if err := rows.write(w, e.paint); err != nil {
		return err
	}
	for _, n := range t.Notices {
		fmt.Fprintf(w, "\n%s %s", e.paint(yellow, "Notice:"), printable(n))
	}
	if len(t.Notices) > 0 {
		fmt.Fprintln(w)
	}
	return nil
}

// demand writes how much is asked for.
func demand(cores, gib, gpus float64, suffix string) string {
	var parts []string
	for _, p := range []struct {
		v    float64
		unit string
	}{{cores, "cores"}, {gib, "GiB"}, {gpus, "GPUs"}} {
		if p.v > 0 {
			unit := p.unit
			if suffix != "" {
				unit = strings.TrimSuffix(unit, "s") + suffix
			}
			parts = append(parts, amount(p.v)+" "+unit)
		}
	}
	return strings.Join(parts, ", ")
}

// share writes n of all as a percentage.
func share(n, all int) string {
	p := 100 * float64(n) / float64(all)
	switch n {
	case all:
		return "all"
	case 0:
		return "none"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// amount writes a number with one decimal, if it needs one; large and small ones with three digits.
func amount(v float64) string {
	if v >= 1e6 || v > 0 && v < 0.1 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// inSeconds writes seconds as a length of time.
func inSeconds(v float64) string { return span(time.Duration(v * float64(time.Second))) }

// counted shows on a terminal how many jobs have been read.
func (e *environment) counted(jobs iter.Seq2[trace.Job, error]) iter.Seq2[trace.Job, error] {
	if !e.errScreen || e.format != text {
		return jobs
	}
	return func(yield func(trace.Job, error) bool) {
		const step = 100_000
		n := 0
		defer func() {
			if n >= step {
				fmt.Fprint(e.err, "\r\x1b[K")
			}
		}()
		for j, err := range jobs {
			if n++; n%step == 0 {
				fmt.Fprintf(e.err, "\r%d jobs", n)
			}
			if !yield(j, err) {
				return
			}
		}
	}
}
