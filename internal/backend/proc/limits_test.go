package proc

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// needGroups skips a test where control groups cannot set limits.
func needGroups(t *testing.T, d *daemon) {
	t.Helper()
	if g := d.tree.group("x"); !g.limitsCPU() || !g.limitsMemory() {
		t.Skip("no control groups here: " + d.tree.describe())
	}
}

func TestOutOfMemory(t *testing.T) {
	// tail keeps what has no end of line: 200 MB, and no more, however long it takes until somebody looks.
	const feed = "mkfifo f; { head -c 200000000 /dev/zero; exec sleep 1000; } >f & "
	for _, root := range []string{"dovetail-test", NoCgroups} {
		d := openDaemon(t, t.TempDir(), root)
		for _, test := range []struct {
			reason string
			script string
			memory int64
			oom    bool
		}{
			{"it takes more than it may", feed + "exec tail <f", 64 << 20, true},
			{"a child takes too much, and the command fails for it", feed + "tail <f; exit 1", 64 << 20, true},
			{"it is killed, but not for memory", "kill -9 $$", 64 << 20, false},
			{"it takes a lot, but may", "sleep 0.1; exit 1", 64 << 20, false},
		} {
			c := shell(test.script)
			c.Resources[dovetail.Memory] = test.memory
			down := d.down(t, d.start(c))
			if down.Exit.OOM != test.oom || down.Exit.OK() {
				t.Errorf("cgroups %s: %s: exit %+v, expected OOM %v", root, test.reason, down.Exit, test.oom)
			}
			if test.oom && !strings.Contains(down.Exit.Why, "64Mi") {
				t.Errorf("cgroups %s: %s: why %q does not say how much it may use", root, test.reason, down.Exit.Why)
			}
		}
		if said := strings.Count(d.log.String(), "cannot limit memory"); said != 0 && root != NoCgroups {
			t.Errorf("said %d times that memory cannot be limited", said)
		}
	}
}

func TestCPULimitAndUsage(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	needGroups(t, d)
	c := shell("while :; do :; done & while :; do :; done")
	c.Resources[dovetail.CPU] = 200
	r := d.start(c)
	d.up(t, r)
	from := time.Now()
	before, _ := d.Usage(r) // it has run for a while
	eventually(t, "it used 100ms of CPU time", func() bool {
		u, ok := d.Usage(r)
		return ok && u.CPU > before.CPU+100*time.Millisecond
	})
	if took := time.Since(from); took < 200*time.Millisecond {
		t.Errorf("100ms of CPU time took %v; with 200m it takes half a second", took)
	}
	d.Stop(r, false)
	if down := d.down(t, r); down.Usage.CPU < 100*time.Millisecond || down.Usage.MemoryPeak == 0 {
		t.Errorf("usage on record %+v, less than what was seen before", down.Usage)
	}
	if u, ok := d.Usage(r); !ok || u.CPU < 100*time.Millisecond {
		t.Errorf("usage of a replica that ended: %+v %v", u, ok)
	}
	if _, ok := d.Usage(dovetail.Replica{Run: 77}); ok {
		t.Error("usage of a replica that never was")
	}
}

// TestMeter lets children do the work and end before anybody looks: it must be counted all the same.
func TestMeter(t *testing.T) {
	for _, root := range []string{"dovetail-test", NoCgroups} {
		d := openDaemon(t, t.TempDir(), root)
		r := d.start(shell(`dd if=/dev/zero of=data bs=1M count=8 conv=fsync 2>/dev/null
			(setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; dd if=/dev/zero of=more bs=1M count=4 conv=fsync 2>/dev/null; touch done' &)
			while [ ! -e done ]; do sleep 0.02; done; sleep 0.1`))
		u := d.down(t, r).Usage
		if u.Written < 12<<20 || u.Written > 40<<20 {
			t.Errorf("cgroups %s: %d bytes written, expected 12 MiB and a little", root, u.Written)
		}
		if u.CPU < 20*time.Millisecond || u.MemoryPeak < 1<<20 {
			t.Errorf("cgroups %s: %+v; a loop of a grandchild is missing", root, u)
		}
	}
}

func TestGroupsAreUsed(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	needGroups(t, d)
	c := shell("cat /proc/self/cgroup; exec sleep 1000")
	r := d.start(c)
	d.up(t, r)
	name := d.id + "/" + recordName(r)
	eventually(t, "it says in which groups it is", func() bool { return strings.Count(d.output(t, r, "stdout"), name) > 0 })
	g := d.tree.group(recordName(r))
	if !slices.ContainsFunc(g.dirs(), exists) {
		t.Fatalf("there is no group %v", g.dirs())
	}
	d.Stop(r, false)
	d.down(t, r)
	if i := slices.IndexFunc(g.dirs(), exists); i >= 0 {
		t.Errorf("%s is left behind", g.dirs()[i])
	}
}

