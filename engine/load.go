package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// SnapshotVersion is the version of the format of Snapshot.State that this program writes. Load reads it and all before it.
const SnapshotVersion = 1

// state is what a snapshot holds.
type state struct {
	Core   json.RawMessage `json:"core"`
	Roster json.RawMessage `json:"roster,omitempty"`
}

// Snapshot writes the state after the last turn. It is an error while a turn is pending: that turn may never be on record.
func (t *Turner) Snapshot() (Snapshot, error) {
	if t.pending {
		return Snapshot{}, ErrPending
	}
	var s state
	var err error
	if s.Core, err = t.core.Snapshot(); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of the core: %w", err)
	}
	if t.roster != nil {
		if s.Roster, err = t.roster.Snapshot(); err != nil {
			return Snapshot{}, fmt.Errorf("snapshot of the roster: %w", err)
		}
	}
	data, err := json.Marshal(s)
	return Snapshot{Version: SnapshotVersion, Seq: t.seq, At: t.now, State: data}, err
}

// Load returns a turner that takes the turn after the last one in the store: it restores the newest snapshot and applies the
// records after it. Recorded plans are applied as they are and nothing is decided, so that another version of the program or
// of the configuration cannot diverge from what really runs. A record that the core refuses, a gap, an unknown version and a
// broken invariant are errors that name the place. Without a snapshot the state begins as an empty cluster with
// dovetail.DefaultConfig. Identities says whether there is a roster. Applications are shared by content.
func Load(ctx context.Context, store Store, identities bool) (*Turner, error) {
	return load(ctx, store, identities, newApplications())
}

func load(ctx context.Context, store Store, identities bool, apps *applications) (*Turner, error) {
	snap, err := store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the newest snapshot: %w", err)
	}
	t, err := fromSnapshot(snap, store, identities)
	if err != nil {
		return nil, err
	}
	apps.seed(t.core)
	if err := t.replay(store.Replay(ctx, t.seq), apps); err != nil {
		return nil, err
	}
	if broken := t.Validate(); len(broken) > 0 {
		return nil, dovetail.Errorf(dovetail.Internal,
			"the state after record %d breaks %d invariants, first %s; keep a copy of the state directory and report this", t.seq, len(broken), broken[0])
	}
	return t, nil
}

func fromSnapshot(snap *Snapshot, store Store, identities bool) (*Turner, error) {
	if snap == nil {
		core, err := sched.New(dovetail.DefaultConfig())
		if err != nil {
			return nil, err
		}
		var roster *Roster
		if identities {
			roster = NewRoster()
		}
		return NewTurner(core, roster, store), nil
	}
	bad := func(err error) error { return fmt.Errorf("snapshot after record %d: %w", snap.Seq, err) }
	if snap.Version < 1 || snap.Version > SnapshotVersion {
		return nil, bad(dovetail.Errorf(dovetail.Invalid,
			"its version is %d and this program reads 1 to %d; start the version of dovetail that wrote it", snap.Version, SnapshotVersion))
	}
	var s state
	if err := json.Unmarshal(snap.State, &s); err != nil {
		return nil, bad(err)
	}
	core, err := sched.Restore(s.Core)
	if err != nil {
		return nil, bad(err)
	}
	if identities != (s.Roster != nil) {
		return nil, bad(dovetail.Errorf(dovetail.Invalid,
			"it was written with another kind of back-end (identities: %t); start with that one, or with another state directory", s.Roster != nil))
	}
	var roster *Roster
	if identities {
		if roster, err = RestoreRoster(s.Roster, core.Describe); err != nil {
			return nil, bad(err)
		}
	}
	t := NewTurner(core, roster, store)
	t.base, t.seq, t.now = snap.Seq, snap.Seq, snap.At.UTC()
	return t, nil
}

// forgetEvery is after how many replayed records the lists of changes are emptied.
const forgetEvery = 1000

// replay applies recorded events.
func (t *Turner) replay(records iter.Seq2[Record, error], apps *applications) error {
	for r, err := range records {
		switch {
		case err != nil:
			return fmt.Errorf("replay the journal after record %d: %w", t.seq, err)
		case r.Seq != t.seq+1:
			return dovetail.Errorf(dovetail.Internal, "the journal has a gap: record %d follows record %d; restore the state directory from a backup", r.Seq, t.seq)
		}
		if s, ok := r.Event.(dovetail.Submitted); ok && s.Run != nil && s.Run.App != nil {
			run := *s.Run
			run.App = apps.intern(run.App)
			r.Event = dovetail.Submitted{Run: &run}
		}
		if err := t.reapply(r); err != nil {
			return dovetail.Errorf(dovetail.Internal, "record %d (%s at %s) contradicts the records before it: %v; restore the state directory from a backup",
				r.Seq, dovetail.EventType(r.Event), r.At.Format(time.RFC3339Nano), err)
		}
		if t.seq%forgetEvery == 0 {
			t.forget()
		}
	}
	t.forget()
	return nil
}

func (t *Turner) reapply(r Record) error {
	if err := t.core.Apply(r.At, r.Event); err != nil {
		return err
	}
	t.putAway(r.Event)
	t.weigh(r.Event)
	if t.roster != nil {
		t.roster.Fold(r.At, r.Event, t.core.Describe)
	}
	t.seq, t.now = r.Seq, r.At.UTC()
	return nil
}

// forget empties the lists of changes: the read side has them already. What replay puts away stays, to be put on record once more by the first
// turn: should a newer program choose other classes than the one that wrote the journal, these would be nowhere else.
func (t *Turner) forget() {
	t.core.Forget()
	if t.roster != nil {
		t.roster.Changed()
	}
}
