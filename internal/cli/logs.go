package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// logsOptions is what `dovetail logs` was asked to show.
type logsOptions struct {
	Run       string
	Component string // empty: all
	Index     int    // of the replica; -1: all
	Attempt   int64  // 0: the newest of each index
	Follow    bool
	Stderr    bool
	Both      bool // stdout and stderr, each to where it belongs
	Tail      int  // only the last so many lines of what there is; -1: all
}

func newLogs(e *environment, run func(context.Context, *logsOptions) error) *cobra.Command {
	o := logsOptions{Index: -1, Tail: -1}
	cmd := &cobra.Command{
		Use:   "logs RUN [COMPONENT[.INDEX]]",
		Short: "Show what the replicas of a run wrote",
		Long: `Show what the replicas of a run wrote to standard output, or with --stderr to standard error.

Without a component all replicas are shown, each line after the name of its replica. With -f the command
goes on until the run ends; Ctrl-C ends it earlier and leaves the run alone.`,
		Example: `  dovetail logs 12
  dovetail logs 12 master.0
  dovetail logs 12 worker -f --tail 20
  dovetail logs wordcount-12 worker.3 --stderr`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("expected %s, and a COMPONENT or COMPONENT.INDEX if only that is wanted", oneRun)
			}
			return nil
		},
		ValidArgsFunction: e.completeRuns(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Run = args[0]
			if len(args) == 2 {
				if err := o.parseReplica(args[1]); err != nil {
					return err
				}
			}
			return orDefault(run, e.logs)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on until the run ends")
	f.BoolVar(&o.Stderr, "stderr", false, "standard error instead of standard output")
	f.IntVar(&o.Tail, "tail", -1, "only the last so many `lines` of each replica; -1: all")
	f.Int64Var(&o.Attempt, "attempt", 0, "of a replica that was replaced, this `attempt`; 0: the newest")
	return cmd
}

// parseReplica reads worker or worker.3.
func (o *logsOptions) parseReplica(s string) error {
	o.Component, o.Index = s, -1
	name, index, dotted := strings.Cut(s, ".")
	if !dotted {
		return nil
	}
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 {
		return usagef("%q: expected COMPONENT or COMPONENT.INDEX, such as worker.3", s)
	}
	o.Component, o.Index = name, n
	return nil
}

// streams returns the names of the streams to show.
func (o *logsOptions) streams() []string {
	switch {
	case o.Both:
		return []string{"stdout", "stderr"}
	case o.Stderr:
		return []string{"stderr"}
	}
	return []string{"stdout"}
}

// wants reports whether a replica is to be shown.
func (o *logsOptions) wants(r *dovetail.ReplicaStatus) bool {
	return (o.Component == "" || r.Component == o.Component) && (o.Index < 0 || r.Index == o.Index) &&
		(o.Attempt == 0 || r.Attempt == o.Attempt)
}

func (e *environment) logs(ctx context.Context, o *logsOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	d, err := c.Run(ctx, o.Run)
	if err != nil {
		return err
	}
	if err := o.check(&d); err != nil {
		return err
	}
	f := e.newFollower(ctx, c, strconv.FormatInt(int64(d.Status.ID), 10), *o)
	if !o.Follow {
		return f.copyAll(&d)
	}
	err = e.watchRun(ctx, c, f.run, func(d *client.RunDetail) (bool, error) {
		f.update(d)
		return d.Status.State == dovetail.Ended, nil
	})
	return errors.Join(err, f.wait(err))
}

// check says what is wrong with the replica that was asked for, if the run has no such component.
func (o *logsOptions) check(d *client.RunDetail) error {
	if o.Component == "" || d.Run == nil || d.Run.App == nil {
		return nil
	}
	var names []string
	for i := range d.Run.App.Components {
		c := &d.Run.App.Components[i]
		if names = append(names, c.Name); c.Name != o.Component {
			continue
		}
		if o.Index >= c.Limit() {
			return dovetail.Errorf(dovetail.NotFound, "component %s has replicas 0 to %d only", c.Name, c.Limit()-1)
		}
		return nil
	}
	return dovetail.Errorf(dovetail.NotFound, "run %d has no component %q; it has %s", d.Status.ID, o.Component, strings.Join(names, ", "))
}

// newest returns the replicas to show: of each index the newest attempt, unless another one was asked for.
func (o *logsOptions) newest(d *client.RunDetail) []dovetail.ReplicaStatus {
	var all []dovetail.ReplicaStatus
	for _, r := range d.Replicas { // by component, index and attempt
		if !o.wants(&r) {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Replica.Component == r.Replica.Component && all[n-1].Index == r.Index {
			all[n-1] = r
			continue
		}
		all = append(all, r)
	}
	return all
}
