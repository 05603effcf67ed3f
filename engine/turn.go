package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/sched"
)

// Turner takes turns. One turn tells the core what happened, asks it what to do, and records both:
//
//  1. Apply folds each event into the core; one that the core refuses is not recorded.
//  2. Decide is asked once, after all events, and its plan is applied as a Decided event.
//  3. All of it (the records, and what follows from them for the read side) goes to the store in ONE append: atomic, and
//     durable when it returns.
//  4. Only then may anybody act on the turn or hear of it: the caller does what TurnResult says.
//
// The architecture sketches two appends a turn, of the events and of the plan. One is as safe, since nothing is acted on or
// acknowledged before it: a crash before the append loses a turn that nobody has heard of, and back-ends and callers repeat
// themselves; a crash after it finds facts and plan together. It halves the waiting for the disk, and a journal never ends
// between facts and the decision about them. See docs/adr/0002.
//
// When the append fails, the turn stays pending: core and roster have moved on in memory, nothing else has. Retry appends the
// same changes again; nothing is decided anew. Until it succeeds no further turn can be taken.
//
// A Turner is not safe for concurrent use.
type Turner struct {
	core   *sched.Core
	roster *Roster // nil: the back-end deals in counts
	store  Store
	hook   func(point string)
	reads  bool // the store wants the read side

	base    int64     // record of the snapshot that it was loaded from; 0: none
	seq     int64     // of the last record
	nodes   int64     // in the records of how they were used, after base
	now     time.Time // of the last turn
	holding bool
	last    TurnResult // of the turn that is pending
	pending bool       // it is not on record yet
	away    coloc.Away // what the core has put away and is not on record yet
	records []Record   // reused when the store discards
}

// TurnResult is what one turn led to. It may be acted on as soon as it is returned.
type TurnResult struct {
	At       time.Time     // of the turn: UTC, whole microseconds, never before that of the turn before
	Behind   time.Duration // by how much the clock was behind the last turn
	Refused  []error       // per event why the core refused it, nil where it did not; nil if it refused none
	Plan     dovetail.Plan // its Actions are for a Backend; empty if nothing was decided
	Commands []Command     // for a Runner; only with a roster
	Changes  Changes       // what was recorded
}

// Err returns why the event with this number was refused, or nil.
func (r *TurnResult) Err(i int) error {
	if i < len(r.Refused) {
		return r.Refused[i]
	}
	return nil
}

// ErrPending says that a turn cannot be taken because the one before is not on record.
var ErrPending = errors.New("the last turn is not on record yet")

// NewTurner returns a turner that takes the first turn after the state of the core and the roster. The roster may be nil: then
// events and plans go through in counts. The journal must end where the core is: see Load.
//
// A store with a method Discards() bool that returns true gets the records and the submitted runs only, in slices that are
// overwritten by the next turn. The simulator uses this.
func NewTurner(core *sched.Core, roster *Roster, store Store) *Turner {
	t := &Turner{core: core, roster: roster, store: store, reads: true, away: make(coloc.Away), hook: func(string) {}}
	if d, ok := store.(interface{ Discards() bool }); ok {
		t.reads = !d.Discards()
	}
	return t
}

// Core returns the core, to look at between turns.
func (t *Turner) Core() *sched.Core { return t.core }

// Roster returns the roster, to look at between turns; nil if there is none.
func (t *Turner) Roster() *Roster { return t.roster }

// Seq returns the number of the last record.
func (t *Turner) Seq() int64 { return t.seq }

// Now returns the time of the last turn.
func (t *Turner) Now() time.Time { return t.now }

// Hold keeps turns from deciding anything, or lets them decide again: after a restart nothing is decided before it is known
// what really runs.
func (t *Turner) Hold(on bool) { t.holding = on }

// Hook lets f be called with "append.before" and "append.after" around every append. Tests crash there.
func (t *Turner) Hook(f func(point string)) { t.hook = f }

// Pending reports whether a turn waits to be recorded.
func (t *Turner) Pending() bool { return t.pending }

