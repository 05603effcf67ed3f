package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// statements are those of the writer, prepared once.
type statements struct {
	begin, commit, rollback *sql.Stmt
	last                    *sql.Stmt // records up to where the journal is promised
	closeSlot, closeRun     *sql.Stmt // end placements that hold

	journal, submissions, runs, replicas, placements, events, imported, suspensions *inserter

	all []*sql.Stmt // to be closed
}

const (
	submissionColumns = "run, app, spec"
	runColumns        = "id, name, class, app, username, client_key, state, outcome, submitted, ended, status"
	replicaColumns    = "run, component, idx, attempt, cpu, memory_peak, bytes_read, bytes_written, status"
	placementColumns  = "run, component, elastic, node, n, at, until, width"
	eventColumns      = "seq, at, type, run, text, data"
	importedColumns   = "id, class, app, ended, past"
)

// prepare prepares all statements. What it returns must be closed even if there is an error.
func prepare(ctx context.Context, conn *sql.Conn) (*statements, error) {
	w := new(statements)
	for _, p := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.last, "UPDATE bounds SET last = ?"},
		{&w.closeSlot, "UPDATE placements SET until = ?1, width = " + widthSQL("?1 - at") +
			" WHERE run = ?2 AND node = ?3 AND component = ?4 AND elastic = ?5 AND until IS NULL"},
		{&w.closeRun, "UPDATE placements SET until = ?1, width = " + widthSQL("?1 - at") + " WHERE run = ?2 AND until IS NULL"},
	} {
		var err error
		if *p.stmt, err = conn.PrepareContext(ctx, p.query); err != nil { //nolint:sqlclosecheck // close does, by way of all
			return w, fmt.Errorf("preparing %q: %w", p.query, err)
		}
		w.all = append(w.all, *p.stmt)
	}
	for _, p := range []struct {
		in                       **inserter
		table, columns, conflict string
	}{
		{&w.journal, "journal", rowColumns, ""},
		{&w.submissions, "submissions", submissionColumns, replacing("run", submissionColumns)},
		{&w.runs, "runs", runColumns, replacing("id", runColumns)},
		{&w.replicas, "replicas", replicaColumns, replacing("run, component, idx, attempt", replicaColumns)},
		{&w.placements, "placements", placementColumns, ""},
		{&w.events, "events", eventColumns, ""},
		{&w.imported, "imported", importedColumns, ""},
		{&w.suspensions, "suspensions", "run", "ON CONFLICT (run) DO NOTHING"},
	} {
		var err error
		if *p.in, err = newInserter(ctx, conn, p.table, p.columns, p.conflict); err != nil {
			return w, err
		}
		for _, size := range (*p.in).sizes {
			w.all = append(w.all, size.stmt)
		}
	}
	return w, nil
}

// close closes the statements. The connection of one that is open stays open itself, and leaves its log behind.
func (w *statements) close() error {
	if w == nil {
		return nil
	}
	var errs []error
	for _, stmt := range w.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// Append does what engine.Store says. Records that do not follow the last one stored are a dovetail.Conflict error, a full
// disk is a dovetail.Unavailable one; after either, nothing has changed and the store can be used. Once begun it does
// not heed the end of the context, so that the answer is certain.
func (s *Store) Append(ctx context.Context, c engine.Changes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("appending to the journal: %w", err)
	}
	for i, r := range c.Records {
		if want := s.last + int64(i) + 1; r.Seq != want {
			return dovetail.Errorf(dovetail.Conflict, "record %d cannot be appended to the journal: the next is %d", r.Seq, want)
		}
	}
	apps := s.newAppNumbers()
	err := s.transact(context.WithoutCancel(ctx), func(ctx context.Context) error { return s.insert(ctx, c, apps) })
	if err != nil {
		return explain("appending to the journal", s.path, err)
	}
	s.last += int64(len(c.Records))
	apps.committed()
	return nil
}

// transact does all of the work or none of it. The caller holds the lock.
func (s *Store) transact(ctx context.Context, work func(ctx context.Context) error) error {
	if s.closed {
		return dovetail.Errorf(dovetail.Unavailable, "the store is closed")
	}
	if _, err := s.write.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := work(ctx)
	if err == nil {
		_, err = s.write.commit.ExecContext(ctx)
	}
	if err != nil {
		// SQLite may have rolled back by itself, as it does when the disk is full; then this fails, which is as good.
		_, _ = s.write.rollback.ExecContext(ctx)
	}
	return err
}

