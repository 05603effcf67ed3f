package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// recordsATurn is how many records each turn of Turn has.
const recordsATurn = 2

// Turns returns the first n turns of a history: Turn(1) to Turn(n).
func Turns(n int) []engine.Changes {
	var turns []engine.Changes
	for i := 1; i <= n; i++ {
		turns = append(turns, Turn(i))
	}
	return turns
}

// Turn returns the changes of turn number i, from 1: it touches every table, and changes what the turn before wrote. Run i is
// submitted and placed, run i−1 ends.
func Turn(i int) engine.Changes {
	id, now := dovetail.RunID(i), at(i)
	run := &dovetail.Run{
		ID: id, Name: fmt.Sprintf("wordcount-%d", i), Class: fmt.Sprintf("wordcount %d", i%3),
		Params: map[string]string{"input": fmt.Sprint(i)}, App: Application(),
	}
	slot := dovetail.Slot{Run: id, Component: 0, Node: fmt.Sprintf("node-%d", i%2)}
	seq := int64(i-1)*recordsATurn + 1
	plan := dovetail.Plan{At: now, Seq: int64(i), Assign: []dovetail.Assign{{Slot: slot, N: 1}}}
	c := engine.Changes{
		Records: []engine.Record{
			{Seq: seq, At: now, Event: dovetail.Submitted{Run: run}},
			{Seq: seq + 1, At: now, Event: dovetail.Decided{Plan: plan}},
		},
		Submitted:  []*dovetail.Run{run},
		Runs:       []dovetail.RunStatus{turnStatus(i, dovetail.Starting)},
		Replicas:   []dovetail.ReplicaStatus{turnReplica(i, "up")},
		Placements: []dovetail.Placement{{At: now, Slot: slot, N: 1}},
		Events: []dovetail.EventRecord{
			{Seq: seq, At: now, Type: "submitted", Run: id, Text: "somebody submitted it", Data: json.RawMessage(`{"a":1}`)},
			{Seq: seq, At: now, Type: "up", Run: id, Text: "it began"},
		},
		PutAway: []dovetail.KnownClass{knownClass(fmt.Sprintf("class %d", i%5), i)},
	}
	if i > 1 {
		ended := dovetail.Placement{At: now, Slot: slot}
		ended.Run, ended.Node = id-1, fmt.Sprintf("node-%d", (i-1)%2)
		c.Runs = append(c.Runs, turnStatus(i-1, dovetail.Ended))
		c.Replicas = append(c.Replicas, turnReplica(i-1, "down"))
		c.Placements = append(c.Placements, ended)
	}
	return c
}

// knownClass is what was known of a class so many seconds after the tests began, the more the later.
func knownClass(class string, seconds int) dovetail.KnownClass {
	e := fullEvidence()
	e.Class, e.Runs = class, seconds
	return dovetail.KnownClass{
		Class: class, Seen: at(seconds), Goodness: 1.0 / 3, Updates: float64(seconds), Evidence: &e,
		Preferences: []dovetail.Preference{{Class: "sort", H: 1.0 / 7, Updates: 2, Goodness: 7}, {Class: "wordcount?input=small", H: -1.0 / 7}},
	}
}

func turnStatus(i int, state dovetail.State) dovetail.RunStatus {
	started := at(i)
	s := dovetail.RunStatus{
		ID: dovetail.RunID(i), Name: fmt.Sprintf("wordcount-%d", i), Class: fmt.Sprintf("wordcount %d", i%3), App: "wordcount",
		Kind: dovetail.Batch, User: "ada", Key: fmt.Sprintf("key %d", i), State: state, Submitted: at(i), Started: &started, Core: 2, CoreUp: 1,
	}
	if state == dovetail.Ended {
		ended := at(i + 1)
		s.Outcome, s.Ended = dovetail.OutcomeSucceeded, &ended
	}
	return s
}

func turnReplica(i int, state string) dovetail.ReplicaStatus {
	up := at(i)
	r := dovetail.ReplicaStatus{
		Replica: dovetail.Replica{Run: dovetail.RunID(i), Attempt: 1}, Name: "master.0", Component: "master",
		Node: fmt.Sprintf("node-%d", i%2), Ports: map[string]int{"rpc": 7000 + i}, State: state, Up: &up,
	}
	if state == "down" {
		down := at(i + 1)
		r.Down, r.Exit, r.Usage = &down, &dovetail.Exit{Code: 0}, dovetail.Usage{CPU: time.Duration(i) * time.Second, MemoryPeak: int64(i)}
	}
	return r
}

// Prefix returns how many of the turns the store holds, from the first. It ends the test when what the store holds is not what
// it held after some number of whole turns, in the journal and in every answer of the reader. The turns are those of Turns.
func Prefix(t fataler, s S, turns []engine.Changes) int {
	t.Helper()
	records := replayed(t, s, 0)
	n := len(records) / recordsATurn
	if len(records)%recordsATurn != 0 || n > len(turns) {
		t.Fatalf("the journal has %d records; expected those of whole turns, of %d records each", len(records), recordsATurn)
	}
	m := newModel()
	for _, c := range turns[:n] {
		m.append(c)
	}
	if why := m.differs(context.Background(), s); why != "" {
		t.Fatalf("after %d of %d turns: %s", n, len(turns), why)
	}
	return n
}

// differs returns how the answers of the store differ from those of the model, "" if they do not.
func (m *model) differs(ctx context.Context, s S) string {
	snap, err := s.Load(ctx)
	if d := differ("snapshot", err, m.snapshot, snap); d != "" {
		return d
	}
	var records []engine.Record
	for r, e := range s.Replay(ctx, m.dropped) {
		records, err = append(records, r), e
	}
	if d := differ("records", err, m.records, records); d != "" {
		return d
	}
	found, err := s.Runs(ctx, engine.RunFilter{Limit: 1000})
	if d := differ("runs", err, m.listRuns(engine.RunFilter{Limit: 1000}), found); d != "" {
		return d
	}
	for id := range m.runs {
		if d := m.runDiffers(ctx, s, id); d != "" {
			return fmt.Sprintf("run %d: %s", id, d)
		}
	}
	log, err := s.Events(ctx, engine.EventFilter{Limit: 10_000})
	if d := differ("events", err, m.listEvents(engine.EventFilter{Limit: 10_000}), log); d != "" {
		return d
	}
	away, err := s.PutAway(ctx)
	if d := differ("classes put away", err, m.away, away); d != "" {
		return d
	}
	past, err := s.History(ctx, engine.HistoryFilter{Limit: 1000})
	return differ("history", err, m.listHistory(engine.HistoryFilter{Limit: 1000}), past)
}

func (m *model) runDiffers(ctx context.Context, s S, id dovetail.RunID) string {
	status, run, err := s.Run(ctx, id)
	if d := differ("status", err, m.runs[id], status); d != "" {
		return d
	}
	if d := differ("submission", nil, m.submitted[id], run); d != "" {
		return d
	}
	list, err := s.Replicas(ctx, id)
	return differ("replicas", err, m.listReplicas(id), list)
}

func differ(what string, err error, want, got any) string {
	if err != nil {
		return fmt.Sprintf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		return fmt.Sprintf("%s (-want +got):\n%s", what, diff)
	}
	return ""
}
