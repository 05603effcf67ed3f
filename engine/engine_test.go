package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// ledger is a store in memory that can fail, and counts how often runs end.
type ledger struct {
	*mem.Store
	mu      sync.Mutex
	failing int // so many appends fail; negative: all
	failed  int
	torn    bool // a failing append takes effect nevertheless
	ends    map[dovetail.RunID]int
	seen    map[dovetail.RunID]dovetail.RunStatus
}

func newLedger() *ledger {
	return &ledger{Store: mem.New(), ends: make(map[dovetail.RunID]int), seen: make(map[dovetail.RunID]dovetail.RunStatus)}
}

var errDiskFull = errors.New("no space left on device")

// Append does what engine.Store says.
func (l *ledger) Append(ctx context.Context, c engine.Changes) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fail := l.failing != 0
	if fail {
		l.failing--
		l.failed++
		if !l.torn {
			return errDiskFull
		}
	}
	if err := l.Store.Append(ctx, c); err != nil {
		return err
	}
	for _, s := range c.Runs {
		l.seen[s.ID] = s
		if s.State == dovetail.Ended {
			l.ends[s.ID]++
		}
	}
	if fail {
		return errDiskFull
	}
	return nil
}

func (l *ledger) fail(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing, l.failed = n, 0
}

func (l *ledger) failures() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// allEnded reports whether n runs were recorded and each has ended.
func (l *ledger) allEnded(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen) == n && len(l.ends) == n
}

// check fails the test unless runs 1 to n are all there is, and each has ended exactly once.
func (l *ledger) check(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) != n {
		t.Errorf("%d runs are on record, want %d", len(l.seen), n)
	}
	for id, s := range l.seen {
		if l.ends[id] != 1 || s.Outcome == "" {
			t.Errorf("run %d ended %d times, last as %q (%s); want once, with an outcome", id, l.ends[id], s.Outcome, s.State)
		}
	}
}

// daemon is a store, a world, and one engine after another on them.
type daemon struct {
	t          *testing.T
	store      *ledger
	world      *world
	config     dovetail.Config
	fresh      dovetail.Config
	every      int          // records between snapshots
	hook       func(string) // in addition to the checks
	recorded   func(*engine.Changes)
	checked    int // turns after which everything was validated
	replayEach int // turns after which the journal is replayed and compared

	engine *engine.Engine
	cancel context.CancelFunc
	ended  chan error
}

func newDaemon(t *testing.T, w *world) *daemon {
	return &daemon{t: t, store: newLedger(), world: w, hook: func(string) {}, replayEach: 5}
}

var errCrash = errors.New("crashed")

// start opens an engine and lets it run. A hook that panics with errCrash ends it as a crash would.
func (d *daemon) start() {
	d.t.Helper()
	var e *engine.Engine
	e, err := engine.Open(d.t.Context(), engine.Options{
		Config: d.config, Fresh: d.fresh, Store: d.store, Runner: d.world, SnapshotEvery: d.every, Recorded: d.recorded,
		Hook: func(point string) {
			if point == "append.before" {
				d.checked++
				for _, v := range engine.TurnerOf(e).Validate() {
					d.t.Errorf("after record %d: %s", engine.TurnerOf(e).Seq(), v)
				}
			}
			if point == "append.after" && d.checked%d.replayEach == 0 && !d.t.Failed() {
				d.replays()
			}
			d.hook(point)
		},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(d.t.Context())
	d.engine, d.cancel, d.ended = e, cancel, make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if r := recover(); r != nil {
				if cause, ok := r.(error); !ok || !errors.Is(cause, errCrash) {
					panic(r)
				}
				err = errCrash
			}
			d.ended <- err
		}()
		err = e.Run(ctx)
	}()
}

// stop ends the engine in an orderly way.
func (d *daemon) stop() {
	d.t.Helper()
	d.cancel()
	if err := <-d.ended; err != nil {
		d.t.Errorf("Run returned %v; want nil when its context ends", err)
	}
}

