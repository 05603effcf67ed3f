package cli

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// neighboursOptions is what `dovetail neighbours` was asked.
type neighboursOptions struct {
	App   string // only pairs with it; empty: all
	Class string // in place of it
	Plot  string // file for a picture, or plotTerminal; empty: tables
	All   bool   // with those that were put away
}

// plotTerminal asks for a picture made of characters.
const plotTerminal = "terminal"

const neighboursLong = `Say which job classes run well side by side, as learned from runs that shared nodes.

The first table has a row for each class that runs and a column for each that may come to it: how much it is wanted
there, as a share of 100 % over all classes, and the mean goodness G of nodes that both used. The second says of each
pair by how much finished runs were slowed down, with the interval that holds with 90 %, and from how many runs.

With --plot the tables become a picture: of characters, or in a file, .svg or .png. With the name of an application, or
of a job class such as 'wordcount?input=large', only the pairs it is a part of are shown. docs/neighbours.md says what is
learned, and what is done with it.`

func newNeighbours(e *environment, run func(context.Context, *neighboursOptions) error) *cobra.Command {
	var o neighboursOptions
	cmd := &cobra.Command{
		Use:   "neighbours [APP|CLASS]",
		Short: "Say which job classes run well side by side",
		Long:  neighboursLong,
		Example: `  dovetail neighbours
  dovetail neighbours wordcount                       # whom does it suit, and whom does it slow down?
  dovetail neighbours --plot                          # a picture in the terminal
  dovetail neighbours --plot neighbours.svg
  dovetail neighbours export --out neighbours.json    # take it elsewhere
  dovetail neighbours reset 'wordcount?input=large'   # forget what is known of it`,
		Aliases:           []string{"neighbors"},
		ValidArgsFunction: e.completeClasses(),
		Args: func(_ *cobra.Command, args []string) error {
			rest, err := o.readPlot(args)
			if err == nil && len(rest) > 1 {
				err = usagef("expected one application or job class, got %s", plural(len(rest), "argument", "arguments"))
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			rest, err := o.readPlot(args)
			if err != nil {
				return err
			}
			if len(rest) == 1 && strings.Contains(rest[0], "?") {
				o.Class = rest[0]
			} else if len(rest) == 1 {
				o.App = rest[0]
			}
			return orDefault(run, e.neighbours)(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Plot, "plot", "", "draw a picture: of characters, or into a `file`, .svg or .png")
	f.Lookup("plot").NoOptDefVal = plotTerminal
	f.BoolVar(&o.All, "all", false, "also classes that did not run for long and made room for others")
	cmd.AddCommand(newNeighboursReset(e, nil), newNeighboursExport(e, nil), newNeighboursImport(e, nil))
	return cmd
}

// readPlot takes the file of --plot FILE out of the arguments, where a flag that may stand alone leaves it, and returns the others.
func (o *neighboursOptions) readPlot(args []string) ([]string, error) {
	rest := slices.Clone(args)
	if o.Plot != "" && (o.Plot == plotTerminal || slices.Contains(args, o.Plot)) {
		if i := slices.IndexFunc(rest, isPicture); i >= 0 {
			o.Plot = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
	}
	if o.Plot != "" && o.Plot != plotTerminal && !isPicture(o.Plot) {
		return nil, usagef("--plot %s: expected a file that ends in .svg or .png, or nothing for a picture in the terminal", filepath.Base(o.Plot))
	}
	return rest, nil
}

// completeClasses offers the job classes of which something is known.
func (e *environment) completeClasses() completions {
	return e.completeFrom(func(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
		n, err := c.Neighbours(ctx, client.NeighboursQuery{})
		var all []cobra.Completion
		for i := range n.Rows {
			all = append(all, n.Rows[i].Class)
		}
		return all, err
	})
}

func (e *environment) neighbours(ctx context.Context, o *neighboursOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	n, err := c.Neighbours(ctx, client.NeighboursQuery{App: o.App, Class: o.Class, PutAway: o.All})
	if err != nil {
		return err
	}
	cfg, err := c.Config(ctx)
	if err != nil {
		return err
	}
	switch {
	case e.format != text, o.Plot == "":
		return e.show(&n, func(w io.Writer) error { return e.writeNeighbours(w, &n, &cfg.Colocation) })
	case len(matrixOf(&n).names) == 0:
		return dovetail.Errorf(dovetail.NotFound, "nothing is known of neighbours yet: there is nothing to draw. %s", neighboursHow)
	case o.Plot == plotTerminal:
		return e.show(nil, func(w io.Writer) error { return e.writeHeat(w, matrixOf(&n)) })
	}
	return e.drawNeighbours(o.Plot, matrixOf(&n))
}

// neighboursHow says how something comes to be known.
const neighboursHow = "It is learned when runs of two job classes share a node"

// matrix is what is known of pairs of job classes, row by row.
type matrix struct {
	names []string                // of rows and columns, by class
	pairs [][]*dovetail.PairKnown // [running][newcomer]; nil: they have not met
	rest  []float64               // by row: π of a class that it has not met
	more  int                     // classes that there was no room for
}

// matrixOf puts what is known into rows and columns.
func matrixOf(n *dovetail.Neighbours) *matrix {
	m := &matrix{}
	for i := range n.Rows {
		if len(n.Rows[i].Pairs) > 0 {
			m.names = append(m.names, n.Rows[i].Class)
		}
		for j := range n.Rows[i].Pairs {
			m.names = append(m.names, n.Rows[i].Pairs[j].Newcomer)
		}
	}
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
	m.rest = make([]float64, len(m.names))
	m.pairs = make([][]*dovetail.PairKnown, len(m.names))
	for i := range m.pairs {
		m.pairs[i] = make([]*dovetail.PairKnown, len(m.names))
	}
	for i := range n.Rows {
		row := &n.Rows[i]
		at, met := slices.BinarySearch(m.names, row.Class)
		if !met {
			continue
		}
		m.rest[at] = row.Rest
		for j := range row.Pairs {
			to, _ := slices.BinarySearch(m.names, row.Pairs[j].Newcomer)
			m.pairs[at][to] = &row.Pairs[j]
		}
	}
	return m
}

// most keeps so many classes, those of which the most is known.
func (m *matrix) most(n int) *matrix {
	if n >= len(m.names) {
		return m
	}
	known := make([]float64, len(m.names))
	order := make([]int, len(m.names))
	for i, row := range m.pairs {
		order[i] = i
		for j, p := range row {
			if p != nil {
				known[i] += 1 + p.Updates
				known[j] += 1 + p.Updates
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(known[b], known[a]) })
	kept := order[:max(n, 1)]
	slices.Sort(kept)
	some := &matrix{more: len(m.names) - len(kept)}
	for _, i := range kept {
		var row []*dovetail.PairKnown
		for _, j := range kept {
			row = append(row, m.pairs[i][j])
		}
		some.names, some.pairs, some.rest = append(some.names, m.names[i]), append(some.pairs, row), append(some.rest, m.rest[i])
	}
	return some
}

// met reports whether anything is known of runs of a class and of others beside it: whether it has a row.
func (m *matrix) met(i int) bool {
	return slices.ContainsFunc(m.pairs[i], func(p *dovetail.PairKnown) bool { return p != nil })
}
