package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// history feeds a turner anything in any order: requests that make no sense, reports about replicas that are long gone, a
// clock that jumps, a store that fails.
type history struct {
	store    *appends
	turner   *engine.Turner
	now      time.Time
	next     dovetail.RunID
	replicas []dovetail.Replica // every one that was ever to start, and some more
}

// app returns an application that no other run has, so that nothing is shared: TestRunsShareApplications is about that.
func (h *history) app(elastic int, impatient bool) *dovetail.Application {
	app := wordcount(elastic, time.Minute)
	app.Description = fmt.Sprint("of run ", h.next)
	if impatient {
		app.MaxRuntime = dovetail.Duration(time.Minute)
	}
	return app
}

func (h *history) turn(t *rapid.T, events ...dovetail.Event) {
	res, err := h.turner.Turn(t.Context(), h.now, events...)
	for h.turner.Pending() {
		res, err = h.turner.Retry(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Commands {
		if c.Verb == engine.StartIt {
			h.replicas = append(h.replicas, c.Replica)
		}
	}
}

func (h *history) run(t *rapid.T) dovetail.RunID {
	return dovetail.RunID(rapid.IntRange(0, int(h.next)).Draw(t, "run"))
}

func node(t *rapid.T) string { return rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "node") }

// replica draws a replica, mostly one that was to start, late ones more often.
func (h *history) replica(t *rapid.T) dovetail.Replica {
	last := len(h.replicas) - 1
	r := h.replicas[max(0, last-rapid.IntRange(0, 12).Draw(t, "age"))]
	if rapid.IntRange(0, 15).Draw(t, "stale") == 0 {
		r.Attempt--
	}
	return r
}

func (h *history) report(t *rapid.T) dovetail.Event {
	r := h.replica(t)
	switch rapid.IntRange(0, 5).Draw(t, "report") {
	case 0, 1:
		return dovetail.ReplicasUp{Replica: r, N: 1}
	case 2:
		return dovetail.ReplicasReady{Replica: r, N: 1}
	case 3:
		return dovetail.Refused{Replica: r, N: 1}
	}
	exit := dovetail.Exit{Code: rapid.IntRange(0, 1).Draw(t, "code"), Asked: rapid.Bool().Draw(t, "asked")}
	return dovetail.ReplicasDown{Replica: r, N: 1, Exit: exit}
}

func (h *history) request(t *rapid.T) dovetail.Event {
	run := h.run(t)
	switch rapid.IntRange(0, 6).Draw(t, "request") {
	case 0:
		return dovetail.Cancelled{Run: run}
	case 1:
		return dovetail.Held{Run: run}
	case 2:
		return dovetail.Released{Run: run}
	case 3:
		return dovetail.Suspended{Run: run}
	case 4:
		return dovetail.Reprioritised{Run: run, Priority: rapid.IntRange(-1, 1).Draw(t, "priority")}
	case 5:
		return dovetail.Cordoned{Node: node(t), On: rapid.Bool().Draw(t, "on"), Drain: rapid.Bool().Draw(t, "drain")}
	}
	return dovetail.Resumed{Run: run}
}

func (h *history) fact(t *rapid.T) dovetail.Event {
	switch rapid.IntRange(0, 9).Draw(t, "fact") {
	case 0:
		return dovetail.NodeUp{Node: machine(node(t), int64(rapid.IntRange(0, 4).Draw(t, "cpu"))*1000)}
	case 1:
		return dovetail.NodeDown{Node: node(t)}
	case 2, 3:
		return h.request(t)
	case 4:
		return dovetail.Tick{}
	}
	return h.report(t)
}

// TestAnyHistory: whatever happens, the roster and the core agree, and a restart leads to the same state, byte for byte.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{store: newAppends(), now: noon, replicas: []dovetail.Replica{{}}}
		h.load(t)
		h.turn(t, dovetail.NodeUp{Node: machine("n1", 3000)}, dovetail.NodeUp{Node: machine("n2", 2000)})
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				h.next++
				h.turn(t, submitted(h.next, h.app(rapid.IntRange(0, 4).Draw(t, "elastic"), rapid.Bool().Draw(t, "impatient"))))
			},
			"happen": func(t *rapid.T) {
				var events []dovetail.Event
				for range rapid.IntRange(1, 6).Draw(t, "events") {
					events = append(events, h.fact(t))
				}
				h.turn(t, events...)
			},
			"wait": func(t *rapid.T) {
				h.now = h.now.Add(time.Duration(rapid.IntRange(-5, 30).Draw(t, "seconds")) * time.Second)
			},
			"fail":    func(t *rapid.T) { h.store.fail(rapid.IntRange(1, 3).Draw(t, "times")) },
			"restart": h.load,
			"snapshot": func(t *rapid.T) {
				snap, err := h.turner.Snapshot()
				if err == nil {
					err = h.store.Snapshot(t.Context(), snap)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				for _, v := range h.turner.Validate() {
					t.Errorf("after record %d: %s", h.turner.Seq(), v)
				}
			},
		})
	})
}

// load goes on with what is on record, which must be where things stand.
func (h *history) load(t *rapid.T) {
	loaded, err := engine.Load(t.Context(), h.store, true)
	if err != nil {
		t.Fatal(err)
	}
	if h.turner != nil {
		want, err := h.turner.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		got, err := loaded.Snapshot()
		if err != nil || got.Seq != want.Seq || string(got.State) != string(want.State) {
			t.Fatalf("replayed to record %d, the state is\n%s (%v)\nwant that of record %d\n%s", got.Seq, got.State, err, want.Seq, want.State)
		}
	}
	h.turner = loaded
}
