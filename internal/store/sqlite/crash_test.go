package sqlite_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine/storetest"
	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

const (
	walHeader = 32
	walFrame  = 24 + 4096
)

// files are the database and its write-ahead log, as a crash leaves them.
type files struct{ db, wal []byte }

func filesOf(t *testing.T, dir string) files {
	t.Helper()
	db, err := os.ReadFile(filepath.Join(dir, "dovetail.db"))
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(filepath.Join(dir, "dovetail.db-wal"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files{db: db, wal: wal}
}

// put writes the files to a new directory.
func (f files) put(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, data := range map[string][]byte{"dovetail.db": f.db, "dovetail.db-wal": f.wal} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// prefix opens the files and returns how many whole turns they hold.
func (f files) prefix(t *testing.T) int {
	t.Helper()
	s := open(t, f.put(t))
	n := storetest.Prefix(t, s, storetest.Turns(turnsBeforeCrash))
	// What comes after a crash must not meet remains of what was lost.
	for i := n + 1; i <= turnsBeforeCrash; i++ {
		if err := s.Append(context.Background(), storetest.Turn(i)); err != nil {
			t.Fatalf("going on with turn %d after a crash: %v", i, err)
		}
	}
	if got := storetest.Prefix(t, s, storetest.Turns(turnsBeforeCrash)); got != turnsBeforeCrash {
		t.Fatalf("%d turns after going on; expected all %d", got, turnsBeforeCrash)
	}
	return n
}

const turnsBeforeCrash = 8

// history appends turns, and returns the files as they were after each of them. With reopen the log is carried over to the
// database half-way.
func history(t *testing.T, reopen bool) []files {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	after := []files{filesOf(t, dir)}
	for i, c := range storetest.Turns(turnsBeforeCrash) {
		if reopen && i == turnsBeforeCrash/2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
		}
		if err := s.Append(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		after = append(after, filesOf(t, dir))
	}
	return after
}

func TestCrashBetweenTurns(t *testing.T) {
	for _, reopen := range []bool{false, true} {
		for i, f := range history(t, reopen) {
			if n := f.prefix(t); n != i {
				t.Errorf("crash after turn %d: %d turns are left", i, n)
			}
		}
	}
}

// TestCrashWithinAWrite cuts the log as a process that is killed while it writes leaves it: at the end of a frame, and
// anywhere within one. A turn is there when all of it is, and gone otherwise.
func TestCrashWithinAWrite(t *testing.T) {
	after := history(t, true)
	last := after[len(after)-1]
	rng := rand.New(rand.NewPCG(1, 2))
	cuts := []int{0, 1, walHeader - 1, walHeader, len(last.wal)}
	for cut := walHeader; cut < len(last.wal); cut += 5 * walFrame {
		cuts = append(cuts, cut, min(len(last.wal), cut+rng.IntN(walFrame)))
	}
	for _, cut := range cuts {
		want := turnsBeforeCrash / 2
		for i := want; i < len(after); i++ {
			if len(after[i].wal) <= cut && i > want {
				want = i
			}
		}
		if n := (files{db: last.db, wal: last.wal[:cut]}).prefix(t); n != want {
			t.Errorf("log cut after %d of %d bytes: %d turns are left; expected %d", cut, len(last.wal), n, want)
		}
	}
}

// TestGarbledLog damages the log. In the last turn that may be what a crash left: the turn is gone, and somebody is told.
// Before that, turns that were promised are lost: Open refuses.
func TestGarbledLog(t *testing.T) {
	after := history(t, false)
	last := after[len(after)-1]
	begin := len(after[len(after)-2].wal) // of the last turn
	for _, test := range []struct {
		reason string
		at     int
		turns  int // −1: refused
		warned bool
	}{
		{"a page of the last turn", begin + walFrame/2, turnsBeforeCrash - 1, true},
		{"the checksum of the last frame", len(last.wal) - walFrame + 16, turnsBeforeCrash - 1, true},
		{"the first page", walHeader + 100, -1, false},
		{"the salt of the first frame", walHeader + 8, -1, false},
		{"the last page of the turn before last", begin - 10, -1, false},
		{"the header", 20, -1, false},
		{"the first byte", 0, -1, false},
	} {
		garbled := files{db: last.db, wal: bytes.Clone(last.wal)}
		garbled.wal[test.at] ^= 0x40
		dir := garbled.put(t)
		var log bytes.Buffer
		s, err := sqlite.Open(context.Background(), dir, slog.New(slog.NewTextHandler(&log, nil)))
		if test.turns < 0 {
			if dovetail.CodeOf(err) != dovetail.Internal || !strings.Contains(err.Error(), "completed writes") {
				t.Errorf("%s: %v; expected an error about completed writes", test.reason, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if n := storetest.Prefix(t, s, storetest.Turns(turnsBeforeCrash)); n != test.turns {
			t.Errorf("%s: %d turns are left; expected %d", test.reason, n, test.turns)
		}
		kept, _ := os.ReadFile(filepath.Join(dir, "dovetail.db-wal.damaged"))
		if warned := strings.Contains(log.String(), "level=WARN"); warned != test.warned || bytes.Equal(kept, garbled.wal) != test.warned {
			t.Errorf("%s: warned %v, kept %d bytes; expected a warning and a copy: %v", test.reason, warned, len(kept), test.warned)
		}
		shut(t, s)
	}
}
