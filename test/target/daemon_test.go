package target_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// daemon is a `dovetail serve` process.
type daemon struct {
	t      *testing.T
	client *client.Client
	binary string
}

// serve builds dovetail and starts a daemon in a directory of its own. At the end of the test all of its runs are cancelled and it is stopped.
func serve(t *testing.T) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{t: t, binary: filepath.Join(dir, "bin", "dovetail")}
	build := exec.Command("go", "build", "-o", d.binary, "./cmd/dovetail")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	nodesFile, state := filepath.Join(dir, "nodes.yaml"), filepath.Join(dir, "state")
	if err := os.WriteFile(nodesFile, []byte(nodes), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "daemon.log")) // the shims must not hold a pipe to us
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(d.binary, "serve", "--state-dir", state, "--listen", "127.0.0.1:0", "--nodes", nodesFile, "--log-level", "warn")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.cancelAll()
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := cmd.Wait(); err != nil || t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the daemon ended with %v\n%s", err, text)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var url []byte
	d.until(ctx, "the daemon says its address", func() bool {
		url, err = os.ReadFile(filepath.Join(state, "url"))
		return err == nil
	})
	if d.client, err = client.New(strings.TrimSpace(string(url)), ""); err != nil {
		t.Fatal(err)
	}
	return d
}

// cancelAll leaves no process behind, whatever happened in the test.
func (d *daemon) cancelAll() {
	if d.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d.until(ctx, "no run is left", func() bool {
		left := d.living(ctx)
		for _, st := range left {
			_ = d.client.Cancel(ctx, fmt.Sprint(st.ID)) // it may have ended, or be stopping
		}
		return len(left) == 0
	})
}

// living returns the runs that have not ended.
func (d *daemon) living(ctx context.Context) []dovetail.RunStatus {
	d.t.Helper()
	page, err := d.client.Runs(ctx, client.RunQuery{
		States: []dovetail.State{dovetail.Queued, dovetail.Starting, dovetail.Running, dovetail.Stopping},
	})
	if err != nil {
		d.t.Errorf("runs: %v", err)
		d.t.FailNow()
	}
	return page.Runs
}

// until polls a condition.
func (d *daemon) until(ctx context.Context, what string, holds func() bool) {
	d.t.Helper()
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			d.t.Errorf("not in time: %s", what)
			d.t.FailNow()
		}
	}
}

// submit asks for a run of an application and returns its number.
func (d *daemon) submit(ctx context.Context, spec string) string {
	d.t.Helper()
	run, err := d.client.Submit(ctx, client.SubmitRequest{Spec: []byte(spec)})
	if err != nil {
		d.t.Fatalf("submit: %v", err)
	}
	return fmt.Sprint(run.ID)
}

// succeeded returns a run that has ended, and demands that its result was right: the master of the example checks it.
func (d *daemon) succeeded(ctx context.Context, id string) client.RunDetail {
	d.t.Helper()
	run, err := d.client.Run(ctx, id)
	if err != nil {
		d.t.Fatalf("run %s: %v", id, err)
	}
	if run.Status.Outcome != dovetail.OutcomeSucceeded {
		d.t.Fatalf("run %s (%s) %s: %s", id, run.Status.App, run.Status.Outcome, run.Status.Why)
	}
	return run
}