// Turn takes one turn at this time, with any number of events. If an error is returned and Pending reports true, the store
// failed, and Retry must be called; any other error is a fault of the program, and the Turner must not be used again.
func (t *Turner) Turn(ctx context.Context, now time.Time, events ...dovetail.Event) (TurnResult, error) {
	if t.pending {
		return TurnResult{}, ErrPending
	}
	var res TurnResult
	now = now.UTC().Truncate(time.Microsecond)
	if now.Before(t.now) {
		res.Behind = t.now.Sub(now)
		now = t.now
	}
	res.At, t.now = now, now
	b := t.begin(now)
	for i, e := range events {
		if err := t.fold(b, &res, e); err != nil {
			if res.Refused == nil {
				res.Refused = make([]error, len(events))
			}
			res.Refused[i] = err
		}
	}
	if !t.holding {
		plan := t.core.Decide(now)
		if !plan.Empty() {
			if err := t.fold(b, &res, dovetail.Decided{Plan: plan}); err != nil {
				return TurnResult{}, fmt.Errorf("the core refuses its own plan %d: %w", plan.Seq, err)
			}
			res.Plan = plan
		}
	}
	b.finish()
	if len(b.changes.Records) == 0 {
		return res, nil
	}
	res.Changes = b.changes
	t.seq += int64(len(b.changes.Records))
	t.last, t.pending = res, true
	return t.Retry(ctx)
}

// fold applies one event to core and roster and notes what is to be recorded of it.
func (t *Turner) fold(b *builder, res *TurnResult, e dovetail.Event) error {
	if t.roster != nil {
		news, ok := t.roster.Admit(e)
		if !ok {
			res.Commands = append(res.Commands, t.roster.Stray(e)...)
			return nil
		}
		e = news
	}
	b.before(e)
	if err := t.core.Apply(res.At, e); err != nil {
		return err
	}
	t.putAway(e)
	t.weigh(e)
	if t.roster != nil {
		res.Commands = append(res.Commands, t.roster.Fold(res.At, e, t.core.Describe)...)
	}
	b.add(e)
	return nil
}

// nodesPerRecord is how many nodes in a Used event count as a further record where the length of the journal matters: 1.2 KB.
const nodesPerRecord = 16

// weigh counts what makes a record of how nodes were used longer than others: of 10,000 nodes it has 740 KB.
func (t *Turner) weigh(e dovetail.Event) {
	if used, ok := e.(dovetail.Used); ok {
		t.nodes += int64(len(used.Nodes))
	}
}

// length returns the number that the last record would have if records that are very long counted as several since the turner was loaded.
func (t *Turner) length() int64 { return t.seq + t.nodes/nodesPerRecord }

// putAway notes which classes the core has put away by an event, for the next append. In one turn a class may go, come back and go again.
func (t *Turner) putAway(e dovetail.Event) {
	t.away.Note(e)
	t.away.Add(t.core.PutAway())
}

// Retry appends what the last turn could not. Without a pending turn it is an error.
func (t *Turner) Retry(ctx context.Context) (TurnResult, error) {
	if !t.pending {
		return TurnResult{}, errors.New("there is no turn to record again")
	}
	t.hook("append.before")
	if err := t.store.Append(ctx, t.last.Changes); err != nil && !t.landed(ctx, t.last.Changes.Records) {
		return TurnResult{}, err
	}
	res := t.last
	t.last, t.pending = TurnResult{}, false // it may be large
	t.hook("append.after")
	return res, nil
}

// landed reports whether the records are in the journal although appending them returned an error, as it may when the
// connection to a store breaks after its commit. Nobody else writes this journal, so that the numbers suffice.
func (t *Turner) landed(ctx context.Context, records []Record) bool {
	for last, err := range t.store.Replay(ctx, records[len(records)-1].Seq-1) {
		return err == nil && last.Seq == records[len(records)-1].Seq
	}
	return false
}

// Validate returns every broken invariant of the core, and of the roster's agreement with it.
func (t *Turner) Validate() []sched.Violation {
	found := t.core.Validate()
	if t.roster != nil {
		found = append(found, t.roster.Validate(t.core)...)
	}
	return found
}
