package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
	"github.com/dovetail-sched/dovetail/sched"
)

func newServe(e *environment, run func(context.Context, *serveOptions) error) *cobra.Command {
	defaults := serveOptions{
		StateDir: e.stateDir(), Listen: defaultListen, Nodes: "1", LogLevel: "info", Snapshots: 20_000, Usage: defaultUsage(),
		Schedule: defaultSchedule(),
	}
	var file string
	var show bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: schedule runs on this machine",
		Long: `Run the daemon: schedule runs on this machine.

Every flag can also be given by a variable (--max-wait by DOVETAIL_MAX_WAIT) or in the configuration file
($XDG_CONFIG_HOME/dovetail/config.yaml, as maxWait); flags win over variables, and these over the file.
If none of them says how to schedule, what "dovetail config set" said last stays in force.

SIGTERM and Ctrl-C end the daemon in order, a second one at once. Replicas go on without it; when it is
started again on the same state directory it takes them over.`,
		Example: `  dovetail serve
  dovetail serve --nodes 4 --policy srpt
  dovetail serve --nodes cluster.yaml --listen 0.0.0.0:7171 --token-file token
  dovetail serve --print-config > config.yaml`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := e.configure(cmd.Flags(), file, defaults)
			if err != nil {
				return err
			}
			o.print = show
			return orDefault(run, e.serve)(cmd.Context(), o)
		},
	}
	if err := addFlags(cmd.Flags(), &defaults); err != nil {
		panic("dovetail: the defaults cannot be written as text: " + err.Error())
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `file` (default: "+e.configFile()+")")
	cmd.Flags().BoolVar(&show, "print-config", false, "print the effective configuration as a file would say it, and end")
	return cmd
}

func (e *environment) serve(ctx context.Context, o *serveOptions) error {
	if o.print {
		return e.printConfig(o)
	}
	// A reader of the log that goes away must not take the daemon with it. The signal is caught, not ignored: replicas
	// would inherit that.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)

	log := e.logger(o.LogLevel)
	nodes, err := readNodes(o.Nodes)
	if err != nil {
		return err
	}
	d, err := startDaemon(context.WithoutCancel(ctx), daemonOptions{
		Dir: o.StateDir, Listen: o.Listen, Token: o.token, Nodes: nodes, Config: o.config(), Log: log, Hook: e.hook,
		Fresh: defaultSchedule(), SnapshotEvery: o.Snapshots, Usage: o.Usage,
	})
	if err != nil {
		return err
	}
	log.Info("serving; Ctrl-C ends the daemon, replicas go on without it", "url", d.url, "state", o.StateDir,
		"nodes", len(nodes), "version", version().Version)
	select {
	case <-ctx.Done():
		log.Info("ending" + farewell(d.census(ctx)))
	case <-d.done:
	}
	return d.stop()
}

// defaultSchedule is how a daemon schedules if nobody says anything about it. Unlike in the core and the simulations of
// papers, elastic replicas cost something to start here: a run that gave one back gets none for a while.
func defaultSchedule() dovetail.Config {
	c := dovetail.DefaultConfig()
	c.Regrow = dovetail.Duration(10 * time.Second)
	c.Replan = dovetail.Duration(30 * time.Second)
	return c
}

// config returns the configuration of scheduling, or nothing if nobody said anything about it.
func (o *serveOptions) config() dovetail.Config {
	if !o.Scheduled {
		return dovetail.Config{}
	}
	return o.Schedule
}

// farewell says what goes on without the daemon. One that could not count its replicas any more says nothing about them.
func farewell(runs, replicas int, err error) string {
	switch {
	case err != nil:
		return ""
	case replicas == 0:
		return ": no replica runs"
	}
	return fmt.Sprintf(": %s of %s go on; `dovetail serve` with the same state directory takes them over again",
		plural(replicas, "replica", "replicas"), plural(runs, "run", "runs"))
}

// censusTime is how long a daemon that is to end waits for its own answer: a turn that waits for a slow disk takes some of it.
const censusTime = 5 * time.Second

// census counts what the back-end was told to run.
func (d *daemon) census(ctx context.Context) (runs, replicas int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), censusTime)
	defer cancel()
	err = d.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) {
		told := make(map[dovetail.RunID]bool) // not those that are stopping
		for _, a := range c.Desired() {
			if a.N > 0 {
				told[a.Run] = true
			}
			replicas += a.N
		}
		runs = len(told)
	})
	return runs, replicas, err
}

// printConfig prints the effective configuration: YAML unless JSON is asked for.
func (e *environment) printConfig(o *serveOptions) error {
	f := o.file()
	return e.show(f, func(w io.Writer) error {
		data, err := describe.ToYAML(f)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}

// logger returns the daemon's log: coloured lines on a terminal, key=value pairs in a pipe.
func (e *environment) logger(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	if e.errScreen {
		return slog.New(tint.NewTextHandler(e.err, &tint.Options{Level: l, TimeFormat: time.TimeOnly, NoColor: !e.colours}))
	}
	return slog.New(slog.NewTextHandler(e.err, &slog.HandlerOptions{Level: l}))
}

// readNodes reads --nodes: how many equal parts of this machine, or a file.
func readNodes(s string) ([]dovetail.Node, error) {
	if n, err := strconv.Atoi(s); err == nil {
		nodes, err := proc.Split(n)
		if err != nil {
			return nil, dovetail.Errorf(dovetail.Invalid, "cannot split this machine into %d nodes: %v", n, err)
		}
		return nodes, nil
	}
	data, err := os.ReadFile(s)
	if err != nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "--nodes %s is neither a number nor a file that can be read: %v", s, err)
	}
	nodes, err := describe.Nodes(data, s)
	if err != nil {
		return nil, fileError{s, err}
	}
	return nodes, nil
}