// replays fails the test unless the store leads to the very state that the engine has.
func (d *daemon) replays() {
	d.t.Helper()
	want, err := engine.TurnerOf(d.engine).Snapshot()
	if err != nil {
		d.t.Fatal(err)
	}
	loaded, err := engine.Load(d.t.Context(), d.store, true)
	if err != nil {
		d.t.Fatal(err)
	}
	got, err := loaded.Snapshot()
	if err != nil {
		d.t.Fatal(err)
	}
	if string(got.State) != string(want.State) || got.Seq != want.Seq {
		d.t.Errorf("replayed to record %d, the state is\n%s\nwant that of record %d\n%s", got.Seq, got.State, want.Seq, want.State)
	}
}

// await waits, in the time of the bubble, until a condition holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Hour)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting: %s", what)
		}
		<-time.After(500 * time.Millisecond)
		synctest.Wait()
	}
}

func (d *daemon) ready() {
	d.t.Helper()
	await(d.t, "the engine is ready", func() bool { return d.engine.Health().Ready })
}

// submit submits a run with a key, as often as it takes, and returns its ID.
func (d *daemon) submit(app *dovetail.Application, key string) dovetail.RunID {
	d.t.Helper()
	for range 100 {
		ctx, cancel := context.WithTimeout(d.t.Context(), 10*time.Second)
		s, _, err := d.engine.Submit(ctx, engine.Submission{App: app, Key: key, Digest: "d"})
		cancel()
		if err == nil {
			return s.ID
		}
		if dovetail.CodeOf(err) != dovetail.Unavailable {
			d.t.Fatal(err)
		}
	}
	d.t.Fatal("the engine was unavailable for too long")
	return 0
}

// TestEveryRunEndsOnce runs a whole cluster: whatever fails, is refused, reported twice or late, each run ends exactly once, no
// replica is left, all invariants hold after every turn, and the journal replays to the same state.
func TestEveryRunEndsOnce(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const runs = 12
				w := newWorld(seed, machine("n1", 2000), machine("n2", 3000))
				w.chaos = true
				d := newDaemon(t, w)
				d.config = dovetail.DefaultConfig()
				d.config.Regrow = dovetail.Duration(2 * time.Second)
				d.every = []int{7, 40, 100_000}[seed%3]
				d.config.Policy = []string{"fifo", "srpt-2d", "hrrn", "fifo-backfill", "edf"}[seed%5]
				d.start()
				d.ready()
				for i := range runs {
					d.submit(wordcount(i%5, time.Duration(2+i)*time.Second), "")
					<-time.After(time.Duration(seed%4) * time.Second)
					d.meddle(seed+uint64(i), dovetail.RunID(i/2+1))
				}
				for id := range dovetail.RunID(runs) {
					d.tell(dovetail.Resumed{Run: id + 1})
				}
				d.tell(dovetail.Cordoned{Node: "n1"})
				await(t, "all runs end", func() bool { return d.store.allEnded(runs) })
				<-time.After(time.Minute) // whatever is still under way arrives
				synctest.Wait()
				d.stop()
				d.replays()
				d.store.check(t, runs)
				w.check(t)
				t.Logf("%d turns, %d replicas, %d records", d.checked, w.started, d.engine.Stats().Seq)
				if d.checked < 3*runs {
					t.Errorf("only %d turns were validated", d.checked)
				}
			})
		})
	}
}

// meddle does what people do, picked by a number.
func (d *daemon) meddle(pick uint64, run dovetail.RunID) {
	d.t.Helper()
	events := []dovetail.Event{
		dovetail.Cancelled{Run: run, By: "test"}, dovetail.Suspended{Run: run}, dovetail.Resumed{Run: run},
		dovetail.Held{Run: run + 1}, dovetail.Released{Run: run + 1}, dovetail.Reprioritised{Run: run, Priority: int(pick % 3)},
		dovetail.Cordoned{Node: "n1", On: true, Drain: true}, dovetail.Cordoned{Node: "n1"},
		dovetail.Configured{Config: d.config}, dovetail.Suspended{Run: run + 1},
	}
	d.tell(events[pick%uint64(len(events))])
}

// tell records an event; that it is too early or too late for it is all right.
func (d *daemon) tell(e dovetail.Event) {
	d.t.Helper()
	if err := d.engine.Tell(d.t.Context(), e); err != nil && dovetail.CodeOf(err) != dovetail.Conflict && dovetail.CodeOf(err) != dovetail.NotFound {
		d.t.Errorf("%s: %v", dovetail.EventType(e), err)
	}
}
