// Package sqlite answers: how does a daemon on one machine remember?
//
// It keeps the journal, the snapshots and the read side in one SQLite database, dovetail.db in the state directory. One
// connection writes; every Append is one transaction in write-ahead mode that is on the disk (synchronous=FULL) before it
// returns. A pool of others reads, and never waits for the writer.
//
// # What happens to a damaged tail
//
// A crash, or a loss of power, in the middle of an Append leaves half a transaction at the end of the write-ahead log. SQLite's
// checksums find it, and the whole turn is gone, journal and read side together. Nobody was told that it was stored.
//
// Everything else that is damaged was promised to somebody, and is never dropped in silence. Three things tell them apart:
//
//   - The table bounds says up to where the journal was promised. It is written by the transaction that writes the
//     records. A journal row beyond it belongs to no completed Append: Open moves it to the table quarantine and warns.
//   - Every journal row has a checksum. A row within the bounds that is missing or does not match is an error that names the
//     record, even if it is the last one: it was acknowledged, its actions may have been carried out, and to forget it could
//     lose a run that was accepted. Open looks at the last row, Replay at all it yields.
//   - Open reads the write-ahead log before SQLite does, since SQLite ends it in silence at the first bad frame. If two or
//     more transactions lie behind the bad frame, completed ones are lost, and Open refuses. If it is one at most, that is
//     what a crash leaves: Open keeps a copy of the log, dovetail.db-wal.damaged, warns and goes on.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

const databaseFile = "dovetail.db"

// readerConns bounds how many questions are answered at once; further ones wait.
const readerConns = 4

// Store is an engine.Store and an engine.Reader. Any number of goroutines may use it.
type Store struct {
	path    string
	log     *slog.Logger
	db      *sql.DB // of the writer
	readers *sql.DB

	mu     sync.Mutex // guards all below: one write at a time
	writer *sql.Conn
	write  *statements
	last   int64            // Seq of the last record stored
	apps   map[string]int64 // numbers of applications by digest, some of them
	closed bool
}

var (
	_ engine.Store  = (*Store)(nil)
	_ engine.Reader = (*Store)(nil)
)

// Open opens the database in the state directory, or creates it; the directory must exist. The caller must have locked the
// directory with Lock. Errors are dovetail.Errors: NotFound without the directory, Unavailable when it cannot be written or is full,
// Invalid when a newer dovetail wrote it, Internal when it is damaged.
func Open(ctx context.Context, dir string, log *slog.Logger) (*Store, error) {
	s := &Store{path: filepath.Join(dir, databaseFile), log: log, apps: make(map[string]int64)}
	if err := s.open(ctx, dir); err != nil {
		_ = s.closeAll() // what failed before is what matters
		return nil, explain("opening the database", s.path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, dir string) error {
	if err := touch(dir, s.path); err != nil {
		return err
	}
	if err := checkWAL(s.path+"-wal", s.log); err != nil {
		return err
	}
	var err error
	if s.db, err = sql.Open("sqlite", dataSource(s.path, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-16000)",
		"wal_autocheckpoint(4000)", "temp_store(MEMORY)")); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	if s.writer, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, s.writer, s.path); err != nil {
		return err
	}
	// An empty log to begin with: so what checkWAL finds next time was written by this process.
	if _, err := s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	if s.readers, err = sql.Open("sqlite", dataSource(s.path, "query_only(1)", "temp_store(MEMORY)")); err != nil {
		return err
	}
	s.readers.SetMaxOpenConns(readerConns)
	s.readers.SetMaxIdleConns(readerConns)
	if s.last, err = s.checkTail(ctx); err != nil {
		return err
	}
	s.write, err = prepare(ctx, s.writer)
	return err
}

// touch creates the database file if need be, readable for its owner only, and finds out whether it can be written.
func touch(dir, path string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return dovetail.Errorf(dovetail.NotFound, "state directory %s does not exist: create it, or name another one", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return dovetail.Errorf(dovetail.Invalid, "state directory %s is not a directory: name another one", dir)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dataSource names the file in a way that lets it contain any character.
func dataSource(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// checkTail returns the Seq of the last record. It sets aside what lies beyond the bounds, and refuses a journal whose last
// record is missing or damaged.
func (s *Store) checkTail(ctx context.Context) (int64, error) {
	dropped, last, err := bounds(ctx, s.writer)
	if err != nil {
		return 0, err
	}
	if err := s.setAside(ctx, last); err != nil {
		return 0, err
	}
	if last == dropped {
		return last, nil
	}
	var r row
	err = s.writer.QueryRowContext(ctx, "SELECT "+rowColumns+" FROM journal WHERE seq = ?", last).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, missing(last, last)
	}
	if err != nil {
		return 0, fmt.Errorf("record %d of the journal: %w", last, err)
	}
	_, err = decodeRow(r, s.applicationsIn(ctx, s.writer))
	return last, err
}

// setAside moves the journal rows after last to the quarantine, with the events that were recorded of them.
func (s *Store) setAside(ctx context.Context, last int64) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	moved, err := tx.ExecContext(ctx, "INSERT INTO quarantine (found, "+rowColumns+") SELECT unixepoch(), "+rowColumns+
		" FROM journal WHERE seq > ? ORDER BY seq", last)
	if err != nil {
		return err
	}
	n, err := moved.RowsAffected()
	if n == 0 || err != nil {
		return err
	}
	for _, table := range []string{"journal", "events"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE seq > ?", last); err != nil {
			return err
		}
	}
	s.log.Warn("records of an unfinished write were set aside", "records", n, "after", last, "database", s.path, "table", "quarantine")
	return tx.Commit()
}

// Close ends the use of the store. Closing it twice is no error.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return explain("closing the database", s.path, s.closeAll())
}

// closeAll closes the writer last: it leaves no write-ahead log behind.
func (s *Store) closeAll() error {
	var errs []error
	errs = append(errs, s.write.close())
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
