// Package dask_test answers: can Dask, as Debian ships it, be scheduled elastically without losing work?
//
// It needs python3-distributed and skips itself, loudly, where that is missing.
package dask_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// patience bounds all waits together. A quiet machine needs half a minute, one on which four others compute two and a half.
const patience = 8 * time.Minute

// nodes hold one run at full scale, 2100m, and leave 300m free; a core takes 900m. So a second run fits only where elastic
// workers of the first one are taken away, and since the first one has all it can use, they are.
const nodes = `nodes:
  - {name: n1, capacity: {cpu: 800m, memory: 1Gi}}
  - {name: n2, capacity: {cpu: 800m, memory: 1Gi}}
  - {name: n3, capacity: {cpu: 800m, memory: 1Gi}}
`

// TestDask submits a Dask computation, lets it grow, and submits a second one that needs the room. The first one's elastic
// workers must be retired: they hand over what they hold, so that nothing is computed again but what they were at.
func TestDask(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	if err := exec.Command("/usr/bin/python3", "-c", "import distributed").Run(); err != nil {
		t.Skipf("SKIPPED: Dask is not installed (%v); apt-get install -y --no-install-recommends python3-distributed", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := serve(ctx, t)

	first := s.submit("1000000")
	t.Logf("run %s: waiting until three elastic workers hold results", first)
	var before []string
	s.until("three elastic workers hold results", func() bool {
		before = elastic(s.run(first), "ready")
		return len(before) == 3 && progress(s.log(first, "client")) >= 30
	})
	second := s.submit("200000")
	t.Logf("run %s takes the room of %v", second, before)
	s.until("an elastic worker was taken away", func() bool { return len(retired(s.run(first))) > 0 })
	if st := s.run(first).Status; st.State != dovetail.Running {
		t.Fatalf("run %s is %s: it ended before a worker was taken away", first, st.State)
	}
	for _, run := range []string{first, second} {
		s.until("run "+run+" has ended", func() bool { return s.run(run).Status.State == dovetail.Ended })
	}

	for _, run := range []string{first, second} {
		d := s.run(run)
		if d.Status.Outcome != dovetail.OutcomeSucceeded {
			t.Errorf("run %s %s: %s\n%s", run, d.Status.Outcome, d.Status.Why, s.log(run, "client"))
			continue
		}
		r := outcome(t, s.log(run, "client"))
		// A worker does not wait for the task that it is at: that one is computed again.
		if gone := len(retired(d)); !r.OK || r.Computed > r.Segments+gone {
			t.Errorf("run %s, %d workers taken away: %+v: results were lost", run, gone, r)
		}
		t.Logf("run %s: %+v, taken away %v", run, r, retired(d))
	}
	if log := s.stderr(first, "scheduler"); !strings.Contains(log, "Retired worker") {
		t.Errorf("the scheduler never retired a worker: the hook did not work\n%s", log)
	}
}

// result is the last line of job.py.
type result struct {
	OK       bool `json:"ok"`
	Segments int  `json:"segments"`
	Computed int  `json:"computed"` // segments computed, again and again if their results were lost
}

func outcome(t *testing.T, log string) result {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var r result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("the job's last line is %q: %v", lines[len(lines)-1], err)
	}
	return r
}

// progress returns how many segments are done, by the last line that says so.
func progress(log string) int {
	done := 0
	for line := range strings.Lines(log) {
		_, _ = fmt.Sscanf(line, "progress done=%d", &done) // other lines leave it alone
	}
	return done
}

// elastic returns the names of a run's elastic replicas that are in a state.
func elastic(d client.RunDetail, state string) []string {
	var names []string
	for _, r := range d.Replicas {
		if r.Elastic && r.State == state {
			names = append(names, r.Name)
		}
	}
	return names
}

// retired returns the names of elastic replicas that were ready, and were then taken away from a run that went on.
func retired(d client.RunDetail) []string {
	var names []string
	for _, r := range d.Replicas {
		withTheRun := d.Status.Ended != nil && r.Down != nil && d.Status.Ended.Sub(*r.Down) < time.Second
		if r.Elastic && r.Ready != nil && r.Exit != nil && !withTheRun {
			names = append(names, r.Name)
		}
	}
	return names
}

// daemon is a `dovetail serve` process.
type daemon struct {
	t      *testing.T
	ctx    context.Context
	client *client.Client
	dir    string // of examples/dask
	spec   []byte
}

// serve builds dovetail and starts a daemon in a directory of its own. At the end of the test all of its runs are
// cancelled and it is stopped.
func serve(ctx context.Context, t *testing.T) *daemon {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "dovetail")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/dovetail")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	nodesFile, state := filepath.Join(dir, "nodes.yaml"), filepath.Join(dir, "state")
	if err := os.WriteFile(nodesFile, []byte(nodes), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--state-dir", state, "--listen", "127.0.0.1:0", "--nodes", nodesFile)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(bufio.NewReader(log)) // whatever there is
		said <- string(data)
	}()
	d := &daemon{t: t, ctx: ctx, dir: filepath.Join(root, "examples", "dask")}
	t.Cleanup(func() {
		d.cancelAll()
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if text, err := <-said, cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the daemon ended with %v\n%s", err, text)
		}
	})
	var url []byte
	d.until("the daemon says its address", func() bool {
		url, err = os.ReadFile(filepath.Join(state, "url"))
		return err == nil
	})
	if d.client, err = client.New(strings.TrimSpace(string(url)), ""); err != nil {
		t.Fatal(err)
	}
	if d.spec, err = os.ReadFile(filepath.Join(d.dir, "dask.yaml")); err != nil {
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
	d.ctx = ctx
	living := client.RunQuery{States: []dovetail.State{dovetail.Queued, dovetail.Starting, dovetail.Running, dovetail.Stopping}}
	d.until("no run is left", func() bool {
		page, err := d.client.Runs(ctx, living)
		for _, st := range page.Runs {
			_ = d.client.Cancel(ctx, fmt.Sprint(st.ID)) // it may have ended, or be stopping
		}
		return err == nil && len(page.Runs) == 0
	})
}

