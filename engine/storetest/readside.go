package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

func testRunReplaced(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	_, _, err := s.Run(t.Context(), 1)
	refused(t, "a run that was never submitted", err, dovetail.NotFound)

	first := dovetail.RunStatus{ID: 1, Name: "a", App: "b", State: dovetail.Queued, Submitted: at(0)}
	appendTo(t, s, engine.Changes{Submitted: []*dovetail.Run{fullRun(1)}, Runs: []dovetail.RunStatus{first}})
	ended := at(9)
	second := dovetail.RunStatus{
		ID: 1, Name: "c", Class: "d", App: "e", Kind: dovetail.Service, User: "f", Key: "g", Digest: "h", Priority: 3, State: dovetail.Ended,
		Outcome: dovetail.OutcomeLost, Why: "i", Held: true, Suspended: true, Reason: dovetail.Behind, Submitted: at(1), Started: &ended, Ended: &ended,
		Core: 1, CoreUp: 2, Elastic: 3, ElasticUp: 4, ElasticMax: 5, Retries: 6,
	}
	appendTo(t, s, engine.Changes{Runs: []dovetail.RunStatus{{ID: 1, Name: "overwritten", Submitted: at(0)}, second}})
	status, run, err := s.Run(t.Context(), 1)
	ok(t, "Run", err)
	same(t, "status: the last one written", second, status)
	same(t, "submission: as it was first", fullRun(1), run)
	for _, f := range []engine.RunFilter{
		{Name: "a"}, {Name: "b"}, {Name: "overwritten"}, {States: []dovetail.State{dovetail.Queued}}, {Until: at(1)},
	} {
		same(t, "runs that match the former status", 0, len(runs(t, s, f)))
	}
}

func testReplicasReplaced(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	status := func(component, index int, attempt int64, state string) dovetail.ReplicaStatus {
		return dovetail.ReplicaStatus{
			Replica: dovetail.Replica{Run: 1, Component: component, Index: index, Attempt: attempt}, Component: "worker", State: state,
		}
	}
	appendTo(t, s, engine.Changes{Replicas: []dovetail.ReplicaStatus{
		status(1, 10, 1, "up"), status(1, 2, 2, "up"), status(0, 0, 1, "up"), status(1, 2, 1, "down"),
	}})
	appendTo(t, s, engine.Changes{Replicas: []dovetail.ReplicaStatus{status(1, 2, 2, "ready")}})
	want := []dovetail.ReplicaStatus{status(0, 0, 1, "up"), status(1, 2, 1, "down"), status(1, 2, 2, "ready"), status(1, 10, 1, "up")}
	same(t, "replicas in order", want, replicas(t, s, 1))
	same(t, "replicas of another run", 0, len(replicas(t, s, 2)))
}

func testLimits(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	ctx := context.Background()
	for _, f := range []engine.RunFilter{{Limit: -1}, {Limit: 1001}, {Before: -1}} {
		_, err := s.Runs(ctx, f)
		refused(t, "Runs out of bounds", err, dovetail.Invalid)
	}
	for _, f := range []engine.EventFilter{{Limit: -1}, {Limit: 10_001}, {After: -1}, {Tail: -1}, {Tail: 10_001}} {
		_, err := s.Events(ctx, f)
		refused(t, "Events out of bounds", err, dovetail.Invalid)
	}
	for _, f := range []engine.HistoryFilter{{Limit: -1}, {Limit: 10_001}, {Before: -1}, {Before: 7}} {
		_, err := s.History(ctx, f)
		refused(t, "History out of bounds", err, dovetail.Invalid)
	}
	var c engine.Changes
	ended := at(1)
	for id := dovetail.RunID(1); id <= 101; id++ {
		c.Runs = append(c.Runs, dovetail.RunStatus{ID: id, State: dovetail.Ended, Submitted: at(0), Ended: &ended})
	}
	for seq := int64(1); seq <= 1001; seq++ {
		c.Events = append(c.Events, dovetail.EventRecord{Seq: seq, At: at(0)})
	}
	appendTo(t, s, c)
	same(t, "runs by default", 100, len(runs(t, s, engine.RunFilter{})))
	same(t, "runs at most", 101, len(runs(t, s, engine.RunFilter{Limit: 1000})))
	same(t, "events by default", 1000, len(events(t, s, engine.EventFilter{})))
	same(t, "events at most", 1001, len(events(t, s, engine.EventFilter{Limit: 10_000})))
	same(t, "history by default", 100, len(history(t, s, engine.HistoryFilter{})))
	same(t, "history at most", 101, len(history(t, s, engine.HistoryFilter{Limit: 10_000})))
}

