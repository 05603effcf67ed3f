package engine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// quiet is a back-end with nodes and nothing else.
type quiet struct{ engine.Runner }

func (quiet) Run(ctx context.Context, inbox chan<- dovetail.Event, observed func()) error {
	inbox <- dovetail.NodeUp{Node: dovetail.Node{Name: "n"}}
	observed()
	<-ctx.Done()
	return ctx.Err()
}

// A daemon that is restarted often must not let the journal grow without bounds: what counts is the distance from the last
// snapshot, not from the last start.
func TestSnapshotsAreDueAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.New()
		for range 4 { // two records in each life: the node, and a change
			live(t, store)
		}
		snap, err := store.Load(t.Context())
		if err != nil || snap == nil {
			t.Fatalf("snapshot %v, error %v: want one after four short lives", snap, err)
		}
	})
}

func live(t *testing.T, store *mem.Store) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: store, Runner: quiet{}, SnapshotEvery: 4})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx) // it ends when the context does
	}()
	synctest.Wait()
	if err := e.Tell(ctx, dovetail.Cordoned{Node: "n", On: true}); err != nil {
		t.Error(err)
	}
	cancel()
	<-done
}
