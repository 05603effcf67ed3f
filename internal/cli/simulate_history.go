package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/study"
	"github.com/dovetail-sched/dovetail/trace"
)

// historyOf says which history `dovetail simulate --from-history` replays.
type historyOf struct {
	wanted bool
	since  string
	from   time.Time
}

// fromHistory adds --from-history to the simulate command: it replaces the workload, and changes what the command prints.
func fromHistory(e *environment, cmd *cobra.Command, o *simulateOptions, w *simulateWords) {
	var h historyOf
	f := cmd.Flags()
	f.BoolVar(&h.wanted, "from-history", false, "replay the history of the daemon on its nodes, and print what other settings change for whom")
	f.StringVar(&h.since, "since", "30d", "with --from-history: only runs that ended since then: a `time` such as 30d or 24h (ago)")
	simulate := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		set := f.Changed
		switch {
		case !h.wanted && set("since"):
			return usagef("--since is for --from-history; of a trace, take a part with `dovetail trace cut`")
		case !h.wanted:
			return simulate(cmd, args)
		}
		for _, other := range []string{"trace", "workload", "jobs", "seed", "seeds", "compat", "out", "per-run", "timeline", "journal-hash"} {
			if set(other) {
				return usagef("--from-history and --%s exclude each other; `dovetail trace record` makes a trace of the history for all that simulate can do", other)
			}
		}
		o.Trace.File = "history"
		if err := o.read(w, set); err != nil {
			return usageError{err}
		}
		var err error
		if h.from, err = parseSince(h.since, e.now()); err != nil {
			return err
		}
		if !set("policy") {
			o.Policies = nil
		}
		if !set("alloc") {
			o.Allocs = nil
		}
		if !set("preempt") {
			o.Preempt = ""
		}
		return e.replay(cmd.Context(), o, &h)
	}
}

// replayed is what `dovetail simulate --from-history` prints.
type replayed struct {
	Since   time.Time       `json:"since"`
	Config  dovetail.Config `json:"config"` // in force
	Runs    int             `json:"runs"`
	Notices []string        `json:"notices"`

	// Reality is how far the replay under the configuration in force is from what is on record: how far to trust the rest.
	Reality report.Difference `json:"reality"`
	// Changes are from that replay to the one under each other configuration.
	Changes []report.Difference `json:"changes"`
	Cells   []report.Metrics    `json:"cells"` // of each replay; the first is that under the configuration in force
}

func (e *environment) replay(ctx context.Context, o *simulateOptions, of *historyOf) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	h, err := e.recorded(ctx, c, of.from)
	if err != nil {
		return err
	}
	config, err := c.Config(ctx)
	if err != nil {
		return err
	}
	nodes, err := e.historyNodes(ctx, o)
	if err != nil {
		return err
	}
	configs, err := o.alternatives(config)
	if err != nil {
		return err
	}
	o.retry(h.Jobs)
	var schedules []*report.Schedule
	s := study.Sweep{
		Configs: configs, Nodes: nodes, Seeds: []uint64{o.Seed}, Faults: o.Faults, Model: o.Model, Workers: o.Workers,
		Workload: func(context.Context, uint64) ([]trace.Job, error) { return h.Jobs, nil },
		Keep: func(s *report.Schedule) error {
			schedules = append(schedules, s)
			return nil
		},
	}
	bar := e.newBar()
	s.Progress = bar.show
	results, err := s.Run(ctx)
	bar.leave()
	if err != nil {
		return cause(ctx, err)
	}
	r := replayed{Since: of.from, Config: config, Runs: len(h.Jobs), Notices: append([]string{}, h.Notices...)}
	r.Notices = append(r.Notices, "the configuration and the nodes are those of now, also where they were others then")
	if n := len(results[0].Refused); n > 0 {
		r.Notices = append(r.Notices, fmt.Sprintf("%s left out that cannot run in all of these settings, first run %d: %s",
			plural(n, "run was", "runs were"), results[0].Refused[0].ID, results[0].Refused[0].Why))
	}
	r.Notices = append(r.Notices, failures(results)...)
	h.Recorded.Cell = schedules[0].Cell
	r.Reality = report.Compare(h.Recorded, schedules[0])
	h.Classify(schedules[0])
	for i := range results {
		r.Cells = append(r.Cells, results[i].Metrics)
		if i > 0 {
			schedules[i].Cell.With = o.settingsText()
			r.Changes = append(r.Changes, report.Compare(schedules[0], schedules[i]))
		}
	}
	return e.show(&r, func(w io.Writer) error { return e.writeReplayed(w, &r) })
}

// historyNodes returns the cluster: that of the daemon, unless the command line names another.
func (e *environment) historyNodes(ctx context.Context, o *simulateOptions) ([]dovetail.Node, error) {
	if o.Cluster != "" {
		return clusterNodes(o)
	}
	c, err := e.client()
	if err != nil {
		return nil, err
	}
	all, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var nodes []dovetail.Node
	for i := range all {
		if all[i].Up {
			nodes = append(nodes, all[i].Node)
		}
	}
	return nodes, nil
}

// alternatives returns the configuration in force, and each other one that the command line asks for.
func (o *simulateOptions) alternatives(now dovetail.Config) ([]dovetail.Config, error) {
	base := now
	if err := change(&base, o.Scheduling); err != nil {
		return nil, usageError{err}
	}
	policies, allocs, preempt := o.Policies, o.Allocs, []bool{now.Preempt}
	if policies == nil {
		policies = []string{now.Policy}
	}
	if allocs == nil {
		allocs = []string{now.Alloc}
	}
	switch o.Preempt {
	case "true":
		preempt = []bool{true}
	case "false":
		preempt = []bool{false}
	case "both":
		preempt = []bool{false, true}
	}
	others := study.Configs(base, policies, allocs, preempt)
	others = slices.DeleteFunc(others, func(c dovetail.Config) bool { return c == now })
	return append([]dovetail.Config{now}, others...), nil
}

func (e *environment) writeReplayed(w io.Writer, r *replayed) error {
	for _, n := range r.Notices {
		fmt.Fprintf(w, "%s %s.\n", e.paint(yellow, "Notice:"), printable(n))
	}
	fmt.Fprintf(w, "\nHow far the replay is from what really happened, with the settings in force:\n\n")
	if err := report.WriteDifference(w, &r.Reality, e.tableWidth()); err != nil {
		return err
	}
	for i := range r.Changes {
		fmt.Fprintf(w, "\nWhat would change against that replay:\n\n")
		if err := report.WriteDifference(w, &r.Changes[i], e.tableWidth()); err != nil {
			return err
		}
	}
	return nil
}
