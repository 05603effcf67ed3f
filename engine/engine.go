package engine

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// Options says what an Engine works with.
type Options struct {
	Config        dovetail.Config    // zero: what is in force, or Fresh in an empty store
	Fresh         dovetail.Config    // zero: dovetail.DefaultConfig
	Store         Store              // closing it remains with the caller
	Reader        Reader             // answers which run a client key belongs to; nil: Store, if it is one
	Runner        Runner             // starts single replicas; exactly one of Runner and Backend is set
	Backend       Backend            // deals in counts
	Log           *slog.Logger       // nil: nothing is logged
	SnapshotEvery int                // records between two snapshots, 16 nodes that were measured counting as one; 0 means 20,000
	Recorded      func(c *Changes)   // called in the loop with what a turn has put on record; must be quick and change nothing; nil: nothing
	Hook          func(point string) // called around every append and action ("append.before", "action.after", …); tests crash there; nil: nothing
}

// Bounds of the loop.
const (
	defaultSnapshotEvery = 20_000
	maxEvents            = 1000 // from the back-end, in one turn
	maxRequests          = 1000 // of callers, in one turn
)

// Engine is the daemon's loop: one goroutine owns the core and the roster, takes turns, and lets everybody else take part
// through channels. Its methods may be called by any number of goroutines; those that take a context return when it ends.
// Before Run is called and after it has returned nothing is answered: callers wait, and get dovetail.Unavailable.
type Engine struct {
	opts     Options
	log      *slog.Logger
	turner   *Turner // owned by the loop
	apps     *applications
	claims   claims
	watchers watchers
	stats    stats
	health   health
	resets   atomic.Int64 // see Resets

	inbox    chan dovetail.Event
	requests chan *request
	observed chan struct{} // closed when the back-end has reported all there is
	done     chan struct{} // closed when Run returns

	// Owned by the loop.
	ready        bool // recovery is over: decisions are taken
	seenNodes    map[string]bool
	seenReplicas map[dovetail.Replica]bool
	wake         time.Time
	snapshotAt   int64 // length of the journal at which the next snapshot is due
	warnedClock  bool
}

// Open loads the state from the store: see Load for what is checked. The engine begins to work when Run is called.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Store == nil || (o.Runner == nil) == (o.Backend == nil) {
		return nil, dovetail.Errorf(dovetail.Internal, "an engine needs a store, and either a runner or a back-end")
	}
	if o.Reader == nil {
		r, ok := o.Store.(Reader)
		if !ok {
			return nil, dovetail.Errorf(dovetail.Internal, "an engine needs a reader: without one it cannot recognise client keys")
		}
		o.Reader = r
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.SnapshotEvery <= 0 {
		o.SnapshotEvery = defaultSnapshotEvery
	}
	if o.Hook == nil {
		o.Hook = func(string) {}
	}
	if o.Recorded == nil {
		o.Recorded = func(*Changes) {}
	}
	e := &Engine{
		opts: o, log: o.Log, apps: newApplications(),
		inbox: make(chan dovetail.Event, maxEvents), requests: make(chan *request, maxRequests),
		observed: make(chan struct{}), done: make(chan struct{}),
		seenNodes: make(map[string]bool), seenReplicas: make(map[dovetail.Replica]bool),
	}
	t, err := load(ctx, timed{o.Store, &e.stats}, o.Runner != nil, e.apps)
	if err != nil {
		return nil, err
	}
	config := o.Config
	if config == (dovetail.Config{}) && t.Seq() == 0 {
		config = o.Fresh
	}
	if config == (dovetail.Config{}) {
		config = t.Core().Config()
	}
	if _, err := sched.New(config); err != nil {
		return nil, err
	}
	e.opts.Config = config
	e.turner = t
	e.snapshotAt = t.base + int64(o.SnapshotEvery)
	t.Hold(true)
	t.Hook(o.Hook)
	e.stats.change(func(n *Stats) { n.Seq = t.Seq() })
	e.health.set(false, "the state is loaded; waiting for the back-end to report what runs")
	return e, nil
}

// Health says whether the engine accepts work.
type Health struct {
	Ready   bool   // recovered, and the store works
	Problem string // why not, for people
}

// health is a Health that the loop sets and anybody may read.
type health struct {
	mu  sync.Mutex
	now Health
}

func (h *health) set(ready bool, problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = Health{ready, problem}
}

// Health returns whether the engine accepts work, and if not, why.
func (e *Engine) Health() Health {
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	return e.health.now
}

