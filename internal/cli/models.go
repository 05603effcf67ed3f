package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
)

// modelsOptions is what `dovetail models` was asked.
type modelsOptions struct {
	App   string
	Class string // in place of it
}

func newModels(e *environment, run func(context.Context, *modelsOptions) error) *cobra.Command {
	var o modelsOptions
	cmd := &cobra.Command{
		Use:   "models [APP]",
		Short: "Say what predictions of an application rest on, and how good they are",
		Long: `Say what predictions of an application rest on, for each of its job classes: the model in use and why, from how many
runs it has learned and which were left out, and what neighbours do to it.

How good it is: every run is predicted from all others. The error is how far medians are off; the coverage is how many
runs lie in the intervals that 80 % and 90 % should lie in. docs/predict.md says how to read them.`,
		Example: `  dovetail models wordcount
  dovetail models --class 'wordcount?input=large' -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 0) == (o.Class == "") {
				return usagef("expected one APP, or --class")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.App = args[0]
			}
			return orDefault(run, e.models)(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVar(&o.Class, "class", "", "one `job class` in place of an application")
	return cmd
}

func (e *environment) models(ctx context.Context, o *modelsOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	all, err := c.Models(ctx, o.App, o.Class)
	if err != nil {
		return err
	}
	return e.show(all, func(w io.Writer) error {
		for i := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			if err := e.writeModel(w, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *environment) writeModel(w io.Writer, m *dovetail.ClassModel) error {
	model := m.Model
	if model == "" {
		model = "none"
	}
	var left, sizes, beside []string
	for _, l := range m.LeftOut {
		left = append(left, fmt.Sprintf("%d %s", l.Runs, printable(l.Why)))
	}
	for _, s := range m.InputSizes {
		sizes = append(sizes, bytesText(s))
	}
	for _, n := range m.Neighbours {
		beside = append(beside, fmt.Sprintf("with %s beside it all the time it takes %.2f times as long (%s; at scale-out %d)",
			printable(n.Class), n.Slowdown, plural(n.Runs, "run", "runs"), n.ScaleOut))
	}
	pairs := [][2]string{
		{"Class", printable(m.Class)},
		{"Model", model + ": " + printable(m.Why)},
		{"Learned from", plural(m.Runs, "run", "runs")},
		{"Left out", strings.Join(left, ", ")},
		{"Input sizes", strings.Join(sizes, ", ")},
		{"Error", errorText(m.Score)},
		{"Coverage", coverageText(m.Score)},
	}
	for _, b := range beside {
		pairs = append(pairs, [2]string{"Neighbour", b})
	}
	return list(w, e.paint, pairs...)
}

// errorText says how far predictions are off.
func errorText(s *dovetail.Score) string {
	if s == nil {
		return "unknown: it takes two runs at least"
	}
	return fmt.Sprintf("mean %s, median %s, when each of %s is predicted from the others",
		percent(s.MeanError), percent(s.MedianError), plural(s.Runs, "run", "runs"))
}

// coverageText says how many runs lie in the intervals of a model.
func coverageText(s *dovetail.Score) string {
	if s == nil || !s.Spread {
		return ""
	}
	return fmt.Sprintf("%s of them lie in the 80 %% interval, %s in the 90 %% one", percent(s.Within80), percent(s.Within90))
}
