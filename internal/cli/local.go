package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"

	"github.com/dovetail-sched/dovetail/internal/example"
)

// The commands that need no daemon.

// validateOptions is what `dovetail validate` was asked to check.
type validateOptions struct{ Files []string }

func newValidate(e *environment, run func(context.Context, *validateOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check descriptions of applications",
		Long: `Check descriptions of applications ("-" reads standard input). All faults are listed at once, as
file:line:column: field: message. Exit code 1 says that there are faults.`,
		Example: "  dovetail validate wordcount.yaml\n  dovetail validate examples/*.yaml -o json",
		Args:    oneOrMore("a FILE, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return orDefault(run, e.validate)(cmd.Context(), &validateOptions{Files: args})
		},
	}
}

// validated is what `dovetail validate` says of a file.
type validated struct {
	File   string           `json:"file"`
	Valid  bool             `json:"valid"`
	Name   string           `json:"name,omitempty"` // of the application
	Faults []dovetail.Fault `json:"faults,omitempty"`
}

func (e *environment) validate(_ context.Context, o *validateOptions) error {
	var all []validated
	faulty := false
	for _, file := range o.Files {
		data, name, err := e.readInput(file)
		if err != nil {
			return err
		}
		v := validated{File: name}
		app, err := describe.Application(data, describe.Options{File: name})
		var known *dovetail.Error
		switch {
		case err == nil:
			v.Valid, v.Name = true, app.Name
		case errors.As(err, &known) && len(known.Faults) > 0:
			v.Faults = known.Faults
		default:
			v.Faults = []dovetail.Fault{{Message: err.Error()}}
		}
		faulty = faulty || !v.Valid
		all = append(all, v)
	}
	err := e.show(all, func(w io.Writer) error {
		for _, v := range all {
			if v.Valid && e.outScreen {
				fmt.Fprintf(w, "%s: %s\n", v.File, e.paint(green, "valid"))
			}
			writeFaults(w, v.File, v.Faults)
		}
		return nil
	})
	if err == nil && faulty {
		return exit(exitFailed)
	}
	return err
}

func newSchema(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of application descriptions",
		Long: `Print the JSON Schema of application descriptions, for editors. With the YAML language server put this
line first into a description:  # yaml-language-server: $schema=dovetail.schema.json`,
		Example: "  dovetail schema > dovetail.schema.json",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			_, err := e.out.Write(describe.Schema())
			return err
		},
	}
}

func newExample(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "example APPLICATION ROLE …",
		Short: "Run one role of an elastic example application",
		Long: `Run one role of an elastic example application: real work on generated data, by a master and workers that
may join and leave at any time. The files in examples/ describe them, and "dovetail demo" runs them.`,
		Example: `  dovetail example wordcount master --listen 127.0.0.1:7000
  dovetail example wordcount worker --join 127.0.0.1:7000 --name worker.0`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			if code := example.Main(cmd.Context(), args, e.out, e.err); code != 0 {
				return exit(code)
			}
			return nil
		},
	}
}

// versionInfo says what this program is.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source
	Modified bool   `json:"modified,omitempty"` // the source was changed since
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func version() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func versionText() string {
	v := version()
	s := "dovetail " + v.Version
	if v.Revision != "" {
		s += " (" + v.Revision[:min(12, len(v.Revision))] + ")"
	}
	return s + ", " + v.Go + ", " + v.Platform
}

func newVersion(e *environment) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", Long: "Say which version this is.",
		Example: "  dovetail version -o json", Args: none,
		RunE: func(*cobra.Command, []string) error {
			return e.show(version(), func(w io.Writer) error {
				_, err := fmt.Fprintln(w, versionText())
				return err
			})
		},
	}
}

// doctorOptions is what `dovetail doctor` was asked to look at.
type doctorOptions struct {
	Dir    string
	Strict bool
}

func newDoctor(e *environment, run func(context.Context, *doctorOptions) error) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on this machine, and what that means",
		Long: `Say what works on this machine, and what that means: cgroups and their limits, the freezer, disk, ports, the
clock. What is missing makes Dovetail do with less; --strict makes it exit code 1.`,
		Example: "  dovetail doctor\n  dovetail doctor --strict -o json",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return orDefault(run, e.doctor)(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "state-dir", e.stateDir(), "the `directory` that the daemon uses")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "exit code 1 if anything is missing")
	return cmd
}

func (e *environment) doctor(_ context.Context, o *doctorOptions) error {
	all := append(proc.Doctor(o.Dir), checkUsage()) //nolint:contextcheck // its checks are short, and bound themselves
	missing := 0
	for _, c := range all {
		if !c.OK {
			missing++
		}
	}
	err := e.show(all, func(w io.Writer) error {
		for _, c := range all {
			mark := e.paint(green, "ok ")
			if !c.OK {
				mark = e.paint(yellow, "no ")
			}
			fmt.Fprintf(w, "%s %s: %s\n    %s\n", mark, e.paint(bold, c.Name), c.Detail, e.paint(dim, c.Means))
		}
		return nil
	})
	if err == nil && missing > 0 && o.Strict {
		return exit(exitFailed)
	}
	return err
}
