package sqlite_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/dovetail-sched/dovetail/engine/storetest"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

func TestStore(t *testing.T) {
	storetest.TestStore(t, func(t *testing.T) func() storetest.S {
		dir := t.TempDir()
		return func() storetest.S { return open(t, dir) }
	})
}

// open opens a store that the end of the test closes, if nothing did before.
func open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t testing.TB, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