// until polls a condition.
func (d *daemon) until(what string, holds func() bool) {
	d.t.Helper()
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-d.ctx.Done():
			d.t.Errorf("not in time: %s", what)
			d.t.FailNow()
		}
	}
}

func (d *daemon) submit(limit string) string {
	d.t.Helper()
	run, err := d.client.Submit(d.ctx, client.SubmitRequest{Spec: d.spec, Params: map[string]string{"dir": d.dir, "limit": limit}})
	if err != nil {
		d.t.Fatalf("submit: %v", err)
	}
	return fmt.Sprint(run.ID)
}

func (d *daemon) run(id string) client.RunDetail {
	d.t.Helper()
	r, err := d.client.Run(d.ctx, id)
	if err != nil {
		d.t.Fatalf("run %s: %v", id, err)
	}
	if r.Status.Outcome == dovetail.OutcomeFailed || r.Status.Outcome == dovetail.OutcomeLost {
		d.t.Fatalf("run %s %s: %s\n%s", id, r.Status.Outcome, r.Status.Why, d.stderr(id, "client"))
	}
	return r
}

func (d *daemon) log(run, component string) string { return d.output(run, component, "stdout") }

func (d *daemon) stderr(run, component string) string { return d.output(run, component, "stderr") }

// output returns what the only replica of a component has written; nothing if it has not started.
func (d *daemon) output(run, component, stream string) string {
	r, err := d.client.Logs(d.ctx, run, client.LogQuery{Component: component, Stream: stream})
	if dovetail.CodeOf(err) == dovetail.NotFound {
		return ""
	}
	if err != nil {
		d.t.Fatalf("logs of run %s, %s: %v", run, component, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		d.t.Fatalf("logs of run %s, %s: %v", run, component, err)
	}
	return string(data)
}
