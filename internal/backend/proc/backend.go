package proc

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// Options configures a Backend.
type Options struct {
	Dir        string          // state directory; one daemon at a time
	Nodes      []dovetail.Node // the parts of this machine; none: the whole machine as node-1
	Self       string          // program that calls Shim when its first argument is ShimArg; empty: the running one
	ShimArg    string          // empty: __shim
	Log        *slog.Logger    // nil: nothing is logged
	LogBytes   int64           // size of one file of a replica's output; 0: 16 MiB
	LogFiles   int             // files kept per stream, at least 2; 0: 4
	CgroupRoot string          // name of the group in which replicas get theirs; empty: dovetail; NoCgroups: use no cgroups
}

// NoCgroups as Options.CgroupRoot makes the back-end do without control groups.
const NoCgroups = "none"

// Backend runs replicas as processes of this machine. It implements engine.Runner.
type Backend struct {
	opts  Options
	log   *slog.Logger
	id    string // of the state directory
	boot  string
	tree  hierarchies
	ports *ports
	watch *watcher

	mu       sync.Mutex
	replicas map[dovetail.Replica]*replica
	ctx      context.Context // of Run; nil before and after
	inbox    chan<- dovetail.Event
	backlog  []dovetail.Event // reports from before Run
	work     sync.WaitGroup
}

var _ engine.Runner = (*Backend)(nil)

// New opens a state directory and finds the replicas that earlier daemons left there. A missing or unusable directory is
// an error, missing control groups are not: what then is not limited or metered is logged once.
func New(opts Options) (*Backend, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Backend{opts: opts, log: opts.Log, replicas: make(map[dovetail.Replica]*replica)}
	if err := os.RemoveAll(b.path("trash")); err != nil {
		return nil, dovetail.Errorf(dovetail.Unavailable, "cannot use the state directory: %v", err)
	}
	for _, dir := range []string{b.path("replicas"), b.path("logs"), b.path("trash")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, dovetail.Errorf(dovetail.Unavailable, "cannot use the state directory: %v; choose one that can be written to", err)
		}
	}
	if b.id, err = stateID(opts.Dir); err != nil {
		return nil, err
	}
	if b.boot, err = bootID(); err != nil {
		return nil, err
	}
	b.findGroups()
	b.ports = newPorts(crc32.ChecksumIEEE([]byte(b.id)))
	if err := b.load(); err != nil {
		return nil, err
	}
	b.dropStrayGroups()
	b.watch = newWatcher()
	return b, nil
}

func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, err
	}
	if o.Self == "" {
		if o.Self, err = os.Executable(); err != nil {
			return o, fmt.Errorf("find the running program, which is also the shim: %w", err)
		}
	}
	if len(o.Nodes) == 0 {
		if o.Nodes, err = Split(1); err != nil {
			return o, err
		}
	}
	o.ShimArg = cmp.Or(o.ShimArg, "__shim")
	o.CgroupRoot = cmp.Or(o.CgroupRoot, "dovetail")
	o.LogBytes = cmp.Or(o.LogBytes, 16<<20)
	o.LogFiles = max(cmp.Or(o.LogFiles, 4), 2)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

func (b *Backend) path(name string) string { return filepath.Join(b.opts.Dir, name) }

func (b *Backend) recordDir(r dovetail.Replica) string {
	return filepath.Join(b.opts.Dir, "replicas", recordName(r))
}

func (b *Backend) logDir(r dovetail.Replica) string {
	return filepath.Join(b.opts.Dir, "logs", recordName(r))
}

// stateID returns the name of a state directory, which is made up when it is used for the first time.
func stateID(dir string) (string, error) {
	path := filepath.Join(dir, "id")
	data, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(data))) == 8 {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var random [4]byte
	rand.Read(random[:])
	id := hex.EncodeToString(random[:])
	if err := os.WriteFile(path, []byte(id+"\n"), 0o644); err != nil {
		return "", err
	}
	return id, syncDir(dir)
}

// findGroups finds out what control groups can do here, and says so if that is not all.
func (b *Backend) findGroups() {
	err := errors.New("control groups are switched off")
	if b.opts.CgroupRoot != NoCgroups {
		b.tree, err = findHierarchies(filepath.Join(b.opts.CgroupRoot, b.id))
	}
	g := b.tree.group("x")
	if !g.limitsMemory() {
		b.log.Warn("control groups cannot limit memory here: each replica's memory is looked at once a second, and a replica that uses too much is killed", "found", b.tree.describe(), "error", err)
	}
	if !g.limitsCPU() {
		b.log.Warn("control groups cannot limit CPU here: replicas share it as the kernel sees fit", "found", b.tree.describe(), "error", err)
	}
}

// dropStrayGroups removes groups of this state directory whose record is gone, and what runs in them.
func (b *Backend) dropStrayGroups() {
	for _, name := range b.tree.names() {
		if exists(filepath.Join(b.path("replicas"), name)) {
			continue
		}
		g := b.tree.group(name)
		g.kill()
		if err := g.remove(); err != nil {
			b.log.Warn("a control group without a record cannot be removed", "group", name, "error", err)
		}
	}
}

