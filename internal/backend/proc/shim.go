package proc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dovetail-sched/dovetail"
)

// stageTwo is the argument that makes a shim the child that becomes the command.
const stageTwo = "exec"

// Shim is the whole life of a shim; args are what follows ShimArg on the command line. It returns the exit code of the
// process. A program that uses this back-end calls it before anything else when its first argument is ShimArg.
func Shim(args []string) int {
	switch {
	case len(args) == 1 && args[0] == stageTwo:
		return become()
	case len(args) == 1:
		runtime.LockOSThread() // the command is killed when the thread that started it ends: PDEATHSIG
		if err := guard(args[0]); err != nil {
			fmt.Fprintf(os.Stderr, "dovetail shim: %s: %v\n", args[0], err)
			return 1
		}
		return 0
	}
	fmt.Fprintln(os.Stderr, "dovetail shim: expected the directory of a record")
	return 2
}

// guardian is a shim at work.
type guardian struct {
	dir  string
	boot string
	spec spec
	lock *os.File

	wanted  control
	signals chan os.Signal
	deaths  chan death // of direct children and adopted ones; closed when none is left
	main    int        // pid of the command
	outs    []*output
	drained chan struct{} // one message a stream that has no writer any more

	frozen    bool
	stopping  phase
	asked     bool // the stop was asked for before the command ended
	exit      *dovetail.Exit
	timer     *time.Timer // ends the present phase of a stop
	hook      *hook
	hookError string
	rss       int64 // highest seen
	overuse   int64 // bytes for which the replica was killed, without memory groups
	used      dovetail.Usage
	notes     []string
}

// phase is how far a stop has come.
type phase int

const (
	notStopping phase = iota
	hooking           // the removal hook runs
	signalled         // the stop signal was sent
	killing           // only the kernel can help now
)

// guard runs the shim of one record. It returns without an error, and without a trace, if another shim lives or lived.
func guard(dir string) error {
	g := &guardian{dir: dir, signals: make(chan os.Signal, 8)}
	signal.Notify(g.signals, unix.SIGUSR1, unix.SIGTERM, unix.SIGINT)
	signal.Ignore(unix.SIGHUP, unix.SIGPIPE)
	lock, err := takeLock(dir)
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	g.lock = lock
	if exists(g.path(exitFile)) || exists(g.path(startedFile)) {
		return nil
	}
	if g.boot, err = bootID(); err != nil {
		return err
	}
	s, ok, err := readJSON[spec](g.path(specFile))
	if err != nil || !ok || s.Boot != g.boot {
		return err
	}
	g.spec = s
	self, err := identify(os.Getpid(), g.boot)
	if err != nil {
		return err
	}
	if err := signLock(lock, self); err != nil {
		return err
	}
	// Whoever changes what is wanted from here on signals this process; what was wanted before is in the file.
	if g.wanted, _, err = readJSON[control](g.path(controlFile)); err != nil {
		return err
	}
	if g.wanted.Stop {
		return g.conclude(dovetail.Exit{Code: 128 + int(unix.SIGTERM), Asked: g.wanted.Why == "", Why: orElse(g.wanted.Why, "stopped before it started")}, false)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the replica's processes: %w", err)
	}
	exit, err := g.start()
	if err != nil {
		return err
	}
	if exit == nil {
		exit = g.watch()
	}
	g.finish(exit)
	return g.conclude(*exit, true)
}

func (g *guardian) path(name string) string { return filepath.Join(g.dir, name) }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// start starts the command. If that fails for a reason that lies in the description, it returns the exit to report.
func (g *guardian) start() (*dovetail.Exit, error) {
	path, exit := findCommand(g.spec.Argv[0], g.spec.WorkDir, g.spec.Env)
	if exit != nil {
		return exit, nil
	}
	pipes, err := g.openOutput()
	if err != nil {
		return nil, err
	}
	if err := g.spec.Group.create(g.spec.Limits); err != nil {
		g.notes = append(g.notes, err.Error()+"; memory is watched instead, CPU is not limited")
		g.spec.Group = group{}
	}
	c, err := g.spawnStageTwo(pipes)
	for _, p := range pipes {
		p.Close()
	}
	if err != nil {
		g.dropGroup()
		return &dovetail.Exit{Code: 126, Why: fmt.Sprintf("cannot start %s in %s: %v", g.spec.Argv[0], g.spec.WorkDir, err)}, nil
	}
	g.main = c.pid
	g.deaths = make(chan death)
	id, err := identify(c.pid, g.boot)
	if err == nil {
		err = writeJSON(g.path(startedFile), started{identity: id, At: time.Now().UTC()}, false)
	}
	if err != nil { // never started: without the word to go the child ends by itself
		c.abandon()
		g.dropGroup()
		return nil, err
	}
	go reapAll(g.deaths)
	if err := c.release(order{Path: path, Argv: g.spec.Argv, Env: g.spec.Env, Group: g.spec.Group}); err != nil {
		return g.failedExec(err), nil
	}
	if g.wanted.Frozen {
		g.freeze(true)
	}
	return nil, nil
}

