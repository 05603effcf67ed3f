package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/sim"
)

// whatIfOptions is what `dovetail whatif` was asked about.
type whatIfOptions struct {
	Set    map[string]string // settings of scheduling, by their names
	Add    string            // nodes, such as 2x(32cpu,128GiB)
	Submit string            // file of an application
	Params map[string]string // of that
}

func newWhatIf(e *environment, run func(context.Context, *whatIfOptions) error) *cobra.Command {
	var o whatIfOptions
	var params []string
	cmd := &cobra.Command{
		Use:   "whatif",
		Short: "Say who would start when under another policy, with more nodes, or after a submission",
		Long: `Say who would start when: as things are, and under an alternative. Nothing is changed.

The daemon plays its present state on, many times, with runtimes drawn from what finished runs took, or from what was
expected of them. The times are medians over these plays, with the interval that 80 % of them lie in. The change
compares plays that assume the same runtimes. docs/whatif.md says how often such intervals are right.`,
		Example: `  dovetail whatif --policy srpt-3d
  dovetail whatif --alloc flexible --preempt -o json
  dovetail whatif --cluster-add '2x(32cpu,128GiB)'
  dovetail whatif --submit wordcount.yaml --set input=large`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Set = make(map[string]string)
			for _, s := range schedulingSettings() {
				if f := cmd.Flags().Lookup(s.name); f.Changed {
					o.Set[s.name] = f.Value.String()
				}
			}
			var err error
			if o.Params, err = assignments(params); err != nil {
				return err
			}
			switch {
			case len(params) > 0 && o.Submit == "":
				return usagef("--set gives a parameter to what --submit names; to change how runs are scheduled use --policy and its like")
			case len(o.Set) == 0 && o.Add == "" && o.Submit == "":
				return usagef("what if what? Expected a setting such as --policy srpt-3d, or --cluster-add, or --submit")
			}
			return orDefault(run, e.whatIf)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	for _, s := range schedulingSettings() {
		f.String(s.name, "", s.help)
		if s.name == "preempt" || s.name == "interactive-first" {
			f.Lookup(s.name).NoOptDefVal = "true"
		}
	}
	f.StringVar(&o.Add, "cluster-add", "", "`nodes` to add, such as 2x(32cpu,128GiB)")
	f.StringVar(&o.Submit, "submit", "", "a `file` that describes an application to submit, or - for standard input")
	f.StringArrayVar(&params, "set", nil, "give a parameter of that a value: `param=value`; may be repeated")
	complete(cmd, map[string][]string{"policy": policyNames(), "alloc": allocNames(), "choose": chooseNames()})
	return cmd
}

func (e *environment) whatIf(ctx context.Context, o *whatIfOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	req, err := e.whatIfRequest(ctx, c, o)
	if err != nil {
		return err
	}
	w, err := c.WhatIf(ctx, *req)
	if err != nil && o.Submit != "" {
		return fileError{o.Submit, err}
	}
	if err != nil {
		return err
	}
	return e.show(&w, func(out io.Writer) error { return e.writeWhatIf(out, &w) })
}

// whatIfRequest turns options into a question to the daemon.
func (e *environment) whatIfRequest(ctx context.Context, c *client.Client, o *whatIfOptions) (*client.WhatIfRequest, error) {
	var req client.WhatIfRequest
	if len(o.Set) > 0 {
		cfg, err := c.Config(ctx)
		if err != nil {
			return nil, err
		}
		if err := change(&cfg, o.Set); err != nil {
			return nil, usageError{err}
		}
		req.Config = &cfg
	}
	if o.Add != "" {
		nodes, err := sim.Nodes(o.Add)
		if err != nil {
			return nil, usageError{err}
		}
		for i := range nodes {
			nodes[i].Name = "added-" + strings.TrimPrefix(nodes[i].Name, "node-")
		}
		req.Nodes = nodes
	}
	if o.Submit != "" {
		spec, _, err := e.readInput(o.Submit)
		if err != nil {
			return nil, err
		}
		req.Submit = &client.SubmitRequest{Spec: spec, Params: o.Params, User: e.getenv("USER")}
	}
	return &req, nil
}

func (e *environment) writeWhatIf(w io.Writer, x *dovetail.WhatIf) error {
	fmt.Fprintf(w, "If there were %s:\n\n", strings.Join(alternatives(x), " and "))
	if len(x.Runs) == 0 {
		_, err := fmt.Fprintln(w, "No run waits, so nothing would change.")
		return err
	}
	t := newTable("RUN", "NAME", "USER", "STARTS NOW", "", "THEN", "", "CHANGE", "")
	for i := range x.Runs {
		p := &x.Runs[i]
		before, interval := "", ""
		if p.Start != nil {
			before, interval = medianText(p.Start, x.At), intervalText(p.Start, x.At)
		}
		change, by := "", ""
		if c := p.Change; c != nil {
			change, by = shift(c.Median), fmt.Sprintf("(%s to %s)", shift(c.Low), shift(c.High))
		}
		t.add(fmt.Sprint(p.Run), printable(p.Name), printable(p.User), before, interval,
			medianText(&p.ThenStart, x.At), intervalText(&p.ThenStart, x.At), change, by)
	}
	if err := t.write(w, e.paint); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nIn brackets: where %.0f %% of the plays lie. %s.\n", 100*x.Runs[0].ThenStart.Confidence, printable(x.Basis))
	return err
}

// alternatives says what would be different.
func alternatives(x *dovetail.WhatIf) []string {
	var all []string
	for _, s := range schedulingSettings() {
		if v := s.get(&x.Then); v != s.get(&x.Now) {
			all = append(all, fmt.Sprintf("%s %s instead of %s", s.name, v, s.get(&x.Now)))
		}
	}
	if n := len(x.Nodes); n > 0 {
		all = append(all, plural(n, "more node", "more nodes"))
	}
	for i := range x.Runs {
		if x.Runs[i].Submitted {
			all = append(all, fmt.Sprintf("run %d (%s)", x.Runs[i].Run, printable(x.Runs[i].Name)))
		}
	}
	if len(all) == 0 {
		return []string{"what there is"}
	}
	return all
}

// medianText writes the median of an expectation.
func medianText(x *dovetail.Expectation, now time.Time) string {
	if x.Median == nil && x.Never == 0 {
		return "unknown"
	}
	return inText(x.Median, now)
}

// inText writes a time to come as how long that is from now.
func inText(t *time.Time, now time.Time) string {
	if t == nil {
		return "never"
	}
	if d := t.Sub(now); d >= 50*time.Millisecond {
		return "in " + span(d)
	}
	return "now"
}

// intervalText writes the interval of an expectation, in brackets.
func intervalText(x *dovetail.Expectation, now time.Time) string {
	if x.Confidence == 0 || x.Earliest == nil {
		return ""
	}
	earliest, latest := inText(x.Earliest, now), inText(x.Latest, now)
	if earliest == latest {
		return ""
	}
	return fmt.Sprintf("(%s to %s)", strings.TrimPrefix(earliest, "in "), strings.TrimPrefix(latest, "in "))
}

// expectedText writes an expectation as a part of a sentence.
func (e *environment) expectedText(x *dovetail.Expectation) string {
	now := e.now()
	switch {
	case x.Median == nil && x.Earliest == nil:
		return "never, as things are: in all plays other runs hold what it needs for ever"
	case x.Median == nil:
		return "not before " + x.Earliest.Local().Format(time.TimeOnly) + ", and in most plays never"
	}
	text := inText(x.Median, now)
	if x.Confidence == 0 || x.Earliest == nil {
		return text
	}
	latest := "never"
	if x.Latest != nil {
		latest = inText(x.Latest, now)
	}
	return fmt.Sprintf("%s; %.0f %% of the plays lie between %s and %s", text, 100*x.Confidence, inText(x.Earliest, now), latest)
}

// shift writes by how much something moves, in seconds.
func shift(seconds float64) string {
	d := time.Duration(math.Round(seconds * float64(time.Second)))
	switch {
	case d > -50*time.Millisecond && d < 50*time.Millisecond:
		return "0s"
	case d > 0:
		return "+" + span(d)
	}
	return span(d)
}
