package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// record makes the record of a replica as a daemon does that dies before it spawns the shim.
func record(t *testing.T, dir, root string, c dovetail.Component) (*Backend, *replica) {
	t.Helper()
	b, err := New(Options{Dir: dir, Nodes: []dovetail.Node{node("node-1")}, CgroupRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, dir, root) })
	l := launchOf(1, c)
	r := newReplica(l.Replica, b.recordDir(l.Replica))
	s, err := b.prepare(l, r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeSpec(r.dir, s); err != nil {
		t.Fatal(err)
	}
	b.ports.close()
	r.spec, r.recorded = s, true
	return b, r
}

// counting returns a script that leaves a line in a file outside its record each time it is started.
func counting(t *testing.T) (script, file string) {
	file = filepath.Join(t.TempDir(), "starts")
	return "echo started >> " + file + "; exec sleep 1000", file
}

func starts(file string) int {
	data, _ := os.ReadFile(file)
	return strings.Count(string(data), "started")
}

// TestCrashWindows puts the record into each state in which a daemon or a shim can die, and expects the next daemon to lose
// nothing and to start nothing twice.
func TestCrashWindows(t *testing.T) {
	for _, test := range []struct {
		reason string
		crash  func(b *Backend, r *replica) error
		want   string // first event of the replica
		starts int
		lost   bool
	}{
		{
			reason: "the daemon died before it spawned the shim: the replica is started now",
			crash:  func(*Backend, *replica) error { return nil },
			want:   "up", starts: 1,
		},
		{
			reason: "the daemon died right after it spawned the shim: there may be two, one of them wins",
			crash: func(b *Backend, r *replica) error {
				for range 4 {
					must(b.spawnShim(r))
				}
				return nil
			},
			want: "up", starts: 1,
		},
		{
			reason: "the shim died before it wrote down what it started: nothing was started",
			crash: func(b *Backend, r *replica) error {
				lock := must(takeLock(r.dir))
				defer lock.Close()
				return signLock(lock, identity{Pid: 1, Start: 1, Boot: b.boot})
			},
			want: "up", starts: 1,
		},
		{
			reason: "the shim died right after it wrote down what it started: it may have run, so it is not started again",
			crash: func(b *Backend, r *replica) error {
				return writeJSON(r.path(startedFile), started{identity: identity{Pid: 1 << 22, Start: 1, Boot: b.boot}}, false)
			},
			want: "down", lost: true,
		},
		{
			reason: "the machine went down while it ran: it is lost",
			crash: func(_ *Backend, r *replica) error {
				r.spec.Boot = "an-earlier-boot"
				if err := writeJSON(r.path(specFile), r.spec, true); err != nil {
					return err
				}
				return writeJSON(r.path(startedFile), started{identity: identity{Pid: os.Getpid(), Start: 1, Boot: "an-earlier-boot"}}, false)
			},
			want: "down", lost: true,
		},
		{
			reason: "the machine went down before it was started: it is lost as well, since nobody knows that",
			crash: func(_ *Backend, r *replica) error {
				r.spec.Boot = "an-earlier-boot"
				return writeJSON(r.path(specFile), r.spec, true)
			},
			want: "down", lost: true,
		},
		{
			reason: "the record is damaged: the replica is lost, the daemon is not",
			crash: func(_ *Backend, r *replica) error {
				return os.WriteFile(r.path(specFile), []byte(`{"version":1,`), 0o600)
			},
			want: "down", lost: true,
		},
		{
			reason: "the exit record is damaged: nobody knows how it ended",
			crash: func(_ *Backend, r *replica) error {
				return os.WriteFile(r.path(exitFile), []byte(`x`), 0o600)
			},
			want: "down", lost: true,
		},
		{
			reason: "it was told to stop before its shim was spawned: it is never started",
			crash: func(_ *Backend, r *replica) error {
				return writeJSON(r.path(controlFile), control{Stop: true}, false)
			},
			want: "down",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			dir := t.TempDir()
			script, file := counting(t)
			b, r := record(t, dir, "dovetail-test", shell(script))
			if err := test.crash(b, r); err != nil {
				t.Fatal(err)
			}
			d := openDaemon(t, dir, "dovetail-test")
			e := d.await(t, r.id, "up", "down", "refused")
			if dovetail.EventType(e) != test.want {
				t.Fatalf("%T %+v, expected %s", e, e, test.want)
			}
			if down, ok := e.(dovetail.ReplicasDown); ok && down.Exit.Lost != test.lost {
				t.Errorf("exit %+v, expected lost %v", down.Exit, test.lost)
			}
			if test.want == "up" {
				d.Stop(r.id, false)
				d.down(t, r.id)
			}
			if n := starts(file); n > 1 || n > test.starts {
				t.Errorf("started %d times, expected %d", n, test.starts)
			}
		})
	}
}

