package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store"
)

// Which placements overlap a time span? An index on their start alone would have to go back to the first one, since any
// of them may have lasted until now. So each that has ended belongs to a class of width: the lowest of 2^20 µs (a second),
// 2^22, … 2^50 µs that is no less than its length. In the class w, what overlaps [a, b) began between a − 2^w and b; that is a
// range of the index, and most of what it holds does overlap. What has not ended, or is longer, is in the class openWidth.
const (
	narrowest = 20
	widest    = 50
	widthStep = 2
	openWidth = 63
)

// widthOf returns the class of a placement that lasted so many microseconds.
func widthOf(micros int64) int64 {
	for w := int64(narrowest); w <= widest; w += widthStep {
		if micros <= 1<<w {
			return w
		}
	}
	return openWidth
}

// widthSQL is widthOf in SQL.
func widthSQL(micros string) string {
	var b strings.Builder
	b.WriteString("CASE")
	for w := narrowest; w <= widest; w += widthStep {
		fmt.Fprintf(&b, " WHEN %s <= %d THEN %d", micros, int64(1)<<w, w)
	}
	fmt.Fprintf(&b, " ELSE %d END", openWidth)
	return b.String()
}

// staysSQL finds the placements of other runs on a node that overlap the time from ?2 until before ?3. Its first table lists the
// widths and how far back to look for each; CROSS JOIN keeps the order, so that each width is one range of the index.
var staysSQL = func() string {
	var widths []string
	for w := narrowest; w <= widest; w += widthStep {
		widths = append(widths, fmt.Sprintf("(%d, %d)", w, int64(1)<<w))
	}
	widths = append(widths, fmt.Sprintf("(%d, %d)", openWidth, int64(1)<<62))
	return `
WITH widths (width, back) AS (VALUES ` + strings.Join(widths, ", ") + `)
SELECT p.run, coalesce(runs.class, ''), p.at, coalesce(p.until, ?3), coalesce(runs.ended, ?3)
FROM widths CROSS JOIN placements AS p LEFT JOIN runs ON runs.id = p.run
WHERE p.node = ?1 AND p.width = widths.width AND p.n > 0 AND p.at >= ?2 - widths.back AND p.at < ?3
  AND coalesce(p.until, ?3) > ?2 AND p.run <> ?4`
}()

// History does what engine.Reader says; runs that ended at the same time come highest ID first. A limit out of bounds is a
// dovetail.Invalid error.
func (s *Store) History(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error) {
	f, err := store.CheckHistory(f)
	if err != nil {
		return nil, err
	}
	found, err := s.history(ctx, f)
	if err != nil {
		return nil, explain("reading the history", s.path, err)
	}
	return found, nil
}

