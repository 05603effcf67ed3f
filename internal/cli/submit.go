package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/describe"
)

// submitOptions is what `dovetail submit` was asked to do.
type submitOptions struct {
	File   string
	Set    map[string]string
	Name   string
	User   string
	Key    string
	Hold   bool
	Goal   goal  // when it is to be done
	Input  int64 // bytes that it reads; 0: as described
	AnyFit bool  // accept it although it fits no cluster known so far
	DryRun bool
	Follow bool
	Wait   bool
}

func newSubmit(e *environment, run func(context.Context, *submitOptions) error) *cobra.Command {
	var o submitOptions
	var set []string
	var when goalWords
	var input string
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit an application: ask for a run of it",
		Long: long(`Submit an application: ask for a run of what FILE describes ("-" reads standard input).

The answer is the run's number; in a pipe, only that. With --wait the command ends when the run does, with
its exit code. With --follow it also shows the output of all replicas. Ctrl-C then stops watching, and the
run goes on: "dovetail cancel" ends it.`),
		Example: `  dovetail submit wordcount.yaml
  dovetail submit wordcount.yaml --set input=large --wait
  dovetail submit wordcount.yaml --target 350s --confidence 0.95
  dovetail submit - --key nightly-2026-03-01 < wordcount.yaml   # twice is once
  dovetail submit wordcount.yaml --dry-run                      # what would happen?`,
		Args: exactly(1, "the FILE that describes the application, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			var err error
			if o.Set, err = assignments(set); err != nil {
				return err
			}
			if o.Goal, err = when.read(cmd.Flags(), e.now()); err != nil {
				return err
			}
			if o.Input, err = parseInputSize(input); err != nil {
				return err
			}
			if o.DryRun && (o.Wait || o.Follow) {
				return usagef("--dry-run submits nothing: there is no run to wait for or to follow; leave one of the flags out")
			}
			return orDefault(run, e.submit)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&set, "set", nil, "give a parameter a value: `param=value`; may be repeated")
	f.StringVar(&o.Name, "name", "", "name of the run (default: the application's, and a number)")
	f.StringVar(&o.User, "user", e.getenv("USER"), "on whose behalf")
	f.StringVar(&o.Key, "key", "", "idempotency key: the same submission again returns the first run")
	when.flags(f)
	f.StringVar(&input, "input-size", "", "how much it reads, such as 24GB, in place of what FILE says; runtimes are predicted by it")
	f.BoolVar(&o.Hold, "hold", false, "do not start it before \"dovetail release\"")
	f.BoolVar(&o.AnyFit, "wait-for-capacity", false, "accept it although its core fits no node there is now")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would happen, and submit nothing")
	f.BoolVarP(&o.Follow, "follow", "f", false, "show the output of its replicas until it ends; implies --wait")
	f.BoolVarP(&o.Wait, "wait", "w", false, "wait until it ends, and exit as it ends")
	return cmd
}

// orDefault returns the injected run function, or the usual one.
func orDefault[O any](run, usual func(context.Context, *O) error) func(context.Context, *O) error {
	if run != nil {
		return run
	}
	return usual
}

// assignments reads name=value pairs.
func assignments(pairs []string) (map[string]string, error) {
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usagef("%q: expected param=value", p)
		}
		if _, twice := m[name]; twice {
			return nil, usagef("%s is given twice; leave one out", name)
		}
		m[name] = value
	}
	return m, nil
}

