package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/learn"
)

// historyExportOptions is what `dovetail history export` was asked for.
type historyExportOptions struct {
	Query client.HistoryQuery
	Out   fileOutput
}

func newHistoryExport(e *environment, run func(context.Context, *historyExportOptions) error) *cobra.Command {
	var o historyExportOptions
	var since string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write finished runs as predictions see them, as CSV",
		Long: `Write finished runs as predictions see them, newest end first, as CSV that "dovetail history import" and
"dovetail predict --data" read: runtime, scale-out over time, input size, neighbours with their overlap, node classes
and outcome. Runs that failed or were interrupted are there as well, and say so: they are not learned from.`,
		Example: `  dovetail history export --app wordcount --out wordcount.csv
  dovetail history export --since 30d | dovetail history import - --url http://new:7171
  dovetail history export --class 'sort?n=100' -o json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Query.Since, err = parseSince(since, e.now()); err != nil {
				return err
			}
			return orDefault(run, e.historyExport)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Query.App, "app", "", "only runs of this `application`")
	f.StringVar(&o.Query.Class, "class", "", "only runs of this `job class`: application and parameters")
	f.StringVar(&since, "since", "", "only runs that ended since then: a `time` such as 30d or 24h (ago) or 2026-03-01T08:00:00Z (default: all)")
	o.Out.flags(cmd)
	return cmd
}

func (e *environment) historyExport(ctx context.Context, o *historyExportOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	if e.format != text {
		all := []dovetail.Past{}
		if err := e.exported(ctx, c, o, func(p *dovetail.Past) error { all = append(all, *p); return nil }); err != nil {
			return err
		}
		return o.Out.write(e.out, func(w io.Writer) error {
			data, err := e.format.encode(all)
			if err != nil {
				return err
			}
			_, err = w.Write(data)
			return err
		})
	}
	n := 0
	err = o.Out.write(e.out, func(w io.Writer) error {
		table, err := learn.NewWriter(w)
		if err != nil {
			return err
		}
		err = e.exported(ctx, c, o, func(p *dovetail.Past) error { n++; return table.Write(p) })
		if err != nil {
			return err
		}
		return table.Flush()
	})
	if err == nil && o.Out.File != "" {
		e.note("%s written to %s.", plural(n, "run was", "runs were"), o.Out.File)
	}
	return err
}

// exported calls f with every finished run that is asked for.
func (e *environment) exported(ctx context.Context, c *client.Client, o *historyExportOptions, f func(p *dovetail.Past) error) error {
	progress := e.newTicker("exported")
	defer progress.leave()
	q, n := o.Query, 0
	q.Learn, q.Limit = true, client.MaxHistory
	for {
		page, err := c.History(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			p := learn.PastOf(&page[i])
			if err := f(&p); err != nil {
				return err
			}
		}
		n += len(page)
		progress.show(n)
		if len(page) < q.Limit {
			return nil
		}
		last := &page[len(page)-1].Status
		q.Until, q.Before = *last.Ended, last.ID
	}
}