func (s *Store) history(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error) {
	found, apps, err := s.finished(ctx, f)
	if err != nil {
		return nil, err
	}
	var imported []dovetail.History
	if !f.Replay || f.Learn {
		if imported, err = s.imported(ctx, f); err != nil {
			return nil, err
		}
	}
	if len(imported) > 0 {
		found = append(found, imported...)
		slices.SortFunc(found, func(a, b dovetail.History) int {
			return cmp.Or(b.Status.Ended.Compare(*a.Status.Ended), cmp.Compare(b.Status.ID, a.Status.ID))
		})
		found = found[:min(len(found), f.Limit)]
	}
	application := s.applicationsIn(ctx, s.readers)
	for i := range found {
		h := &found[i]
		if h.Import != nil {
			continue
		}
		if err := s.placements(ctx, h); err != nil {
			return nil, err
		}
		if app := apps[h.Status.ID]; app != 0 && (f.Replay || f.Learn) {
			if h.App, err = application(app); err != nil {
				return nil, err
			}
		}
		if f.Replay && !f.Learn {
			continue
		}
		if err := s.complete(ctx, h, !f.Learn); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// which returns the conditions of a filter on runs, or on imported ones.
func which(f *engine.HistoryFilter, table string) *conditions {
	c := new(conditions)
	if f.Class != "" {
		c.add("class = ?", f.Class)
	}
	if f.App != "" {
		c.add(table+".app = ?", f.App)
	}
	if !f.Since.IsZero() {
		c.add("ended >= ?", f.Since.UnixMicro())
	}
	switch {
	case f.Until.IsZero():
	case f.Before != 0:
		c.add("(ended, "+table+".id) < (?, ?)", f.Until.UnixMicro(), int64(f.Before))
	default:
		c.add("ended < ?", f.Until.UnixMicro())
	}
	return c
}

// finished returns the statuses of runs, newest end first, and the numbers of their applications.
func (s *Store) finished(ctx context.Context, f engine.HistoryFilter) (found []dovetail.History, apps map[dovetail.RunID]int64, err error) {
	c := which(&f, "runs")
	c.add("ended IS NOT NULL")
	apps = make(map[dovetail.RunID]int64)
	err = s.query(ctx, func(rows *sql.Rows) (bool, error) {
		h, app, err := scanHistory(rows)
		found = append(found, h)
		apps[h.Status.ID] = app
		return true, err
	}, "SELECT runs.id, status, spec, submissions.app FROM runs LEFT JOIN submissions ON submissions.run = runs.id"+c.where()+
		" ORDER BY ended DESC, runs.id DESC LIMIT ?", append(c.args, f.Limit)...)
	return found, apps, err
}

// Classes returns the job classes of which runs have ended, or were imported: those with the latest end, latest first and at most so many;
// of one end in order.
func (s *Store) Classes(ctx context.Context, limit int) ([]string, error) {
	var found []string
	err := s.query(ctx, func(rows *sql.Rows) (bool, error) {
		var class string
		err := rows.Scan(&class)
		found = append(found, class)
		return true, err
	}, "SELECT class FROM (SELECT class, max(ended) AS ended FROM runs WHERE ended IS NOT NULL GROUP BY class "+
		"UNION ALL SELECT class, max(ended) FROM imported GROUP BY class) GROUP BY class ORDER BY max(ended) DESC, class LIMIT ?", limit)
	if err != nil {
		return nil, explain("reading the job classes", s.path, err)
	}
	return found, nil
}

// imported returns imported runs, newest end first.
func (s *Store) imported(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error) {
	c := which(&f, "imported")
	var found []dovetail.History
	err := s.query(ctx, func(rows *sql.Rows) (bool, error) {
		var id int64
		var past []byte
		if err := rows.Scan(&id, &past); err != nil {
			return false, err
		}
		p := new(dovetail.Past)
		err := decode(past, p, "imported run", id)
		found = append(found, store.Imported(dovetail.RunID(id), p))
		return true, err
	}, "SELECT id, past FROM imported"+c.where()+" ORDER BY ended DESC, id DESC LIMIT ?", append(c.args, f.Limit)...)
	return found, err
}

// scanHistory returns a run, and the number of its application; 0: there is none.
func scanHistory(rows *sql.Rows) (h dovetail.History, app int64, err error) {
	var id int64
	var status, spec []byte
	var number sql.NullInt64
	if err := rows.Scan(&id, &status, &spec, &number); err != nil {
		return h, 0, err
	}
	if err := decode(status, &h.Status, "the status of run", id); err != nil || spec == nil {
		return h, 0, err
	}
	var params struct {
		Params map[string]string `json:"params"`
	}
	err = decode(spec, &params, "the submission of run", id)
	h.Params = params.Params
	return h, number.Int64, err
}

// placements adds the placements of a run.
func (s *Store) placements(ctx context.Context, h *dovetail.History) error {
	return s.query(ctx, func(rows *sql.Rows) (bool, error) {
		p := dovetail.Placement{Slot: dovetail.Slot{Run: h.Status.ID}}
		var at int64
		err := rows.Scan(&p.Component, &p.Elastic, &p.Node, &p.N, &at)
		p.At = time.UnixMicro(at).UTC()
		h.Placements = append(h.Placements, p)
		return true, err
	}, "SELECT component, elastic, node, n, at FROM placements WHERE run = ? ORDER BY at, id", int64(h.Status.ID))
}

// complete adds the neighbours of a run whose placements are known, whether it was suspended, and if asked for its usage.
func (s *Store) complete(ctx context.Context, h *dovetail.History, usage bool) error {
	id, end := int64(h.Status.ID), *h.Status.Ended
	err := s.readers.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM suspensions WHERE run = ?)", id).Scan(&h.Suspended)
	if err != nil {
		return err
	}
	if usage {
		if err := s.used(ctx, h); err != nil {
			return err
		}
	}
	own := store.Presence(h.Placements, end)
	var others []store.Stay
	for _, node := range slices.Sorted(maps.Keys(own)) {
		spans := own[node]
		if len(spans) == 0 {
			continue
		}
		stays, err := s.stays(ctx, node, spans[0].From, spans[len(spans)-1].To, id)
		if err != nil {
			return err
		}
		others = append(others, stays...)
	}
	h.Neighbours = store.Neighbours(own, others)
	return nil
}

// used adds what the replicas of a run consumed.
func (s *Store) used(ctx context.Context, h *dovetail.History) error {
	return s.readers.QueryRowContext(ctx, "SELECT coalesce(sum(cpu), 0), coalesce(max(memory_peak), 0), coalesce(sum(bytes_read), 0), "+
		"coalesce(sum(bytes_written), 0) FROM replicas WHERE run = ?", int64(h.Status.ID)).
		Scan((*int64)(&h.Usage.CPU), &h.Usage.MemoryPeak, &h.Usage.Read, &h.Usage.Written)
}

// stays returns when runs but the given one were on the node between two times.
func (s *Store) stays(ctx context.Context, node string, from, to time.Time, but int64) ([]store.Stay, error) {
	var found []store.Stay
	err := s.query(ctx, func(rows *sql.Rows) (bool, error) {
		stay := store.Stay{Node: node}
		var since, until, ended int64
		err := rows.Scan((*int64)(&stay.Run), &stay.Class, &since, &until, &ended)
		stay.From, stay.To = time.UnixMicro(since).UTC(), time.UnixMicro(min(until, ended)).UTC()
		found = append(found, stay)
		return true, err
	}, staysSQL, node, from.UnixMicro(), to.UnixMicro(), but)
	return found, err
}