// testPages pages through events that share a Seq: nothing may be lost or come twice.
func testPages(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	var c engine.Changes
	for _, seq := range []int64{1, 2, 2, 2, 2, 2, 3, 4, 4, 9} {
		c.Events = append(c.Events, dovetail.EventRecord{Seq: seq, At: at(0), Text: string(rune('a' + len(c.Events)))})
	}
	appendTo(t, s, c)
	for limit := 1; limit <= 11; limit++ {
		var all []dovetail.EventRecord
		f := engine.EventFilter{Limit: limit}
		for {
			page := events(t, s, f)
			if len(page) == 0 {
				break
			}
			all, f.After = append(all, page...), page[len(page)-1].Seq
		}
		same(t, "events of all pages", c.Events, all)
	}
}

func testNeighbours(t *testing.T, fresh func(t *testing.T) func() S) {
	s := opened(t, fresh(t))
	place := func(sec int, run dovetail.RunID, component int, node string, n int) dovetail.Placement {
		return dovetail.Placement{At: at(sec), Slot: dovetail.Slot{Run: run, Component: component, Node: node}, N: n}
	}
	end1, end2 := at(100), at(60)
	appendTo(t, s, engine.Changes{
		Runs: []dovetail.RunStatus{
			{ID: 1, Class: "one", State: dovetail.Ended, Ended: &end1},
			{ID: 2, Class: "two", State: dovetail.Ended, Ended: &end2},
			{ID: 3, Class: "three", State: dovetail.Running},
		},
		Placements: []dovetail.Placement{
			place(0, 3, 0, "a", 1), // long before, and still there
			place(10, 1, 0, "a", 1),
			place(20, 2, 0, "a", 1),
			place(25, 2, 0, "a", 5), // grows: the same neighbour
			place(30, 2, 1, "a", 1), // another component: the same neighbour
			place(30, 2, 0, "a", 0),
			place(40, 2, 1, "a", 0),
			place(40, 2, 0, "b", 1), // on a node where run 1 is not
			place(50, 2, 0, "a", 1), // comes back, and stays until it ends
			place(60, 1, 0, "b", 2), // when run 2 has just left
			place(100, 1, 0, "a", 0),
			place(100, 1, 0, "b", 0),
		},
	})
	found := history(t, s, engine.HistoryFilter{Class: "one"})
	same(t, "finished runs of the class", 1, len(found))
	same(t, "neighbours", []dovetail.Neighbour{
		{Run: 3, Class: "three", Node: "a", From: at(10), To: at(100)},
		{Run: 2, Class: "two", Node: "a", From: at(20), To: at(40)},
		{Run: 2, Class: "two", Node: "a", From: at(50), To: at(60)},
	}, found[0].Neighbours)
}

