package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// completionTime is how long a shell waits for names when the tab key is pressed.
const completionTime = time.Second

// completions are the candidates for the next word, as cobra asks for them.
type completions = func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeRuns offers runs in these states; none means all. A daemon that does not answer offers nothing.
func (e *environment) completeRuns(states ...dovetail.State) completions {
	return e.completeFrom(func(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
		p, err := c.Runs(ctx, client.RunQuery{States: states})
		var all []cobra.Completion
		for i := range p.Runs {
			s := &p.Runs[i]
			all = append(all, cobra.CompletionWithDesc(fmt.Sprint(s.ID), printable(s.Name)+", "+stateOf(s)))
		}
		return all, err
	})
}

// completeNodes offers nodes.
func (e *environment) completeNodes() completions {
	return e.completeFrom(func(ctx context.Context, c *client.Client) ([]cobra.Completion, error) {
		nodes, err := c.Nodes(ctx)
		var all []cobra.Completion
		for i := range nodes {
			state, _ := nodeState(&nodes[i])
			all = append(all, cobra.CompletionWithDesc(nodes[i].Name, state))
		}
		return all, err
	})
}

func (e *environment) completeFrom(ask func(context.Context, *client.Client) ([]cobra.Completion, error)) completions {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		c, err := e.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := ask(ctx, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