// load reads the records.
func (b *Backend) load() error {
	entries, err := os.ReadDir(b.path("replicas"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := parseRecordName(e.Name())
		if !ok {
			b.log.Warn("not a record of a replica", "name", e.Name())
			continue
		}
		dir := b.recordDir(id)
		s, ok, err := readJSON[spec](filepath.Join(dir, specFile))
		if err == nil && !ok { // the daemon died before the replica was handed over
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			continue
		}
		r := newReplica(id, dir)
		r.recorded = true
		if err != nil || s.Version != specVersion {
			b.log.Error("the record of a replica cannot be read; the replica is given up", "replica", e.Name(), "error", err)
			s = spec{Replica: id, Marker: b.id + "/" + e.Name(), Group: b.tree.group(e.Name())} // of no boot: lost
		}
		r.spec = s
		r.want, r.untold, _ = readJSON[control](filepath.Join(dir, controlFile))
		if !exists(filepath.Join(dir, exitFile)) {
			b.ports.keep(s.Ports)
		}
		b.replicas[id] = r
	}
	return nil
}

// Start starts a replica, unless there is a record that it was started before. A replica that cannot be started for a
// reason in its description is refused.
func (b *Backend) Start(l engine.Launch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.replicas[l.Replica] != nil {
		return
	}
	r := newReplica(l.Replica, b.recordDir(l.Replica))
	r.launch = l
	b.replicas[l.Replica] = r
	if b.ctx != nil {
		b.begin(b.ctx, r)
	}
}

// begin serves a replica until it ended or the context of Run ends.
func (b *Backend) begin(ctx context.Context, r *replica) {
	b.work.Go(func() { b.serve(ctx, r) })
}

// Stop stops a replica; see engine.Runner. The shim does it, so it goes on when the daemon ends.
func (b *Backend) Stop(id dovetail.Replica, remove bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.replicas[id]
	if r == nil {
		b.report(dovetail.ReplicasDown{
			Slot: dovetail.Slot{Run: id.Run, Component: id.Component}, N: 1, Replica: id,
			Exit: dovetail.Exit{Asked: true, Lost: true, Why: "there is no record of this replica"},
		})
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		b.report(r.down())
		return
	}
	switch {
	case !r.want.Stop:
		r.want.Stop, r.want.Hook = true, remove
	case !remove:
		r.want.Hook = false
	}
	wake(r.wake)
}

// Freeze lets a replica stand still, or go on.
func (b *Backend) Freeze(id dovetail.Replica, frozen bool) {
	if r := b.find(id); r != nil {
		r.mu.Lock()
		r.want.Frozen = frozen
		r.mu.Unlock()
		wake(r.wake)
	}
}

// find returns the replica, nil if it is unknown.
func (b *Backend) find(id dovetail.Replica) *replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replicas[id]
}

// Forget drops the record of a replica that ended; its output stays until Prune.
func (b *Backend) Forget(id dovetail.Replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.replicas[id]
	if r == nil || !r.isOver() {
		return
	}
	delete(b.replicas, id)
	b.discard(r.dir)
}

// discard removes a directory: its name at once, so that half a record is never seen, and the rest in the background.
func (b *Backend) discard(dir string) {
	trash, err := os.MkdirTemp(b.path("trash"), "")
	if err == nil {
		err = os.Rename(dir, filepath.Join(trash, "x"))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn("a directory cannot be discarded", "dir", dir, "error", err)
	}
	b.work.Go(func() { _ = os.RemoveAll(trash) }) // what stays is removed by the next daemon
}

// report sends an event as soon as possible, without blocking. The caller holds b.mu.
func (b *Backend) report(e dovetail.Event) {
	ctx, inbox := b.ctx, b.inbox
	if ctx == nil {
		b.backlog = append(b.backlog, e)
		return
	}
	b.work.Go(func() { send(ctx, inbox, e) })
}

// send delivers an event unless the context ends before.
func send(ctx context.Context, inbox chan<- dovetail.Event, e dovetail.Event) {
	select {
	case inbox <- e:
	case <-ctx.Done():
	}
}

// emit delivers an event of a replica that is being served.
func (b *Backend) emit(ctx context.Context, e dovetail.Event) {
	b.mu.Lock()
	inbox := b.inbox
	b.mu.Unlock()
	send(ctx, inbox, e)
}

// Run reports until the context ends; see engine.Runner. It can be called once.
func (b *Backend) Run(ctx context.Context, inbox chan<- dovetail.Event, observed func()) error {
	b.mu.Lock()
	if b.inbox != nil {
		b.mu.Unlock()
		return errors.New("proc: Run was called before")
	}
	b.inbox = inbox
	var known []*replica
	for _, r := range b.replicas {
		if r.recorded {
			known = append(known, r)
		}
	}
	b.mu.Unlock()
	go b.watch.serve()
	defer b.watch.close()
	defer b.ports.close()

	for _, n := range b.opts.Nodes {
		send(ctx, inbox, dovetail.NodeUp{Node: n})
	}
	slices.SortFunc(known, func(x, y *replica) int { return compareReplicas(x.id, y.id) })
	for _, r := range known {
		b.step(ctx, r, false)
	}
	observed()

	b.mu.Lock()
	b.ctx = ctx
	for _, r := range b.replicas {
		if !r.isOver() {
			b.begin(ctx, r)
		}
	}
	for _, e := range b.backlog {
		b.work.Go(func() { send(ctx, inbox, e) })
	}
	b.backlog = nil
	b.mu.Unlock()

	<-ctx.Done()
	b.mu.Lock()
	b.ctx = nil
	b.mu.Unlock()
	b.work.Wait()
	return nil
}

func compareReplicas(x, y dovetail.Replica) int {
	return cmp.Or(cmp.Compare(x.Run, y.Run), cmp.Compare(x.Component, y.Component),
		cmp.Compare(x.Index, y.Index), cmp.Compare(x.Attempt, y.Attempt))
}