// testNeighbourSlots ends one kind of replica at a time: the others of the run on the node stay, and with them the neighbour.
func testNeighbourSlots(t *testing.T, fresh func(t *testing.T) func() S) {
	other := dovetail.Slot{Run: 2, Component: 1, Elastic: true, Node: "a"}
	core, first, elsewhere, stranger := other, other, other, other
	core.Elastic, first.Component, elsewhere.Node, stranger.Run = false, 0, "b", 3
	for _, test := range []struct {
		reason string
		ended  dovetail.Slot
	}{
		{"the core replicas of the component", core},
		{"the elastic replicas of another component", first},
		{"those on another node", elsewhere},
		{"those of another run", stranger},
	} {
		s := opened(t, fresh(t))
		end := at(100)
		one := dovetail.Slot{Run: 1, Node: "a"}
		appendTo(t, s, engine.Changes{
			Runs: []dovetail.RunStatus{{ID: 1, State: dovetail.Ended, Ended: &end}, {ID: 2, State: dovetail.Running}},
			Placements: []dovetail.Placement{
				{At: at(10), Slot: one, N: 1}, {At: at(20), Slot: other, N: 1}, {At: at(20), Slot: test.ended, N: 1},
			},
		})
		appendTo(t, s, engine.Changes{Placements: []dovetail.Placement{{At: at(30), Slot: test.ended}, {At: at(40), Slot: other}}})
		found := history(t, s, engine.HistoryFilter{})
		var times []dovetail.Neighbour
		for _, n := range found[0].Neighbours {
			if n.Run == 2 {
				times = append(times, n)
			}
		}
		same(t, test.reason+" end", []dovetail.Neighbour{{Run: 2, Node: "a", From: at(20), To: at(40)}}, times)
	}
}

// testImported imports runs that end before, at and after the end of a run of the system itself, drops the journal, and pages through
// all of them one by one.
func testImported(t *testing.T, fresh func(t *testing.T) func() S) {
	open := fresh(t)
	s := open()
	end := at(5)
	appendTo(t, s, engine.Changes{
		Records: []engine.Record{{Seq: 1, At: at(0), Event: dovetail.Imported{Runs: []dovetail.Past{
			fullPast(5, "a", "a?x=1"), fullPast(4, "a", "a?x=2"), fullPast(9, "b", "b"),
		}}}},
		Runs: []dovetail.RunStatus{{ID: 3, App: "a", Class: "a?x=1", State: dovetail.Ended, Ended: &end}},
	})
	appendTo(t, s, engine.Changes{Records: []engine.Record{
		{Seq: 2, At: at(0), Event: dovetail.Imported{Runs: []dovetail.Past{fullPast(5, "a", "a?x=1")}}},
		{Seq: 3, At: at(0), Event: dovetail.Imported{Runs: []dovetail.Past{fullPast(5, "a", "a?x=2")}}},
	}})
	ok(t, "Snapshot", s.Snapshot(context.Background(), engine.Snapshot{Version: 1, Seq: 3, At: at(0), State: []byte("{}")}))
	ok(t, "Close", s.Close())
	s = open()
	defer func() { closeStore(t, s) }()

	ids := func(f engine.HistoryFilter) (all []dovetail.RunID) {
		for _, h := range history(t, s, f) {
			all = append(all, h.Status.ID)
		}
		return all
	}
	same(t, "all", []dovetail.RunID{-3, 3, -1, -4, -5, -2}, ids(engine.HistoryFilter{}))
	same(t, "of a class", []dovetail.RunID{3, -1, -4}, ids(engine.HistoryFilter{Class: "a?x=1"}))
	same(t, "of an application, since", []dovetail.RunID{3, -1, -4, -5}, ids(engine.HistoryFilter{App: "a", Since: at(5)}))
	same(t, "until", []dovetail.RunID{-2}, ids(engine.HistoryFilter{Until: at(5)}))
	want := fullPast(4, "a", "a?x=2")
	found := history(t, s, engine.HistoryFilter{Class: "a?x=2", Until: at(5)})
	same(t, "an imported run", dovetail.History{Import: &want, Params: want.Params, Status: dovetail.RunStatus{
		ID: -2, Class: "a?x=2", App: "a", State: dovetail.Ended, Outcome: want.Outcome, InputSize: want.InputSize, Ended: &want.Ended,
	}}, found[0])
	var paged []dovetail.RunID
	f := engine.HistoryFilter{Limit: 1}
	for {
		page := history(t, s, f)
		if len(page) == 0 {
			break
		}
		last := &page[len(page)-1].Status
		paged, f.Until, f.Before = append(paged, last.ID), *last.Ended, last.ID
	}
	same(t, "page by page", []dovetail.RunID{-3, 3, -1, -4, -5, -2}, paged)

	appendTo(t, s, engine.Changes{Runs: []dovetail.RunStatus{
		{ID: 4, App: "c", Class: "c", State: dovetail.Running}, {ID: 5, App: "0", Class: "0", State: dovetail.Ended, Ended: &end},
	}})
	for limit, want := range map[int][]string{9: {"b", "0", "a?x=1", "a?x=2"}, 2: {"b", "0"}} {
		classes, err := s.Classes(context.Background(), limit)
		ok(t, "Classes", err)
		same(t, fmt.Sprintf("%d classes of what has ended", limit), want, classes)
	}
}

