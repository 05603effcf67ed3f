package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// rowVersion is the version of the format of journal rows.
const rowVersion = 1

// row is a record of the journal as it is stored.
type row struct {
	seq, at int64 // at in microseconds
	version int64
	typ     string
	run     int64 // for people who look into the database; 0: none
	app     int64 // application of a submission; 0: none
	data    []byte
	crc     int64
}

const rowColumns = "seq, at, version, type, run, app, data, crc"

func (r *row) fields() []any {
	return []any{&r.seq, &r.at, &r.version, &r.typ, &r.run, &r.app, &r.data, &r.crc}
}

// checksum is the CRC-32C of all other fields, numbers in big-endian order, the type preceded by its length.
func (r *row) checksum() int64 {
	b := make([]byte, 0, 48+len(r.typ))
	for _, n := range []int64{r.seq, r.at, r.version, r.run, r.app, int64(len(r.typ))} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, r.typ...)
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(b, table), table, r.data))
}

// encodeRecord makes a row of a record. The application of a submission is left out; app is its number.
func encodeRecord(rec engine.Record, app int64) (row, error) {
	e := rec.Event
	if s, ok := e.(dovetail.Submitted); ok && s.Run != nil {
		e = dovetail.Submitted{Run: withoutApp(s.Run)}
	}
	data, err := dovetail.EncodeEvent(e)
	if err != nil {
		return row{}, dovetail.Errorf(dovetail.Invalid, "record %d of the journal cannot be written: %v", rec.Seq, err)
	}
	r := row{
		seq: rec.Seq, at: rec.At.UnixMicro(), version: rowVersion, typ: dovetail.EventType(e), run: int64(dovetail.RunOf(e)), app: app, data: data,
	}
	r.crc = r.checksum()
	return r, nil
}

// decodeRow makes a record of a row that was read. It tells a row that was garbled from one that a newer program wrote. The
// application is looked up only when the row is sound.
func decodeRow(r row, application func(id int64) (*dovetail.Application, error)) (engine.Record, error) {
	damaged := func(why string) (engine.Record, error) {
		return engine.Record{}, dovetail.Errorf(dovetail.Internal, "record %d of the journal is damaged: %s; %s", r.seq, why, adviseRestore)
	}
	if r.crc != r.checksum() {
		return damaged("its checksum does not match")
	}
	if r.version != rowVersion {
		return engine.Record{}, dovetail.Errorf(dovetail.Invalid,
			"record %d of the journal has format %d, and this program knows format %d: a newer dovetail wrote it; use that one",
			r.seq, r.version, rowVersion)
	}
	e, err := dovetail.DecodeEvent(r.typ, r.data)
	if err != nil {
		return damaged(err.Error())
	}
	if r.app != 0 {
		s, ok := e.(dovetail.Submitted)
		if !ok || s.Run == nil {
			return damaged("it names an application, and is no submission")
		}
		if s.Run.App, err = application(r.app); err != nil {
			return engine.Record{}, fmt.Errorf("record %d of the journal: %w", r.seq, err)
		}
	}
	return engine.Record{Seq: r.seq, At: time.UnixMicro(r.at).UTC(), Event: e}, nil
}

// Replay does what engine.Store says. Submissions of one application share it. To ask for records that a snapshot has
// replaced is a dovetail.Invalid error; a record that is missing or damaged is a dovetail.Internal one that names it.
func (s *Store) Replay(ctx context.Context, after int64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		if err := s.replay(ctx, after, func(r engine.Record) bool { return yield(r, nil) }); err != nil {
			yield(engine.Record{}, explain("reading the journal", s.path, err))
		}
	}
}

// replay yields records until there are no more or yield returns false. One read transaction makes the bounds and the
// rows fit together.
func (s *Store) replay(ctx context.Context, after int64, yield func(engine.Record) bool) error {
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	dropped, last, err := bounds(ctx, tx)
	if err != nil {
		return err
	}
	if after < dropped {
		return dovetail.Errorf(dovetail.Invalid,
			"cannot replay from record %d: records up to %d are in the snapshot, load it first", after+1, dropped)
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+rowColumns+" FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq", after, last)
	if err != nil {
		return err
	}
	defer rows.Close()
	apps := s.applicationsIn(ctx, tx)
	next := after + 1
	for ; rows.Next(); next++ {
		var r row
		if err := rows.Scan(r.fields()...); err != nil {
			return dovetail.Errorf(dovetail.Internal, "record %d of the journal is damaged: %v; %s", next, err, adviseRestore)
		}
		if r.seq != next {
			return missing(next, r.seq-1)
		}
		record, err := decodeRow(r, apps)
		if err != nil {
			return err
		}
		if !yield(record) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if next <= last {
		return missing(next, last)
	}
	return nil
}

func missing(from, to int64) error {
	return dovetail.Errorf(dovetail.Internal, "records %d to %d of the journal are missing; %s", from, to, adviseRestore)
}

// querier is what a connection and a transaction have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// bounds returns the last record that a snapshot has replaced, and the last one that was stored.
func bounds(ctx context.Context, q querier) (dropped, last int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT dropped, last FROM bounds").Scan(&dropped, &last)
	if err != nil {
		return 0, 0, fmt.Errorf("bounds of the journal: %w", err)
	}
	return dropped, last, nil
}
