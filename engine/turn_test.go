package engine_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/sched"
)

// appends is a store that notes what is appended to it.
type appends struct {
	*ledger
	all      []engine.Changes
	discards bool
}

func newAppends() *appends { return &appends{ledger: newLedger()} }

// Append does what engine.Store says.
func (a *appends) Append(ctx context.Context, c engine.Changes) error {
	if err := a.ledger.Append(ctx, c); err != nil {
		return err
	}
	c.Records = slices.Clone(c.Records)
	a.all = append(a.all, c)
	return nil
}

// Discards says whether the read side is wanted.
func (a *appends) Discards() bool { return a.discards }

func newTurner(t *testing.T, store engine.Store, identities bool) *engine.Turner {
	t.Helper()
	turner, err := engine.Load(t.Context(), store, identities)
	if err != nil {
		t.Fatal(err)
	}
	return turner
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func submitted(id dovetail.RunID, app *dovetail.Application) dovetail.Event {
	return dovetail.Submitted{Run: &dovetail.Run{ID: id, Name: "r", Class: app.Name, App: app}}
}

func types(c engine.Changes) string {
	var names []string
	for _, r := range c.Records {
		names = append(names, dovetail.EventType(r.Event))
	}
	return strings.Join(names, " ")
}

func TestOneAppendATurn(t *testing.T) {
	store := newAppends()
	turner := newTurner(t, store, true)
	app := wordcount(2, 0)
	n1 := dovetail.NodeUp{Node: machine("n1", 4000)}
	master := dovetail.Replica{Run: 1, Attempt: 1}
	steps := []struct {
		reason  string
		events  []dovetail.Event
		records string
		refused []bool
		cmds    []string
	}{
		{"facts and the decision about them are one append", []dovetail.Event{n1, submitted(1, app)}, "node_up submitted decided", nil,
			[]string{"start 1/0.0@1 on n1"}},
		{"nothing new is no record, so no append", []dovetail.Event{n1, dovetail.ReplicasUp{Replica: dovetail.Replica{Run: 9}, N: 1}}, "", nil,
			[]string{"stop 9/0.0@0"}},
		{"what the core refuses is not recorded, the rest is", []dovetail.Event{dovetail.Held{Run: 7}, dovetail.Reprioritised{Run: 1, Priority: 3}},
			"reprioritised", []bool{true, false}, nil},
		{"a decision follows only when there is something to decide", []dovetail.Event{dovetail.ReplicasUp{Replica: master, N: 1}}, "up", nil, nil},
		{"readiness lets the workers start", []dovetail.Event{dovetail.ReplicasReady{Replica: master, N: 1}}, "ready decided", nil,
			[]string{"start 1/1.0@2 on n1", "start 1/1.1@2 on n1", "start 1/1.2@2 on n1"}},
		{"the end of the master stops the others", []dovetail.Event{dovetail.ReplicasDown{Replica: master, N: 1}}, "down decided", nil,
			[]string{"forget 1/0.0@1", "stop 1/1.0@2", "stop 1/1.1@2", "stop 1/1.2@2"}},
	}
	now := noon
	for _, s := range steps {
		now = now.Add(time.Second)
		before := len(store.all)
		res, err := turner.Turn(t.Context(), now, s.events...)
		if err != nil {
			t.Fatalf("%s: %v", s.reason, err)
		}
		appended := store.all[before:]
		if s.records == "" && len(appended) != 0 || s.records != "" && (len(appended) != 1 || types(appended[0]) != s.records) {
			t.Errorf("%s: %d appends, %q; want %q at once", s.reason, len(appended), types(res.Changes), s.records)
		}
		for i := range s.events {
			if want := i < len(s.refused) && s.refused[i]; (res.Err(i) != nil) != want {
				t.Errorf("%s: event %d was refused with %v; want refused: %t", s.reason, i, res.Err(i), want)
			}
		}
		var cmds []string
		for _, c := range res.Commands {
			cmds = append(cmds, c.String())
		}
		if diff := cmp.Diff(s.cmds, cmds); diff != "" {
			t.Errorf("%s: commands (-want +got):\n%s", s.reason, diff)
		}
	}
}

func TestReadSideOfATurn(t *testing.T) {
	store := newAppends()
	turner := newTurner(t, store, true)
	master := dovetail.Replica{Run: 1, Attempt: 1}
	for i, e := range []dovetail.Event{
		dovetail.NodeUp{Node: machine("n1", 4000)}, submitted(1, wordcount(1, 0)), dovetail.ReplicasUp{Replica: master, N: 1, Host: "h", Ports: map[string]int{"rpc": 7001}},
		dovetail.ReplicasReady{Replica: master, N: 1}, dovetail.ReplicasDown{Replica: master, N: 1, Exit: dovetail.Exit{Code: 3}},
		dovetail.Cancelled{Run: 1, By: "ann"},
		dovetail.ReplicasDown{Replica: dovetail.Replica{Run: 1, Component: 1, Attempt: 2}, N: 1, Exit: dovetail.Exit{Asked: true}},
		dovetail.ReplicasDown{Replica: dovetail.Replica{Run: 1, Component: 1, Index: 1, Attempt: 2}, N: 1, Exit: dovetail.Exit{Asked: true}},
		dovetail.Refused{Replica: dovetail.Replica{Run: 1, Attempt: 3}, N: 1, Why: "late"},
	} {
		if _, err := turner.Turn(t.Context(), noon.Add(time.Duration(i)*time.Second), e); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	ns := make(map[string][]int)
	states := make(map[string][]string)
	for _, c := range store.all {
		for _, e := range c.Events {
			texts = append(texts, e.Text)
		}
		for _, p := range c.Placements {
			k := "master"
			if p.Component == 1 {
				k = map[bool]string{true: "elastic", false: "worker"}[p.Elastic]
			}
			ns[k] = append(ns[k], p.N)
		}
		for _, r := range c.Replicas {
			states[r.Name] = append(states[r.Name], r.State)
		}
	}
	want := []string{
		"node n1 is up with 4 cpu, 1Gi memory",
		"run 1, r, is submitted",
		"run 1 starts: 2 core and 1 elastic replicas",
		"master.0 of run 1 on n1 is up, rpc at h:7001",
		"master.0 of run 1 on n1 is ready",
		"master.0 of run 1 on n1 exited with code 3",
		"run 1: replicas are placed anew",
		"run 1 is to be cancelled for ann",
		"run 1 is ended: cancelled: cancelled by ann",
		"worker.0 of run 1 on n1 has stopped, as it was told to",
		"worker.1 of run 1 on n1 has stopped, as it was told to",
		"master.0 of run 1 on n1 could not be started: late",
		"run 1 has ended: cancelled after 7s",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("what people read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]int{"master": {1, 1, 0}, "worker": {1, 0}, "elastic": {1, 0}}, ns); diff != "" {
		t.Errorf("replicas in a slot over time, from the first to none (the master is replaced at once) (-want +got):\n%s", diff)
	}
	wantStates := map[string][]string{
		"master.0": {"starting", "up", "ready", "down", "starting", "stopping", "down"},
		"worker.0": {"starting", "stopping", "down"}, "worker.1": {"starting", "stopping", "down"},
	}
	if diff := cmp.Diff(wantStates, states); diff != "" {
		t.Errorf("states of replicas (-want +got):\n%s", diff)
	}
}

func TestClockStepsBack(t *testing.T) {
	turner := newTurner(t, newAppends(), true)
	steps := []struct {
		reason string
		now    time.Time
		at     time.Time
		behind time.Duration
	}{
		{"times are UTC and whole microseconds", noon.In(time.FixedZone("x", 3600)).Add(1999), noon.Add(time.Microsecond), 0},
		{"time stands still while the clock is behind", noon.Add(-time.Hour), noon.Add(time.Microsecond), time.Hour + time.Microsecond},
		{"and goes on when it has caught up", noon.Add(time.Second), noon.Add(time.Second), 0},
	}
	for _, s := range steps {
		res, err := turner.Turn(t.Context(), s.now, dovetail.Tick{})
		if err != nil {
			t.Fatalf("%s: %v", s.reason, err)
		}
		if r := res.Changes.Records[0]; r.At != s.at || res.At != s.at || res.Behind != s.behind {
			t.Errorf("%s: recorded at %v, %v behind; want %v, %v", s.reason, r.At, res.Behind, s.at, s.behind)
		}
	}
	store := newAppends()
	if _, err := newTurner(t, store, true).Turn(t.Context(), noon, dovetail.Tick{}); err != nil {
		t.Fatal(err)
	}
	res, err := newTurner(t, store, true).Turn(t.Context(), noon.Add(-time.Minute), dovetail.Tick{})
	if err != nil || res.At != noon {
		t.Errorf("after a restart with a clock that is behind, the turn was at %v (%v); want the last time on record, %v", res.At, err, noon)
	}
}

func TestFailedAppendIsRetriedAsItIs(t *testing.T) {
	for _, torn := range []bool{false, true} {
		store := newAppends()
		turner := newTurner(t, store, true)
		store.torn = torn
		store.fail(2)
		first, err := turner.Turn(t.Context(), noon, dovetail.NodeUp{Node: machine("n1", 4000)}, submitted(1, wordcount(0, 0)))
		if torn {
			if err != nil || len(first.Commands) != 1 || turner.Pending() {
				t.Errorf("an append that returned an error but took effect: got %v; want a turn on record", err)
			}
			continue
		}
		if !errors.Is(err, errDiskFull) || !turner.Pending() || len(first.Commands) != 0 {
			t.Fatalf("got %v with commands %v; want the store's error, a pending turn, and nothing to act on", err, first.Commands)
		}
		seq := turner.Core().Seq()
		if _, err := turner.Turn(t.Context(), noon.Add(time.Hour), dovetail.Tick{}); !errors.Is(err, engine.ErrPending) {
			t.Errorf("another turn while one is pending: got %v, want ErrPending", err)
		}
		if _, err := turner.Snapshot(); !errors.Is(err, engine.ErrPending) {
			t.Errorf("a snapshot while a turn is pending: got %v, want ErrPending", err)
		}
		if _, err := turner.Retry(t.Context()); !errors.Is(err, errDiskFull) {
			t.Errorf("the second attempt: got %v, want the store's error", err)
		}
		res, err := turner.Retry(t.Context())
		if err != nil || len(res.Commands) != 1 || types(res.Changes) != "node_up submitted decided" || res.At != noon {
			t.Errorf("the third attempt: got %q at %v, %v; want the turn as it was decided", types(res.Changes), res.At, err)
		}
		if turner.Core().Seq() != seq || len(store.all) != 1 {
			t.Errorf("plan %d after %d appends; want plan %d, which is not decided anew, in one append", turner.Core().Seq(), len(store.all), seq)
		}
		if _, err := turner.Retry(t.Context()); err == nil {
			t.Error("a retry without a pending turn was accepted")
		}
	}
}

func TestHoldDecidesNothing(t *testing.T) {
	turner := newTurner(t, newAppends(), true)
	turner.Hold(true)
	res, err := turner.Turn(t.Context(), noon, dovetail.NodeUp{Node: machine("n1", 4000)}, submitted(1, wordcount(0, 0)))
	if err != nil || types(res.Changes) != "node_up submitted" {
		t.Errorf("on hold, %q was recorded (%v); want the events alone", types(res.Changes), err)
	}
	turner.Hold(false)
	if res, err = turner.Turn(t.Context(), noon); err != nil || types(res.Changes) != "decided" || len(res.Commands) != 1 {
		t.Errorf("afterwards, %q was recorded (%v); want the decision", types(res.Changes), err)
	}
}

func TestDiscardingStoreGetsRecordsOnly(t *testing.T) {
	store := newAppends()
	store.discards = true
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	turner := engine.NewTurner(core, nil, store)
	res, err := turner.Turn(t.Context(), noon, dovetail.NodeUp{Node: machine("n1", 4000)}, submitted(1, wordcount(0, 0)))
	if err != nil || types(res.Changes) != "node_up submitted decided" {
		t.Fatalf("recorded %q, %v", types(res.Changes), err)
	}
	c := store.all[0]
	if len(c.Submitted) != 1 || c.Runs != nil || c.Replicas != nil || c.Placements != nil || c.Events != nil {
		t.Errorf("a store that discards got a read side: %+v", c)
	}
	if len(res.Plan.Actions) == 0 || len(res.Commands) != 0 {
		t.Errorf("without a roster: actions %v, commands %v; want actions in counts only", res.Plan.Actions, res.Commands)
	}
}

// tampered is a store whose journal or snapshot is not what was written.
type tampered struct {
	*mem.Store
	records []engine.Record
	snap    *engine.Snapshot
}

func (s tampered) Load(context.Context) (*engine.Snapshot, error) { return s.snap, nil }

func (s tampered) Replay(context.Context, int64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for _, r := range s.records {
			if r.Event == nil {
				yield(engine.Record{}, errors.New("record 3: not JSON"))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	node := engine.Record{Seq: 1, At: noon, Event: dovetail.NodeUp{Node: machine("n1", 1)}}
	tick := engine.Record{Seq: 2, At: noon, Event: dovetail.Tick{}}
	cases := []struct {
		reason  string
		store   tampered
		message string
	}{
		{"a gap", tampered{records: []engine.Record{node, {Seq: 3, At: noon, Event: dovetail.Tick{}}}}, "record 3 follows record 1"},
		{"a record twice", tampered{records: []engine.Record{node, node}}, "record 1 follows record 1"},
		{"a journal that does not begin at the beginning", tampered{records: []engine.Record{tick}}, "record 2 follows record 0"},
		{"a record that contradicts those before", tampered{records: []engine.Record{node, {Seq: 2, At: noon, Event: dovetail.Held{Run: 5}}}}, "record 2 (held"},
		{"a plan out of order", tampered{records: []engine.Record{node, {Seq: 2, At: noon, Event: dovetail.Decided{Plan: dovetail.Plan{Seq: 9}}}}}, "record 2 (decided"},
		{"time that goes backwards", tampered{records: []engine.Record{node, {Seq: 2, At: noon.Add(-1), Event: dovetail.Tick{}}}}, "record 2 (tick"},
		{"a record that cannot be read", tampered{records: []engine.Record{node, tick, {}}}, "after record 2: record 3: not JSON"},
		{"a snapshot of another version", tampered{snap: &engine.Snapshot{Version: 99, Seq: 4}}, "after record 4: its version is 99"},
		{"a snapshot that is no JSON", tampered{snap: &engine.Snapshot{Version: 1, Seq: 4, State: []byte("{")}}, "snapshot after record 4"},
		{"a snapshot without a core", tampered{snap: &engine.Snapshot{Version: 1, Seq: 4, State: []byte("{}")}}, "snapshot after record 4"},
	}
	for _, c := range cases {
		if _, err := engine.Load(t.Context(), c.store, true); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: got %v; want an error with %q", c.reason, err, c.message)
		}
	}
}

func TestLoadKeepsBackendsApart(t *testing.T) {
	store := newAppends()
	turner := newTurner(t, store, false)
	if _, err := turner.Turn(t.Context(), noon, dovetail.Tick{}); err != nil {
		t.Fatal(err)
	}
	snap, err := turner.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Snapshot(t.Context(), snap); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Load(t.Context(), store, true); dovetail.CodeOf(err) != dovetail.Invalid {
		t.Errorf("counts loaded as identities: got %v, want an Invalid error", err)
	}
	newTurner(t, store, false)
}

func TestRunsShareApplications(t *testing.T) {
	store := newAppends()
	turner := newTurner(t, store, true)
	for id := range dovetail.RunID(4) {
		if _, err := turner.Turn(t.Context(), noon, submitted(id+1, wordcount(int(id)%2, 0))); err != nil {
			t.Fatal(err)
		}
		if id == 1 { // the others are replayed after a snapshot
			snap, err := turner.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Snapshot(t.Context(), snap); err != nil {
				t.Fatal(err)
			}
		}
	}
	core := newTurner(t, store, true).Core()
	app := func(id dovetail.RunID) *dovetail.Application { return core.Describe(id).App }
	if app(1) != app(3) || app(2) != app(4) || app(1) == app(2) {
		t.Errorf("applications of runs 1 to 4: %p %p %p %p; want 1 and 3, 2 and 4 to share one", app(1), app(2), app(3), app(4))
	}
}