// failedExec waits for the child that could not become the command, and says why.
func (g *guardian) failedExec(why error) *dovetail.Exit {
	for range g.deaths {
	}
	code := 126
	if errors.Is(why, unix.ENOENT) {
		code = 127
	}
	return &dovetail.Exit{Code: code, Why: fmt.Sprintf("cannot run %s: %v", g.spec.Argv[0], why)}
}

// openOutput opens both streams and returns the ends of the pipes that the command writes to.
func (g *guardian) openOutput() ([]*os.File, error) {
	if err := os.MkdirAll(g.spec.LogDir, 0o750); err != nil {
		return nil, err
	}
	g.drained = make(chan struct{}, len(streams))
	var ends []*os.File
	for _, stream := range streams {
		o, err := newOutput(g.spec.LogDir, stream, g.spec.LogBytes, g.spec.LogFiles)
		if err != nil {
			return nil, err
		}
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		g.outs, ends = append(g.outs, o), append(ends, w)
		go func() {
			o.drain(r)
			g.drained <- struct{}{}
		}()
	}
	return ends, nil
}

// watch serves the replica until no process of it is left.
func (g *guardian) watch() *dovetail.Exit {
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	if g.spec.Group.limitsMemory() {
		poll.Stop() // the kernel does it
	}
	g.timer = time.NewTimer(0)
	if !g.timer.Stop() {
		<-g.timer.C
	}
	for {
		select {
		case s := <-g.signals:
			g.signal(s)
		case d, ok := <-g.deaths:
			if !ok {
				return g.exit
			}
			g.died(d)
		case <-g.hook.over():
			g.hookError = g.hook.result()
			g.sendStop()
		case <-g.timer.C:
			g.advance()
		case <-poll.C:
			g.checkMemory()
		}
	}
}

// signal reacts to the daemon, which changed what is wanted, or to somebody who ends this process.
func (g *guardian) signal(s os.Signal) {
	if s != unix.SIGUSR1 {
		g.wanted.Stop, g.wanted.Hook = true, false
		g.wanted.Why = orElse(g.wanted.Why, fmt.Sprintf("its shim was told to end (%v)", s))
	} else if c, ok, err := readJSON[control](g.path(controlFile)); err == nil && ok {
		g.wanted = c
	}
	switch {
	case g.exit != nil || g.stopping > hooking:
	case g.wanted.Stop && g.stopping == hooking && !g.wanted.Hook:
		g.hookError = g.hook.cut()
		g.sendStop()
	case g.wanted.Stop && g.stopping == notStopping:
		g.asked = g.wanted.Why == ""
		g.freeze(false)
		if g.wanted.Hook && g.spec.Remove != nil {
			g.stopping = hooking
			g.hook = startHook(g.spec, g.outs[1])
			return
		}
		g.sendStop()
	case g.wanted.Frozen != g.frozen && !g.wanted.Stop:
		g.freeze(g.wanted.Frozen)
	}
}

// died takes note of a child that ended. When it is the command, all that it left behind is killed.
func (g *guardian) died(d death) {
	g.used.Read += d.read
	g.used.Written += d.written
	g.used.CPU += d.cpu
	g.rss = max(g.rss, d.rss)
	if g.hook.took(d) || d.pid != g.main {
		return
	}
	g.exit = &dovetail.Exit{Code: d.status.ExitStatus()}
	if d.status.Signaled() {
		g.exit.Code = 128 + int(d.status.Signal())
		g.exit.Signal = unix.SignalName(d.status.Signal())
	}
	g.hook.cut()
	g.stopping = killing
	g.advance()
}

// advance goes on with a stop whose present phase took its time.
func (g *guardian) advance() {
	if g.stopping < signalled {
		return
	}
	g.stopping = killing
	g.killAll()
	g.timer.Reset(100 * time.Millisecond) // for what was born meanwhile
}

// sendStop sends the stop signal to the whole tree; the grace period begins.
func (g *guardian) sendStop() {
	g.stopping = signalled
	signalAll(g.processes(), stopSignal(g.spec.Stop))
	g.timer.Reset(grace(g.spec.Stop))
}

// killAll kills every process of the replica.
func (g *guardian) killAll() {
	g.spec.Group.kill()
	signalAll(g.processes(), unix.SIGKILL)
}

