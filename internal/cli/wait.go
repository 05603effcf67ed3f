package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// patience is how long a command that waits for a run waits for a daemon that is gone: runs outlive their daemon.
const patience = time.Minute

// watchRun calls f with a run's details: now, and whenever something may have happened, until f says that it is done. A
// daemon that goes away meanwhile is waited for.
func (e *environment) watchRun(ctx context.Context, c *client.Client, id string, f func(*client.RunDetail) (done bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	news := make(chan struct{}, 1)
	watching.Go(func() {
		// Its failures are those of c.Run below, which reports them.
		_ = c.Watch(ctx, client.EventQuery{Run: id, Tail: -1}, func(dovetail.EventRecord) error {
			select {
			case news <- struct{}{}:
			default:
			}
			return nil
		})
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var gone time.Time // since when no daemon answers
	for {
		d, err := c.Run(ctx, id)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case dovetail.CodeOf(err) == dovetail.Unavailable && err != nil:
			if gone.IsZero() {
				gone = e.now()
				e.say("The daemon does not answer; waiting for it. The run goes on without it.")
			}
			if e.now().Sub(gone) > patience {
				return err
			}
		case err != nil:
			return err
		default:
			gone = time.Time{}
			if done, err := f(&d); done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
		case <-tick.C:
		}
	}
}

func newWait(e *environment, run func(context.Context, *runOptions) error) *cobra.Command {
	return oneRunCommand(&cobra.Command{
		Use:   "wait RUN",
		Short: "Wait until a run ends, and end as it does",
		Long: "Wait until a run ends, and end as it does: with 0 if it succeeded, 1 if it failed or was lost, 124 if it took too long,\n" +
			"130 if it was cancelled. Ctrl-C ends the waiting; the run goes on. A daemon that does not answer is waited for, for a\n" +
			"minute: runs go on without it.",
		Example: `  dovetail wait 12 && echo done
  dovetail wait nightly -o json`,
		ValidArgsFunction: e.completeRuns(living...),
	}, orDefault(run, e.waitFor))
}

func (e *environment) waitFor(ctx context.Context, o *runOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	var run dovetail.RunID // another one may get its name while this one waits
	err = e.watchRun(ctx, c, o.Run, func(d *client.RunDetail) (bool, error) {
		run = d.Status.ID
		return true, nil
	})
	if err != nil {
		return err
	}
	return e.await(ctx, c, run, false)
}

// await waits until a run ends, shows how it goes, and returns its exit code as an error. With follow it copies the
// output of its replicas.
func (e *environment) await(ctx context.Context, c *client.Client, run dovetail.RunID, follow bool) error {
	id := strconv.FormatInt(int64(run), 10)
	var output *follower
	if follow {
		output = e.newFollower(ctx, c, id, logsOptions{Both: true, Index: -1, Tail: -1})
	}
	var last dovetail.RunStatus
	err := e.watchRun(ctx, c, id, func(d *client.RunDetail) (bool, error) {
		if line := progress(&d.Status); line != progress(&last) {
			e.note("%s", e.errPaint(dim, line))
		}
		last = d.Status
		if output != nil {
			output.update(d)
		}
		return d.Status.State == dovetail.Ended, nil
	})
	if output != nil {
		err = errors.Join(err, output.wait(err))
	}
	var why signalled
	if errors.As(err, &why) {
		e.say("\nStopped watching; run %s goes on. `dovetail cancel %s` ends it, `dovetail logs -f %s` shows its output.", id, id, id)
		return exit(why.code())
	}
	if err != nil {
		return err
	}
	if err := e.showEnd(&last, follow); err != nil {
		return err
	}
	return exitOf(last.Outcome)
}

// progress says in a line where a run is.
func progress(s *dovetail.RunStatus) string {
	line := fmt.Sprintf("Run %d %s", s.ID, stateOf(s))
	switch s.State {
	case dovetail.Queued:
		if why := reasonText(s.Reason); why != "" {
			line += ": " + why
		}
	case dovetail.Starting, dovetail.Running:
		line += fmt.Sprintf(": core %d of %d, elastic %d of %d", s.CoreUp, s.Core, s.ElasticUp, s.ElasticMax)
	case dovetail.Stopping, dovetail.Ended:
	}
	return line
}

// showEnd says how a run ended: in a sentence, or as its status. While its output goes to the same place, the sentence
// goes to the other stream.
func (e *environment) showEnd(s *dovetail.RunStatus, follow bool) error {
	if e.format != text {
		return e.show(s, nil)
	}
	w := e.out
	if follow {
		w = e.err
	}
	return writeEnd(w, s)
}

func writeEnd(w io.Writer, s *dovetail.RunStatus) error {
	line := fmt.Sprintf("Run %d (%s) %s", s.ID, s.Name, stateOf(s))
	if s.Ended != nil {
		line += " after " + span(s.Ended.Sub(s.Submitted))
		if s.Started != nil {
			line += fmt.Sprintf(" (waited %s, ran %s)", span(s.Started.Sub(s.Submitted)), span(s.Ended.Sub(*s.Started)))
		}
	}
	if s.Why != "" {
		line += ": " + printable(s.Why)
	}
	_, err := fmt.Fprintln(w, line+".")
	return err
}
