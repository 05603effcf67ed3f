package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/place"
	"github.com/dovetail-sched/dovetail/policy"
)

// setting is one entry of the configuration of scheduling that can be given by name.
type setting struct {
	name string // of the flag; the file writes it in camelCase
	help string
	get  func(*dovetail.Config) string
	set  func(*dovetail.Config, string) error
}

// schedulingSettings returns the settings of dovetail.Config, in the order in which they are shown.
func schedulingSettings() []setting {
	return append([]setting{
		oneOf("policy", "order of the waiting line: "+strings.Join(policyNames(), ", "),
			func(c *dovetail.Config) *string { return &c.Policy }, policyNames()),
		oneOf("alloc", "how capacity is shared: rigid, malleable, flexible or eager",
			func(c *dovetail.Config) *string { return &c.Alloc }, allocNames()),
		oneOf("reclaim", "whose elastic replicas a newcomer's core may take: any, or those of runs of lower rank",
			func(c *dovetail.Config) *string { return &c.Reclaim }, []string{"any", "lower"}),
		truth("preempt", "an arrival of higher rank may jump the serving order",
			func(c *dovetail.Config) *bool { return &c.Preempt }),
		truth("interactive-first", "interactive runs go before all others of their priority",
			func(c *dovetail.Config) *bool { return &c.InteractiveFirst }),
		length("max-wait", "a run that waited longer goes first; 0: never",
			func(c *dovetail.Config) *dovetail.Duration { return &c.MaxWait }),
		length("regrow", "how long a run gets no new elastic replica after one was taken",
			func(c *dovetail.Config) *dovetail.Duration { return &c.Regrow }),
		length("replan", "the scale-out of a run with a target is reconsidered at most once in so long; 0: 30s",
			func(c *dovetail.Config) *dovetail.Duration { return &c.Replan }),
		oneOf("place", "which node a replica gets: "+strings.Join(placeNames(), ", "),
			func(c *dovetail.Config) *string { return &c.Place }, placeNames()),
	}, colocationSettings()...)
}

func policyNames() []string {
	var names []string
	for _, o := range policy.Orders() {
		names = append(names, o.Name)
	}
	return names
}

func allocNames() []string {
	var names []string
	for _, a := range alloc.All[int]() {
		names = append(names, a.Name)
	}
	return names
}

func placeNames() []string {
	var names []string
	for _, o := range place.Orders() {
		names = append(names, o.Name)
	}
	return names
}

// oneOf is a setting that takes one of some words.
func oneOf(name, help string, field func(*dovetail.Config) *string, words []string) setting {
	return setting{name, help,
		func(c *dovetail.Config) string { return *field(c) },
		func(c *dovetail.Config, s string) error {
			if !slices.Contains(words, s) {
				return fmt.Errorf("unknown %s %q; expected one of %s", name, s, strings.Join(words, ", "))
			}
			*field(c) = s
			return nil
		}}
}

// truth is a setting that is true or false.
func truth(name, help string, field func(*dovetail.Config) *bool) setting {
	return setting{name, help,
		func(c *dovetail.Config) string { return strconv.FormatBool(*field(c)) },
		func(c *dovetail.Config, s string) error {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return fmt.Errorf("%s %q: expected true or false", name, s)
			}
			*field(c) = v
			return nil
		}}
}

// length is a setting that is a length of time.
func length(name, help string, field func(*dovetail.Config) *dovetail.Duration) setting {
	return setting{name, help,
		func(c *dovetail.Config) string { return field(c).String() },
		func(c *dovetail.Config, s string) error {
			v, err := time.ParseDuration(s)
			if err != nil || v < 0 {
				return fmt.Errorf("%s %q: expected a length of time such as 90s or 5m", name, s)
			}
			*field(c) = dovetail.Duration(v)
			return nil
		}}
}

// configOptions is what `dovetail config set` was asked to change.
type configOptions struct{ Set map[string]string }

func newConfig(e *environment) *cobra.Command {
	var names strings.Builder
	for _, s := range schedulingSettings() {
		fmt.Fprintf(&names, "\n  %-18s %s", s.name, s.help)
	}
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show or change how the daemon schedules, while it runs",
		Long:    "Show or change how the daemon schedules, while it runs. The settings are:\n" + names.String(),
		Example: "  dovetail config show\n  dovetail config set policy=srpt alloc=flexible",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.showConfig(cmd.Context())
		},
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "show", Short: "Show how the daemon schedules", Long: "Show how the daemon schedules.",
			Example: "  dovetail config show -o json", Args: none,
			RunE: func(cmd *cobra.Command, _ []string) error { return e.showConfig(cmd.Context()) },
		},
		&cobra.Command{
			Use: "set NAME=VALUE…", Short: "Change how the daemon schedules",
			Long: "Change how the daemon schedules. What runs already goes on; a daemon that is started again takes what its\n" +
				"flags and its file say.\n" + names.String(),
			Example: "  dovetail config set policy=hrrn-2d\n  dovetail config set max-wait=10m preempt=true\n  dovetail config set choose=bandit window=8 slowdown=1.5",
			Args:    oneOrMore("a setting and its value, such as policy=srpt"),
			RunE: func(cmd *cobra.Command, args []string) error {
				set, err := assignments(args)
				if err != nil {
					return err
				}
				return e.setConfig(cmd.Context(), &configOptions{Set: set})
			},
		})
	return cmd
}

func (e *environment) showConfig(ctx context.Context) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	cfg, err := c.Config(ctx)
	if err != nil {
		return err
	}
	return e.writeConfig(&cfg)
}

func (e *environment) writeConfig(cfg *dovetail.Config) error {
	return e.show(cfg, func(w io.Writer) error {
		t := newTable("SETTING", "VALUE", "WHAT IT MEANS")
		for _, s := range schedulingSettings() {
			t.add(s.name, s.get(cfg), s.help)
		}
		return t.write(w, e.paint)
	})
}

func (e *environment) setConfig(ctx context.Context, o *configOptions) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	cfg, err := c.Config(ctx)
	if err != nil {
		return err
	}
	if err := change(&cfg, o.Set); err != nil {
		return usageError{err}
	}
	if err := c.Configure(ctx, cfg); err != nil {
		return err
	}
	return e.writeConfig(&cfg)
}

// change applies settings by name, and returns all faults at once.
func change(cfg *dovetail.Config, values map[string]string) error {
	bad := dovetail.Errorf(dovetail.Invalid, "the settings are not valid; correct what is listed and try again")
	left := maps.Clone(values)
	var names []string
	for _, s := range schedulingSettings() {
		names = append(names, s.name)
		v, ok := left[s.name]
		if !ok {
			continue
		}
		delete(left, s.name)
		if err := s.set(cfg, v); err != nil {
			bad.Faults = append(bad.Faults, dovetail.Fault{Message: err.Error()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		bad.Faults = append(bad.Faults, dovetail.Fault{
			Message: fmt.Sprintf("unknown setting %q; expected one of %s", name, strings.Join(names, ", ")),
		})
	}
	if len(bad.Faults) > 0 {
		return bad
	}
	return nil
}
