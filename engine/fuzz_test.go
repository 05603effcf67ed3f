package engine_test

import (
	"bytes"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// FuzzRestoreRoster: what is read is either refused, or it is a roster that can be written, read again, and worked with.
func FuzzRestoreRoster(f *testing.F) {
	describe := func(id dovetail.RunID) *dovetail.Run {
		if id < 1 || id > 2 {
			return nil
		}
		return &dovetail.Run{ID: id, App: wordcount(3, 0)}
	}
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"nodes":[{"name":"n1","capacity":{"cpu":"1"},"down":true}],"posts":[{"run":1,"component":1,"elastic":true,"node":"n1","told":1}],` +
		`"replicas":[{"run":1,"component":1,"index":1,"attempt":3,"post":0,"up":true,"ports":{"rpc":1}},{"run":1,"component":1,"index":2,"attempt":3,"post":0,"stage":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := engine.RestoreRoster(data, describe)
		if err != nil {
			return
		}
		first, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		again, err := engine.RestoreRoster(first, describe)
		if err != nil {
			t.Fatalf("%s was written and cannot be read: %v", first, err)
		}
		second, err := again.Snapshot()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
		again.Missing(nil, nil)
		again.Again(nil)
		again.Fold(noon, dovetail.NodeDown{Node: "n1"}, describe)
		again.Fold(noon, dovetail.Decided{Plan: dovetail.Plan{Seq: 9, Actions: dovetail.Actions{dovetail.StopRun{Run: 1}}}}, describe)
	})
}

// FuzzLoadSnapshot: a snapshot is either refused with an error, or it leads to a state without broken invariants that can
// be written again. It never brings the daemon down.
func FuzzLoadSnapshot(f *testing.F) {
	store := newAppends()
	turner, err := engine.Load(f.Context(), store, true)
	if err != nil {
		f.Fatal(err)
	}
	add := func() {
		snap, err := turner.Snapshot()
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(snap.State))
	}
	add()
	for _, events := range [][]dovetail.Event{
		{dovetail.NodeUp{Node: machine("n1", 4000)}, submitted(1, wordcount(2, 0)), submitted(2, wordcount(9, 0))},
		{dovetail.ReplicasUp{Replica: dovetail.Replica{Run: 1, Attempt: 1}, N: 1, Ports: map[string]int{"rpc": 1}}},
		{dovetail.ReplicasReady{Replica: dovetail.Replica{Run: 1, Attempt: 1}, N: 1}},
		{dovetail.Suspended{Run: 1}},
		{dovetail.Cancelled{Run: 1}},
	} {
		if _, err := turner.Turn(f.Context(), noon, events...); err != nil {
			f.Fatal(err)
		}
		add()
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		snap := &engine.Snapshot{Version: engine.SnapshotVersion, Seq: 3, At: noon, State: data}
		loaded, err := engine.Load(t.Context(), tampered{snap: snap}, true)
		if err != nil {
			return
		}
		if broken := loaded.Validate(); len(broken) > 0 {
			t.Errorf("loaded with %v", broken)
		}
		if _, err := loaded.Snapshot(); err != nil {
			t.Error(err)
		}
	})
}
