package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// runOptions is what commands were asked that look at one run.
type runOptions struct{ Run string }

func newShow(e *environment, run func(context.Context, *runOptions) error) *cobra.Command {
	return oneRunCommand(&cobra.Command{
		Use:   "show RUN",
		Short: "Show all there is to know about a run",
		Long:  "Show all there is to know about a run: its state, what was predicted and whether it\nmeets its target, who ran beside it and what that cost, its replicas and where they are, its addresses.",
		Example: `  dovetail show 12
  dovetail show wordcount-12 -o yaml`,
		ValidArgsFunction: e.completeRuns(),
	}, orDefault(run, e.showRun))
}

func newExplain(e *environment, run func(context.Context, *runOptions) error) *cobra.Command {
	return oneRunCommand(&cobra.Command{
		Use:   "explain RUN",
		Short: "Explain why a run is where it is",
		Long:  "Explain why a run is where it is: what its core needs, how much of that fits now, and what would let it start.",
		Example: `  dovetail explain 12
  dovetail explain 12 -o json`,
		ValidArgsFunction: e.completeRuns(living...),
	}, orDefault(run, e.explain))
}

// oneRunCommand completes a command that acts on one run.
func oneRunCommand(cmd *cobra.Command, run func(context.Context, *runOptions) error) *cobra.Command {
	cmd.Args = exactly(1, oneRun)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return run(cmd.Context(), &runOptions{Run: args[0]})
	}
	return cmd
}

func (e *environment) showRun(ctx context.Context, o *runOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	d, err := c.Run(ctx, o.Run)
	if err != nil {
		return err
	}
	shown := shownRun{RunDetail: d}
	if d.Status.Started != nil {
		company, err := c.Company(ctx, fmt.Sprint(d.Status.ID))
		if err != nil {
			return err
		}
		shown.Company = &company
	}
	return e.show(shown, func(w io.Writer) error { return e.writeRun(w, &shown) })
}

// shownRun is what `dovetail show` says of a run.
type shownRun struct {
	client.RunDetail
	Company *dovetail.Company `json:"company,omitempty"` // absent before it starts
}

// writeRun prints a run for people.
func (e *environment) writeRun(w io.Writer, d *shownRun) error {
	s, now := &d.Status, e.now()
	state := stateOf(s)
	shown := e.paint(stateStyle(state), state)
	if s.Why != "" {
		shown += ": " + printable(s.Why)
	} else if why := reasonText(s.Reason); why != "" {
		shown += ": " + why
	}
	var params []string
	if d.Run != nil {
		for _, k := range slices.Sorted(maps.Keys(d.Run.Params)) {
			params = append(params, k+"="+printable(d.Run.Params[k]))
		}
	}
	priority, retries := "", ""
	if s.Priority != 0 {
		priority = fmt.Sprint(s.Priority)
	}
	if s.Retries != 0 {
		retries = plural(s.Retries, "death of a core replica", "deaths of core replicas") + " survived"
	}
	pairs := [][2]string{
		{"Run", fmt.Sprintf("%d (%s)", s.ID, printable(s.Name))},
		{"State", shown},
		{"Application", printable(s.App) + ", " + string(s.Kind)},
		{"Parameters", strings.Join(params, " ")},
		{"User", printable(s.User)},
		{"Key", printable(s.Key)},
		{"Priority", priority},
		{"Submitted", moment(&s.Submitted, now)},
		{"Started", moment(s.Started, now)},
		{"Ended", moment(s.Ended, now)},
		{"Waited", span(waitedFor(s, now))},
		{"Ran", ranFor(s, now)},
		{"Core", fmt.Sprintf("%d of %d up", s.CoreUp, s.Core)},
		{"Elastic", fmt.Sprintf("%d of %d granted up, can use %d", s.ElasticUp, s.Elastic, s.ElasticMax)},
		{"Retries", retries},
	}
	pairs = append(pairs, foretold(&d.RunDetail, now)...)
	err := list(w, e.paint, append(pairs, neighbourly(s, d.Company)...)...)
	for _, name := range slices.Sorted(maps.Keys(d.URLs)) {
		fmt.Fprintf(w, "%s  %s\n", e.paint(dim, "Open "+name), e.paint(cyan, printable(d.URLs[name])))
	}
	if err != nil || len(d.Replicas) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return e.writeReplicas(w, d.Replicas)
}

