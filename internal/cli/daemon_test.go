package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// TestReadyWaits keeps a daemon from becoming ready: whoever waits for that must not be let through.
func TestReadyWaits(t *testing.T) {
	gate := make(chan struct{})
	d, err := startDaemon(t.Context(), daemonOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Hook: func(string) { <-gate },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := d.ready(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a daemon whose first write has not come through: %v, want the context's error", err)
	}
	close(gate)
	if err := d.ready(t.Context()); err != nil || !d.engine.Health().Ready {
		t.Errorf("%v, health %+v", err, d.engine.Health())
	}
}

// TestExampleEndsWithItsCommand: a signal that comes while `dovetail example` starts ends it, as one that comes later does.
func TestExampleEndsWithItsCommand(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalled{syscall.SIGTERM})
	e, _, _ := testEnvironment(nil)
	done := make(chan int, 1)
	go func() {
		done <- e.execute(ctx, []string{"example", "wordcount", "master", "--out", filepath.Join(t.TempDir(), "out")})
	}()
	select {
	case code := <-done:
		if code == 0 {
			t.Error("a master that was interrupted says that all is well")
		}
	case <-time.After(time.Minute):
		t.Error("the master goes on")
	}
}

// idle is a back-end that is never asked.
type idle struct{ engine.Runner }

// TestFarewell: a daemon that cannot say how many replicas go on must not say that none does.
func TestFarewell(t *testing.T) {
	for _, tc := range []struct {
		reason         string
		runs, replicas int
		err            error
		want           string
	}{
		{"nothing runs", 0, 0, nil, ": no replica runs"},
		{"runs that only wait", 2, 0, nil, ": no replica runs"},
		{"replicas go on", 2, 3, nil, ": 3 replicas of 2 runs go on"},
		{"nobody knows", 0, 0, dovetail.Errorf(dovetail.Unavailable, "busy"), ""},
	} {
		if got := farewell(tc.runs, tc.replicas, tc.err); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
		}
	}
	synctest.Test(t, func(t *testing.T) { // an engine that does not run answers nobody
		e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(), Runner: idle{}})
		if err != nil {
			t.Fatal(err)
		}
		if runs, replicas, err := (&daemon{engine: e}).census(t.Context()); err == nil {
			t.Errorf("%d runs, %d replicas and no error of an engine that does not answer", runs, replicas)
		}
	})
}
