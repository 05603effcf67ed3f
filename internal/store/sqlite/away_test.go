package sqlite_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// A database from before classes were put away gets its table, and loses nothing.
func TestSchemaWithoutPutAway(t *testing.T) {
	dir := written(t, 3)
	edit(t, dir, "DROP TABLE put_away")
	edit(t, dir, "PRAGMA user_version = 2")
	s := open(t, dir)
	if away, err := s.PutAway(t.Context()); err != nil || len(away) > 0 {
		t.Errorf("put away %v, error %v; expected nothing", away, err)
	}
	if runs, err := s.Runs(t.Context(), engine.RunFilter{}); err != nil || len(runs) != 3 {
		t.Errorf("%d runs, error %v; expected 3", len(runs), err)
	}
	if err := s.Append(t.Context(), engine.Changes{PutAway: []dovetail.KnownClass{{Class: "a", Updates: 1}}}); err != nil {
		t.Fatal(err)
	}
	if away, err := s.PutAway(t.Context(), "a"); err != nil || len(away) != 1 {
		t.Errorf("put away %v, error %v; expected one class", away, err)
	}
}

// Damage to what was put away is logged, and stops nobody.
func TestPutAwayIsDamaged(t *testing.T) {
	dir := written(t, 3) // classes 1 to 3
	edit(t, dir, "UPDATE put_away SET known = '{' WHERE class IN ('class 1', 'class 2')")
	var log bytes.Buffer
	s, err := sqlite.Open(context.Background(), dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, s)
	if away, err := s.PutAway(t.Context()); err != nil || len(away) != 1 || away[0].Class != "class 3" {
		t.Errorf("put away %+v, error %v; expected class 3 alone", away, err)
	}
	if away, err := s.PutAway(t.Context(), "class 2"); err != nil || len(away) > 0 {
		t.Errorf("put away %+v, error %v; expected nothing", away, err)
	}
	if out := log.String(); !strings.Contains(out, "class 2 is damaged") {
		t.Errorf("the log says %q", out)
	}
	log.Reset()
	err = s.Append(t.Context(), engine.Changes{
		Records: []engine.Record{{Seq: 7, Event: dovetail.Forgotten{Class: "sort"}}}, PutAway: []dovetail.KnownClass{{Class: "class 1", Updates: 7}},
	})
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	away, err := s.PutAway(t.Context(), "class 1", "class 3")
	if err != nil || len(away) != 2 || away[0].Updates != 7 || len(away[1].Preferences) != 1 {
		t.Errorf("put away %+v, error %v; expected class 1 anew, and class 3 without sort", away, err)
	}
	if out := log.String(); !strings.Contains(out, "class 2 is damaged") || !strings.Contains(out, "class=\"class 1\"") {
		t.Errorf("the log says %q", out)
	}
}
