package example

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/dovetail-sched/dovetail"
)

// Exit codes of Main.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitMismatch = 3 // the result is wrong: work was lost or done twice
)

// Main runs one process of an example application until it ends, or the context does, and returns its exit code: 0 done,
// 1 failed or interrupted, 2 wrong arguments, 3 the result is not the expected one. The arguments are those after
// `dovetail example`.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
	case err != nil:
		fmt.Fprintln(stderr, "error:", err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var wrong *mismatch
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &wrong):
		return exitMismatch
	case dovetail.CodeOf(err) == dovetail.Invalid:
		return exitUsage
	}
	return exitFailed
}

// mismatch says that a result is wrong.
type mismatch struct{ got, want string }

// Error says what to conclude.
func (m *mismatch) Error() string {
	return fmt.Sprintf("the result is %s, expected %s: work was lost or done twice", m.got, m.want)
}

func usage(w io.Writer) {
	fmt.Fprint(w, `Real elastic applications on generated data.

Usage:
  dovetail example JOB master [--listen HOST:PORT] [--size small|medium|large|CPUTIME] [--seed N] [--out FILE] [--scratch DIR]
  dovetail example JOB worker --join HOST:PORT --name NAME
  dovetail example notebook [--listen HOST:PORT] [--for DURATION]

Jobs:
`)
	for _, k := range kinds() {
		fmt.Fprintf(w, "  %-12s%s\n", k.name, k.about)
	}
	fmt.Fprint(w, `
A master exits with 0 when its job is done and the result is right, 3 when it is wrong, 1 when it failed. Workers may come
and go at any time; POST /retire?worker=NAME to the master before taking one away.
`)
}

// dispatch finds out which process is meant, and runs it.
func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		usage(stderr)
		return dovetail.Errorf(dovetail.Invalid, "which example? Name a job, or notebook")
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))
	if args[0] == "notebook" {
		return notebookMain(ctx, args[1:], log)
	}
	if args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		return flag.ErrHelp
	}
	if _, err := findKind(args[0]); err != nil {
		return err
	}
	if len(args) > 1 {
		switch args[1] {
		case "master":
			return masterMain(ctx, args[0], args[2:], log)
		case "worker":
			return workerMain(ctx, args[2:], log)
		case "-h", "--help":
			return flag.ErrHelp
		}
	}
	return dovetail.Errorf(dovetail.Invalid, "%s: say master or worker after it", args[0])
}

// parse reads flags; whatever is wrong with them is a dovetail.Invalid error.
func parse(f *flag.FlagSet, args []string) error {
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return dovetail.Errorf(dovetail.Invalid, "%v; see dovetail example --help", err)
	case f.NArg() > 0:
		return dovetail.Errorf(dovetail.Invalid, "unexpected argument %q; see dovetail example --help", f.Arg(0))
	}
	return nil
}

func masterMain(ctx context.Context, jobName string, args []string, log *slog.Logger) error {
	f := flag.NewFlagSet("master", flag.ContinueOnError)
	listen := f.String("listen", "127.0.0.1:0", "")
	size := f.String("size", "small", "")
	seed := f.Uint64("seed", 1, "")
	out := f.String("out", "result.json", "")
	scratch := f.String("scratch", "", "")
	if err := parse(f, args); err != nil {
		return err
	}
	amount, err := Size(*size)
	if err != nil {
		return err
	}
	spec, err := NewSpec(jobName, amount, *seed)
	if err != nil {
		return err
	}
	if *scratch == "" {
		*scratch = filepath.Dir(*out)
	}
	if spec.Job == "sort" {
		dir, err := scratchDir(*scratch)
		if err != nil {
			return err
		}
		defer func() {
			if err := os.RemoveAll(dir); err != nil {
				log.Warn("the scratch directory is left behind", "directory", dir, "error", err)
			}
		}()
		spec.Scratch = dir
	}
	m, err := newMaster(spec, log)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	result, err := m.run(ctx, l)
	if err != nil {
		return err
	}
	if err := result.write(*out); err != nil {
		return err
	}
	log.Info("done", "job", jobName, "digest", result.Digest, "ok", result.OK, "seconds", result.Seconds, "counters", fmt.Sprintf("%+v", result.Counters))
	if !result.OK {
		return &mismatch{got: result.Digest, want: result.Expected}
	}
	return nil
}

// scratchDir makes a directory of its own inside parent and returns its absolute path: workers run elsewhere.
func scratchDir(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "scratch-")
}

func workerMain(ctx context.Context, args []string, log *slog.Logger) error {
	f := flag.NewFlagSet("worker", flag.ContinueOnError)
	join := f.String("join", "", "")
	name := f.String("name", "", "")
	if err := parse(f, args); err != nil {
		return err
	}
	if *join == "" || *name == "" {
		return dovetail.Errorf(dovetail.Invalid, "a worker needs --join HOST:PORT of its master and a --name")
	}
	return newWorker(*name, *join, log).run(ctx)
}

func notebookMain(ctx context.Context, args []string, log *slog.Logger) error {
	f := flag.NewFlagSet("notebook", flag.ContinueOnError)
	listen := f.String("listen", "127.0.0.1:0", "")
	duration := f.Duration("for", 0, "")
	if err := parse(f, args); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if *duration > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, *duration)
		defer stop()
	}
	return notebook(ctx, l, log)
}
