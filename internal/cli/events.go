package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// eventsOptions is what `dovetail events` was asked to list.
type eventsOptions struct {
	Query  client.EventQuery
	Follow bool
}

func newEvents(e *environment, run func(context.Context, *eventsOptions) error) *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events [RUN]",
		Short: "Show what happened, and what happens",
		Long:  "Show what happened, oldest first: to one run, or to all. With -f the command goes on until Ctrl-C.",
		Example: `  dovetail events
  dovetail events 12 --tail 0
  dovetail events -f --type submitted,decided -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("expected at most %s", oneRun)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Query.Run = args[0]
			}
			return orDefault(run, e.events)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on with what happens from now on")
	f.StringSliceVar(&o.Query.Types, "type", nil, "only events of these `types`, such as submitted, up, down, decided")
	f.IntVar(&o.Query.Tail, "tail", 50, "of what is past only the last so many `events`; 0: all")
	f.Int64Var(&o.Query.After, "after", 0, "only events after this `position` of the journal")
	return cmd
}

func (e *environment) events(ctx context.Context, o *eventsOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	if o.Follow {
		return cause(ctx, c.Watch(ctx, o.Query, func(r dovetail.EventRecord) error {
			if e.format != text {
				return e.emit(r)
			}
			return e.writeEvent(e.out, &r)
		}))
	}
	all, err := c.Events(ctx, o.Query)
	if err != nil {
		return err
	}
	if all == nil {
		all = []dovetail.EventRecord{}
	}
	return e.show(all, func(w io.Writer) error {
		for i := range all {
			if err := e.writeEvent(w, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeEvent prints an event as a line.
func (e *environment) writeEvent(w io.Writer, r *dovetail.EventRecord) error {
	run := "-"
	if r.Run != 0 {
		run = fmt.Sprint(r.Run)
	}
	_, err := fmt.Fprintf(w, "%s  %6s  %-13s  %s\n", e.paint(dim, r.At.Local().Format("15:04:05.000")), run, r.Type, printable(r.Text))
	return err
}
