package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// now is the time in all of these tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testEnvironment returns an environment that reads nothing of this machine, and what it wrote.
func testEnvironment(variables map[string]string) (e *environment, out, errOut *bytes.Buffer) {
	out, errOut = new(bytes.Buffer), new(bytes.Buffer)
	t := &terminal{in: strings.NewReader(""), out: out, err: errOut, size: func() (int, int) { return 80, 24 }}
	e = newEnvironment(t, func(name string) string { return variables[name] })
	e.now = func() time.Time { return now }
	return e, out, errOut
}

// parsed runs a command that keeps its options, and returns them.
func parsed[O any](t *testing.T, build func(*environment, func(context.Context, *O) error) *cobra.Command, args ...string) (*O, error) {
	t.Helper()
	e, _, _ := testEnvironment(map[string]string{"USER": "ann"})
	var got *O
	cmd := build(e, func(_ context.Context, o *O) error {
		got = o
		return nil
	})
	cmd.SetArgs(append([]string{}, args...)) // nil would mean the test's own
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return got, err
}

func TestSubmitOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *submitOptions
		fails  bool
	}{
		{"only a file: the user is who calls", []string{"a.yaml"}, &submitOptions{File: "a.yaml", User: "ann", Set: map[string]string{}}, false},
		{"values may hold = and ,", []string{"-", "--set", "a=b=c,d", "--set", "e="},
			&submitOptions{File: "-", User: "ann", Set: map[string]string{"a": "b=c,d", "e": ""}}, false},
		{"every flag", []string{"a", "--name", "n", "--user", "u", "--key", "k", "--hold", "--wait-for-capacity", "-f", "-w"},
			&submitOptions{File: "a", Set: map[string]string{}, Name: "n", User: "u", Key: "k", Hold: true, AnyFit: true, Follow: true, Wait: true}, false},
		{"no file", nil, nil, true},
		{"two files", []string{"a", "b"}, nil, true},
		{"a value without a name", []string{"a", "--set", "=b"}, nil, true},
		{"nothing to wait for", []string{"a", "--dry-run", "--follow"}, nil, true},
	} {
		got, err := parsed(t, newSubmit, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestLogsOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *logsOptions
		fails  bool
	}{
		{"all replicas", []string{"7"}, &logsOptions{Run: "7", Index: -1, Tail: -1}, false},
		{"one component", []string{"7", "worker"}, &logsOptions{Run: "7", Component: "worker", Index: -1, Tail: -1}, false},
		{"one replica", []string{"7", "worker.12", "-f", "--stderr", "--tail", "3", "--attempt", "9"},
			&logsOptions{Run: "7", Component: "worker", Index: 12, Tail: 3, Follow: true, Stderr: true, Attempt: 9}, false},
		{"not an index", []string{"7", "worker.x"}, nil, true},
		{"a negative index", []string{"7", "worker.-1"}, nil, true},
		{"no run", nil, nil, true},
	} {
		got, err := parsed(t, newLogs, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestRunsOptions(t *testing.T) {
	for _, tc := range []struct {
		reason string
		args   []string
		want   *runsOptions
		fails  bool
	}{
		{"those that have not ended", nil, &runsOptions{Query: client.RunQuery{States: living, Limit: 100}}, false},
		{"all", []string{"--all"}, &runsOptions{Query: client.RunQuery{Limit: 100}}, false},
		{"states and outcomes are sorted apart", []string{"--state", "queued,FAILED", "--since", "2h", "--limit", "5", "-w"},
			&runsOptions{Watch: true, Query: client.RunQuery{
				States: []dovetail.State{dovetail.Queued}, Outcomes: []dovetail.Outcome{dovetail.OutcomeFailed},
				Since: now.Add(-2 * time.Hour), Limit: 5,
			}}, false},
		{"a time", []string{"-a", "--since", "2026-02-28T00:00:00Z"},
			&runsOptions{Query: client.RunQuery{Since: time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC), Limit: 100}}, false},
		{"not a state", []string{"--state", "idle"}, nil, true},
		{"not a time", []string{"--since", "-2h"}, nil, true},
	} {
		got, err := parsed(t, newRuns, tc.args...)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: error %v, options (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

func TestFinish(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(signalled{syscall.SIGINT})
	for _, tc := range []struct {
		reason  string
		ctx     context.Context
		started bool
		err     error
		code    int
		says    string
	}{
		{"success is quiet", t.Context(), true, nil, 0, ""},
		{"what was said is not said again", t.Context(), true, exit(124), 124, ""},
		{"a command line that cobra refuses", t.Context(), false, errors.New("unknown flag"), 2, "--help"},
		{"a command line that the command refuses", t.Context(), true, usagef("which run?"), 2, "which run?"},
		{"no daemon", t.Context(), true, dovetail.Errorf(dovetail.Unavailable, "start one"), 3, "start one"},
		{"anything else", t.Context(), true, dovetail.Errorf(dovetail.NotFound, "no run 7"), 1, "no run 7"},
		{"Ctrl-C is quiet", interrupted, true, context.Canceled, 130, ""},
		{"SIGTERM", t.Context(), true, signalled{syscall.SIGTERM}, 143, ""},
		{"a reader that went away is quiet", t.Context(), true, syscall.EPIPE, 141, ""},
	} {
		e, _, errOut := testEnvironment(nil)
		e.started = tc.started
		code := e.finish(tc.ctx, tc.err)
		if code != tc.code {
			t.Errorf("%s: exit code %d, want %d", tc.reason, code, tc.code)
		}
		if said := errOut.String(); (tc.says == "") != (said == "") || !strings.Contains(said, tc.says) {
			t.Errorf("%s: said %q, want %q", tc.reason, said, tc.says)
		}
	}
}

func TestExitOf(t *testing.T) {
	for outcome, want := range map[dovetail.Outcome]error{
		dovetail.OutcomeSucceeded: nil,
		dovetail.OutcomeFailed:    exit(1),
		dovetail.OutcomeLost:      exit(1),
		dovetail.OutcomeTimedOut:  exit(124),
		dovetail.OutcomeCancelled: exit(130),
	} {
		if got := exitOf(outcome); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}

// Every command explains itself.
func TestHelp(t *testing.T) {
	e, _, _ := testEnvironment(nil)
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		if c.Short == "" || c.Long == "" || !strings.Contains(c.Example, "dovetail ") {
			t.Errorf("%s: a command needs a short and a long text, and an example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(newRoot(e))
}
