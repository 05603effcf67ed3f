// Package cli answers: what does a person type, and what do they see?
//
// Each command is an Options struct, a constructor that turns words into options, and a run function that acts on them.
// Output for people goes through tables and sentences, output for programs (-o json, -o yaml) through the types of the
// root package. docs/cli.md says which signals and exit codes to expect.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
)

// Exit codes. Commands that wait for a run end with the run's: see exitOf.
const (
	exitFailed      = 1   // the command, or the run, failed
	exitUsage       = 2   // the command line is wrong
	exitUnavailable = 3   // no daemon answers, or it cannot do it now
	exitTimedOut    = 124 // the run exceeded its maximum runtime
	exitInterrupted = 130 // Ctrl-C, or the run was cancelled
)

// Main runs the dovetail command with these arguments, without the program's name, and returns its exit code. It reads
// and writes the standard streams. The hook is given to the engine of serve (see engine.Options); nil outside tests.
func Main(args []string, hook func(point string)) int {
	if len(args) > 0 && args[0] == shimArg {
		return proc.Shim(args[1:])
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	e := newEnvironment(system(), os.Getenv)
	e.hook = hook
	return e.execute(ctx, args)
}

// shimArg makes this program the shim of one replica instead of a command.
const shimArg = "__shim"

// execute runs one command line and reports its error.
func (e *environment) execute(ctx context.Context, args []string) int {
	root := newRoot(e) //nolint:contextcheck // cobra hands the context to the commands
	root.SetArgs(args)
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetContext(ctx)
	cmd, err := root.ExecuteC()
	if cmd != nil {
		e.command = cmd.CommandPath()
	}
	return e.finish(ctx, err)
}

// signalled is why a context ended: somebody sent a signal.
type signalled struct{ signal syscall.Signal }

func (s signalled) Error() string { return s.signal.String() }

func (s signalled) code() int { return 128 + int(s.signal) }

// untilSignal returns a context that ends at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup and the shell's & ignore some for us
			signal.Notify(signals, s)
		}
	}
	go func() {
		for {
			select {
			case s := <-signals:
				why := signalled{s.(syscall.Signal)}
				if ctx.Err() != nil {
					os.Exit(why.code())
				}
				cancel(why)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// exit ends the command with a code; what there is to say has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError says that the command line is wrong.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error {
	return usageError{dovetail.Errorf(dovetail.Invalid, format, args...)}
}

// finish reports the error of a command and returns the exit code.
func (e *environment) finish(ctx context.Context, err error) int {
	var code exit
	var why signalled
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &why):
		return why.code()
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &why):
		return why.code()
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE)
	case !e.started || errors.As(err, &usage):
		e.complain(err)
		if e.format == text {
			fmt.Fprintf(e.err, "Run `%s --help` for its flags and examples.\n", e.command)
		}
		return exitUsage
	}
	e.complain(err)
	if dovetail.CodeOf(err) == dovetail.Unavailable {
		return exitUnavailable
	}
	return exitFailed
}

// complain writes an error: for people as text, for programs as an object with code, message and faults.
func (e *environment) complain(err error) {
	if e.format == text {
		e.complainText(err)
		return
	}
	var known *dovetail.Error
	answer := struct {
		Code    dovetail.ErrorCode `json:"code"`
		Message string             `json:"message"`
		File    string             `json:"file,omitempty"`
		Faults  []dovetail.Fault   `json:"faults,omitempty"`
	}{Code: dovetail.CodeOf(err), Message: err.Error()}
	if !e.started {
		answer.Code = dovetail.Invalid
	}
	if errors.As(err, &known) {
		answer.Message, answer.Faults = known.Message, known.Faults
	}
	var in fileError
	if errors.As(err, &in) {
		answer.File = in.file
	}
	data, failed := e.format.encode(map[string]any{"error": answer})
	if failed != nil {
		data = []byte(err.Error() + "\n")
	}
	_, _ = e.err.Write(data)
}

func (e *environment) complainText(err error) {
	var in fileError
	var known *dovetail.Error
	if errors.As(err, &in) && errors.As(err, &known) && len(known.Faults) > 0 {
		writeFaults(e.err, in.file, known.Faults)
		err = dovetail.Errorf(known.Code, "%s is not valid; correct what is listed and try again", in.file)
	}
	fmt.Fprintln(e.err, e.errPaint(red, "dovetail:"), err)
}

// fileError says which file an error is about.
type fileError struct {
	file string
	err  error
}

func (i fileError) Error() string { return i.err.Error() }

func (i fileError) Unwrap() error { return i.err }

// writeFaults lists faults as compilers do: file:line:column: field: message.
func writeFaults(w io.Writer, file string, faults []dovetail.Fault) {
	for _, f := range faults {
		place := file
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", file, f.Line, f.Column)
		}
		if f.Field != "" {
			place += ": " + f.Field
		}
		fmt.Fprintf(w, "%s: %s\n", place, f.Message)
	}
}

// format is how output is written.
type format string

const (
	text     format = "text"
	jsonText format = "json"
	yamlText format = "yaml"
)

// String returns the format's name.
func (f *format) String() string { return string(*f) }

// Type names the values for the help.
func (f *format) Type() string { return "text|json|yaml" }

// Set reads a name.
func (f *format) Set(s string) error {
	switch format(s) {
	case text, jsonText, yamlText:
		*f = format(s)
		return nil
	}
	return fmt.Errorf("expected text, json or yaml")
}

// encode writes a value for programs.
func (f format) encode(v any) ([]byte, error) {
	if f == yamlText {
		return describe.ToYAML(v)
	}
	return describe.ToJSON(v)
}
