package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// Small sets, so that filters meet what they look for.
var (
	names    = []string{"", "sort", "sort-1", "Sort-1", "s*", "sört", "100%_"}
	words    = []string{"", "ada", "bob"}
	states   = []dovetail.State{dovetail.Queued, dovetail.Running, dovetail.Ended}
	outcomes = []dovetail.Outcome{"", dovetail.OutcomeSucceeded, dovetail.OutcomeFailed}
	types    = []string{"submitted", "decided", "up"}
	nodes    = []string{"node-0", "node-1"}
)

const highestRun = 8

// testModel does what a daemon does to a store, in random order, and compares all answers with those of the model.
func testModel(t *testing.T, fresh func(t *testing.T) func() S) {
	rapid.Check(t, func(rt *rapid.T) {
		open := fresh(t)
		s, m, now := open(), newModel(), 0
		defer func() { ok(rt, "Close", s.Close()) }()
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				now += rapid.IntRange(0, 3).Draw(rt, "seconds")
				c := drawChanges(rt, m, now)
				appendTo(rt, s, c)
				m.append(c)
			},
			"refuse": func(rt *rapid.T) {
				c := drawChanges(rt, m, now)
				c.Records = ticks(m.last()+2, m.last()+2)
				refused(rt, "Append after a gap", s.Append(context.Background(), c), dovetail.Conflict)
			},
			"snapshot": func(rt *rapid.T) {
				snap := engine.Snapshot{
					Version: 1, Seq: rapid.Int64Range(m.dropped, m.last()).Draw(rt, "seq"), At: at(now),
					State: json.RawMessage(fmt.Sprintf(`{"n":%d}`, now)),
				}
				ok(rt, "Snapshot", s.Snapshot(context.Background(), snap))
				m.snap(snap)
			},
			"reopen": func(rt *rapid.T) {
				ok(rt, "Close", s.Close())
				s = open()
			},
			"ask": func(rt *rapid.T) {
				rf := drawRunFilter(rt, now)
				same(rt, fmt.Sprintf("runs for %+v", rf), m.listRuns(rf), runs(rt, s, rf))
				ef := drawEventFilter(rt)
				same(rt, fmt.Sprintf("events for %+v", ef), m.listEvents(ef), events(rt, s, ef))
				class := pick(rt, "class", append([]string{"sort"}, words...))
				var asked []string
				if class != "" {
					asked = []string{class, class, "no such class"}
				}
				away, err := s.PutAway(context.Background(), asked...)
				ok(rt, "PutAway", err)
				same(rt, fmt.Sprintf("what was put away of %q", class), m.listAway(class), away)
				hf := drawHistoryFilter(rt, now)
				same(rt, fmt.Sprintf("history for %+v", hf), m.listHistory(hf), history(rt, s, hf))
			},
		})
		if why := m.differs(context.Background(), s); why != "" {
			rt.Fatalf("in the end: %s", why)
		}
	})
}

func pick[V any](rt *rapid.T, label string, from []V) V {
	return rapid.SampledFrom(from).Draw(rt, label)
}

