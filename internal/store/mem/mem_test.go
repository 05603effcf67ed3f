package mem_test

import (
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/engine/storetest"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// kept is a store whose contents outlive Close, as far as the suite can tell.
type kept struct{ *mem.Store }

func (kept) Close() error { return nil }

func TestStore(t *testing.T) {
	storetest.TestStore(t, func(*testing.T) func() storetest.S {
		s := kept{mem.New()}
		return func() storetest.S { return s }
	})
}

func TestClosedStoreRefuses(t *testing.T) {
	s := mem.New()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Runs(t.Context(), engine.RunFilter{})
	if got := dovetail.CodeOf(err); got != dovetail.Unavailable {
		t.Errorf("Runs: %v; expected an unavailable error", err)
	}
	if got := dovetail.CodeOf(s.Append(t.Context(), engine.Changes{})); got != dovetail.Unavailable {
		t.Errorf("Append: code %s; expected unavailable", got)
	}
}
