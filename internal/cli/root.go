package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `Dovetail schedules data-intensive applications whose components are core, which they cannot do without,
or elastic, which only make them faster. Core components start at once; elastic ones fill what is left.

Start a daemon with "dovetail serve", submit an application with "dovetail submit FILE", and look at the
cluster with "dovetail top". "dovetail demo" shows it all with nothing to prepare.`

const rootExample = `  dovetail demo                           # see what it does
  dovetail serve --nodes 4                # a daemon on this machine, split into 4 nodes
  dovetail submit wordcount.yaml --wait   # run an application, and end as it ends
  dovetail explain 12                     # why does run 12 still wait?`

// The groups of commands in the help.
const (
	groupRuns    = "runs"
	groupCluster = "cluster"
	groupFiles   = "files"
	groupStudy   = "study"
)

// newRoot returns the command with all its subcommands.
func newRoot(e *environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "dovetail",
		Short:         "A scheduler for elastic analytics applications",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(),
		Args:          cobra.NoArgs,
		PersistentPreRun: func(*cobra.Command, []string) {
			e.started = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	flags := root.PersistentFlags()
	flags.StringVar(&e.url, "url", "", "the daemon's `URL` (default: DOVETAIL_URL, else the one that runs here)")
	flags.StringVar(&e.token, "token", "", "the daemon's `token` (default: DOVETAIL_TOKEN)")
	flags.VarP(&e.format, "output", "o", "text for people, json or yaml for programs")
	root.AddGroup(
		&cobra.Group{ID: groupRuns, Title: "Runs:"},
		&cobra.Group{ID: groupCluster, Title: "The cluster and its daemon:"},
		&cobra.Group{ID: groupFiles, Title: "Descriptions and traces:"},
		&cobra.Group{ID: groupStudy, Title: "What would have happened:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupRuns, newSubmit(e, nil), newRuns(e, nil), newShow(e, nil), newLogs(e, nil), newExplain(e, nil), newWait(e, nil))
	add(groupRuns, newVerbs(e, nil)...)
	add(groupRuns, newPriority(e, nil), newHistory(e, nil), newPredict(e, nil), newModels(e, nil), newNeighbours(e, nil))
	add(groupCluster, newServe(e, nil), newTop(e, nil), newNodes(e), newEvents(e, nil), newConfig(e),
		newDoctor(e, nil), newDemo(e, nil))
	add(groupFiles, newValidate(e, nil), newSchema(e), newExample(e), newTrace(e))
	add(groupStudy, newSimulate(e, nil), newExperiment(e))
	add(groupStudy, newWhatIf(e, nil))
	root.AddCommand(newVersion(e))
	return root
}

// oneOrMore asks for arguments and says what they are.
func oneOrMore(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("expected %s", what)
		}
		return nil
	}
}

// exactly asks for n arguments and says what they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("expected %s, got %s", what, plural(len(args), "argument", "arguments"))
		}
		return nil
	}
}

// flagError says what a flag expects instead of what the parser of its value says.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	expected := map[string]string{
		"int": "a whole number", "uint64": "a whole number that is not negative", "float64": "a number, such as 0.5",
		"duration": "a length of time, such as 90s, 5m or 24h", "bool": "true or false",
	}[bad.GetFlag().Value.Type()]
	if expected == "" {
		return err
	}
	return usagef("--%s %q: expected %s", bad.GetFlag().Name, bad.GetValue(), expected)
}

// none refuses arguments.
func none(_ *cobra.Command, args []string) error {
	if len(args) > 0 && slices.Contains([]string{"true", "false", "both"}, args[0]) {
		return usagef("%q is one argument too many; a flag that may stand alone takes its value after =, such as --preempt=%[1]s", args[0])
	}
	if len(args) > 0 {
		return usagef("%q is one argument too many; this command takes none", args[0])
	}
	return nil
}

// oneRun is what the commands ask for that act on a run.
const oneRun = "a RUN: its number or its name"

// long joins a text and the exit codes of commands that end as a run ends.
func long(text string) string {
	return fmt.Sprintf(`%s

Exit codes: 0 the run succeeded, %d it failed or was lost, %d it ran longer than it may, %d it was
cancelled or you pressed Ctrl-C (then the run goes on), %d the command line is wrong, %d no daemon answers.`,
		text, exitFailed, exitTimedOut, exitInterrupted, exitUsage, exitUnavailable)
}
