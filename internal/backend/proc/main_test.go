package proc

import (
	"context"
	"io"
	"net"
	"os"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/engine/backendtest"
)

// TestMain lets the test binary be the shim, and the daemon of the kill test, as well.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__shim" {
		os.Exit(Shim(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "__victim" {
		os.Exit(victim(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "__listen" {
		if _, err := net.Listen("tcp", os.Args[2]); err != nil {
			os.Exit(1)
		}
		select {}
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // under the race detector, shims end when they are done, not a second later
	os.Exit(m.Run())
}

func node(name string) dovetail.Node {
	return dovetail.Node{Name: name, Address: host, Capacity: dovetail.Resources{4000, 8 << 30}}
}

func shell(script string) dovetail.Component {
	return dovetail.Component{Command: []string{"sh", "-c", script}}
}

func wholeLog(ctx context.Context, r engine.Runner, id dovetail.Replica) (io.ReadCloser, error) {
	return r.(*Backend).Log(ctx, id, "stdout", 0, 0, false)
}

// noOrphans fails the test if something stays behind of the replicas of a state directory. Shims that came too late, and
// found that there is nothing to do, may still be about to end.
func noOrphans(t testing.TB, dir string) {
	t.Helper()
	var left []Orphan
	if !soon(func() bool { left = must(Orphans(dir)); return len(left) == 0 }) {
		t.Errorf("left behind: %+v", left)
	}
}

func TestRunner(t *testing.T) {
	for _, root := range []string{"dovetail-test", NoCgroups} {
		t.Run("cgroups "+root, func(t *testing.T) {
			backendtest.TestRunner(t, func(t *testing.T) backendtest.Harness {
				dir := t.TempDir()
				t.Cleanup(func() { noOrphans(t, dir) })
				return backendtest.Harness{
					Open: func() (engine.Runner, error) {
						return New(Options{Dir: dir, Nodes: []dovetail.Node{node("node-1"), node("node-2")}, CgroupRoot: root})
					},
					Shell: shell,
					Log:   wholeLog,
					Node:  "node-2",
				}
			})
		})
	}
}
