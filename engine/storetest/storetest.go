// Package storetest answers: does a store keep the promises of engine.Store and engine.Reader?
//
// TestStore is the conformance suite that every store runs. Prefix is for tests of one store that crash it in ways of their
// own: it tells whether what is left is a history that could have been.
package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// S is a store under test.
type S interface {
	engine.Store
	engine.Reader
	// Classes returns the job classes of which runs have ended, or were imported: those with the latest end, latest first and at most so many;
	// of one end in order.
	Classes(ctx context.Context, limit int) ([]string, error)
}

// TestStore runs the suite. fresh makes an empty place for data; the function it returns opens the store there, again after
// it was closed. A store that keeps nothing after Close hides its Close from the suite.
func TestStore(t *testing.T, fresh func(t *testing.T) (open func() S)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, fresh func(t *testing.T) func() S)
	}{
		{"EveryEventComesBack", testEveryEvent},
		{"AppendRefusesGaps", testGaps},
		{"AppendIsAllOrNothing", testCancelled},
		{"ReplayFromTheMiddle", testReplay},
		{"ReplaySharesApplications", testSharedApplications},
		{"SnapshotReplacesRecords", testSnapshot},
		{"SnapshotRefusesOtherTimes", testSnapshotBounds},
		{"RunIsReplaced", testRunReplaced},
		{"ReplicasAreReplaced", testReplicasReplaced},
		{"LimitsAreChecked", testLimits},
		{"PagesEndBetweenTurns", testPages},
		{"NeighboursByHand", testNeighbours},
		{"NeighboursOfEachSlot", testNeighbourSlots},
		{"ImportedRunsAreKept", testImported},
		{"ClassesArePutAway", testPutAway},
		{"LikeTheModel", testModel},
		{"ReadersSeeWholeTurns", testConcurrentReaders},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh) })
	}
}

// opened opens a store that the end of the test closes.
func opened(t *testing.T, open func() S) S {
	t.Helper()
	s := open()
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t fataler, s S) {
	t.Helper()
	ok(t, "Close", s.Close())
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func appendTo(t fataler, s S, c engine.Changes) {
	t.Helper()
	ok(t, "Append", s.Append(context.Background(), c))
}

// replayed returns all records after a sequence number.
func replayed(t fataler, s S, after int64) []engine.Record {
	t.Helper()
	var records []engine.Record
	for r, err := range s.Replay(context.Background(), after) {
		ok(t, "Replay", err)
		records = append(records, r)
	}
	return records
}

// ok ends the test when there is an error.
func ok(t fataler, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func loaded(t fataler, s S) *engine.Snapshot {
	t.Helper()
	snap, err := s.Load(context.Background())
	ok(t, "Load", err)
	return snap
}

func runs(t fataler, s S, f engine.RunFilter) []dovetail.RunStatus {
	t.Helper()
	found, err := s.Runs(context.Background(), f)
	ok(t, "Runs", err)
	return found
}

func events(t fataler, s S, f engine.EventFilter) []dovetail.EventRecord {
	t.Helper()
	found, err := s.Events(context.Background(), f)
	ok(t, "Events", err)
	return found
}

func replicas(t fataler, s S, run dovetail.RunID) []dovetail.ReplicaStatus {
	t.Helper()
	found, err := s.Replicas(context.Background(), run)
	ok(t, "Replicas", err)
	return found
}

func history(t fataler, s S, f engine.HistoryFilter) []dovetail.History {
	t.Helper()
	found, err := s.History(context.Background(), f)
	ok(t, "History", err)
	return found
}

// same ends the test when got is not want. Empty and nil are the same.
func same(t fataler, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// refused ends the test when err is not a dovetail.Error with this code.
func refused(t fataler, what string, err error, code dovetail.ErrorCode) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: expected an error", what)
	}
	if got := dovetail.CodeOf(err); got != code {
		t.Fatalf("%s: error %q has code %s; expected %s", what, err, got, code)
	}
}
