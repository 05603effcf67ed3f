package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// topOptions is what `dovetail top` was asked to show.
type topOptions struct{ Once bool }

func newTop(e *environment, run func(context.Context, *topOptions) error) *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Look at the cluster as it works",
		Long: `Look at the cluster as it works: each node as a bar, core replicas solid and elastic ones hatched, one colour a
run; the runs in service; the waiting line. On a terminal the picture is kept up to date until Ctrl-C; a pipe
gets it once.`,
		Example: "  dovetail top\n  dovetail top --once\n  dovetail top -o json | jq '.nodes[].granted'",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return orDefault(run, e.top)(cmd.Context(), &o)
		},
	}
	cmd.Flags().BoolVar(&o.Once, "once", false, "only once, on a terminal too")
	return cmd
}

// topAnswer is the picture as programs see it.
type topAnswer struct {
	Nodes any `json:"nodes"`
	Runs  any `json:"runs"`
}

func (e *environment) top(ctx context.Context, o *topOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	cfg, err := c.Config(ctx)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Dovetail · %s, %s", cfg.Policy, cfg.Alloc)
	if o.Once || !e.outScreen || e.format != text {
		s, err := look(ctx, c, e.now(), false)
		if err != nil {
			return err
		}
		if e.format != text {
			return e.show(topAnswer{s.Nodes, s.Runs}, nil)
		}
		s.Title = title
		width, _ := e.size()
		_, err = fmt.Fprintln(e.out, strings.Join(s.lines(e.paint, width), "\n"))
		return err
	}
	view := &screen{out: e.out}
	defer view.leave()
	return e.whenever(ctx, c, func() error {
		s, err := look(ctx, c, e.now(), false)
		if err != nil {
			return err
		}
		s.Title = title
		width, _ := e.size()
		return view.draw(e.fit(s.lines(e.paint, width)))
	})
}
