package neighbours_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// The machine promises twice what its two processors have, as clusters do whose users ask for more than they need: two runs fit at a time, whoever
// they are.
const nodes = `nodes:
  - {name: machine, capacity: {cpu: 4, memory: 4Gi}}
`

// application describes the recurring job of a kind.
func (p *place) application(kind string, n int) string {
	return fmt.Sprintf(`apiVersion: dovetail/v1
name: %s
components:
  - name: main
    command: [%q, %s, %s, "%d"]
    resources: {cpu: 2, memory: 1Gi}
`, kind, p.worker, workArg, kind, n)
}

// daemon is one life of `dovetail serve`.
type daemon struct {
	t      *testing.T
	client *client.Client
	cmd    *exec.Cmd
	log    string
}

// serve starts a daemon on the state directory of an arm.
func (p *place) serve(ctx context.Context, t *testing.T, s *setting, arm string) *daemon {
	t.Helper()
	state := filepath.Join(p.dir, arm)
	choose := arm
	if arm == "fifo" {
		choose = "off"
	}
	d := &daemon{t: t, log: filepath.Join(p.dir, arm+".log")}
	log, err := os.OpenFile(d.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) // the shims must not hold a pipe to us
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_ = os.Remove(filepath.Join(state, "url")) // of the life before, which was killed
	d.cmd = exec.Command(p.dovetail, "serve", "--state-dir", state, "--listen", "127.0.0.1:0", "--nodes", p.nodes(), "--log-level", "warn",
		"--choose", choose, "--window", fmt.Sprint(s.Window), "--step", fmt.Sprint(s.Step), "--period", s.Period, "--usage-signal", s.Signal)
	d.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.dir)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	var url []byte
	d.until(ctx, "the daemon says its address", func() bool {
		url, err = os.ReadFile(filepath.Join(state, "url"))
		return err == nil && strings.HasSuffix(string(url), "\n")
	})
	if d.client, err = client.New(strings.TrimSpace(string(url)), ""); err != nil {
		t.Fatal(err)
	}
	d.until(ctx, "the daemon is ready", func() bool {
		h, err := d.client.Health(ctx)
		return err == nil && h.Ready
	})
	return d
}

// kill ends the daemon as a crash would.
func (d *daemon) kill() {
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Process.Kill() // it may have ended
		_ = d.cmd.Wait()         // killed, as it should be
	}
}

// fatal ends the test with what the daemon wrote.
func (d *daemon) fatal(format string, args ...any) {
	d.t.Helper()
	text, _ := os.ReadFile(d.log)
	d.t.Fatalf(format+"\n%s", append(args, text)...)
}

// until polls a condition.
func (d *daemon) until(ctx context.Context, what string, holds func() bool) {
	d.t.Helper()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			d.fatal("not in time: %s", what)
		}
	}
}

// living returns how many runs have not ended.
func (d *daemon) living(ctx context.Context) int {
	d.t.Helper()
	page, err := d.client.Runs(ctx, client.RunQuery{
		States: []dovetail.State{dovetail.Queued, dovetail.Starting, dovetail.Running, dovetail.Stopping},
	})
	if err != nil {
		d.fatal("runs: %v", err)
	}
	return len(page.Runs)
}

// known returns what the daemon knows of neighbours.
func (d *daemon) known(ctx context.Context) dovetail.Neighbours {
	d.t.Helper()
	n, err := d.client.Neighbours(ctx, client.NeighboursQuery{})
	if err != nil {
		d.fatal("neighbours: %v", err)
	}
	return n
}
