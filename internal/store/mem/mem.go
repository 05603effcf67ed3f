// Package mem answers: what does a store do when nothing has to outlive the process?
//
// It keeps everything in maps and slices, for tests and for the simulator. It is also the plainest statement of what the
// other stores must do.
package mem

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/engine"
)

// Store is an engine.Store and an engine.Reader. Any number of goroutines may use it. What is handed in and out is shared,
// not copied: events, runs and statuses are facts, which nobody changes.
type Store struct {
	mu       sync.RWMutex
	closed   bool
	dropped  int64 // records up to this one are in the snapshot
	journal  []engine.Record
	snapshot *engine.Snapshot

	order      []dovetail.RunID // of runs, ascending
	runs       map[dovetail.RunID]dovetail.RunStatus
	submitted  map[dovetail.RunID]*dovetail.Run
	replicas   map[dovetail.RunID]map[dovetail.Replica]dovetail.ReplicaStatus
	placements map[dovetail.RunID][]dovetail.Placement
	onNode     map[string]map[dovetail.RunID]struct{} // runs that ever had a placement there
	events     []dovetail.EventRecord                 // in order of Seq
	suspended  map[dovetail.RunID]bool                // at some time
	imported   []dovetail.Past                        // the first has the ID −1, the second −2, …
	ended      []ending                               // runs and imported ones, in order
	away       coloc.Away
}

// ending says when a run ended, or an imported one.
type ending struct {
	at time.Time
	id dovetail.RunID
}

func (e ending) compare(o ending) int { return cmp.Or(e.at.Compare(o.at), cmp.Compare(e.id, o.id)) }

var (
	_ engine.Store  = (*Store)(nil)
	_ engine.Reader = (*Store)(nil)
)

// New returns an empty store.
func New() *Store {
	return &Store{
		runs:       make(map[dovetail.RunID]dovetail.RunStatus),
		submitted:  make(map[dovetail.RunID]*dovetail.Run),
		replicas:   make(map[dovetail.RunID]map[dovetail.Replica]dovetail.ReplicaStatus),
		placements: make(map[dovetail.RunID][]dovetail.Placement),
		onNode:     make(map[string]map[dovetail.RunID]struct{}),
		suspended:  make(map[dovetail.RunID]bool),
		away:       make(coloc.Away),
	}
}

// ready reports why the store cannot be used: the context has ended, or the store is closed.
func (s *Store) ready(ctx context.Context) error {
	if s.closed {
		return dovetail.Errorf(dovetail.Unavailable, "the store is closed")
	}
	return ctx.Err()
}

func (s *Store) last() int64 { return s.dropped + int64(len(s.journal)) }

// Append does what engine.Store says. Records that do not follow the last one stored are a dovetail.Conflict error.
func (s *Store) Append(ctx context.Context, c engine.Changes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	for i, r := range c.Records {
		if want := s.last() + int64(i) + 1; r.Seq != want {
			return dovetail.Errorf(dovetail.Conflict, "record %d cannot be appended to the journal: the next is %d", r.Seq, want)
		}
	}
	s.journal = append(s.journal, c.Records...)
	for _, r := range c.Records {
		s.note(r.Event)
	}
	for _, r := range c.Submitted {
		s.submitted[r.ID] = r
	}
	for _, r := range c.Runs {
		if _, known := s.runs[r.ID]; !known {
			at, _ := slices.BinarySearch(s.order, r.ID)
			s.order = slices.Insert(s.order, at, r.ID)
		}
		if r.Ended != nil && s.runs[r.ID].Ended == nil {
			s.end(ending{*r.Ended, r.ID})
		}
		s.runs[r.ID] = r
	}
	for _, r := range c.Replicas {
		if s.replicas[r.Run] == nil {
			s.replicas[r.Run] = make(map[dovetail.Replica]dovetail.ReplicaStatus)
		}
		s.replicas[r.Run][r.Replica] = r
	}
	for _, p := range c.Placements {
		s.placements[p.Run] = append(s.placements[p.Run], p)
		if s.onNode[p.Node] == nil {
			s.onNode[p.Node] = make(map[dovetail.RunID]struct{})
		}
		s.onNode[p.Node][p.Run] = struct{}{}
	}
	s.appendEvents(c.Events)
	s.away.Add(c.PutAway)
	return nil
}

// note keeps what the read side tells of an event.
func (s *Store) note(e dovetail.Event) {
	s.away.Note(e)
	switch e := e.(type) {
	case dovetail.Suspended:
		s.suspended[e.Run] = true
	case dovetail.Imported:
		for i := range e.Runs {
			s.imported = append(s.imported, e.Runs[i])
			s.end(ending{e.Runs[i].Ended, -dovetail.RunID(len(s.imported))})
		}
	}
}

// end adds a run to the history.
func (s *Store) end(e ending) {
	at := len(s.ended)
	if at > 0 && e.compare(s.ended[at-1]) < 0 {
		at, _ = slices.BinarySearchFunc(s.ended, e, ending.compare)
	}
	s.ended = slices.Insert(s.ended, at, e)
}

// appendEvents keeps the events in order of Seq, and those of one Seq in order of arrival.
func (s *Store) appendEvents(events []dovetail.EventRecord) {
	for _, e := range events {
		at := len(s.events)
		for at > 0 && s.events[at-1].Seq > e.Seq {
			at--
		}
		s.events = slices.Insert(s.events, at, e)
	}
}

// Load does what engine.Store says.
func (s *Store) Load(ctx context.Context) (*engine.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil || s.snapshot == nil {
		return nil, err
	}
	newest := *s.snapshot
	return &newest, nil
}

// Replay does what engine.Store says. To ask for records that a snapshot has replaced is a dovetail.Invalid error.
func (s *Store) Replay(ctx context.Context, after int64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		records, err := s.recordsAfter(ctx, after)
		if err != nil {
			yield(engine.Record{}, err)
			return
		}
		for _, r := range records {
			if err := ctx.Err(); err != nil {
				yield(engine.Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *Store) recordsAfter(ctx context.Context, after int64) ([]engine.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if after < s.dropped {
		return nil, dovetail.Errorf(dovetail.Invalid,
			"cannot replay from record %d: records up to %d are in the snapshot, load it first", after+1, s.dropped)
	}
	skip := min(after-s.dropped, int64(len(s.journal)))
	return slices.Clone(s.journal[skip:]), nil
}

// Snapshot does what engine.Store says. A snapshot of records that are not stored yet, or older than the newest snapshot,
// is a dovetail.Conflict error.
func (s *Store) Snapshot(ctx context.Context, snap engine.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	if snap.Seq < s.dropped || snap.Seq > s.last() {
		return dovetail.Errorf(dovetail.Conflict,
			"a snapshot after record %d cannot be stored: expected one after record %d to %d", snap.Seq, s.dropped, s.last())
	}
	snap.State = slices.Clone(snap.State)
	s.journal = slices.Clone(s.journal[snap.Seq-s.dropped:])
	s.dropped = snap.Seq
	s.snapshot = &snap
	return nil
}

// Close ends the use of the store. Closing it twice is no error.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