// Tell records an event that a person or a program asks for: Cancelled, Held, Released, Suspended, Resumed, Reprioritised,
// Configured, Cordoned, Fitted, Imported, Used, Paired, Recalled or Forgotten. It returns when the event is durable, with the core's error when it
// contradicts the state.
func (e *Engine) Tell(ctx context.Context, ev dovetail.Event) error { return e.tell(ctx, ev, -1) }

// TellAsOf does what Tell does, with an event that follows from what was known of neighbours when Resets returned this number. If anything was
// forgotten or imported since, the event might bring back what is to be gone: it is refused with a dovetail.Conflict error.
func (e *Engine) TellAsOf(ctx context.Context, resets int64, ev dovetail.Event) error {
	return e.tell(ctx, ev, resets)
}

// Resets returns how many events that forget or import knowledge of neighbours are on record since the engine was opened. Options.Recorded was
// called with all of them.
func (e *Engine) Resets() int64 { return e.resets.Load() }

// isReset reports whether an event forgets or imports knowledge of neighbours.
func isReset(ev dovetail.Event) bool {
	switch ev := ev.(type) {
	case dovetail.Forgotten:
		return true
	case dovetail.Recalled:
		return !ev.Back
	}
	return false
}

// tell records an event; unless resets is negative, only if as many resets are on record.
func (e *Engine) tell(ctx context.Context, ev dovetail.Event, resets int64) error {
	switch ev.(type) {
	case dovetail.Cancelled, dovetail.Held, dovetail.Released, dovetail.Suspended, dovetail.Resumed, dovetail.Reprioritised,
		dovetail.Configured, dovetail.Cordoned, dovetail.Fitted, dovetail.Imported,
		dovetail.Used, dovetail.Paired, dovetail.Recalled, dovetail.Forgotten:
	default:
		return dovetail.Errorf(dovetail.Invalid, "%s is not an event that can be asked for", dovetail.EventType(ev))
	}
	return e.ask(ctx, &request{event: func(b *batch, _ dovetail.RunID) (dovetail.Event, error) {
		if resets >= 0 && (e.resets.Load() != resets || slices.ContainsFunc(b.events, isReset)) {
			return nil, dovetail.Errorf(dovetail.Conflict, "knowledge of neighbours was forgotten or imported meanwhile; ask again what is known")
		}
		return ev, nil
	}})
}

// Inspect calls f inside the loop, between two turns. f must be quick, change nothing and keep nothing of c; now is the present
// time, never before the last turn. While the store fails, c may be ahead of what is on record by one turn.
func (e *Engine) Inspect(ctx context.Context, f func(c *sched.Core, now time.Time)) error {
	return e.ask(ctx, &request{look: f})
}

// now returns the present time as the next turn will see it.
func (e *Engine) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if last := e.turner.Now(); now.Before(last) {
		return last
	}
	return now
}

// request is what a caller wants of the loop: an event to be recorded, or a look at the core.
type request struct {
	event  func(b *batch, next dovetail.RunID) (dovetail.Event, error) // called in the loop; b: what comes before it in its turn; next: the ID for a new run
	look   func(c *sched.Core, now time.Time)
	finish func(res *TurnResult) // called in the loop when the event is durable
	drop   func()                // called when the event is neither durable nor will be; may be nil
	reply  chan error
}

func (r *request) answer(err error) {
	if err != nil && r.drop != nil {
		r.drop()
	}
	r.reply <- err
}

func errStopping() error {
	return dovetail.Errorf(dovetail.Unavailable, "the daemon is stopping; ask again when it runs")
}

// ask hands a request to the loop and waits for the answer.
func (e *Engine) ask(ctx context.Context, r *request) error {
	r.reply = make(chan error, 1)
	select {
	case e.requests <- r:
	case <-e.done:
		r.answer(errStopping())
		return <-r.reply
	case <-ctx.Done():
		r.answer(dovetail.Errorf(dovetail.Unavailable, "the daemon was too busy to take the request: %v; ask again", ctx.Err()))
		return <-r.reply
	}
	select {
	case err := <-r.reply:
		return err
	case <-ctx.Done():
		return dovetail.Errorf(dovetail.Unavailable,
			"gave up waiting (%s) before the request was on record; it may still be carried out: look before asking again, or ask with the same key",
			cmp.Or(e.Health().Problem, ctx.Err().Error()))
	case <-e.done:
	}
	select {
	case err := <-r.reply:
		return err
	default:
		return errStopping()
	}
}
