package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store"
)

// conditions collects what a row must meet.
type conditions struct {
	all  []string
	args []any
}

func (c *conditions) add(condition string, args ...any) {
	c.all = append(c.all, condition)
	c.args = append(c.args, args...)
}

// where writes the conditions as a WHERE clause, which is empty if there are none.
func (c *conditions) where() string {
	if len(c.all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.all, " AND ")
}

// anyOf adds that the column has one of the values, if there are any.
func anyOf[T ~string](c *conditions, column string, values []T) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}

// query reads all rows with scan, in the read pool. It stops early, without an error, when scan says so.
func (s *Store) query(ctx context.Context, scan func(rows *sql.Rows) (more bool, err error), query string, args ...any) error {
	rows, err := s.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := scan(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// decode reads JSON text that this package wrote.
func decode(data []byte, v any, what string, id any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return dovetail.Errorf(dovetail.Internal, "%s %v is damaged: %v; %s", what, id, err, adviseRestore)
	}
	return nil
}

// Run does what engine.Reader says. The submission is nil if none was recorded.
func (s *Store) Run(ctx context.Context, id dovetail.RunID) (dovetail.RunStatus, *dovetail.Run, error) {
	status, run, err := s.run(ctx, id)
	return status, run, explain("reading a run", s.path, err)
}

func (s *Store) run(ctx context.Context, id dovetail.RunID) (status dovetail.RunStatus, run *dovetail.Run, err error) {
	var statusJSON, spec []byte
	var app sql.NullInt64
	err = s.readers.QueryRowContext(ctx,
		"SELECT runs.status, submissions.spec, submissions.app FROM runs LEFT JOIN submissions ON submissions.run = runs.id WHERE runs.id = ?", id).
		Scan(&statusJSON, &spec, &app)
	if errors.Is(err, sql.ErrNoRows) {
		return status, nil, dovetail.Errorf(dovetail.NotFound, "there is no run %d", id)
	}
	if err != nil {
		return status, nil, err
	}
	if err := decode(statusJSON, &status, "the status of run", id); err != nil || !app.Valid {
		return status, nil, err
	}
	run = new(dovetail.Run)
	if err := decode(spec, run, "the submission of run", id); err != nil {
		return status, nil, err
	}
	if app.Int64 != 0 {
		run.App, err = s.applicationsIn(ctx, s.readers)(app.Int64)
	}
	return status, run, err
}

// Runs does what engine.Reader says. A limit or cursor out of bounds is a dovetail.Invalid error.
func (s *Store) Runs(ctx context.Context, f engine.RunFilter) ([]dovetail.RunStatus, error) {
	f, err := store.CheckRuns(f)
	if err != nil {
		return nil, err
	}
	query, args := runsQuery(&f)
	var found []dovetail.RunStatus
	err = s.query(ctx, func(rows *sql.Rows) (bool, error) {
		var r dovetail.RunStatus
		var id int64
		var status []byte
		if err := rows.Scan(&id, &status); err != nil {
			return false, err
		}
		err := decode(status, &r, "the status of run", id)
		found = append(found, r)
		return true, err
	}, query, args...)
	if err != nil {
		return nil, explain("listing runs", s.path, err)
	}
	return found, nil
}

// runsQuery asks for the page of each state and each meaning of the name by itself: each of these questions is answered from
// one index, in order of ID, and stops at the limit. Asked as one with OR, all runs that match would be sorted first.
func runsQuery(f *engine.RunFilter) (query string, args []any) {
	var pages []string
	for _, name := range nameConditions(f.Name) {
		for _, states := range alternatives(f.States) {
			c := runConditions(f)
			anyOf(c, "state", states)
			if name.condition != "" {
				c.add(name.condition, name.args...)
			}
			pages = append(pages, "SELECT id FROM runs"+c.where()+" ORDER BY id DESC LIMIT ?")
			args = append(append(args, c.args...), f.Limit)
		}
	}
	query = "SELECT id, status FROM runs WHERE id IN (SELECT id FROM (" + strings.Join(pages, ") AS page UNION SELECT id FROM (") +
		") AS page) ORDER BY id DESC LIMIT ?"
	return query, append(args, f.Limit)
}

// alternatives returns each value by itself, or one empty choice.
func alternatives[T any](values []T) [][]T {
	if len(values) == 0 {
		return [][]T{nil}
	}
	return slices.Collect(slices.Chunk(values, 1))
}

type nameCondition struct {
	condition string
	args      []any
}

func nameConditions(name string) []nameCondition {
	text, prefix := store.Pattern(name)
	switch {
	case name == "":
		return []nameCondition{{}}
	case prefix:
		n := utf8.RuneCountInString(text)
		return []nameCondition{{"(substr(name, 1, ?) = ? OR substr(app, 1, ?) = ?)", []any{n, text, n, text}}}
	}
	return []nameCondition{{"name = ?", []any{text}}, {"app = ?", []any{text}}}
}

// runConditions are those but of state and name. An index that leaves out empty texts serves only when the condition says
// so too.
func runConditions(f *engine.RunFilter) *conditions {
	c := new(conditions)
	anyOf(c, "outcome", f.Outcomes)
	if len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, "") {
		c.add("outcome <> ''")
	}
	if f.User != "" {
		c.add("username = ? AND username <> ''", f.User)
	}
	if f.Key != "" {
		c.add("client_key = ? AND client_key <> ''", f.Key)
	}
	if !f.Since.IsZero() {
		c.add("submitted >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		c.add("submitted < ?", f.Until.UnixMicro())
	}
	if f.Before > 0 {
		c.add("id < ?", int64(f.Before))
	}
	return c
}

// Replicas does what engine.Reader says.
func (s *Store) Replicas(ctx context.Context, run dovetail.RunID) ([]dovetail.ReplicaStatus, error) {
	var found []dovetail.ReplicaStatus
	err := s.query(ctx, func(rows *sql.Rows) (bool, error) {
		var status []byte
		var r dovetail.ReplicaStatus
		if err := rows.Scan(&status); err != nil {
			return false, err
		}
		err := decode(status, &r, "a replica of run", run)
		found = append(found, r)
		return true, err
	}, "SELECT status FROM replicas WHERE run = ? ORDER BY component, idx, attempt", int64(run))
	if err != nil {
		return nil, explain("listing replicas", s.path, err)
	}
	return found, nil
}

// Events does what engine.Reader says. A page never ends between two events of one Seq, see store.Page. A limit, tail or
// cursor out of bounds is a dovetail.Invalid error.
func (s *Store) Events(ctx context.Context, f engine.EventFilter) ([]dovetail.EventRecord, error) {
	f, err := store.CheckEvents(f)
	if err != nil {
		return nil, err
	}
	c := new(conditions)
	if f.Run != 0 {
		c.add("run = ?", int64(f.Run))
	}
	anyOf(c, "type", f.Types)
	c.add("seq > ?", f.After)
	query := "SELECT seq, at, type, run, text, data FROM events" + c.where() + " ORDER BY seq, id"
	if f.Tail > 0 {
		query = "SELECT seq, at, type, run, text, data FROM (SELECT * FROM events" + c.where() +
			" ORDER BY seq DESC, id DESC LIMIT ?) AS tail ORDER BY seq, id"
		c.args = append(c.args, f.Tail)
	}
	var found []dovetail.EventRecord
	err = s.query(ctx, func(rows *sql.Rows) (bool, error) {
		e, err := scanEvent(rows)
		found = append(found, e)
		return len(found) <= f.Limit || e.Seq == found[0].Seq, err
	}, query, c.args...)
	if err != nil {
		return nil, explain("listing events", s.path, err)
	}
	return store.Page(found, f.Limit), nil
}

func scanEvent(rows *sql.Rows) (e dovetail.EventRecord, err error) {
	var at int64
	err = rows.Scan(&e.Seq, &at, &e.Type, (*int64)(&e.Run), &e.Text, (*[]byte)(&e.Data))
	if err != nil {
		return e, fmt.Errorf("an event: %w", err)
	}
	e.At = time.UnixMicro(at).UTC()
	return e, nil
}