func (e *environment) submit(ctx context.Context, o *submitOptions) error {
	spec, name, err := e.readInput(o.File)
	if err != nil {
		return err
	}
	if !utf8.Valid(spec) { // a request in JSON cannot carry it to the daemon, which would say where the fault is
		_, err := describe.Application(spec, describe.Options{File: name})
		return fileError{name, err}
	}
	if spec, err = o.Goal.apply(spec, name); err != nil {
		return err
	}
	c, err := e.client()
	if err != nil {
		return err
	}
	req := client.SubmitRequest{
		Spec: spec, Params: o.Set, Name: o.Name, User: o.User, Key: o.Key, Hold: o.Hold, Wait: o.AnyFit,
		InputSize: o.Input,
	}
	if o.DryRun {
		d, err := c.DryRun(ctx, req)
		if err != nil {
			return fileError{name, err}
		}
		e.warn(d.Warnings)
		return e.show(d, func(w io.Writer) error { return e.writeDryRun(w, &d) })
	}
	s, err := c.Submit(ctx, req)
	if err != nil {
		return fileError{name, err}
	}
	e.warn(s.Warnings)
	if !o.Wait && !o.Follow {
		return e.showSubmitted(s)
	}
	e.note("%s", submitted(s))
	return e.await(ctx, c, s.ID, o.Follow)
}

func (e *environment) showSubmitted(s client.Submitted) error {
	if e.format != text {
		return e.show(s, nil)
	}
	if !e.outScreen {
		_, err := fmt.Fprintln(e.out, s.ID)
		return err
	}
	_, err := fmt.Fprintln(e.out, submitted(s))
	return err
}

// submitted says in a sentence what became of a submission.
func submitted(s client.Submitted) string {
	switch {
	case !s.Created:
		return fmt.Sprintf("The key was used before: this is run %d (%s), %s.", s.ID, s.Name, stateOf(&s.RunStatus))
	case s.Held:
		return fmt.Sprintf("Run %d (%s) is on hold; `dovetail release %d` lets it start.", s.ID, s.Name, s.ID)
	}
	return fmt.Sprintf("Run %d (%s) is submitted; `dovetail show %d` says how it is.", s.ID, s.Name, s.ID)
}

// writeDryRun says what a submission would lead to.
func (e *environment) writeDryRun(w io.Writer, d *client.DryRun) error {
	fmt.Fprintf(w, "Nothing was submitted. %s\n", capital(printable(d.Explanation.Text)))
	starts, gives := newTable("RUN", "COMPONENT", "CLASS", "NODE", "REPLICAS"), 0
	for _, a := range d.Plan.Assign {
		who := "this one"
		if a.Run != d.Explanation.Run {
			who, gives = fmt.Sprint(a.Run), gives+1
		}
		starts.add(who, fmt.Sprint(a.Component), class(a.Elastic), a.Node, fmt.Sprint(a.N))
	}
	if len(starts.rows) > 0 {
		fmt.Fprintln(w, "\nReplicas would be granted like this:")
		if err := starts.write(w, e.paint); err != nil {
			return err
		}
	}
	if gives > 0 {
		fmt.Fprintf(w, "\nOther runs would change as well, in %s.\n", plural(gives, "place", "places"))
	}
	return e.writeUnblock(w, &d.Explanation)
}

func class(elastic bool) string {
	if elastic {
		return "elastic"
	}
	return "core"
}

// note tells people on a terminal how things go; pipes stay quiet.
func (e *environment) note(format string, args ...any) {
	if e.errScreen && e.format == text {
		fmt.Fprintf(e.err, format+"\n", args...)
	}
}

// say tells people something that they need to know even in a pipe.
func (e *environment) say(format string, args ...any) {
	fmt.Fprintf(e.err, format+"\n", args...)
}

// warn tells people what is odd about something that was done all the same. Programs find it in the answer.
func (e *environment) warn(warnings []string) {
	if e.format != text {
		return
	}
	for _, w := range warnings {
		e.say("%s %s", e.errPaint(yellow, "warning:"), printable(w))
	}
}

// exitOf returns the exit code of a command that waited for a run.
func exitOf(o dovetail.Outcome) error {
	switch o {
	case dovetail.OutcomeSucceeded:
		return nil
	case dovetail.OutcomeCancelled:
		return exit(exitInterrupted)
	case dovetail.OutcomeTimedOut:
		return exit(exitTimedOut)
	case dovetail.OutcomeFailed, dovetail.OutcomeLost:
	}
	return exit(exitFailed)
}
