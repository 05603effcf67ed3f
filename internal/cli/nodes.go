package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// nodesOptions is what `dovetail nodes` was asked to do.
type nodesOptions struct {
	Names []string // empty: all
	On    bool     // cordon
	Drain bool
}

func newNodes(e *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List nodes, show one, take it out of service and back",
		Long: `List nodes: how much of each is granted to runs.

"nodes cordon" keeps new replicas off a node; "nodes drain" also takes back the elastic ones it has.`,
		Example: "  dovetail nodes\n  dovetail nodes show node-2\n  dovetail nodes drain node-2\n  dovetail nodes uncordon node-2",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.listNodes(cmd.Context(), &nodesOptions{})
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List nodes", Long: "List nodes: how much of each is granted to runs.", Aliases: []string{"ls"},
		Example: "  dovetail nodes list -o yaml", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.listNodes(cmd.Context(), &nodesOptions{})
		},
	}
	show := &cobra.Command{
		Use: "show NODE…", Short: "Show nodes and the replicas on them", Long: "Show nodes and the replicas on them.",
		Example: "  dovetail nodes show node-2", Args: oneOrMore("the name of a NODE"),
		ValidArgsFunction: e.completeNodes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.showNodes(cmd.Context(), &nodesOptions{Names: args})
		},
	}
	cmd.AddCommand(list, show,
		newCordon(e, "cordon", "Keep new replicas off a node", nodesOptions{On: true}),
		newCordon(e, "uncordon", "Let a node have new replicas again", nodesOptions{}),
		newCordon(e, "drain", "Keep new replicas off a node, and take back the elastic ones it has", nodesOptions{On: true, Drain: true}))
	return cmd
}

func newCordon(e *environment, name, short string, o nodesOptions) *cobra.Command {
	return &cobra.Command{
		Use: name + " NODE…", Short: short,
		Long:    short + ". Core replicas that are there stay until their runs end.",
		Example: fmt.Sprintf("  dovetail nodes %s node-2", name), Args: oneOrMore("the name of a NODE"),
		ValidArgsFunction: e.completeNodes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return e.cordon(cmd.Context(), &o)
		},
	}
}

func (e *environment) cordon(ctx context.Context, o *nodesOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	var failed error
	for _, n := range o.Names {
		failed = errors.Join(failed, c.Cordon(ctx, n, o.On, o.Drain))
	}
	if failed != nil {
		return failed
	}
	return e.listNodes(ctx, o)
}

func (e *environment) listNodes(ctx context.Context, o *nodesOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	if nodes, err = chosen(nodes, o.Names); err != nil {
		return err
	}
	return e.show(nodes, func(w io.Writer) error { return e.writeNodes(w, nodes) })
}

// chosen returns the nodes with these names, or all if there are none.
func chosen(nodes []dovetail.NodeStatus, names []string) ([]dovetail.NodeStatus, error) {
	if len(names) == 0 {
		return nodes, nil
	}
	var all []dovetail.NodeStatus
	for _, name := range names {
		i := slices.IndexFunc(nodes, func(n dovetail.NodeStatus) bool { return n.Name == name })
		if i < 0 {
			return nil, dovetail.Errorf(dovetail.NotFound, "there is no node %q; `dovetail nodes` lists them", name)
		}
		all = append(all, nodes[i])
	}
	return all, nil
}

// nodeState names what people would call the state of a node.
func nodeState(n *dovetail.NodeStatus) (string, style) {
	switch {
	case !n.Up:
		return "down", red
	case n.Draining:
		return "draining", yellow
	case n.Cordoned:
		return "cordoned", yellow
	}
	return "up", green
}

func (e *environment) writeNodes(w io.Writer, nodes []dovetail.NodeStatus) error {
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(w, "There are no nodes.")
		return err
	}
	t := newTable("NODE", "STATE", "REPLICAS", "CPU", "MEMORY", "GRANTED", "LABELS")
	for i := range nodes {
		n := &nodes[i]
		state, st := nodeState(n)
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			labels = append(labels, k+"="+n.Labels[k])
		}
		t.add(n.Name, e.paint(st, state), fmt.Sprint(n.Replicas), of(n, dovetail.CPU), of(n, dovetail.Memory),
			fmt.Sprintf("%3.0f%%", 100*granted(n)), strings.Join(labels, ","))
	}
	return t.write(w, e.paint)
}

// of writes how much of one kind is granted: 1500m/4, 200Mi/8Gi.
func of(n *dovetail.NodeStatus, k dovetail.ResourceKind) string {
	return quantity(k, n.Granted[k]) + "/" + quantity(k, n.Capacity[k])
}

// quantity writes an amount for people: bytes rounded, all else exactly.
func quantity(k dovetail.ResourceKind, n int64) string {
	if k == dovetail.Memory || k == dovetail.Disk {
		return strings.ReplaceAll(strings.TrimSuffix(bytesText(n), "B"), " ", "")
	}
	return dovetail.FormatQuantity(k, n)
}

// granted returns the share of the node's scarcest resource that is granted, in [0,1].
func granted(n *dovetail.NodeStatus) float64 {
	most := 0.0
	for k := range dovetail.NumResources {
		if n.Capacity[k] > 0 {
			most = max(most, float64(n.Granted[k])/float64(n.Capacity[k]))
		}
	}
	return most
}

// nodeDetail is a node and what is on it.
type nodeDetail struct {
	dovetail.NodeStatus
	On []onNode `json:"on"`
}

// onNode is a living replica on a node.
type onNode struct {
	RunName string `json:"runName"`
	dovetail.ReplicaStatus
}

func (e *environment) showNodes(ctx context.Context, o *nodesOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	if nodes, err = chosen(nodes, o.Names); err != nil {
		return err
	}
	details := make([]nodeDetail, len(nodes))
	for i := range nodes {
		details[i] = nodeDetail{NodeStatus: nodes[i], On: []onNode{}}
	}
	p, err := c.Runs(ctx, client.RunQuery{States: living[1:], Limit: 1000})
	if err != nil {
		return err
	}
	for i := range p.Runs {
		d, err := c.Run(ctx, fmt.Sprint(p.Runs[i].ID))
		if err != nil {
			return err
		}
		for _, r := range d.Replicas {
			at := slices.IndexFunc(nodes, func(n dovetail.NodeStatus) bool { return n.Name == r.Node })
			if at >= 0 && r.Down == nil {
				details[at].On = append(details[at].On, onNode{d.Status.Name, r})
			}
		}
	}
	return e.show(details, func(w io.Writer) error { return e.writeNodeDetails(w, details) })
}

func (e *environment) writeNodeDetails(w io.Writer, details []nodeDetail) error {
	for i := range details {
		d := &details[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		state, st := nodeState(&d.NodeStatus)
		err := list(w, e.paint,
			[2]string{"Node", d.Name},
			[2]string{"State", e.paint(st, state)},
			[2]string{"Address", d.Address},
			[2]string{"Capacity", d.Capacity.String()},
			[2]string{"Granted", d.Granted.String()},
			[2]string{"Occupied", d.Occupied.String()},
		)
		if err != nil || len(d.On) == 0 {
			return err
		}
		t := newTable("RUN", "NAME", "REPLICA", "CLASS", "STATE")
		for j := range d.On {
			r := &d.On[j]
			t.add(fmt.Sprint(r.Run), printable(r.RunName), r.Name, class(r.Elastic), r.State)
		}
		fmt.Fprintln(w)
		if err := t.write(w, e.paint); err != nil {
			return err
		}
	}
	return nil
}
