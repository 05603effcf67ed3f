package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/engine/storetest"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// submissions makes turns in which runs are submitted, as the engine does: one record for each, one plan, and for each run a
// status and an event for people.
type submissions struct {
	app  *dovetail.Application
	seq  int64
	next dovetail.RunID
	now  time.Time
}

func newSubmissions() *submissions {
	return &submissions{app: storetest.Application(), next: 1, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (b *submissions) turn(n int) engine.Changes {
	b.now = b.now.Add(time.Millisecond)
	var c engine.Changes
	plan := dovetail.Plan{At: b.now, Seq: b.seq}
	for range n {
		id := b.next
		b.next++
		run := &dovetail.Run{
			ID: id, Name: fmt.Sprintf("wordcount-%d", id), Class: "wordcount input=small", User: "ada", Key: fmt.Sprintf("key-%d", id),
			Digest: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", Params: map[string]string{"input": "small"}, App: b.app,
		}
		b.seq++
		c.Records = append(c.Records, engine.Record{Seq: b.seq, At: b.now, Event: dovetail.Submitted{Run: run}})
		c.Submitted = append(c.Submitted, run)
		c.Runs = append(c.Runs, dovetail.RunStatus{
			ID: id, Name: run.Name, Class: run.Class, App: "wordcount", Kind: dovetail.Batch, User: "ada", Key: run.Key, Digest: run.Digest,
			State: dovetail.Queued, Reason: dovetail.NoCapacity, Submitted: b.now, Core: 2, ElasticMax: 7,
		})
		c.Events = append(c.Events, dovetail.EventRecord{
			Seq: b.seq, At: b.now, Type: "submitted", Run: id, Text: "ada submitted wordcount with 2 core and 7 elastic replicas",
			Data: json.RawMessage(fmt.Sprintf(`{"run":%d}`, id)),
		})
		plan.Reasons = append(plan.Reasons, dovetail.Reason{Run: id, Code: dovetail.NoCapacity})
	}
	b.seq++
	c.Records = append(c.Records, engine.Record{Seq: b.seq, At: b.now, Event: dovetail.Decided{Plan: plan}})
	return c
}

// BenchmarkAppend reports how many runs a second are accepted durably, by the number of submissions that share a turn.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 2000} {
		b.Run(fmt.Sprintf("runs=%d", n), func(b *testing.B) {
			s := open(b, b.TempDir())
			work := newSubmissions()
			for b.Loop() {
				b.StopTimer()
				c := work.turn(n)
				b.StartTimer()
				if err := s.Append(context.Background(), c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// filled returns a store with so many queued runs.
func filled(b *testing.B, runs int) *sqlite.Store {
	s := open(b, b.TempDir())
	work := newSubmissions()
	for range runs / 1000 {
		if err := s.Append(context.Background(), work.turn(1000)); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkReplay(b *testing.B) {
	s := filled(b, 50_000)
	var records int
	for b.Loop() {
		records = 0
		for _, err := range s.Replay(context.Background(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			records++
		}
	}
	b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkSnapshot stores a state of 50 MB that replaces 20,000 records.
func BenchmarkSnapshot(b *testing.B) {
	s := open(b, b.TempDir())
	work := newSubmissions()
	state := json.RawMessage(`"` + strings.Repeat("x", 50_000_000) + `"`)
	for b.Loop() {
		b.StopTimer()
		for range 20 {
			if err := s.Append(context.Background(), work.turn(1000)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := s.Snapshot(context.Background(), engine.Snapshot{Version: 1, Seq: work.seq, At: work.now, State: state}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRuns asks for pages of 100 of 100,000 runs.
func BenchmarkRuns(b *testing.B) {
	s := filled(b, 100_000)
	for _, q := range []struct {
		name string
		f    engine.RunFilter
	}{
		{"newest", engine.RunFilter{}},
		{"open", engine.RunFilter{States: []dovetail.State{dovetail.Queued, dovetail.Running}}},
		{"none-running", engine.RunFilter{States: []dovetail.State{dovetail.Running}}},
		{"ended", engine.RunFilter{States: []dovetail.State{dovetail.Ended}}},
		{"failed", engine.RunFilter{Outcomes: []dovetail.Outcome{dovetail.OutcomeFailed}}},
		{"key", engine.RunFilter{Key: "key-77"}},
		{"name-of-all", engine.RunFilter{Name: "wordcount"}},
		{"name-of-one", engine.RunFilter{Name: "wordcount-77"}},
		{"name-of-none", engine.RunFilter{Name: "sort"}},
		{"prefix-of-none", engine.RunFilter{Name: "sort*"}},
		{"last-second", engine.RunFilter{Since: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		{"user", engine.RunFilter{User: "ada", Before: 50_000}},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Runs(context.Background(), q.f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHistory asks for the last 100 finished runs of a class, first when they are the newest, then when 90,000 other runs
// ended after them. Each of 100,000 runs had replicas on 2 of 500 nodes, 20 runs at a time on each node.
func BenchmarkHistory(b *testing.B) {
	const runs, nodes, lasts = 100_000, 500, 5000
	s := open(b, b.TempDir())
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for first := 0; first < runs+lasts; first += 1000 {
		var c engine.Changes
		for i := first; i < first+1000; i++ {
			now := begin.Add(time.Duration(i) * time.Second)
			if i < runs {
				c.Runs = append(c.Runs, finished(i, now, now.Add(lasts*time.Second)))
				c.Placements = append(c.Placements, twoNodes(i, nodes, now, 1)...)
			}
			if old := i - lasts; old >= 0 && old < runs {
				c.Placements = append(c.Placements, twoNodes(old, nodes, now, 0)...)
			}
		}
		if err := s.Append(context.Background(), c); err != nil {
			b.Fatal(err)
		}
	}
	for _, class := range []string{"new", "old"} {
		b.Run(class, func(b *testing.B) {
			for b.Loop() {
				h, err := s.History(context.Background(), engine.HistoryFilter{Class: class})
				if err != nil || len(h) != 100 || len(h[99].Neighbours) < 20 {
					b.Fatalf("%d runs, %v", len(h), err)
				}
			}
		})
	}
}

func finished(i int, submitted, ended time.Time) dovetail.RunStatus {
	class := "other"
	switch {
	case i >= 9_900 && i < 10_000:
		class = "old"
	case i >= 99_900:
		class = "new"
	}
	return dovetail.RunStatus{
		ID: dovetail.RunID(i + 1), Class: class, App: "wordcount", State: dovetail.Ended, Outcome: dovetail.OutcomeSucceeded,
		Submitted: submitted, Ended: &ended,
	}
}

func twoNodes(i, nodes int, at time.Time, n int) []dovetail.Placement {
	on := func(node int) dovetail.Placement {
		return dovetail.Placement{At: at, Slot: dovetail.Slot{Run: dovetail.RunID(i + 1), Node: fmt.Sprintf("node-%d", node%nodes)}, N: n}
	}
	return []dovetail.Placement{on(i), on(i*7 + 1)}
}
