package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/engine"
)

// putAway keeps what is known of the classes that were put away, after it has taken out those that the records bring back or forget: as
// coloc.Away does in memory. All of this is rare, so that nothing of it is prepared. What is
// damaged there keeps no turn from being recorded: the scheduler can do without.
func (s *Store) putAway(ctx context.Context, c engine.Changes, _ *appNumbers) error {
	for _, r := range c.Records {
		var err error
		switch e := r.Event.(type) {
		case dovetail.Recalled:
			if e.All {
				err = s.forgetAway(ctx, "")
			}
			for i := range e.Classes {
				if err == nil {
					_, err = s.writer.ExecContext(ctx, "DELETE FROM put_away WHERE class = ?", e.Classes[i].Class)
				}
			}
		case dovetail.Forgotten:
			err = s.forgetAway(ctx, e.Class)
		}
		if err != nil {
			return err
		}
	}
	for _, k := range c.PutAway {
		var text []byte
		err := s.writer.QueryRowContext(ctx, "SELECT known FROM put_away WHERE class = ?", k.Class).Scan(&text)
		switch {
		case err == nil:
			var before dovetail.KnownClass
			if err := decode(text, &before, "what was put away of", k.Class); err != nil {
				s.log.WarnContext(ctx, "it is replaced by what was learned since", "class", k.Class, "error", err)
			} else {
				k = coloc.Merge(before, k)
			}
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if err := s.writeAway(ctx, &k); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) writeAway(ctx context.Context, k *dovetail.KnownClass) error {
	text, err := json.Marshal(k)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "what is known of %s cannot be written: %v", k.Class, err)
	}
	_, err = s.writer.ExecContext(ctx, "INSERT INTO put_away (class, known) VALUES (?, ?) "+replacing("class", "class, known"), k.Class, string(text))
	return err
}

// forgetAway drops a class, and what is known of others beside it; "" means all.
func (s *Store) forgetAway(ctx context.Context, class string) error {
	if class == "" {
		_, err := s.writer.ExecContext(ctx, "DELETE FROM put_away")
		return err
	}
	if _, err := s.writer.ExecContext(ctx, "DELETE FROM put_away WHERE class = ?", class); err != nil {
		return err
	}
	rows, err := s.writer.QueryContext(ctx, "SELECT class, known FROM put_away")
	if err != nil {
		return err
	}
	defer rows.Close()
	var changed []dovetail.KnownClass
	for rows.Next() {
		k, err := scanAway(rows)
		if err != nil {
			s.log.WarnContext(ctx, "it is left as it is", "error", err)
			continue
		}
		if rest, ok := coloc.Without(k, class); ok {
			changed = append(changed, rest)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for i := range changed {
		if err := s.writeAway(ctx, &changed[i]); err != nil {
			return err
		}
	}
	return nil
}

func scanAway(rows *sql.Rows) (k dovetail.KnownClass, err error) {
	var class string
	var text []byte
	if err := rows.Scan(&class, &text); err != nil {
		return k, err
	}
	err = decode(text, &k, "what was put away of", class)
	return k, err
}

// PutAway does what engine.Reader says. What is damaged is left out, and the log names it: the other classes can be brought back nevertheless, and
// all of them be forgotten.
func (s *Store) PutAway(ctx context.Context, classes ...string) ([]dovetail.KnownClass, error) {
	var found []dovetail.KnownClass
	ask := func(query string, args ...any) error {
		return s.query(ctx, func(rows *sql.Rows) (bool, error) {
			k, err := scanAway(rows)
			if err == nil {
				found = append(found, k)
			} else {
				s.log.WarnContext(ctx, "it is learned anew", "error", err)
			}
			return true, nil
		}, query, args...)
	}
	var err error
	if len(classes) == 0 {
		err = ask("SELECT class, known FROM put_away ORDER BY class")
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(classes)))
	for _, class := range wanted {
		if err == nil {
			err = ask("SELECT class, known FROM put_away WHERE class = ?", class)
		}
	}
	if err != nil {
		return nil, explain("reading what was put away", s.path, err)
	}
	return found, nil
}
