package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// verbOptions is what a command was asked to do to some runs.
type verbOptions struct {
	Runs     []string
	Verb     string
	Priority int // of the verb priority
}

// verb is something that one can do to a run.
type verb struct {
	name, short, long string
	do                func(*client.Client, context.Context, string) error
}

// verbs returns what one can do to a run that needs no more than its name.
func verbs() []verb {
	return []verb{
		{"cancel", "End a run", "End a run, or take it out of the waiting line. Its replicas are asked to stop, and killed after their grace period.",
			(*client.Client).Cancel},
		{"hold", "Keep a queued run from being started", "Keep a queued run from being started until it is released. Runs in service are not held; suspend them.",
			(*client.Client).Hold},
		{"release", "Let a held run be started", "Let a held run be started again. It keeps its place in the waiting line.",
			(*client.Client).Release},
		{"suspend", "Freeze a run in service", "Freeze a run in service: its elastic replicas are given back, its core stays where it is and stands still.",
			(*client.Client).Suspend},
		{"resume", "Let a suspended run go on", "Let a suspended run go on. It gets elastic replicas again when there is room.",
			(*client.Client).Resume},
	}
}

// newVerbs returns a command for each verb.
func newVerbs(e *environment, run func(context.Context, *verbOptions) error) []*cobra.Command {
	var all []*cobra.Command
	for _, v := range verbs() {
		all = append(all, &cobra.Command{
			Use:     v.name + " RUN…",
			Short:   v.short,
			Long:    v.long,
			Example: fmt.Sprintf("  dovetail %s 12\n  dovetail %s wordcount-12 wordcount-13", v.name, v.name),
			Args:    oneOrMore(oneRun),

			ValidArgsFunction: e.completeRuns(living...),
			RunE: func(cmd *cobra.Command, args []string) error {
				return orDefault(run, e.act)(cmd.Context(), &verbOptions{Runs: args, Verb: v.name})
			},
		})
	}
	return all
}

func newPriority(e *environment, run func(context.Context, *verbOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:     "priority RUN N",
		Short:   "Change the priority of a run",
		Long:    "Change the priority of a run that has not ended. Runs with a higher number are served first; 0 is usual.",
		Example: "  dovetail priority 12 10\n  dovetail priority wordcount-12 -- -5",
		Args:    exactly(2, "a RUN and its new priority"),

		ValidArgsFunction: e.completeRuns(living...),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return usagef("priority %q: expected a whole number; higher is served first", args[1])
			}
			return orDefault(run, e.act)(cmd.Context(), &verbOptions{Runs: args[:1], Verb: "priority", Priority: n})
		},
	}
}

// act does what the options say to each run, and goes on after a failure.
func (e *environment) act(ctx context.Context, o *verbOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	do := func(id string) error { return c.Prioritise(ctx, id, o.Priority) }
	for _, v := range verbs() {
		if v.name == o.Verb {
			do = func(id string) error { return v.do(c, ctx, id) }
		}
	}
	var failed error
	done := []dovetail.RunStatus{}
	for _, id := range o.Runs {
		if err := do(id); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		d, err := c.Run(ctx, id)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		done = append(done, d.Status)
	}
	if len(done) > 0 {
		err := e.show(done, func(w io.Writer) error {
			for i := range done {
				s := &done[i]
				state := stateOf(s)
				line := fmt.Sprintf("Run %d (%s) is %s", s.ID, printable(s.Name), e.paint(stateStyle(state), state))
				if o.Verb == "priority" {
					line += fmt.Sprintf(", priority %d", s.Priority)
				}
				fmt.Fprintln(w, line+".")
			}
			return nil
		})
		failed = errors.Join(failed, err)
	}
	return failed
}