func drawChanges(rt *rapid.T, m *model, now int) engine.Changes {
	var c engine.Changes
	all := Events()
	for range rapid.IntRange(0, 3).Draw(rt, "records") {
		c.Records = append(c.Records, engine.Record{Seq: m.last() + int64(len(c.Records)) + 1, At: at(now), Event: pick(rt, "event", all)})
	}
	seq := m.last() + int64(len(c.Records))
	ended := make(map[dovetail.RunID]*time.Time)
	for id, r := range m.runs {
		ended[id] = r.Ended
	}
	for range rapid.IntRange(0, 3).Draw(rt, "runs") {
		r := drawStatus(rt, now)
		if end := ended[r.ID]; end != nil {
			r.Ended = end // an end is an end
		}
		ended[r.ID] = r.Ended
		c.Runs = append(c.Runs, r)
		if m.submitted[r.ID] == nil && rapid.Bool().Draw(rt, "submitted") {
			run := fullRun(r.ID)
			run.App.Name, run.Params = r.App, map[string]string{"p": fmt.Sprint(now)}
			c.Submitted = append(c.Submitted, run)
		}
	}
	for range rapid.IntRange(0, 3).Draw(rt, "replicas") {
		c.Replicas = append(c.Replicas, drawReplica(rt))
	}
	for range rapid.IntRange(0, 4).Draw(rt, "placements") {
		c.Placements = append(c.Placements, dovetail.Placement{At: at(now), Slot: drawSlot(rt), N: rapid.IntRange(0, 2).Draw(rt, "n")})
	}
	for range rapid.IntRange(0, 4).Draw(rt, "events") {
		c.Events = append(c.Events, dovetail.EventRecord{
			Seq: seq, At: at(now), Type: pick(rt, "type", types), Run: drawRunID(rt), Text: rapid.String().Draw(rt, "text"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(rt, "put away") {
		k := knownClass(pick(rt, "class", []string{"sort", "ada", "bob"}), rapid.IntRange(0, now).Draw(rt, "seen"))
		if rapid.Bool().Draw(rt, "forgotten") {
			k.Forgotten = at(rapid.IntRange(0, now).Draw(rt, "when"))
		}
		c.PutAway = append(c.PutAway, k)
	}
	return c
}

func drawRunID(rt *rapid.T) dovetail.RunID {
	return dovetail.RunID(rapid.IntRange(1, highestRun).Draw(rt, "run"))
}

func drawSlot(rt *rapid.T) dovetail.Slot {
	return dovetail.Slot{
		Run: drawRunID(rt), Component: rapid.IntRange(0, 1).Draw(rt, "component"), Elastic: rapid.Bool().Draw(rt, "elastic"), Node: pick(rt, "node", nodes),
	}
}

func drawReplica(rt *rapid.T) dovetail.ReplicaStatus {
	return dovetail.ReplicaStatus{
		Replica: dovetail.Replica{
			Run: drawRunID(rt), Component: rapid.IntRange(0, 1).Draw(rt, "component"), Index: rapid.IntRange(0, 11).Draw(rt, "index"),
			Attempt: int64(rapid.IntRange(1, 2).Draw(rt, "attempt")),
		},
		State: pick(rt, "state", []string{"up", "ready", "down"}),
		Usage: dovetail.Usage{CPU: 5, MemoryPeak: rapid.Int64Range(0, 9).Draw(rt, "memory"), Read: 7, Written: 1 << 40},
	}
}

func drawStatus(rt *rapid.T, now int) dovetail.RunStatus {
	r := dovetail.RunStatus{
		ID: drawRunID(rt), Name: pick(rt, "name", names), Class: pick(rt, "class", words), App: pick(rt, "app", names),
		User: pick(rt, "user", words), Key: pick(rt, "key", words), State: pick(rt, "state", states), Outcome: pick(rt, "outcome", outcomes),
		Submitted: at(rapid.IntRange(0, now).Draw(rt, "submitted")),
	}
	if r.State == dovetail.Ended {
		ended := at(now)
		r.Ended = &ended
	}
	return r
}

func drawRunFilter(rt *rapid.T, now int) engine.RunFilter {
	f := engine.RunFilter{
		States:   rapid.SliceOfNDistinct(rapid.SampledFrom(states), 0, 2, rapid.ID).Draw(rt, "states"),
		Outcomes: rapid.SliceOfNDistinct(rapid.SampledFrom(outcomes), 0, 2, rapid.ID).Draw(rt, "outcomes"),
		Name:     pick(rt, "name", append([]string{"", "*", "sort*", "so*", "SORT*", "sö*", "100%*", "s_*"}, names...)),
		User:     pick(rt, "user", words), Key: pick(rt, "key", words),
		Before: dovetail.RunID(rapid.IntRange(0, highestRun+1).Draw(rt, "before")),
		Limit:  rapid.IntRange(0, 4).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "bounded") {
		f.Since, f.Until = at(rapid.IntRange(0, now).Draw(rt, "since")), at(rapid.IntRange(0, now+1).Draw(rt, "until"))
	}
	return f
}

func drawEventFilter(rt *rapid.T) engine.EventFilter {
	return engine.EventFilter{
		Run:   dovetail.RunID(rapid.IntRange(0, highestRun).Draw(rt, "run")),
		Types: rapid.SliceOfNDistinct(rapid.SampledFrom(types), 0, 2, rapid.ID).Draw(rt, "types"),
		After: rapid.Int64Range(0, 10).Draw(rt, "after"),
		Tail:  rapid.IntRange(0, 5).Draw(rt, "tail"),
		Limit: rapid.IntRange(0, 5).Draw(rt, "limit"),
	}
}

func drawHistoryFilter(rt *rapid.T, now int) engine.HistoryFilter {
	f := engine.HistoryFilter{Class: pick(rt, "class", words), App: pick(rt, "app", names), Limit: rapid.IntRange(0, 4).Draw(rt, "limit")}
	if rapid.IntRange(0, 3).Draw(rt, "any") == 0 {
		f.Class, f.App = "", ""
	}
	if rapid.Bool().Draw(rt, "bounded") {
		f.Since = at(rapid.IntRange(0, now).Draw(rt, "since"))
	}
	if rapid.Bool().Draw(rt, "paged") {
		f.Until = at(rapid.IntRange(0, now).Draw(rt, "until"))
		f.Before = dovetail.RunID(rapid.IntRange(-4, highestRun).Draw(rt, "before"))
	}
	f.Replay, f.Learn = rapid.Bool().Draw(rt, "replay"), rapid.Bool().Draw(rt, "learn")
	return f
}

// testConcurrentReaders asks while turns are appended: every single answer is that of some number of whole turns.
func testConcurrentReaders(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	const turns, readers = 60, 4
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true // once more, after the last turn
				default:
				}
				if why := torn(s); why != "" {
					t.Errorf("a reader saw half a turn: %s", why)
					return
				}
			}
		})
	}
	for i := 1; i <= turns; i++ {
		appendTo(t, s, Turn(i))
	}
	close(done)
	wg.Wait()
	same(t, "turns", turns, Prefix(t, s, Turns(turns)))
}

// torn returns what tells that an answer holds half a turn of Turn, "" if none does.
func torn(s S) string {
	ctx := context.Background()
	list, err := s.Runs(ctx, engine.RunFilter{Limit: 1000})
	if err != nil {
		return err.Error()
	}
	for i, r := range list {
		if first := i == 0; r.ID != dovetail.RunID(len(list)-i) || (r.State == dovetail.Ended) == first {
			return fmt.Sprintf("run %d of %d is %s", r.ID, len(list), r.State)
		}
	}
	log, err := s.Events(ctx, engine.EventFilter{Limit: 10_000})
	if err != nil || len(log)%2 != 0 || len(log)/2 < len(list) {
		return fmt.Sprintf("%d events after %d turns, %v", len(log), len(list), err)
	}
	var next int64
	for r, err := range s.Replay(ctx, 0) {
		if next++; err != nil || r.Seq != next {
			return fmt.Sprintf("record %d is %d, %v", next, r.Seq, err)
		}
	}
	if next%recordsATurn != 0 || next < int64(len(log)) {
		return fmt.Sprintf("%d records after %d events", next, len(log))
	}
	return ""
}
