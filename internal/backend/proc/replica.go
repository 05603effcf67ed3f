package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// maxSpawns is how many shims may die before they start the command, until the replica is given up.
const maxSpawns = 3

// replica is one replica as the daemon sees it. One goroutine serves it (serve); others only say what is wanted.
type replica struct {
	id   dovetail.Replica
	dir  string
	wake chan struct{} // holds one message
	over chan struct{} // closed when it ended or was refused

	launch engine.Launch // until the record is written

	mu       sync.Mutex
	recorded bool
	spec     spec
	want     control
	told     control // what the shim knows, or will find
	untold   bool    // an earlier daemon may have died before it signalled the shim
	up       bool    // reported
	ready    bool    // reported, or on record
	end      *ended

	// Of the goroutine that serves it:
	shims []int // children of this process that are not waited for yet
	tries int   // shims spawned
	probe *probe
}

func newReplica(id dovetail.Replica, dir string) *replica {
	return &replica{id: id, dir: dir, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// path returns the path of a file in the record.
func (r *replica) path(name string) string { return filepath.Join(r.dir, name) }

// isOver reports whether the replica ended or was refused.
func (r *replica) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

func (r *replica) slot() dovetail.Slot {
	return dovetail.Slot{Run: r.id.Run, Component: r.id.Component, Elastic: r.spec.Elastic, Node: r.spec.Node}
}

// down returns the report that the replica ended. The caller holds r.mu.
func (r *replica) down() dovetail.ReplicasDown {
	return dovetail.ReplicasDown{
		Slot: r.slot(), N: 1, Replica: r.id, WasUp: r.up, WasReady: r.ready, Exit: r.end.Exit, Usage: r.end.Usage,
	}
}

// serve brings a replica to its end, or goes as far as the context lets it.
func (b *Backend) serve(ctx context.Context, r *replica) {
	if !r.recorded && !b.record(ctx, r) {
		return
	}
	defer b.watch.add(r.dir, r.wake)()
	for !b.step(ctx, r, true) {
		select {
		case <-r.wake:
		case <-time.After(r.patience(b.watch.recheck())):
		case <-ctx.Done():
			r.probe.stop()
			return
		}
	}
}

// patience returns how long to wait before looking again. A shim that ends before it took the lock wakes nobody.
func (r *replica) patience(usual time.Duration) time.Duration {
	if len(r.shims) > 0 && !lockHeld(r.dir) {
		return min(usual, time.Second)
	}
	return usual
}

// record writes the record of a replica that was never handed to a shim; false if it is refused, or no longer wanted.
func (b *Backend) record(ctx context.Context, r *replica) bool {
	l := r.launch
	s, err := b.prepare(l, r.dir) //nolint:contextcheck // looking for a free port waits for nothing
	r.mu.Lock()
	r.spec = s
	stopped := r.want.Stop
	r.mu.Unlock()
	switch {
	case err != nil:
		b.refuse(ctx, r, err)
	case stopped:
		b.ended(ctx, r, ended{Exit: dovetail.Exit{Asked: true, Code: 128 + int(unix.SIGTERM), Why: "stopped before it started"}})
	default:
		b.discard(s.LogDir) // of a replica of the same name, from before the journal began anew
		if err := writeSpec(r.dir, s); err != nil {
			b.refuse(ctx, r, errors.Join(err, os.RemoveAll(r.dir)))
			return false
		}
		if err := os.MkdirAll(s.LogDir, 0o750); err != nil {
			b.log.Warn("no place for the output of a replica", "replica", recordName(r.id), "error", err)
		}
		r.mu.Lock()
		r.recorded = true
		r.mu.Unlock()
		return true
	}
	return false
}

// refuse reports that a replica cannot be started, and forgets it.
func (b *Backend) refuse(ctx context.Context, r *replica, why error) {
	b.ports.release(r.spec.Ports)
	b.mu.Lock()
	delete(b.replicas, r.id)
	b.mu.Unlock()
	slot := r.slot()
	slot.Node, slot.Elastic = r.launch.Node, r.launch.Elastic
	b.emit(ctx, dovetail.Refused{Slot: slot, N: 1, Replica: r.id, Why: why.Error()})
	close(r.over)
}

// sight is what a record shows.
type sight int

const (
	unstarted sight = iota // no shim, and there never was one
	starting               // a shim lives that has not started the command yet
	live                   // the command runs
	abandoned              // the command was started, and its shim was killed
	rebooted               // the machine went down with it
	over                   // it ended
)

// look looks at a record: first at the lock, then at the files, so that what is seen is not older than the lock.
func (b *Backend) look(r *replica) (sight, ended) {
	locked := lockHeld(r.dir)
	end, ok, err := readJSON[ended](r.path(exitFile))
	switch wasStarted := exists(r.path(startedFile)); {
	case err != nil:
		return over, ended{Exit: dovetail.Exit{Lost: true, Why: fmt.Sprintf("nobody knows how it ended: %v", err)}}
	case ok:
		return over, end
	case r.spec.Boot != b.boot:
		return rebooted, end
	case locked && wasStarted:
		return live, end
	case locked:
		return starting, end
	case wasStarted:
		return abandoned, end
	}
	return unstarted, end
}

// step does what is to be done for a replica now, and reports whether it ended. Unless maySpawn is set, it only reports what
// the record shows.
func (b *Backend) step(ctx context.Context, r *replica, maySpawn bool) bool {
	if maySpawn {
		b.tell(r)
	}
	alive := r.reapShims(unix.WNOHANG)
	saw, end := b.look(r)
	switch saw {
	case over:
		return b.ended(ctx, r, end)
	case rebooted:
		return b.giveUp(ctx, r, dovetail.Exit{Lost: true, Why: "the machine was restarted"})
	case abandoned:
		return b.giveUp(ctx, r, dovetail.Exit{Lost: true, Why: "its shim was killed: nobody knows how it ended"})
	case live:
		b.lives(ctx, r, maySpawn)
	case starting: // its shim will wake us
	case unstarted:
		if !maySpawn || alive > 0 {
			return false
		}
		return b.spawn(ctx, r)
	}
	return false
}

// tell makes known to the shim what is wanted. A shim that has not signed its lock yet will read it by itself.
func (b *Backend) tell(r *replica) {
	r.mu.Lock()
	want := r.want
	news := want != r.told || r.untold
	r.mu.Unlock()
	if !news {
		return
	}
	if err := writeJSON(r.path(controlFile), want, false); err != nil {
		b.log.Error("a replica cannot be told what is wanted of it; trying again", "replica", recordName(r.id), "error", err)
		return
	}
	r.mu.Lock()
	r.told, r.untold = want, false
	r.mu.Unlock()
	if shim, ok := lockHolder(r.dir); ok && lockHeld(r.dir) {
		if err := shim.signal(b.boot, unix.SIGUSR1); err != nil && !errors.Is(err, unix.ESRCH) {
			b.log.Error("a shim cannot be signalled", "replica", recordName(r.id), "pid", shim.Pid, "error", err)
		}
	}
}

// lives reports a replica that is up, once, and lets its readiness be watched.
func (b *Backend) lives(ctx context.Context, r *replica, mayProbe bool) {
	r.mu.Lock()
	first := !r.up
	r.up = true
	if first && r.spec.Ready != nil {
		r.ready = exists(r.path(readyFile))
	}
	ready, stopping := r.ready, r.want.Stop
	r.mu.Unlock()
	if first {
		b.emit(ctx, r.upEvent())
		if ready {
			b.emit(ctx, dovetail.ReplicasReady{Slot: r.slot(), N: 1, Replica: r.id})
		}
	}
	if mayProbe && r.spec.Ready != nil && !ready && !stopping && r.probe == nil {
		r.probe = b.startProbe(ctx, r)
	}
}

func (r *replica) upEvent() dovetail.ReplicasUp {
	return dovetail.ReplicasUp{Slot: r.slot(), N: 1, Replica: r.id, Host: r.spec.Host, Ports: r.spec.Ports}
}

// spawn starts a shim for a replica that has none and never had, unless the replica is not wanted any more or shims
// cannot start here.
func (b *Backend) spawn(ctx context.Context, r *replica) bool {
	r.mu.Lock()
	want := r.want
	r.mu.Unlock()
	switch {
	case want.Stop:
		return b.giveUp(ctx, r, dovetail.Exit{Code: 128 + int(unix.SIGTERM), Why: "stopped before it started"})
	case r.tries == maxSpawns:
		said, _ := os.ReadFile(r.path(shimLogFile))
		return b.giveUp(ctx, r, dovetail.Exit{Code: 126, Why: fmt.Sprintf("its shim ended %d times before it could start the command: %s",
			r.tries, strings.TrimSpace(string(said[max(0, len(said)-500):])))})
	}
	r.tries++
	pid, err := b.spawnShim(r)
	if err != nil {
		return b.giveUp(ctx, r, dovetail.Exit{Code: 126, Why: fmt.Sprintf("cannot start the shim %s: %v", b.opts.Self, err)})
	}
	r.shims = append(r.shims, pid)
	return false
}

// spawnShim starts a shim, in a session of its own and with nothing of the daemon's but a file for its last words.
func (b *Backend) spawnShim(r *replica) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	words, err := os.OpenFile(r.path(shimLogFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer words.Close()
	return startProcess(b.opts.Self, []string{b.opts.Self, b.opts.ShimArg, r.dir}, &os.ProcAttr{
		Dir:   "/",
		Env:   append(shimEnvironment(), markerVariable+"="+r.spec.Marker),
		Files: []*os.File{null, words, words},
		Sys:   &unix.SysProcAttr{Setsid: true},
	})
}

// shimEnvironment returns what shims inherit: settings of the Go runtime only.
func shimEnvironment() []string {
	var env []string
	for _, name := range []string{"GODEBUG", "GORACE", "GOTRACEBACK", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// reapShims waits for shims that this process started and that ended, and returns how many have not.
func (r *replica) reapShims(options int) int {
	r.shims = slices.DeleteFunc(r.shims, func(pid int) bool { return waitFor(pid, options) })
	return len(r.shims)
}

// giveUp ends a replica that has no shim: what is left of it is killed, and the end is written under the lock, so that no
// shim can start it any more.
func (b *Backend) giveUp(ctx context.Context, r *replica, exit dovetail.Exit) bool {
	lock, err := takeLock(r.dir)
	if errors.Is(err, errLocked) {
		return false // a shim came first after all
	}
	if err != nil {
		b.log.Error("the record of a replica cannot be locked", "replica", recordName(r.id), "error", err)
	} else {
		defer lock.Close()
	}
	saw, end := b.lookUnlocked(r)
	if saw == over {
		return b.ended(ctx, r, end)
	}
	b.killLeftovers(r.spec)
	r.mu.Lock()
	exit.Asked = r.want.Stop && r.want.Why == ""
	r.mu.Unlock()
	end = ended{Exit: exit, At: time.Now().UTC(), Started: saw == abandoned}
	u, _, _ := r.spec.Group.usage()
	end.Usage = u
	if err := r.spec.Group.remove(); err != nil {
		b.log.Warn("a control group is left behind", "replica", recordName(r.id), "error", err)
	}
	if err := writeJSON(r.path(exitFile), end, true); err != nil {
		b.log.Error("the end of a replica cannot be written down", "replica", recordName(r.id), "error", err)
	}
	return b.ended(ctx, r, end)
}

// lookUnlocked looks at a record whose lock this process holds.
func (b *Backend) lookUnlocked(r *replica) (sight, ended) {
	saw, end := b.look(r)
	if saw == live {
		saw = abandoned
	}
	return saw, end
}

// killLeftovers kills what a shim left behind when it was killed: everything in the group, and whatever carries the marker.
func (b *Backend) killLeftovers(s spec) {
	for range 500 {
		s.Group.kill()
		pids := s.Group.pids()
		for _, pid := range marked(func(m string) bool { return m == s.Marker }) {
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
		if len(pids) == 0 {
			return
		}
		signalAll(pids, unix.SIGKILL)
		time.Sleep(10 * time.Millisecond)
	}
	b.log.Error("processes of a replica cannot be killed", "marker", s.Marker)
}

// ended takes note of the end of a replica and reports it.
func (b *Backend) ended(ctx context.Context, r *replica, end ended) bool {
	r.probe.stop()
	r.mu.Lock()
	first := end.Started && !r.up && r.launch.Run != nil
	r.up = r.up || end.Started
	r.ready = r.ready || exists(r.path(readyFile))
	r.end = &end
	down := r.down()
	r.mu.Unlock()
	for _, note := range end.Notes {
		b.log.Warn("a replica ran with limitations", "replica", recordName(r.id), "note", note)
	}
	if end.Hook != "" {
		b.log.Warn("a removal hook failed; the replica was stopped all the same", "replica", recordName(r.id), "hook", end.Hook)
	}
	r.reapShims(0) // they end by themselves now
	if shim, ok := lockHolder(r.dir); ok {
		shim.reap(b.boot) // if an earlier Backend of this process started it
	}
	b.ports.release(r.spec.Ports)
	close(r.over)
	if first {
		b.emit(ctx, r.upEvent())
	}
	b.emit(ctx, down)
	return true
}
