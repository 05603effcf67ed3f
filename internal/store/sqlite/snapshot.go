package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// snapshotSum is the CRC-32C of a snapshot: sequence number, version and time in big-endian order, then the state.
func snapshotSum(s *engine.Snapshot) int64 {
	var b []byte
	for _, n := range []int64{s.Seq, int64(s.Version), s.At.UnixMicro()} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(b, table), table, s.State))
}

// Snapshot does what engine.Store says, in one transaction. A snapshot of records that are not stored yet, or older than the
// newest snapshot, is a dovetail.Conflict error.
func (s *Store) Snapshot(ctx context.Context, snap engine.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("storing a snapshot: %w", err)
	}
	err := s.transact(context.WithoutCancel(ctx), func(ctx context.Context) error {
		dropped, last, err := bounds(ctx, s.writer)
		if err != nil {
			return err
		}
		if snap.Seq < dropped || snap.Seq > last {
			return dovetail.Errorf(dovetail.Conflict,
				"a snapshot after record %d cannot be stored: expected one after record %d to %d", snap.Seq, dropped, last)
		}
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM snapshots", nil},
			{"INSERT INTO snapshots (seq, version, at, state, crc) VALUES (?, ?, ?, ?, ?)",
				[]any{snap.Seq, snap.Version, snap.At.UnixMicro(), string(snap.State), snapshotSum(&snap)}},
			{"DELETE FROM journal WHERE seq <= ?", []any{snap.Seq}},
			{"UPDATE bounds SET dropped = ?", []any{snap.Seq}},
		} {
			if _, err := s.writer.ExecContext(ctx, step.query, step.args...); err != nil {
				return err
			}
		}
		return nil
	})
	return explain("storing a snapshot", s.path, err)
}

// Load does what engine.Store says. A snapshot that is missing or does not match its checksum is a dovetail.Internal error:
// the records it stands for are gone.
func (s *Store) Load(ctx context.Context) (*engine.Snapshot, error) {
	snap, err := s.load(ctx)
	return snap, explain("reading the snapshot", s.path, err)
}

func (s *Store) load(ctx context.Context) (*engine.Snapshot, error) {
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	dropped, _, err := bounds(ctx, tx)
	if err != nil {
		return nil, err
	}
	var snap engine.Snapshot
	var at, crc int64
	err = tx.QueryRowContext(ctx, "SELECT seq, version, at, state, crc FROM snapshots ORDER BY seq DESC LIMIT 1").
		Scan(&snap.Seq, &snap.Version, &at, (*[]byte)(&snap.State), &crc)
	snap.At = time.UnixMicro(at).UTC()
	switch {
	case errors.Is(err, sql.ErrNoRows) && dropped == 0:
		return nil, nil
	case errors.Is(err, sql.ErrNoRows):
		return nil, dovetail.Errorf(dovetail.Internal, "the snapshot after record %d is missing from %s; %s", dropped, s.path, adviseRestore)
	case err != nil:
		return nil, err
	case snap.Seq != dropped || crc != snapshotSum(&snap):
		return nil, dovetail.Errorf(dovetail.Internal, "the snapshot after record %d in %s is damaged; %s", dropped, s.path, adviseRestore)
	}
	return &snap, nil
}
