package crash_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail/client"
	"github.com/dovetail-sched/dovetail/internal/cli"
)

const (
	shimArg = "__shim"
	envAt   = "CRASH_AT"     // the daemon dies at this point, counted from 1; 0: it does not
	envNote = "CRASH_DEATHS" // file that a dying daemon writes the name of the point to
)

// daemonMain is the program as users run it, daemon or shim, but for the hook.
func daemonMain(args []string) int {
	at, _ := strconv.ParseInt(os.Getenv(envAt), 10, 64) // a shim has no such variable, and no hook is called in it
	var points atomic.Int64
	return cli.Main(args, func(point string) {
		if points.Add(1) != at {
			return
		}
		note(os.Getenv(envNote), point)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	})
}

// note appends a line to a file. What cannot be noted is missing from the statistics, no more.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// daemon is one life of the daemon.
type daemon struct {
	cmd   *exec.Cmd
	log   string        // file with its output; the shims must not hold a pipe to us
	ended chan struct{} // closed when it has
	err   error         // of Wait; read it after ended
}

// place is where the daemons live, one after the other.
type place struct {
	dir    string // of the whole test
	state  string // --state-dir
	listen string // host:port; the same in every life, so that clients find the next daemon
	self   string // this test binary
}

// newPlace makes the directories and finds a free port, at an address where no other test listens: nobody is to take the port
// between two lives.
func newPlace(t *testing.T, dir string) *place {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &place{dir: dir, state: filepath.Join(dir, "state"), listen: l.Addr().String(), self: self}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{p.state, filepath.Join(dir, "locks")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"nodes.yaml": nodes, "replica.sh": script, "ledger": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// start begins a life that ends at a point (0: none) and in which so many records lie between two snapshots.
func (p *place) start(at, every int) (*daemon, error) {
	d := &daemon{log: filepath.Join(p.dir, "daemon.log"), ended: make(chan struct{})}
	output, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	d.cmd = exec.Command(p.self, "serve", "--state-dir", p.state, "--listen", p.listen,
		"--nodes", filepath.Join(p.dir, "nodes.yaml"), "--log-level", "warn",
		"--snapshot-every", strconv.Itoa(every))
	d.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.dir, envAt+"="+strconv.Itoa(at), envNote+"="+filepath.Join(p.dir, "deaths"))
	d.cmd.Stdout, d.cmd.Stderr = output, output
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
	return d, nil
}

// output returns what the daemon wrote.
func (d *daemon) output() string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// killed waits until the daemon has died of SIGKILL. Any other end, and none at all, is an error.
func (d *daemon) killed(ctx context.Context) error {
	select {
	case <-d.ended:
	case <-ctx.Done():
		_ = d.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines tell where it hangs
		<-d.ended
		return fmt.Errorf("%w\n%s", context.Cause(ctx), d.output())
	}
	var exit *exec.ExitError
	if errors.As(d.err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return nil
		}
	}
	return fmt.Errorf("the daemon ended by itself: %s\n%s", d.cmd.ProcessState, d.output())
}

// end kills the daemon.
func (d *daemon) end() {
	_ = d.cmd.Process.Kill() // it may be gone already
	<-d.ended
}

// stop ends the life with SIGTERM, as an operator would.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		d.end()
		t.Errorf("the daemon did not end on SIGTERM\n%s", d.output())
	}
}

// client returns a client of whichever daemon lives.
func (p *place) client() (*client.Client, error) { return client.New("http://"+p.listen, "") }
