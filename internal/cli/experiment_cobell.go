package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/study"
)

// cobellOptions is what `dovetail experiment cobell` was asked to do.
type cobellOptions struct {
	Seeds       int
	Repetitions int
	Only        []string
	Bell, C3O   string // files; empty: without them
	Workers     int
	Out         string // directory of a report
	Force       bool
	Command     string // for the report: how to repeat it
}

// cobellLong has room for the scales.
const cobellLong = `Repeat the evaluation of CoBell (Verbitskiy et al., 2018, section IV-E), and judge its statements. docs/experiments.md
says more. It has three parts:

models  how well CoBell and Bell fit the runs they learned from (Table II): two generators of runs of SGD beside
        WordCount, %d data sets of each
target  two jobs that are to take 350 s, each beside each of four others, 20 runs after one another with nothing known
        at first (figure 3), through Dovetail's own scheduler on simulated machines on which neighbours cost time:
        Bell, CoBell, and BayesCoBell with a confidence of 0.5, 0.8 and 0.9; %d repetitions
data    real runs that others published: how well are runtimes foretold at scale-outs that were not seen. The files are
        not part of Dovetail: --bell takes bell_runs.csv, --c3o takes c3o_runs.csv

Without --only it is the first two, and the third if there is a file for it.`

func newExperimentCobell(e *environment, run func(context.Context, *cobellOptions) error) *cobra.Command {
	var o cobellOptions
	cmd := &cobra.Command{
		Use:   "cobell",
		Short: "Repeat the evaluation of CoBell: runtimes foretold beside neighbours, and targets met",
		Long:  fmt.Sprintf(cobellLong, study.CobellSeeds, study.CobellRepetitions),
		Example: "  dovetail experiment cobell --only models\n  dovetail experiment cobell --repetitions 1 --out cobell-report\n" +
			"  dovetail experiment cobell --only data --bell bell_runs.csv --c3o c3o_runs.csv",
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.read(); err != nil {
				return err
			}
			o.Command = commandLine(cmd)
			return orDefault(run, e.experimentCobell)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Seeds, "seeds", study.CobellSeeds, "how `many` data sets of each generator")
	f.IntVar(&o.Repetitions, "repetitions", study.CobellRepetitions, "how `often` each pair of jobs starts with nothing known")
	f.StringSliceVar(&o.Only, "only", nil, "only these `parts`: "+strings.Join(study.CobellParts(), ", "))
	f.StringVar(&o.Bell, "bell", "", "the `file` of Bell's runs")
	f.StringVar(&o.C3O, "c3o", "", "the `file` of C3O's runs")
	f.StringVar(&o.Out, "out", "", "write a report into this `directory`: a page, claims as JSON and Markdown, figures")
	f.BoolVar(&o.Force, "force", false, "replace what is in --out")
	f.IntVar(&o.Workers, "workers", 0, "how `many` compute at once (default: one a core)")
	complete(cmd, map[string][]string{"only": study.CobellParts()})
	return cmd
}

// read checks what was asked for.
func (o *cobellOptions) read() error {
	for i, part := range o.Only {
		o.Only[i] = strings.TrimSpace(part)
		if !slices.Contains(study.CobellParts(), o.Only[i]) {
			return usagef("there is no part %q; choose from %s", part, strings.Join(study.CobellParts(), ", "))
		}
	}
	switch {
	case o.Seeds < 1 || o.Seeds > maxSeeds:
		return usagef("--seeds %d: expected from 1 to %d", o.Seeds, maxSeeds)
	case o.Repetitions < 1 || o.Repetitions > maxSeeds:
		return usagef("--repetitions %d: expected from 1 to %d", o.Repetitions, maxSeeds)
	case o.Workers < 0:
		return usagef("--workers %d: expected 1 or more, or 0 for one a core", o.Workers)
	case slices.Contains(o.Only, study.CobellData) && o.Bell == "" && o.C3O == "":
		return usagef("--only data needs --bell or --c3o: the files are not part of Dovetail")
	}
	return nil
}

func (e *environment) experimentCobell(ctx context.Context, o *cobellOptions) error {
	out := simulateOptions{Out: o.Out, Force: o.Force}
	tidy, err := reserve(&out)
	if err != nil {
		return err
	}
	defer tidy()
	bar := e.newBar()
	c := study.Cobell{
		Seeds: o.Seeds, Repetitions: o.Repetitions, Only: o.Only, Workers: o.Workers, Progress: bar.show,
		Store: func() study.Memory { return mem.New() },
	}
	for _, f := range []struct {
		name string
		to   *io.Reader
	}{{o.Bell, &c.Bell}, {o.C3O, &c.C3O}} {
		if f.name == "" {
			continue
		}
		data, err := os.ReadFile(f.name)
		if err != nil {
			return dovetail.Errorf(dovetail.Invalid, "cannot read runs: %v", err)
		}
		*f.to = bytes.NewReader(data)
	}
	result, failed := c.Run(ctx)
	bar.leave()
	if result == nil {
		return cause(ctx, failed)
	}
	err = e.conclude(&out, result, func() (*report.Report, error) {
		figures, err := result.Figures()
		return &report.Report{
			Title: "The evaluation of CoBell, repeated", Command: o.Command, Sections: result.Sections(), Figures: figures,
			About: []report.Fact{
				{Name: "Data sets", Value: fmt.Sprintf("1 to %d", o.Seeds)}, {Name: "Repetitions", Value: fmt.Sprintf("1 to %d", o.Repetitions)},
				tookFact(e.now().Sub(bar.started)),
			},
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
