package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/report"
)

// historyOptions is what `dovetail history` was asked to show.
type historyOptions struct {
	Query client.HistoryQuery
	SVG   string // file for a timeline
}

func newHistory(e *environment, run func(context.Context, *historyOptions) error) *cobra.Command {
	var o historyOptions
	var since string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "Show finished runs: how long they took, with how many replicas",
		Long: `Show finished runs, newest end first: how long they waited and ran, with how many replicas, and what they used.

With --svg it also draws them as a timeline, one row a node and one row a run. Runs that were imported have no number,
and no row in the timeline.`,
		Example: `  dovetail history --app wordcount
  dovetail history --since 24h --svg day.svg
  dovetail history -o json                     # placements and neighbours as well
  dovetail history import runs.csv --dry-run   # runs of another system, to learn from`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Query.Since, err = parseSince(since, e.now()); err != nil {
				return err
			}
			return orDefault(run, e.history)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Query.App, "app", "", "only runs of this `application`")
	f.StringVar(&o.Query.Class, "class", "", "only runs of this `job class`: application and parameters")
	f.StringVar(&since, "since", "", "only runs that ended since then: a `time` such as 24h (ago) or 2026-03-01T08:00:00Z")
	f.IntVar(&o.Query.Limit, "limit", 100, "at most so many")
	f.StringVar(&o.SVG, "svg", "", "draw a timeline into this `file`")
	cmd.AddCommand(newHistoryImport(e, nil), newHistoryExport(e, nil))
	return cmd
}

func (e *environment) history(ctx context.Context, o *historyOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	all, err := c.History(ctx, o.Query)
	if err != nil {
		return err
	}
	if all == nil {
		all = []dovetail.History{}
	}
	if o.SVG != "" {
		work, err := workload(ctx, c, all)
		if err != nil {
			return err
		}
		t := report.Timeline{Workload: work, Title: "Finished runs", Subtitle: subtitle(&work)}
		if err := drawFile(o.SVG, &t); err != nil {
			return err
		}
		e.note("The timeline is in %s.", o.SVG)
	}
	return e.show(all, func(w io.Writer) error { return e.writeHistory(w, all) })
}

func (e *environment) writeHistory(w io.Writer, all []dovetail.History) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No finished runs match.")
		return err
	}
	now := e.now()
	t := newTable("ID", "CLASS", "OUTCOME", "TOOK", "WAITED", "RAN", "MOST ELASTIC", "CPU", "MEMORY", "NEIGHBOURS", "ENDED")
	for i := range all {
		h := &all[i]
		s := &h.Status
		state := stateOf(s)
		if p := h.Import; p != nil { // how it waited, and what it used, is not known
			t.add("", printable(s.Class), e.paint(stateStyle(state), state), "", "", span(fromSeconds(p.Runtime)), "", "", "",
				fmt.Sprint(len(p.Overlaps)), ago(p.Ended, now))
			continue
		}
		took, ended := "", ""
		if s.Ended != nil {
			took, ended = span(s.Ended.Sub(s.Submitted)), ago(*s.Ended, now)
		}
		t.add(fmt.Sprint(s.ID), printable(s.Class), e.paint(stateStyle(state), state), took, span(waitedFor(s, now)), ranFor(s, now),
			fmt.Sprintf("%d/%d", mostElastic(h.Placements), s.ElasticMax), span(h.Usage.CPU), bytesText(h.Usage.MemoryPeak),
			fmt.Sprint(neighbours(h.Neighbours)), ended)
	}
	return t.write(w, e.paint)
}

// neighbours returns how many other runs a run shared nodes with, each counted once.
func neighbours(all []dovetail.Neighbour) int {
	runs := make(map[dovetail.RunID]bool)
	for i := range all {
		runs[all[i].Run] = true
	}
	return len(runs)
}

// mostElastic returns the largest number of elastic replicas that a run had at a time.
func mostElastic(placements []dovetail.Placement) int {
	now := make(map[dovetail.Slot]int)
	total, most := 0, 0
	for i, p := range placements {
		if p.Elastic {
			total += p.N - now[p.Slot]
			now[p.Slot] = p.N
		}
		if i+1 == len(placements) || placements[i+1].At.After(p.At) {
			most = max(most, total)
		}
	}
	return most
}

// workload gathers what a report needs to know of finished runs.
func workload(ctx context.Context, c *client.Client, all []dovetail.History) (report.Workload, error) {
	var w report.Workload
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return w, err
	}
	for i := range nodes {
		w.Nodes = append(w.Nodes, nodes[i].Node)
	}
	for _, h := range slices.Backward(all) {
		if h.Import != nil {
			continue
		}
		r := report.Run{Status: h.Status}
		d, err := c.Run(ctx, fmt.Sprint(h.Status.ID))
		if err != nil {
			return w, err
		}
		if d.Run != nil {
			r.App = d.Run.App
		}
		w.Runs = append(w.Runs, r)
		w.Placements = append(w.Placements, h.Placements...)
	}
	slices.SortStableFunc(w.Runs, func(a, b report.Run) int { return int(a.Status.ID - b.Status.ID) })
	return w, nil
}

// subtitle says the figures of a workload in a line.
func subtitle(w *report.Workload) string {
	s := w.Summary()
	return fmt.Sprintf("%s on %s · mean turnaround %s, mean wait %s · %.0f%% of the cluster granted",
		plural(s.Runs, "run", "runs"), plural(len(w.Nodes), "node", "nodes"), span(s.Turnaround), span(s.Queueing), 100*s.Allocation)
}

// drawFile writes a timeline to a file.
func drawFile(file string, t *report.Timeline) error {
	f, err := os.Create(file)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "cannot write the timeline: %v; choose another file", err)
	}
	if err := t.WriteSVG(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
