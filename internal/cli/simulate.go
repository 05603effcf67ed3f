package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/sim/zoe"
	"github.com/dovetail-sched/dovetail/trace"
)

// The clusters on which workloads are simulated unless somebody says otherwise: those of seed 004 §10.1 and §11.
const (
	zoeCluster     = "100x(32cpu,128GiB)"
	testbedCluster = "10x(32cpu,128GiB)"
	testbed        = "zoe-testbed"
)

// simulateOptions is what `dovetail simulate` was asked to do.
type simulateOptions struct {
	Trace    traceInput // without a file: Workload
	Workload string
	Jobs     int // only the first so many; 0: all
	Seed     uint64
	Seeds    int
	Cluster  string // empty: that of the workload

	Policies, Allocs []string
	Preempt          string            // false, true or both
	Scheduling       map[string]string // other settings, by their names
	Zoe              bool              // --compat zoe

	Faults   sim.Faults
	Retries  int       // of core replicas that die, in components that say nothing; 0: none
	Model    sim.Model // nil: linear
	Hash     bool
	Timeline bool

	Out     string // directory of a report
	PerRun  string // file
	Force   bool
	Workers int
	Command string // for the report: how to repeat it
}

const simulateLong = `Simulate a workload under other policies: what would they have made of it? The very same code decides as in the
daemon, on simulated machines with a virtual clock. Several policies and allocators are a sweep: every policy with
every allocator, side by side on all cores of this machine. Same workload, same seed: same result, to the byte.

The workload is a trace, or generated. A generated one is another one for each seed; a trace is the same for all
seeds, so several seeds of a trace need faults, which are drawn anew for each seed.

Jobs that could never run are left out. With the rigid allocator among others these are the jobs whose core and
elastic replicas do not all fit the empty cluster, and they are left out of every cell, so that all are about the
same jobs. A notice says how many they are.

Without --preempt all runs wait in one line, whatever their kind, as in the evaluation of Zoe. With it, interactive
runs go first, and an arrival may jump the order in which those in service are served.

--compat zoe asks the model of Zoe's own simulator instead, with its rules, on one machine of all the nodes' cpu and
memory: a baseline to compare with.

--from-history replays what the daemon has on record, on its nodes: first with the settings in force, next to what
really happened, and then with each of the others. It says which users and job classes would have been better off.

Ctrl-C keeps the cells that are done.`

const simulateExample = `  dovetail simulate --workload zoe --jobs 1000 --policy fifo,srpt-3d --alloc rigid,flexible
  dovetail simulate --trace jobs.swf.gz --cluster '100x(32cpu,128GiB)' --policy fifo,sjf --out pictures
  dovetail simulate --workload zoe-testbed --seeds 10 --alloc rigid,malleable,flexible
  dovetail simulate --trace apps.txt --cluster '1x(1000cpu,1400GiB)' --compat zoe --per-run runs.csv
  dovetail simulate --from-history --since 30d --policy fifo,srpt-3d`

