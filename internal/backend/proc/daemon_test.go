package proc

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// patience is how long tests wait for what must happen.
const patience = 2 * time.Minute

// daemon is a Backend that runs, and what it has said.
type daemon struct {
	*Backend
	log    *lockedBuffer
	inbox  chan dovetail.Event
	heard  []dovetail.Event
	before int // of heard, those before observed
	runs   dovetail.RunID
	close  func()
}

// openDaemon opens a Backend and lets it run until the end of the test, when every replica is stopped and nothing may be left.
func openDaemon(t testing.TB, dir, root string, change ...func(*Options)) *daemon {
	t.Helper()
	log := &lockedBuffer{}
	opts := Options{
		Dir: dir, Nodes: []dovetail.Node{node("node-1")}, CgroupRoot: root,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, c := range change {
		c(&opts)
	}
	b, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &daemon{Backend: b, log: log, inbox: make(chan dovetail.Event)}
	observed, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- b.Run(ctx, d.inbox, func() { observed <- struct{}{} }) }()
	for waiting := true; waiting; {
		select {
		case e := <-d.inbox:
			d.heard = append(d.heard, e)
		case <-observed:
			waiting = false
		}
	}
	d.before = len(d.heard)
	d.close = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		d.close()
		sweep(t, dir, root)
	})
	return d
}

// sweep stops whatever still runs in a state directory.
func sweep(t testing.TB, dir, root string) {
	t.Helper()
	b, err := New(Options{Dir: dir, Nodes: []dovetail.Node{node("node-1")}, CgroupRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	inbox, done := make(chan dovetail.Event), make(chan struct{})
	for id := range b.replicas {
		b.Stop(id, false)
	}
	go func() {
		defer close(done)
		_ = b.Run(ctx, inbox, func() {})
	}()
	for _, r := range b.all() {
		for !r.isOver() {
			select {
			case <-inbox:
			case <-r.over:
			case <-ctx.Done():
				t.Fatal("a replica cannot be stopped")
			}
		}
	}
	cancel()
	<-done
	noOrphans(t, dir)
}

func (b *Backend) all() []*replica {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*replica
	for _, r := range b.replicas {
		all = append(all, r)
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// launch makes a launch of a new run of one component.
func (d *daemon) launch(c dovetail.Component) engine.Launch {
	d.runs++
	return launchOf(d.runs, c)
}

func launchOf(id dovetail.RunID, c dovetail.Component) engine.Launch {
	c.Name, c.Count = "it", 1
	run := &dovetail.Run{ID: id, Name: "a-run", App: &dovetail.Application{Name: "app", Components: []dovetail.Component{c}}}
	return engine.Launch{Replica: dovetail.Replica{Run: id, Attempt: 1}, Node: "node-1", Run: run}
}

func (d *daemon) start(c dovetail.Component) dovetail.Replica {
	l := d.launch(c)
	d.Start(l)
	return l.Replica
}

// await waits for an event of a kind, as dovetail.EventType names it, about a replica.
func (d *daemon) await(t testing.TB, r dovetail.Replica, kinds ...string) dovetail.Event {
	t.Helper()
	matches := func(e dovetail.Event) bool {
		var about dovetail.Replica
		switch e := e.(type) {
		case dovetail.ReplicasUp:
			about = e.Replica
		case dovetail.ReplicasReady:
			about = e.Replica
		case dovetail.ReplicasDown:
			about = e.Replica
		case dovetail.Refused:
			about = e.Replica
		}
		return about == r && strings.Contains(strings.Join(kinds, " "), dovetail.EventType(e))
	}
	for _, e := range d.heard {
		if matches(e) {
			return e
		}
	}
	for deadline := time.After(patience); ; {
		select {
		case e := <-d.inbox:
			d.heard = append(d.heard, e)
			if matches(e) {
				return e
			}
		case <-deadline:
			t.Fatalf("waited in vain for %v of %v; heard %+v; log:\n%s", kinds, r, d.heard, d.log)
		}
	}
}

func (d *daemon) up(t testing.TB, r dovetail.Replica) dovetail.ReplicasUp {
	t.Helper()
	return d.await(t, r, "up").(dovetail.ReplicasUp)
}

func (d *daemon) down(t testing.TB, r dovetail.Replica) dovetail.ReplicasDown {
	t.Helper()
	switch e := d.await(t, r, "down", "refused").(type) {
	case dovetail.ReplicasDown:
		return e
	case dovetail.Refused:
		t.Fatalf("refused: %s", e.Why)
	}
	panic("unreachable")
}

// output returns what a replica wrote to a stream.
func (d *daemon) output(t testing.TB, r dovetail.Replica, stream string) string {
	t.Helper()
	log, err := d.Log(context.Background(), r, stream, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	return string(must(io.ReadAll(log)))
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !soon(holds) {
		t.Fatalf("waited in vain until %s", what)
	}
}

// soon reports whether a condition comes to hold in time.
func soon(holds func() bool) bool {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-poll.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
