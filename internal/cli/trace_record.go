package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

// traceRecordOptions is what `dovetail trace record` was asked to take.
type traceRecordOptions struct {
	Since time.Time
	Out   fileOutput
}

func newTraceRecord(e *environment, run func(context.Context, *traceRecordOptions) error) *cobra.Command {
	var o traceRecordOptions
	var since string
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Write what a daemon has run as a trace",
		Long: `Write the runs that a daemon has on record as a trace in Dovetail's own format: when they were submitted, by whom, and
how long they would have taken with all of their replicas. That follows from the replicas they really had: the sum of
their times, over how many they can use.

What was predicted for a run whose user expected nothing is written as what was expected of it, for policies that
order by size.

Runs that failed, were cancelled or took too long count with what they did until then, because the cluster had that
work. Runs that never had a replica are left out, and so are those that have not ended.`,
		Example: `  dovetail trace record --since 30d --out october.jsonl.gz
  dovetail trace record | dovetail trace info -
  dovetail simulate --trace october.jsonl.gz --cluster '10x(32cpu,128GiB)' --policy fifo,srpt-3d`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Since, err = parseSince(since, e.now()); err != nil {
				return err
			}
			return orDefault(run, e.traceRecord)(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only runs that ended since then: a `time` such as 30d or 24h (ago) or 2026-03-01T08:00:00Z (default: all)")
	o.Out.flags(cmd)
	return cmd
}

func (e *environment) traceRecord(ctx context.Context, o *traceRecordOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	h, err := e.recorded(ctx, c, o.Since)
	if err != nil {
		return err
	}
	if err := o.Out.write(e.out, func(w io.Writer) error { return trace.Write(w, trace.Each(h.Jobs)) }); err != nil {
		return err
	}
	return e.written(&o.Out, len(h.Jobs), h.Notices)
}

// recorded returns what the daemon has on record, as jobs.
func (e *environment) recorded(ctx context.Context, c *client.Client, since time.Time) (*study.History, error) {
	var progress func(int)
	if e.errScreen && e.format == text {
		progress = func(n int) { fmt.Fprintf(e.err, "\r%s read\x1b[K", plural(n, "run", "runs")) }
		defer fmt.Fprint(e.err, "\r\x1b[K")
	}
	finished, err := c.AllHistory(ctx, client.HistoryQuery{Since: since, Replay: true}, progress)
	if err != nil {
		return nil, err
	}
	if len(finished) == 0 {
		return nil, dovetail.Errorf(dovetail.Invalid, "no run is on record that ended in this time; choose a longer time with --since, or submit something")
	}
	return study.Replay(finished)
}