func newSimulate(e *environment, run func(context.Context, *simulateOptions) error) *cobra.Command {
	var o simulateOptions
	var w simulateWords
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Simulate a workload: what would other policies have made of it?",
		Long:    simulateLong + "\n\n" + generatorsText(),
		Example: simulateExample,
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.read(&w, cmd.Flags().Changed); err != nil {
				return usageError{err}
			}
			o.Command = commandLine(cmd)
			return orDefault(run, e.simulate)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Trace.File, "trace", "", "the `file` of a trace, or - for standard input")
	o.Trace.flags(cmd)
	f.StringVar(&o.Workload, "workload", "", "generate this `workload`: "+strings.Join(generatorNames(), ", "))
	f.IntVar(&o.Jobs, "jobs", 0, "only the first so `many` jobs (default: all of a trace; as many as were published)")
	f.Uint64Var(&o.Seed, "seed", 1, "the `number` that all random numbers follow from")
	f.IntVar(&o.Seeds, "seeds", 1, "how `many` seeds, beginning with --seed")
	f.StringVar(&o.Cluster, "cluster", "", "`nodes` such as "+zoeCluster+", with + between groups, or a file as for serve --nodes\n"+
		"(default: "+zoeCluster+", that of Zoe's evaluation; for "+testbed+": "+testbedCluster+")")
	f.StringSliceVar(&o.Policies, "policy", []string{"fifo"}, "`policies`: "+strings.Join(policyNames(), ", "))
	f.StringSliceVar(&o.Allocs, "alloc", []string{"flexible"}, "`allocators`: "+strings.Join(allocNames(), ", "))
	f.StringVar(&o.Preempt, "preempt", "false", "preemption: `true`, false, or both for a comparison")
	f.Lookup("preempt").NoOptDefVal = "true"
	for _, s := range simulatedSettings() {
		f.String(s.name, "", s.help)
	}
	f.StringVar(&w.compat, "compat", "", "`zoe`: the model of Zoe's own simulator")
	w.flags(f, &o)
	f.BoolVar(&o.Hash, "journal-hash", false, "a hash of each cell's journal: equal hashes mean equal decisions")
	f.BoolVar(&o.Timeline, "timeline", false, "draw each cell as a timeline into --out; for at most 60 jobs on 12 nodes")
	f.StringVar(&o.Out, "out", "", "write a report into this `directory`: a page, tables, figures, every run")
	f.StringVar(&o.PerRun, "per-run", "", "write what became of every run into this CSV `file`")
	f.BoolVar(&o.Force, "force", false, "replace files that exist, in --out and of --per-run")
	f.IntVar(&o.Workers, "workers", 0, "how `many` cells run at once (default: one a core)")
	complete(cmd, map[string][]string{
		"workload": generatorNames(), "policy": policyNames(), "alloc": allocNames(), "preempt": {"true", "false", "both"}, "compat": {"zoe"},
		"choose": chooseNames(),
	})
	fromHistory(e, cmd, &o, &w)
	return cmd
}

// commandLine returns the command with the flags that were given, as a shell reads it.
func commandLine(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		if strings.ContainsAny(value, " ()*$&;|<>\"'\\") || value == "" {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		line += " --" + f.Name + "=" + value
	})
	return line
}

// complete offers words for flags.
func complete(cmd *cobra.Command, words map[string][]string) {
	for flag, of := range words {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// simulatedSettings returns the settings of scheduling that are the same in all cells.
func simulatedSettings() []setting {
	var some []setting
	for _, s := range schedulingSettings() {
		switch s.name {
		case "reclaim", "max-wait", "regrow", "replan", "place":
			some = append(some, s)
		}
	}
	return append(some, colocationSettings()...)
}

// workload returns how many jobs there are of what, as the command line names it.
func (o *simulateOptions) workload() string {
	if o.Workload != "" {
		return o.Workload
	}
	return o.Trace.name()
}

// policies returns the names of policies that there are.
func (o *simulateOptions) policies() []string {
	if o.Zoe {
		return zoe.Policies()
	}
	return policyNames()
}

// load returns the workload of a seed.
func (o *simulateOptions) load(ctx context.Context, seed uint64) (*trace.Workload, error) {
	var w *trace.Workload
	var err error
	if o.Workload != "" {
		w, err = trace.Generate(o.Workload, seed, o.Jobs)
	} else {
		from := o.Trace.Options
		from.First = o.Jobs
		w, err = trace.Load(ctx, o.Trace.File, from)
	}
	if err != nil {
		return nil, err
	}
	o.retry(w.Jobs)
	return w, nil
}

// retry lets the core replicas of jobs that die be replaced, up to so many of each run as was asked for, in all components that say
// nothing of it. The applications that jobs share stay as they are: each is copied once.
func (o *simulateOptions) retry(jobs []trace.Job) {
	if o.Retries == 0 {
		return
	}
	copies := make(map[*dovetail.Application]*dovetail.Application)
	for i := range jobs {
		app, known := copies[jobs[i].App]
		if !known {
			same := *jobs[i].App
			app = &same
			app.Components = slices.Clone(app.Components)
			for k := range app.Components {
				if r := &app.Components[k].Restart; r.Retries == 0 {
					r.Retries = o.Retries
				}
			}
			copies[jobs[i].App] = app
		}
		jobs[i].App = app
	}
}
