package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
			live(t, store, dovetail.Cordoned{Node: "n", On: true})
		}
		snap, err := store.Load(t.Context())
		if err != nil || snap == nil {
			t.Fatalf("snapshot %v, error %v: want one after four short lives", snap, err)
		}
	})
}

// A record of how many nodes were used is long, and counts for many, also for one who reads it again.
func TestSnapshotsAreDueByWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.New()
		for lives, nodes := range []int{16, 16, 8, 8} {
			snap, err := store.Load(t.Context())
			if err != nil || snap != nil {
				t.Fatalf("after %d lives: snapshot %v, error %v", lives, snap, err)
			}
			used := dovetail.Used{Period: dovetail.Duration(time.Second), Nodes: make([]dovetail.NodeUse, nodes)}
			liveFor(t, store, 9, used) // in four lives six records, and three for the nodes
		}
		snap, err := store.Load(t.Context())
		if err != nil || snap == nil {
			t.Fatalf("snapshot %v, error %v: want one after four lives", snap, err)
		}
	})
}

func live(t *testing.T, store *mem.Store, e dovetail.Event) {
	t.Helper()
	liveFor(t, store, 4, e)
}

func liveFor(t *testing.T, store *mem.Store, every int, event dovetail.Event) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: store, Runner: quiet{}, SnapshotEvery: every})
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
	if err := e.Tell(ctx, event); err != nil {
		t.Error(err)
	}
	cancel()
	<-done
}