// TestShimKilled kills the shim of a replica with children, with the daemon there and not.
func TestShimKilled(t *testing.T) {
	for _, root := range []string{"dovetail-test", NoCgroups} {
		for _, present := range []bool{true, false} {
			t.Run("cgroups "+root+" daemon present "+strconv.FormatBool(present), func(t *testing.T) {
				dir := t.TempDir()
				d := openDaemon(t, dir, root)
				r := d.start(shell("setsid sleep 1000 & echo begun; sleep 1000"))
				d.up(t, r)
				eventually(t, "it runs", func() bool { return d.output(t, r, "stdout") != "" })
				shim, ok := lockHolder(d.recordDir(r))
				if !ok {
					t.Fatal("no shim")
				}
				if !present {
					d.close()
				}
				if err := shim.signal(d.boot, unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
				if !present {
					eventually(t, "the shim is gone", func() bool { return !lockHeld(d.recordDir(r)) })
					d = openDaemon(t, dir, root)
				}
				down := d.down(t, r)
				if !down.Exit.Lost || down.Exit.OK() || !down.WasUp {
					t.Errorf("%+v; expected a replica that was up and is lost", down)
				}
				noOrphans(t, dir)
			})
		}
	}
}

// TestRecycledPid gives the pid on record to another process: this one, which must not be signalled.
func TestRecycledPid(t *testing.T) {
	boot := must(bootID())
	self := must(identify(os.Getpid(), boot))
	if !self.is(boot) {
		t.Fatal("a living process is not itself")
	}
	for _, test := range []struct {
		reason string
		id     identity
	}{
		{"a process that started at another time", identity{Pid: self.Pid, Start: self.Start + 1, Boot: boot}},
		{"a process of an earlier boot", identity{Pid: self.Pid, Start: self.Start, Boot: "earlier"}},
		{"no process", identity{Boot: boot}},
	} {
		if test.id.is(boot) {
			t.Errorf("%s is taken for this one", test.reason)
		}
		if err := test.id.signal(boot, unix.SIGKILL); err == nil {
			t.Errorf("%s was signalled", test.reason)
		}
	}
}

// TestLateShim spawns a shim for a replica that it must not start.
func TestLateShim(t *testing.T) {
	for _, test := range []struct {
		reason string
		file   string
		text   any
		want   *dovetail.Exit // nil: no end is on record
	}{
		{"it ended", exitFile, ended{Exit: dovetail.Exit{Code: 9}}, &dovetail.Exit{Code: 9}},
		{"it was started by a shim that is dead", startedFile, started{}, nil},
		{"it was told to stop", controlFile, control{Stop: true}, &dovetail.Exit{Code: 143, Asked: true, Why: "stopped before it started"}},
		{"it failed before it started", controlFile, control{Stop: true, Why: "late"}, &dovetail.Exit{Code: 143, Why: "late"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			script, file := counting(t)
			b, r := record(t, t.TempDir(), "dovetail-test", shell(script))
			if err := writeJSON(r.path(test.file), test.text, false); err != nil {
				t.Fatal(err)
			}
			waitFor(must(b.spawnShim(r)), 0)
			end, ok, err := readJSON[ended](r.path(exitFile))
			if err != nil || ok != (test.want != nil) || ok && end.Exit != *test.want || starts(file) != 0 {
				t.Errorf("end %+v %v, %d starts; expected %+v and no start", end, err, starts(file), test.want)
			}
		})
	}
}

// TestShimThatFails uses a program that is no shim.
func TestShimThatFails(t *testing.T) {
	for _, test := range []struct{ reason, self string }{
		{"a program that ends at once", must(exec.LookPath("false"))},
		{"a program that is not there", "/nowhere/dovetail"},
	} {
		d := openDaemon(t, t.TempDir(), "dovetail-test", func(o *Options) { o.Self = test.self })
		r := d.start(shell("exit 0"))
		if down := d.down(t, r); down.Exit.Code != 126 || !strings.Contains(down.Exit.Why, "shim") {
			t.Errorf("%s: exit %+v; expected 126 and a word about the shim", test.reason, down.Exit)
		}
	}
}

// TestTerminatedShim tells a shim to end, as a shutdown of the machine does: it stops its replica and says why.
func TestTerminatedShim(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	r := d.start(shell("sleep 1000"))
	d.up(t, r)
	shim, _ := lockHolder(d.recordDir(r))
	if err := shim.signal(d.boot, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if down := d.down(t, r); down.Exit.Asked || !strings.Contains(down.Exit.Why, "shim was told to end") {
		t.Errorf("exit %+v; expected one that nobody asked for, with a reason", down.Exit)
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	if lockHeld(dir) {
		t.Error("a lock that nobody took is held")
	}
	lock := must(takeLock(dir))
	if !lockHeld(dir) {
		t.Error("a lock that was taken is not held")
	}
	if _, err := takeLock(dir); !errors.Is(err, errLocked) {
		t.Errorf("taken twice: %v", err)
	}
	lock.Close()
	if lockHeld(dir) {
		t.Error("a lock that was given back is held")
	}
}

// TestForgetAndPrune drops the record of a replica first, and what it wrote later.
func TestForgetAndPrune(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	l := d.launch(shell("echo hello"))
	r := l.Replica
	d.Start(l)
	d.down(t, r)
	if n, err := d.Prune(time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("pruned %d (%v) of a replica that is not forgotten", n, err)
	}
	d.Forget(r)
	if exists(d.recordDir(r)) || d.output(t, r, "stdout") != "hello\n" {
		t.Errorf("forgotten, its record is there: %v; it wrote %q", exists(d.recordDir(r)), d.output(t, r, "stdout"))
	}
	if n, err := d.Prune(time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("pruned %d (%v) that are younger", n, err)
	}
	if n, err := d.Prune(time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("pruned %d (%v), expected 1", n, err)
	}
	if _, err := d.Log(t.Context(), r, "stdout", 0, 0, false); dovetail.CodeOf(err) != dovetail.NotFound {
		t.Errorf("output that was pruned: %v", err)
	}
}

// TestNameUsedAgain starts a replica with the name of one that was forgotten, as happens when the journal was thrown away: the
// output of the two is not mixed.
func TestNameUsedAgain(t *testing.T) {
	d := openDaemon(t, t.TempDir(), "dovetail-test")
	for _, said := range []string{"first", "second"} {
		l := launchOf(1, shell("echo "+said))
		d.heard = nil
		d.Start(l)
		d.down(t, l.Replica)
		if got := d.output(t, l.Replica, "stdout"); got != said+"\n" {
			t.Errorf("it printed %q, expected %s alone", got, said)
		}
		d.Forget(l.Replica)
	}
}