// writeReplicas prints replicas: those that live, and of the others the last few.
func (e *environment) writeReplicas(w io.Writer, all []dovetail.ReplicaStatus) error {
	const most = 40
	shown := all
	if len(all) > most {
		shown = slices.DeleteFunc(slices.Clone(all), func(r dovetail.ReplicaStatus) bool { return r.Down != nil })
		shown = shown[:min(len(shown), most)]
	}
	t := newTable("REPLICA", "CLASS", "NODE", "STATE", "UP", "CPU", "MEMORY", "EXIT")
	for i := range shown {
		r := &shown[i]
		up := ""
		if r.Up != nil {
			end := e.now()
			if r.Down != nil {
				end = *r.Down
			}
			up = span(end.Sub(*r.Up))
		}
		cpu, memory := "", ""
		if r.Usage.CPU > 0 {
			cpu = span(r.Usage.CPU)
		}
		if r.Usage.MemoryPeak > 0 {
			memory = bytesText(r.Usage.MemoryPeak)
		}
		t.add(r.Name, class(r.Elastic), r.Node, r.State, up, cpu, memory, exitText(r.Exit))
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	if n := len(all) - len(shown); n > 0 {
		fmt.Fprintf(w, "%s not shown; -o json has all of them.\n", plural(n, "replica", "replicas"))
	}
	return nil
}

// exitText says how a replica ended.
func exitText(x *dovetail.Exit) string {
	if x == nil {
		return ""
	}
	var s string
	switch {
	case x.Lost:
		s = "lost"
	case x.OOM:
		s = "out of memory"
	case x.Signal != "":
		s = x.Signal
	default:
		s = fmt.Sprint(x.Code)
	}
	if x.Asked {
		s += ", as asked"
	}
	if x.Why != "" {
		s += ": " + printable(x.Why)
	}
	return s
}

func (e *environment) explain(ctx context.Context, o *runOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	x, err := c.Explain(ctx, o.Run)
	if err != nil {
		return err
	}
	return e.show(x, func(w io.Writer) error { return e.writeExplanation(w, &x) })
}

// writeExplanation prints an explanation for people.
func (e *environment) writeExplanation(w io.Writer, x *dovetail.Explanation) error {
	fmt.Fprintf(w, "Run %d is %s. %s\n", x.Run, e.paint(stateStyle(string(x.State)), string(x.State)), capital(printable(x.Text)))
	if x.Position > 0 {
		fmt.Fprintf(w, "It is number %d of %d in the waiting line.\n", x.Position, x.Waiting)
	}
	if s := x.ExpectedStart; s != nil {
		fmt.Fprintf(w, "It is expected to start %s. %s.\n", e.expectedText(s), printable(s.Basis))
	}
	if len(x.Needs) > 0 {
		fmt.Fprintln(w)
		t := newTable("COMPONENT", "NEEDS", "EACH", "FIT NOW", "NODES RULED OUT")
		for i := range x.Needs {
			n := &x.Needs[i]
			var refused []string
			for _, why := range slices.Sorted(maps.Keys(n.Refused)) {
				refused = append(refused, fmt.Sprintf("%d: %s", n.Refused[why], why))
			}
			t.add(n.Component, fmt.Sprint(n.N), n.Each.String(), fmt.Sprint(n.Fits), strings.Join(refused, "; "))
		}
		if err := t.write(w, e.paint); err != nil {
			return err
		}
	}
	return e.writeUnblock(w, x)
}

// writeUnblock lists what would let a run start.
func (e *environment) writeUnblock(w io.Writer, x *dovetail.Explanation) error {
	if len(x.Unblock) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nEach of these would make room for it:")
	for _, u := range x.Unblock {
		if _, err := fmt.Fprintf(w, "  %s\n", printable(u)); err != nil {
			return err
		}
	}
	return nil
}
