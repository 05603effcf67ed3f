package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/study"
)

// colocationOptions is what `dovetail experiment colocation` was asked to do.
type colocationOptions struct {
	Seeds   int
	Only    []string
	Workers int
	Out     string // directory of a report
	Force   bool
	Command string // for the report: how to repeat it
}

// colocationLong has room for the scales.
const colocationLong = `Repeat the evaluation of learned co-locations (Thamsen et al., 2017) on simulated machines whose runs contend for
processors, disks and network, and judge its statements and goals of our own. What is measured, learned, chosen and placed
goes through Dovetail's own core. docs/experiments.md says more. It has four parts:

tables   pairs of jobs beside each other (tables 2 and 3): the model of contention beside the paper
queues   A and B of the paper (tables 5 and 6, figures 6 to 8): FIFO, random order within the window, argmax, RA, RA* (with
         previous knowledge), the price policy with nothing known, with what one earlier pass taught, and learning on, and
         with the true rates, and the bound of a linear program; with and without stragglers, windows of 5 and of 12
worlds   the queues in six worlds in which jobs need other things
further  a queue in random order, and one with jobs that harm each other

By default it is %d seeds, with --full %d.`

func newExperimentColocation(e *environment, run func(context.Context, *colocationOptions) error) *cobra.Command {
	var o colocationOptions
	var full bool
	cmd := &cobra.Command{
		Use:     "colocation",
		Short:   "Repeat the evaluation of learned co-locations: which jobs run well side by side",
		Long:    fmt.Sprintf(colocationLong, study.ColocationSmallSeeds, study.ColocationFullSeeds),
		Example: "  dovetail experiment colocation\n  dovetail experiment colocation --only tables\n  dovetail experiment colocation --full --out colocation-report",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.read(full, cmd.Flags().Changed); err != nil {
				return err
			}
			o.Command = commandLine(cmd)
			return orDefault(run, e.experimentColocation)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Seeds, "seeds", study.ColocationSmallSeeds, "how `many` times each queue is played under each policy")
	f.BoolVar(&full, "full", false, fmt.Sprintf("the scale of docs/experiments.md: --seeds %d", study.ColocationFullSeeds))
	f.StringSliceVar(&o.Only, "only", nil, "only these `parts`: "+strings.Join(study.ColocationParts(), ", "))
	f.StringVar(&o.Out, "out", "", "write a report into this `directory`: a page, claims as JSON and Markdown, figures")
	f.BoolVar(&o.Force, "force", false, "replace what is in --out")
	f.IntVar(&o.Workers, "workers", 0, "how `many` compute at once (default: one a core)")
	complete(cmd, map[string][]string{"only": study.ColocationParts()})
	return cmd
}

// read checks what was asked for.
func (o *colocationOptions) read(full bool, changed func(flag string) bool) error {
	if full && !changed("seeds") {
		o.Seeds = study.ColocationFullSeeds
	}
	for i, part := range o.Only {
		o.Only[i] = strings.TrimSpace(part)
		if !slices.Contains(study.ColocationParts(), o.Only[i]) {
			return usagef("there is no part %q; choose from %s", part, strings.Join(study.ColocationParts(), ", "))
		}
	}
	switch {
	case o.Seeds < 1 || o.Seeds > maxSeeds:
		return usagef("--seeds %d: expected from 1 to %d", o.Seeds, maxSeeds)
	case o.Workers < 0:
		return usagef("--workers %d: expected 1 or more, or 0 for one a core", o.Workers)
	}
	return nil
}

func (e *environment) experimentColocation(ctx context.Context, o *colocationOptions) error {
	out := simulateOptions{Out: o.Out, Force: o.Force}
	tidy, err := reserve(&out)
	if err != nil {
		return err
	}
	defer tidy()
	bar := e.newBar()
	c := study.Colocation{
		Seeds: o.Seeds, Only: o.Only, Workers: o.Workers, Progress: bar.show, Store: func() study.Memory { return mem.New() },
	}
	result, failed := c.Run(ctx)
	bar.leave()
	if result == nil {
		return cause(ctx, failed)
	}
	err = e.conclude(&out, result, func() (*report.Report, error) {
		figures, err := result.Figures()
		return &report.Report{
			Title: "The evaluation of learned co-locations, repeated", Command: o.Command, Sections: result.Sections(), Figures: figures,
			About: []report.Fact{{Name: "Seeds", Value: fmt.Sprintf("1 to %d", o.Seeds)}, tookFact(e.now().Sub(bar.started))},
		}, err
	})
	if failed != nil {
		e.say("Interrupted: claims whose runs are missing are not judged.")
	}
	if err != nil {
		return err
	}
	return cause(ctx, failed)
}