// processes returns all processes of the replica: those of its group, and all other descendants of the shim.
func (g *guardian) processes() []int {
	pids := g.spec.Group.pids()
	for _, pid := range descendants(os.Getpid()) {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// freeze lets the replica stand still, or go on. Without a group that can, processes are stopped one by one until no new
// one is found.
func (g *guardian) freeze(on bool) {
	if g.frozen == on {
		return
	}
	g.frozen = on
	if g.spec.Group.freeze(on) {
		return
	}
	sig := unix.SIGCONT
	if on {
		sig = unix.SIGSTOP
	}
	done := make(map[int]bool)
	for again := true; again; {
		again = false
		for _, pid := range g.processes() {
			if !done[pid] {
				done[pid], again = true, true
				signalAll([]int{pid}, sig)
			}
		}
	}
}

// checkMemory stands in for the kernel where groups cannot limit memory.
func (g *guardian) checkMemory() {
	var sum int64
	for _, pid := range g.processes() {
		if s, err := readStat(pid); err == nil {
			sum += s.RSS
		}
	}
	g.rss = max(g.rss, sum)
	if limit := g.spec.Limits.Memory; limit > 0 && sum > limit && g.exit == nil && g.overuse == 0 {
		g.overuse = sum
		g.stopping = killing
		g.advance()
	}
}

// finish completes the exit with what the group knows, and removes the group.
func (g *guardian) finish(exit *dovetail.Exit) {
	memory := dovetail.FormatQuantity(dovetail.Memory, g.spec.Limits.Memory)
	exit.Asked = g.asked
	exit.Why = orElse(exit.Why, g.wanted.Why)
	failed := exit.Signal == "SIGKILL" || exit.Code != 0
	switch {
	case g.overuse > 0:
		exit.OOM = true
		exit.Why = fmt.Sprintf("killed for its memory: it used %d bytes, and may use %s", g.overuse, memory)
	case failed && !g.asked && g.wanted.Why == "" && g.spec.Group.oomKills() > 0:
		exit.OOM = true
		exit.Why = "killed by the kernel for its memory: it needed more than " + memory
	}
	u, cpu, mem := g.spec.Group.usage()
	if cpu {
		g.used.CPU = u.CPU
	}
	g.used.MemoryPeak = g.rss
	if mem {
		g.used.MemoryPeak = u.MemoryPeak
	}
	g.dropGroup()
	g.awaitOutput()
}

// How long the end of the output is waited for while none comes, and at most.
const (
	outputIdle = time.Second
	outputMost = 30 * time.Second
)

// awaitOutput waits until all output is stored. A process outside the tree may have been handed a pipe, so that it does not end:
// when nothing has come for a while, or for too long, it is given up. While the disk is slow, something is coming.
func (g *guardian) awaitOutput() {
	idle := time.NewTicker(outputIdle)
	defer idle.Stop()
	most := time.After(outputMost)
	seen, _ := g.stored()
	for range g.outs {
		for waiting := true; waiting; {
			select {
			case <-g.drained:
				waiting = false
			case <-idle.C:
				now, busy := g.stored()
				if now == seen && !busy {
					return
				}
				seen = now
			case <-most:
				return
			}
		}
	}
}

// stored returns how much output has been taken from the pipes, and whether some is being stored just now.
func (g *guardian) stored() (bytes int64, busy bool) {
	for _, o := range g.outs {
		if !o.mu.TryLock() {
			busy = true
			continue
		}
		bytes += o.start + o.size + o.lost
		o.mu.Unlock()
	}
	return bytes, busy
}

// dropGroup removes the group, in which no process is left.
func (g *guardian) dropGroup() {
	if err := g.spec.Group.remove(); err != nil {
		g.notes = append(g.notes, "a control group is left behind: "+err.Error())
	}
}

// conclude writes how the replica ended. It is the last thing a shim does, and nobody else knows it: where there is no room,
// the shim lives on and tries again until there is, or until the record is gone.
func (g *guardian) conclude(exit dovetail.Exit, started bool) error {
	for i, o := range g.outs {
		o.mu.Lock()
		if o.lost > 0 {
			g.notes = append(g.notes, fmt.Sprintf("%d bytes of %s could not be stored", o.lost, streams[i]))
		}
		o.mu.Unlock()
	}
	end := ended{Exit: exit, Usage: g.used, At: time.Now().UTC(), Hook: g.hookError, Notes: g.notes, Started: started}
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := writeJSON(g.path(exitFile), end, true)
		if err == nil || !exists(g.dir) {
			return err
		}
		time.Sleep(wait)
	}
}

// stopSignal returns the signal that asks a replica to end.
func stopSignal(s dovetail.Stop) unix.Signal {
	if s.Signal == "" {
		return unix.SIGTERM
	}
	return signalNumber(s.Signal)
}

// signalNumber returns the signal of a name such as SIGINT or INT, 0 if there is none.
func signalNumber(name string) unix.Signal {
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	return unix.SignalNum(name)
}

// grace returns how long a replica may take to end after the stop signal.
func grace(s dovetail.Stop) time.Duration {
	if s.Grace == 0 {
		return 10 * time.Second
	}
	return time.Duration(s.Grace)
}