func (s *Store) insert(ctx context.Context, c engine.Changes, apps *appNumbers) (err error) {
	w := s.write
	inserters := []*inserter{w.journal, w.submissions, w.runs, w.replicas, w.placements, w.events, w.imported, w.suspensions}
	defer func() {
		for _, in := range inserters {
			in.drop()
		}
	}()
	for _, step := range []func(context.Context, engine.Changes, *appNumbers) error{
		w.insertRecords, w.insertSubmitted, w.insertReplicas, w.insertPlacements, w.insertRuns, w.insertEvents, s.insertImported, s.putAway,
	} {
		if err := step(ctx, c, apps); err != nil {
			return err
		}
	}
	for _, in := range inserters {
		if err := in.flush(ctx); err != nil {
			return err
		}
	}
	// Runs end after their placements are written.
	for _, r := range c.Runs {
		if r.Ended != nil {
			if _, err := w.closeRun.ExecContext(ctx, r.Ended.UnixMicro(), r.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *statements) insertRecords(ctx context.Context, c engine.Changes, apps *appNumbers) error {
	for _, rec := range c.Records {
		var app int64
		var err error
		switch e := rec.Event.(type) {
		case dovetail.Submitted:
			app, err = apps.of(ctx, e.Run)
		case dovetail.Suspended:
			err = w.suspensions.add(ctx, int64(e.Run))
		}
		if err != nil {
			return err
		}
		r, err := encodeRecord(rec, app)
		if err != nil {
			return err
		}
		if err := w.journal.add(ctx, r.seq, r.at, r.version, r.typ, r.run, r.app, string(r.data), r.crc); err != nil {
			return err
		}
	}
	if n := len(c.Records); n > 0 {
		_, err := w.last.ExecContext(ctx, c.Records[n-1].Seq)
		return err
	}
	return nil
}

func (w *statements) insertSubmitted(ctx context.Context, c engine.Changes, apps *appNumbers) error {
	for _, r := range c.Submitted {
		app, err := apps.of(ctx, r)
		if err != nil {
			return err
		}
		spec, err := encode(withoutApp(r), "run", r.ID)
		if err != nil {
			return err
		}
		if err := w.submissions.add(ctx, int64(r.ID), app, spec); err != nil {
			return err
		}
	}
	return nil
}

func (w *statements) insertRuns(ctx context.Context, c engine.Changes, _ *appNumbers) error {
	for _, r := range c.Runs {
		status, err := encode(&r, "status of run", r.ID)
		if err != nil {
			return err
		}
		var ended any
		if r.Ended != nil {
			ended = r.Ended.UnixMicro()
		}
		if err := w.runs.add(ctx, int64(r.ID), r.Name, r.Class, r.App, r.User, r.Key, string(r.State), string(r.Outcome),
			r.Submitted.UnixMicro(), ended, status); err != nil {
			return err
		}
	}
	return nil
}

func (w *statements) insertReplicas(ctx context.Context, c engine.Changes, _ *appNumbers) error {
	for _, r := range c.Replicas {
		status, err := encode(&r, "a replica of run", r.Run)
		if err != nil {
			return err
		}
		u := r.Usage
		if err := w.replicas.add(ctx, int64(r.Run), r.Replica.Component, r.Index, r.Attempt,
			int64(u.CPU), u.MemoryPeak, u.Read, u.Written, status); err != nil {
			return err
		}
	}
	return nil
}

// insertPlacements ends what each placement replaces. When it replaces another of the same changes, that one is written
// with its end.
func (w *statements) insertPlacements(ctx context.Context, c engine.Changes, _ *appNumbers) error {
	next := make(map[dovetail.Slot]int64, len(c.Placements)) // time of the following placement of the slot
	until := make([]any, len(c.Placements))
	for i := len(c.Placements) - 1; i >= 0; i-- {
		p := &c.Placements[i]
		if at, ok := next[p.Slot]; ok {
			until[i] = at
		}
		next[p.Slot] = p.At.UnixMicro()
	}
	for i := range c.Placements {
		p := &c.Placements[i]
		at := p.At.UnixMicro()
		if _, first := next[p.Slot]; first {
			delete(next, p.Slot)
			if _, err := w.closeSlot.ExecContext(ctx, at, int64(p.Run), p.Node, p.Component, p.Elastic); err != nil {
				return err
			}
		}
		width := int64(openWidth)
		if end, ok := until[i].(int64); ok {
			width = widthOf(end - at)
		}
		if err := w.placements.add(ctx, int64(p.Run), p.Component, p.Elastic, p.Node, p.N, at, until[i], width); err != nil {
			return err
		}
	}
	return nil
}

func (w *statements) insertEvents(ctx context.Context, c engine.Changes, _ *appNumbers) error {
	for _, e := range c.Events {
		var data any
		if len(e.Data) > 0 {
			data = string(e.Data)
		}
		if err := w.events.add(ctx, e.Seq, e.At.UnixMicro(), e.Type, int64(e.Run), e.Text, data); err != nil {
			return err
		}
	}
	return nil
}

// insertImported gives imported runs the next lower numbers.
func (s *Store) insertImported(ctx context.Context, c engine.Changes, _ *appNumbers) error {
	var lowest int64
	asked := false
	for _, rec := range c.Records {
		e, ok := rec.Event.(dovetail.Imported)
		if !ok {
			continue
		}
		if !asked {
			if err := s.writer.QueryRowContext(ctx, "SELECT coalesce(min(id), 0) FROM imported").Scan(&lowest); err != nil {
				return err
			}
			asked = true
		}
		for i := range e.Runs {
			p := &e.Runs[i]
			lowest--
			past, err := encode(p, "imported run", dovetail.RunID(lowest))
			if err != nil {
				return err
			}
			if err := s.write.imported.add(ctx, lowest, p.Class, p.App, p.Ended.UnixMicro(), past); err != nil {
				return err
			}
		}
	}
	return nil
}

// encode writes v as JSON text.
func encode(v any, what string, run dovetail.RunID) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", dovetail.Errorf(dovetail.Invalid, "%s %d cannot be written: %v", what, run, err)
	}
	return string(data), nil
}