func TestNoGroupsIsSaidOnce(t *testing.T) {
	d := openDaemon(t, t.TempDir(), NoCgroups)
	d.down(t, d.start(shell("exit 0")))
	d.down(t, d.start(shell("exit 0")))
	if n := strings.Count(d.log.String(), "cannot limit memory"); n != 1 {
		t.Errorf("that memory is not limited by the kernel was said %d times, expected once:\n%s", n, d.log)
	}
}

func TestHTTPHook(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client went away
		switch r.URL.Path {
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(patience):
			}
		case "/broken":
			http.Error(w, "no such worker", http.StatusNotFound)
		default:
			if r.Method != http.MethodPut || r.Header.Get("Content-Type") != "application/json" {
				w.WriteHeader(http.StatusBadRequest)
			}
		}
	}))
	defer s.Close()
	for _, test := range []struct {
		reason string
		path   string
		grace  time.Duration
		said   string
	}{
		{"a hook that works", "/retire", patience, ""},
		{"a hook that fails: the replica is stopped all the same", "/broken", patience, "no such worker"},
		{"a hook that takes too long is cut short", "/slow", 2 * time.Second, "not done after 2s"}, // long enough to ask
	} {
		d := openDaemon(t, t.TempDir(), "dovetail-test")
		asked.Store(0)
		c := shell("exec sleep 1000")
		c.Remove = &dovetail.Remove{
			HTTP:  &dovetail.HTTPCall{URL: s.URL + test.path, Method: http.MethodPut, Body: `{"worker": 1}`},
			Grace: dovetail.Duration(test.grace),
		}
		r := d.start(c)
		d.up(t, r)
		d.Stop(r, true)
		if down := d.down(t, r); !down.Exit.Asked {
			t.Errorf("%s: exit %+v", test.reason, down.Exit)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: asked %d times, expected once", test.reason, n)
		}
		if log := d.log.String(); (test.said == "") != !strings.Contains(log, "removal hook") || !strings.Contains(log, test.said) {
			t.Errorf("%s: the log does not say %q: %s", test.reason, test.said, log)
		}
	}
}

func TestReadyByPort(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ok" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	const short = dovetail.Duration(300 * time.Millisecond)
	for _, test := range []struct {
		reason string
		ready  dovetail.Ready
		ok     bool
	}{
		{"an URL that answers with 200", dovetail.Ready{HTTP: s.URL + "/ok", Timeout: dovetail.Duration(patience)}, true},
		{"an URL that answers with 503", dovetail.Ready{HTTP: s.URL + "/no", Timeout: short}, false},
		{"a port that nobody opens", dovetail.Ready{TCP: "rpc", Timeout: short}, false},
		{"a line that is never printed", dovetail.Ready{Log: "^never", Timeout: short}, false},
	} {
		c := shell("echo not never; exec sleep 1000")
		c.Ports = map[string]dovetail.Port{"rpc": {}}
		c.Ready = &test.ready
		r := d.start(c)
		if test.ok {
			d.await(t, r, "ready")
			d.Stop(r, false)
		}
		if down := d.down(t, r); down.Exit.Asked != test.ok || !test.ok && !strings.Contains(down.Exit.Why, "not ready after 300ms") {
			t.Errorf("%s: exit %+v", test.reason, down.Exit)
		}
	}
}

// TestReadyWhenPortOpens needs a program that listens; the test binary is one.
func TestReadyWhenPortOpens(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	c := dovetail.Component{
		Command: []string{d.opts.Self, "__listen", "127.0.0.1:${port.rpc}"},
		Ports:   map[string]dovetail.Port{"rpc": {Port: 7000}},
		Ready:   &dovetail.Ready{TCP: "rpc"},
	}
	one, two := d.start(c), d.start(c)
	d.await(t, one, "ready")
	d.await(t, two, "ready")
	if a, b := d.up(t, one).Ports["rpc"], d.up(t, two).Ports["rpc"]; a == b || a == 0 || b == 0 {
		t.Errorf("two living replicas have the ports %d and %d", a, b)
	}
}

// TestGroupsGo ends the last replica: the groups that held it go with it, while the daemon lives, and none was made before
// there was a replica. So a daemon that is killed leaves none either.
func TestGroupsGo(t *testing.T) {
	root := fmt.Sprintf("dovetail-test-groups-%d", os.Getpid()) // nobody else's
	d := openDaemon(t, t.TempDir(), root)
	needGroups(t, d)
	none := func(when string) {
		t.Helper()
		for _, dir := range d.tree.parents() {
			if exists(dir) || exists(filepath.Dir(dir)) {
				t.Errorf("%s there is a group %s", when, dir)
			}
		}
	}
	none("before the first replica")
	for range 2 {
		r := d.start(shell("exec sleep 1000"))
		d.up(t, r)
		for _, dir := range d.tree.group(recordName(r)).dirs() {
			if !exists(dir) {
				t.Errorf("while a replica runs there is no group %s", dir)
			}
		}
		d.Stop(r, false)
		d.down(t, r)
		none("after the last replica")
	}
}
