package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

func ticks(from, to int64) []engine.Record {
	var records []engine.Record
	for seq := from; seq <= to; seq++ {
		records = append(records, engine.Record{Seq: seq, At: at(int(seq)), Event: dovetail.Tick{}})
	}
	return records
}

func testEveryEvent(t *testing.T, fresh func(t *testing.T) func() S) {
	open := fresh(t)
	s := open()
	var want []engine.Record
	for i, e := range Events() {
		r := engine.Record{Seq: int64(i + 1), At: at(i), Event: e}
		appendTo(t, s, engine.Changes{Records: []engine.Record{r}})
		want = append(want, r)
	}
	same(t, "records before closing", want, replayed(t, s, 0))
	closeStore(t, s)
	same(t, "records after reopening", want, replayed(t, opened(t, open), 0))
}

func testGaps(t *testing.T, fresh func(t *testing.T) func() S) {
	full := func(records []engine.Record) engine.Changes {
		c := Turn(1)
		c.Records = records
		return c
	}
	for _, test := range []struct {
		reason   string
		stored   int64
		snapshot int64
		records  []engine.Record
	}{
		{"the first record has number 1", 0, 0, ticks(2, 2)},
		{"there is no record 0", 0, 0, ticks(0, 1)},
		{"a record cannot be stored again", 3, 0, ticks(3, 4)},
		{"no record may be left out", 3, 0, ticks(5, 5)},
		{"no record may be left out within the changes either", 3, 0, append(ticks(4, 5), ticks(7, 7)...)},
		{"a snapshot does not restart the numbers", 3, 3, ticks(1, 1)},
		{"a snapshot does not skip numbers", 3, 3, ticks(5, 5)},
	} {
		t.Run(test.reason, func(t *testing.T) {
			open := fresh(t)
			s := open()
			if test.stored > 0 {
				appendTo(t, s, engine.Changes{Records: ticks(1, test.stored)})
			}
			if test.snapshot > 0 {
				ok(t, "Snapshot", s.Snapshot(t.Context(), engine.Snapshot{Seq: test.snapshot, State: json.RawMessage("{}")}))
			}
			refused(t, test.reason, s.Append(t.Context(), full(test.records)), dovetail.Conflict)
			for range 2 {
				same(t, "records", ticks(test.snapshot+1, test.stored), replayed(t, s, test.snapshot))
				same(t, "runs", 0, len(runs(t, s, engine.RunFilter{})))
				same(t, "events", 0, len(events(t, s, engine.EventFilter{})))
				closeStore(t, s)
				s = open()
			}
			appendTo(t, s, engine.Changes{Records: ticks(test.stored+1, test.stored+1)})
			closeStore(t, s)
		})
	}
}

func testCancelled(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Append(ctx, Turn(1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("Append with an ended context: %v; expected that it says so", err)
	}
	same(t, "records", 0, len(replayed(t, s, 0)))
	_, _, err := s.Run(t.Context(), 1)
	refused(t, "Run", err, dovetail.NotFound)
	appendTo(t, s, Turn(1))
	same(t, "turns", 1, Prefix(t, s, Turns(2)))
}

func testReplay(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	appendTo(t, s, engine.Changes{Records: ticks(1, 4)})
	appendTo(t, s, engine.Changes{Records: ticks(5, 5)})
	appendTo(t, s, engine.Changes{})
	for after := range int64(8) {
		same(t, "records", ticks(after+1, 5), replayed(t, s, after))
	}
	var seen int
	for _, err := range s.Replay(t.Context(), 0) {
		ok(t, "Replay", err)
		if seen++; seen == 2 {
			break
		}
	}
	appendTo(t, s, engine.Changes{Records: ticks(6, 6)})
	same(t, "records after a replay that was given up", ticks(1, 6), replayed(t, s, 0))
}

// testSharedApplications protects the memory of a core that is rebuilt: it must not hold one description a run.
func testSharedApplications(t *testing.T, fresh func(t *testing.T) func() S) {
	open := fresh(t)
	s := open()
	app := Application()
	var c engine.Changes
	for id := dovetail.RunID(1); id <= 3; id++ {
		run := &dovetail.Run{ID: id, App: app}
		c.Submitted = append(c.Submitted, run)
		c.Records = append(c.Records, engine.Record{Seq: int64(id), At: at(int(id)), Event: dovetail.Submitted{Run: run}})
	}
	appendTo(t, s, c)
	closeStore(t, s)
	first := (*dovetail.Application)(nil)
	for _, r := range replayed(t, opened(t, open), 0) {
		got := r.Event.(dovetail.Submitted).Run.App
		same(t, "application", app, got)
		if first == nil {
			first = got
		}
		if got != first {
			t.Fatalf("record %d has an application of its own; expected that runs of the same one share it", r.Seq)
		}
	}
}

func testSnapshot(t *testing.T, fresh func(t *testing.T) func() S) {
	open := fresh(t)
	s := open()
	if snap := loaded(t, s); snap != nil {
		t.Fatalf("an empty store has a snapshot: %v", snap)
	}
	turns := Turns(6)
	for _, c := range turns {
		appendTo(t, s, c)
	}
	last := turns[5].Records[len(turns[5].Records)-1].Seq
	for _, seq := range []int64{2, 2, 5, last} {
		want := engine.Snapshot{Version: 3, Seq: seq, At: at(100), State: json.RawMessage(`{"x":[1,"ü"]}`)}
		ok(t, "Snapshot", s.Snapshot(t.Context(), want))
		for range 2 {
			same(t, "snapshot", &want, loaded(t, s))
			same(t, "first record after the snapshot", last-seq, int64(len(replayed(t, s, seq))))
			for _, err := range s.Replay(t.Context(), seq-1) {
				refused(t, "Replay of a record that the snapshot replaced", err, dovetail.Invalid)
			}
			same(t, "runs", 6, len(runs(t, s, engine.RunFilter{})))
			same(t, "events", 12, len(events(t, s, engine.EventFilter{})))
			closeStore(t, s)
			s = open()
		}
	}
	appendTo(t, s, engine.Changes{Records: ticks(last+1, last+1)})
	same(t, "records", ticks(last+1, last+1), replayed(t, s, last))
	closeStore(t, s)
}

func testSnapshotBounds(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	appendTo(t, s, engine.Changes{Records: ticks(1, 4)})
	good := engine.Snapshot{Seq: 3, At: at(9), State: json.RawMessage(`1`)}
	ok(t, "Snapshot", s.Snapshot(t.Context(), good))
	for _, test := range []struct {
		reason string
		seq    int64
	}{
		{"a snapshot cannot be of records that are not stored", 5},
		{"a snapshot cannot be older than the newest", 2},
	} {
		refused(t, test.reason, s.Snapshot(t.Context(), engine.Snapshot{Seq: test.seq, State: json.RawMessage(`2`)}), dovetail.Conflict)
		same(t, "snapshot", &good, loaded(t, s))
		same(t, "records", ticks(4, 4), replayed(t, s, 3))
	}
}
