package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/engine/storetest"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// written returns a directory whose closed store holds so many turns.
func written(t *testing.T, turns int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	for _, c := range storetest.Turns(turns) {
		if err := s.Append(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// edit runs SQL behind the store's back.
func edit(t *testing.T, dir, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "dovetail.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// ask returns the one value that a query yields.
func ask(t *testing.T, dir, query string) (value string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "dovetail.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// outcome opens the store and reads all that recovery reads.
func outcome(dir string, log *slog.Logger) (records int, err error) {
	s, err := sqlite.Open(context.Background(), dir, log)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	snap, err := s.Load(context.Background())
	if err != nil {
		return 0, err
	}
	var after int64
	if snap != nil {
		after = snap.Seq
	}
	for _, err := range s.Replay(context.Background(), after) {
		if err != nil {
			return records, err
		}
		records++
	}
	return records, nil
}

// TestDamageIsNamed has 10 turns of 2 records each.
func TestDamageIsNamed(t *testing.T) {
	snapshot := func(t *testing.T, dir string) {
		s := open(t, dir)
		defer s.Close()
		if err := s.Snapshot(context.Background(), engine.Snapshot{Version: 1, Seq: 6, State: []byte(`{"a":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		reason    string
		snapshots bool
		query     string
		records   int // read before the damage
		code      dovetail.ErrorCode
		says      string
	}{
		{"a garbled record in the middle", false, "UPDATE journal SET data = '{}' WHERE seq = 5", 4, dovetail.Internal, "record 5 "},
		{"a record of another type of column", false, "UPDATE journal SET at = 'noon' WHERE seq = 5", 4, dovetail.Internal, "record 5 "},
		{"a record that is missing in the middle", false, "DELETE FROM journal WHERE seq = 7", 6, dovetail.Internal, "records 7 to 7 "},
		{"several that are missing", false, "DELETE FROM journal WHERE seq BETWEEN 7 AND 9", 6, dovetail.Internal, "records 7 to 9 "},
		{"a garbled last record was promised to somebody", false, "UPDATE journal SET data = '{}' WHERE seq = 20", 0, dovetail.Internal, "record 20 "},
		{"so was a missing one", false, "DELETE FROM journal WHERE seq = 20", 0, dovetail.Internal, "records 20 to 20 "},
		{"a journal that vanished", false, "DELETE FROM journal", 0, dovetail.Internal, "records 20 to 20 "},
		{"a record of a newer program", false, "UPDATE journal SET version = 2, crc = 0 WHERE seq = 5", 4, dovetail.Internal, "record 5 "},
		{"an application that is missing", false, "DELETE FROM applications", 0, dovetail.Internal, "application 1 "},
		{"an application that was changed", false, "UPDATE applications SET spec = '{}'", 0, dovetail.Internal, "application 1 "},
		{"a garbled snapshot", true, `UPDATE snapshots SET state = '{"a":2}'`, 0, dovetail.Internal, "after record 6 "},
		{"a snapshot of another moment", true, "UPDATE snapshots SET seq = 5", 0, dovetail.Internal, "after record 6 "},
		{"a missing snapshot", true, "DELETE FROM snapshots", 0, dovetail.Internal, "after record 6 "},
		{"a newer schema", false, "PRAGMA user_version = 99", 0, dovetail.Invalid, "schema 99"},
		{"no bounds", false, "DELETE FROM bounds", 0, dovetail.Internal, "bounds"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			dir := written(t, 10)
			if test.snapshots {
				snapshot(t, dir)
			}
			edit(t, dir, test.query)
			records, err := outcome(dir, slog.New(slog.DiscardHandler))
			if err == nil || dovetail.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v; expected a %s error that says %q", err, test.code, test.says)
			}
			if records != test.records {
				t.Errorf("%d records were read before the damage; expected %d", records, test.records)
			}
		})
	}
}

// TestRecordsBeyondTheBoundsAreSetAside adds records that no Append completed, sound and garbled ones.
func TestRecordsBeyondTheBoundsAreSetAside(t *testing.T) {
	dir := written(t, 3)
	edit(t, dir, "INSERT INTO journal SELECT 7, at, version, type, run, app, data, crc FROM journal WHERE seq = 6")
	edit(t, dir, "INSERT INTO journal VALUES (8, 0, 1, 'tick', 0, 0, 'garbage', 0)")
	edit(t, dir, "INSERT INTO events (seq, at, type, run, text) VALUES (7, 0, 'tick', 0, 'of an unfinished write')")

	var log bytes.Buffer
	s, err := sqlite.Open(context.Background(), dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if out := log.String(); !strings.Contains(out, "level=WARN") || !strings.Contains(out, "records=2 after=6") {
		t.Errorf("the log says %q; expected a warning about 2 records after 6", out)
	}
	if n := storetest.Prefix(t, s, storetest.Turns(4)); n != 3 {
		t.Errorf("%d turns are left; expected 3", n)
	}
	if err := s.Append(context.Background(), storetest.Turn(4)); err != nil {
		t.Fatalf("going on: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if kept := ask(t, dir, "SELECT seq || ' ' || data FROM quarantine WHERE seq = 8"); kept != "8 garbage" {
		t.Errorf("the quarantine has %q; expected the record as it was", kept)
	}
	if n, err := outcome(dir, slog.New(slog.DiscardHandler)); n != 8 || err != nil {
		t.Errorf("opening it again: %d records, %v; expected 8", n, err)
	}
}

// TestCloseLeavesOneFile holds Close to carrying the log over: copies of the database alone are whole then.
func TestCloseLeavesOneFile(t *testing.T) {
	entries, err := os.ReadDir(written(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "dovetail.db" {
		t.Errorf("the directory has %v; expected only dovetail.db", entries)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	garbage := t.TempDir()
	if err := os.WriteFile(filepath.Join(garbage, "dovetail.db"), bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	occupied := t.TempDir()
	if err := os.Mkdir(filepath.Join(occupied, "dovetail.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		reason, dir string
		code        dovetail.ErrorCode
		says        string
	}{
		{"a missing directory", filepath.Join(t.TempDir(), "missing"), dovetail.NotFound, "create it"},
		{"a file instead of a directory", file, dovetail.Invalid, "not a directory"},
		{"a file that is no database", garbage, dovetail.Internal, "damaged"},
		{"a directory where the database should be", occupied, dovetail.Internal, "is a directory"},
	} {
		s, err := sqlite.Open(context.Background(), test.dir, slog.New(slog.DiscardHandler))
		if err == nil {
			shut(t, s)
		}
		if err == nil || dovetail.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; expected a %s error that says %q", test.reason, err, test.code, test.says)
		}
	}
}

// TestOverwrittenPages overwrites each page of the database in turn. Recovery must fail, or read exactly what was written:
// the page was one that it does not need. It must not make something up.
func TestOverwrittenPages(t *testing.T) {
	const turns = 12
	f := filesOf(t, written(t, turns))
	failed := 0
	for page := range len(f.db) / 4096 {
		damaged := files{db: bytes.Clone(f.db)}
		for i := range 4096 {
			damaged.db[page*4096+i] ^= 0xA5
		}
		records, err := outcome(damaged.put(t), slog.New(slog.DiscardHandler))
		switch {
		case err == nil && records != 2*turns:
			t.Errorf("page %d: %d records and no error; expected %d", page, records, 2*turns)
		case err != nil && dovetail.CodeOf(err) != dovetail.Internal:
			t.Errorf("page %d: %v; expected an internal error", page, err)
		case err != nil:
			failed++
		}
	}
	if failed == 0 {
		t.Error("no page made recovery fail: the test damages nothing")
	}
}

// TestPathsOfAnyName keeps the name of the directory from being read as options of SQLite.
func TestPathsOfAnyName(t *testing.T) {
	for _, name := range []string{"a b", "a?mode=ro", "a#b", "a%20b", "ü", "'", "_pragma=x&y"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if err := s.Append(context.Background(), storetest.Turn(1)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		info, err := os.Stat(filepath.Join(dir, "dovetail.db"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, %v; expected the database there, for its owner only", name, info, err)
		}
	}
}

// TestApplicationsAreStoredOnce keeps many runs of one application small.
func TestApplicationsAreStoredOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	work := newSubmissions()
	for range 3 {
		for range 2 {
			if err := s.Append(context.Background(), work.turn(50)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
	}
	defer s.Close()
	counts := ask(t, dir, "SELECT (SELECT count(*) FROM applications) || ' ' || (SELECT count(*) FROM submissions)")
	if counts != "1 300" {
		t.Errorf("applications and submissions: %s; expected 1 and 300", counts)
	}
}

// TestNothingIsLeftBehind looks for rows that no answer shows, and that would only make the store slower.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := written(t, 10)
	s := open(t, dir)
	ended := time.Unix(0, 0)
	for _, err := range []error{
		s.Snapshot(context.Background(), engine.Snapshot{Seq: 5, State: []byte("1")}),
		s.Snapshot(context.Background(), engine.Snapshot{Seq: 15, State: []byte("1")}),
		s.Append(context.Background(), engine.Changes{
			Runs:       []dovetail.RunStatus{{ID: 99, State: dovetail.Ended, Ended: &ended}},
			Placements: []dovetail.Placement{{At: ended, Slot: dovetail.Slot{Run: 99, Node: "never taken away"}, N: 1}},
		}),
		s.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ reason, query, want string }{
		{"a snapshot replaces records", "SELECT count(*) FROM journal", "5"},
		{"a snapshot replaces the one before", "SELECT count(*) FROM snapshots", "1"},
		{"an ended run is nowhere", "SELECT count(*) FROM placements WHERE until IS NULL AND run = 99", "0"},
	} {
		if got := ask(t, dir, test.query); got != test.want {
			t.Errorf("%s: %s rows are left; expected %s", test.reason, got, test.want)
		}
	}
}
