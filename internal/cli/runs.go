package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// runsOptions is what `dovetail runs` was asked to list.
type runsOptions struct {
	Query client.RunQuery
	Watch bool
}

func newRuns(e *environment, run func(context.Context, *runsOptions) error) *cobra.Command {
	var o runsOptions
	var states []string
	var since string
	var all bool
	cmd := &cobra.Command{
		Use:     "runs",
		Aliases: []string{"ls", "list", "ps"},
		Short:   "List runs",
		Long: `List runs, newest first: those that have not ended, or with --all every run.

CORE and ELASTIC say how many replicas are up, of how many the run needs or can use.`,
		Example: `  dovetail runs
  dovetail runs --all --state failed,lost --since 24h
  dovetail runs --name 'wordcount*' -o json
  dovetail runs -w                              # again whenever something changes`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := parseStates(&o.Query, states, all); err != nil {
				return err
			}
			var err error
			if o.Query.Since, err = parseSince(since, e.now()); err != nil {
				return err
			}
			return orDefault(run, e.runs)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&all, "all", "a", false, "runs that have ended as well")
	f.StringSliceVar(&states, "state", nil, "only runs in these `states`: queued, starting, running, stopping, ended, or an outcome: succeeded, failed, cancelled, timedout, lost")
	f.StringVar(&o.Query.Name, "name", "", "only runs with this `name`, or of this application; a trailing * matches any ending")
	f.StringVar(&o.Query.User, "user", "", "only runs of this `user`")
	f.StringVar(&since, "since", "", "only runs submitted since then: a `time` such as 24h (ago) or 2026-03-01T08:00:00Z")
	f.IntVar(&o.Query.Limit, "limit", 100, "at most so many")
	f.BoolVarP(&o.Watch, "watch", "w", false, "show the list again whenever it changes, until Ctrl-C")
	return cmd
}

// living are the states of runs that have not ended.
var living = []dovetail.State{dovetail.Queued, dovetail.Starting, dovetail.Running, dovetail.Stopping}

// parseStates sorts names into states and outcomes.
func parseStates(q *client.RunQuery, names []string, all bool) error {
	for _, n := range names {
		switch s := strings.ToLower(n); s {
		case "queued", "starting", "running", "stopping", "ended":
			q.States = append(q.States, dovetail.State(s))
		case "succeeded", "failed", "cancelled", "timedout", "lost":
			q.Outcomes = append(q.Outcomes, dovetail.Outcome(s))
		default:
			return usagef("unknown state %q; expected queued, starting, running, stopping, ended, succeeded, failed, cancelled, timedout or lost", n)
		}
	}
	if len(names) == 0 && !all {
		q.States = living
	}
	return nil
}

// parseSince reads a time, or how long ago it is.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if text, ok := strings.CutSuffix(s, "d"); ok {
		if days, err := strconv.Atoi(text); err == nil && days >= 0 && days <= maxDays {
			return now.Add(-time.Duration(days) * 24 * time.Hour), nil
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--since %q: expected how long ago, such as 90m, 24h or 30d, or a time such as 2026-03-01T08:00:00Z", s)
}

// maxDays bounds what --since may be given in days.
const maxDays = 100_000

func (e *environment) runs(ctx context.Context, o *runsOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	if !o.Watch {
		p, err := c.Runs(ctx, o.Query)
		if err != nil {
			return err
		}
		return e.show(p, func(w io.Writer) error { return e.writeRuns(w, &p) })
	}
	view := &screen{out: e.out}
	defer view.leave()
	return e.whenever(ctx, c, func() error {
		p, err := c.Runs(ctx, o.Query)
		if err != nil {
			return err
		}
		if e.format != text {
			return e.emit(p)
		}
		var b strings.Builder
		if err := e.writeRuns(&b, &p); err != nil {
			return err
		}
		if !e.outScreen {
			_, err := io.WriteString(e.out, b.String()+"\n")
			return err
		}
		return view.draw(e.fit(strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")))
	})
}

// fit shortens lines to what the terminal can show.
func (e *environment) fit(lines []string) []string {
	width, height := e.size()
	if len(lines) >= height {
		hidden := len(lines) - height + 2
		lines = append(lines[:height-2:height-2], fmt.Sprintf("… and %s", plural(hidden, "more line", "more lines")))
	}
	for i, l := range lines {
		lines[i] = clipLine(l, width)
	}
	return lines
}

// writeRuns prints runs for people.
func (e *environment) writeRuns(w io.Writer, p *client.RunPage) error {
	if len(p.Runs) == 0 {
		_, err := fmt.Fprintln(w, "No runs match. `dovetail submit FILE` submits one; `dovetail runs --all` also lists those that have ended.")
		return err
	}
	now := e.now()
	t := newTable("ID", "NAME", "STATE", "CORE", "ELASTIC", "WAITED", "RAN", "SUBMITTED", "WHY")
	for i := range p.Runs {
		s := &p.Runs[i]
		state := stateOf(s)
		why := printable(s.Why)
		if s.State == dovetail.Queued {
			why = reasonText(s.Reason)
		}
		t.add(fmt.Sprint(s.ID), printable(s.Name), e.paint(stateStyle(state), state),
			fmt.Sprintf("%d/%d", s.CoreUp, s.Core), fmt.Sprintf("%d/%d", s.ElasticUp, s.ElasticMax),
			span(waitedFor(s, now)), ranFor(s, now), ago(s.Submitted, now), why)
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	if p.Next != "" {
		fmt.Fprintf(w, "There are more; --limit, --name or --since choose.\n")
	}
	return nil
}

// whenever calls f now and whenever something happens, at most about four times a second, until the context ends.
func (e *environment) whenever(ctx context.Context, c *client.Client, f func() error) error {
	const quickest, slowest = 250 * time.Millisecond, time.Second
	tick := time.NewTicker(slowest)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	news := make(chan struct{}, 1)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		// What fails here fails in f too, which reports it.
		_ = c.Watch(ctx, client.EventQuery{Tail: -1}, func(dovetail.EventRecord) error {
			select {
			case news <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	defer func() { cancel(); <-watched }()
	for {
		if err := f(); err != nil {
			return cause(ctx, err)
		}
		breath := time.NewTimer(quickest)
		select {
		case <-ctx.Done():
		case <-breath.C:
		}
		breath.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
		case <-tick.C:
		}
	}
}

// emit writes one value of many for programs: a line of JSON, or a YAML document.
func (e *environment) emit(v any) error {
	var data []byte
	var err error
	if e.format == yamlText {
		data, err = e.format.encode(v)
		data = append([]byte("---\n"), data...)
	} else {
		data, err = json.Marshal(v)
		data = append(data, '\n')
	}
	if err != nil {
		return err
	}
	_, err = e.out.Write(data)
	return err
}
