package engine

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Record is one entry of the journal. Times are UTC and whole microseconds.
type Record struct {
	Seq   int64 // from 1, without gaps
	At    time.Time
	Event dovetail.Event
}

// Changes is what one turn makes durable: the journal records, and the changes of the read side that follow from them.
type Changes struct {
	Records    []Record
	Submitted  []*dovetail.Run          // new runs, with their applications
	Runs       []dovetail.RunStatus     // inserted, or replaced by ID
	Replicas   []dovetail.ReplicaStatus // inserted, or replaced by Replica
	Placements []dovetail.Placement     // appended
	Events     []dovetail.EventRecord   // appended; Seq may repeat
	PutAway    []dovetail.KnownClass    // classes that had to make room in the core, after the records; kept until they are Recalled or Forgotten
}

// Snapshot is the state after the record Seq. Replay may start from it.
type Snapshot struct {
	Version int // of the format of State
	Seq     int64
	At      time.Time
	State   json.RawMessage
}

// Store keeps the journal, snapshots and the read side. Its conformance suite is storetest.
type Store interface {
	// Append makes the changes durable, all or none of them. The first record's Seq must follow the last one stored.
	Append(ctx context.Context, c Changes) error
	// Load returns the newest snapshot, or nil if there is none.
	Load(ctx context.Context) (*Snapshot, error)
	// Replay yields the records with Seq > after in order. An error ends the sequence; it names the record.
	Replay(ctx context.Context, after int64) iter.Seq2[Record, error]
	// Snapshot stores s and drops records up to s.Seq and older snapshots. The read side keeps everything.
	Snapshot(ctx context.Context, s Snapshot) error
	Close() error
}

// Reader answers questions about the past and the present from the read side.
type Reader interface {
	// Run returns a run's status and submission; a dovetail.NotFound error if there is none.
	Run(ctx context.Context, id dovetail.RunID) (dovetail.RunStatus, *dovetail.Run, error)
	// Runs returns the runs that match, newest (highest ID) first.
	Runs(ctx context.Context, f RunFilter) ([]dovetail.RunStatus, error)
	// Replicas returns all replicas a run ever had, by component, index and attempt.
	Replicas(ctx context.Context, run dovetail.RunID) ([]dovetail.ReplicaStatus, error)
	// Events returns the event records that match, in order of Seq.
	Events(ctx context.Context, f EventFilter) ([]dovetail.EventRecord, error)
	// History returns finished runs, newest end first.
	History(ctx context.Context, f HistoryFilter) ([]dovetail.History, error)
	// PutAway returns what is known of these job classes, or if none is named of all, as far as it was put away (Changes.PutAway), by class.
	PutAway(ctx context.Context, classes ...string) ([]dovetail.KnownClass, error)
}

// RunFilter selects runs; zero fields select all.
type RunFilter struct {
	States   []dovetail.State
	Outcomes []dovetail.Outcome
	Name     string // of the run or the application; a trailing * matches any ending
	User     string
	Key      string         // client key, exactly
	Since    time.Time      // submitted at or after
	Until    time.Time      // submitted before
	Before   dovetail.RunID // only IDs below this one: the next page
	Limit    int            // 0 means 100; at most 1000
}

// EventFilter selects event records; zero fields select all.
type EventFilter struct {
	Run   dovetail.RunID
	Types []string
	After int64 // only Seq above this one
	Tail  int   // only the last so many that match; 0 means from the beginning; at most 10,000
	Limit int   // 0 means 1000; at most 10,000. A page is never cut within one Seq, even if the first one alone is longer
}

// HistoryFilter selects finished runs; zero fields select all.
type HistoryFilter struct {
	Class  string    // job class, exactly
	App    string    // application name, exactly
	Since  time.Time // ended at or after
	Until  time.Time // ended before; with Before, also those that ended at this time and have a lower ID: the next page
	Before dovetail.RunID
	Limit  int  // 0 means 100; at most 10,000
	Replay bool // what a replay needs: runs that were not imported, with applications, and without usage and neighbours, which take long to find
	Learn  bool // what predictions need: with applications and neighbours, and without usage; Replay is then ignored
}