// testPutAway follows classes that are put away, brought back and forgotten, and opens the store again in between.
func testPutAway(t *testing.T, fresh func(t *testing.T) func() S) {
	open := fresh(t)
	s := open()
	seq := int64(0)
	turn := func(events []dovetail.Event, away ...dovetail.KnownClass) {
		c := engine.Changes{PutAway: away}
		for _, e := range events {
			seq++
			c.Records = append(c.Records, engine.Record{Seq: seq, At: at(0), Event: e})
		}
		appendTo(t, s, c)
	}
	expect := func(reason string, want ...dovetail.KnownClass) {
		t.Helper()
		ok(t, "Snapshot", s.Snapshot(context.Background(), engine.Snapshot{Version: 1, Seq: seq, At: at(0), State: []byte("{}")}))
		ok(t, "Close", s.Close())
		s = open()
		got, err := s.PutAway(context.Background())
		ok(t, "PutAway", err)
		same(t, reason, want, got)
	}
	defer func() { closeStore(t, s) }()
	a, b, c, forgotten := knownClass("a", 1), knownClass("b", 2), knownClass("c", 3), knownClass("c", 9)
	forgotten.Forgotten, forgotten.Updates = at(8), 1
	without := a
	without.Preferences = a.Preferences[1:]

	turn([]dovetail.Event{dovetail.Tick{}}, b, a, c)
	expect("by class", a, b, c)
	some, err := s.PutAway(context.Background(), "c", "nobody", "a", "c")
	ok(t, "PutAway", err)
	same(t, "those asked for", []dovetail.KnownClass{a, c}, some)
	turn([]dovetail.Event{dovetail.Recalled{Classes: []dovetail.KnownClass{b, {Class: "new"}}}})
	expect("one came back", a, c)
	turn([]dovetail.Event{dovetail.Recalled{Classes: []dovetail.KnownClass{c}}, dovetail.Recalled{Classes: []dovetail.KnownClass{a}}}, a)
	expect("it came back and was put away again at once", a)
	turn([]dovetail.Event{dovetail.Tick{}}, knownClass("a", 0), knownClass("b", 5))
	expect("what says more stays", a, knownClass("b", 5))
	turn([]dovetail.Event{dovetail.Tick{}}, knownClass("b", 7), c, forgotten)
	expect("what was known before it was forgotten does not come back", a, knownClass("b", 7), forgotten)
	turn([]dovetail.Event{dovetail.Forgotten{Class: "b"}, dovetail.Forgotten{Class: "c"}, dovetail.Forgotten{Class: "sort"}})
	expect("a class, and what others know of it", without)
	turn([]dovetail.Event{dovetail.Tick{}}, c)
	turn([]dovetail.Event{dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "new"}}, All: true}}, b)
	expect("what is imported replaces all, before another is put away", b)
	turn([]dovetail.Event{dovetail.Forgotten{}}, c)
	expect("all, before another is put away", c)
}
