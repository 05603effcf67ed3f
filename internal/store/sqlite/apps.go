package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dovetail-sched/dovetail"
)

// Applications are stored once, by digest: a hundred thousand runs of one application cost a hundred thousand numbers.

// rememberedApps bounds how many numbers of applications are kept in memory.
const rememberedApps = 1024

func withoutApp(r *dovetail.Run) *dovetail.Run {
	bare := *r
	bare.App = nil
	return &bare
}

// appNumbers finds the numbers of applications for one Append, and gives new ones numbers. What it learns counts only once
// the transaction has committed.
type appNumbers struct {
	s         *Store
	byPointer map[*dovetail.Application]int64
	learned   map[string]int64 // by digest
}

func (s *Store) newAppNumbers() *appNumbers {
	return &appNumbers{s: s, byPointer: make(map[*dovetail.Application]int64), learned: make(map[string]int64)}
}

// of returns the number of the run's application, 0 if it has none.
func (a *appNumbers) of(ctx context.Context, r *dovetail.Run) (int64, error) {
	if r == nil || r.App == nil {
		return 0, nil
	}
	if id, ok := a.byPointer[r.App]; ok {
		return id, nil
	}
	spec, err := json.Marshal(r.App)
	if err != nil {
		return 0, dovetail.Errorf(dovetail.Invalid, "application %s of run %d cannot be written: %v", r.App.Name, r.ID, err)
	}
	sum := sha256.Sum256(spec)
	digest := hex.EncodeToString(sum[:])
	id, ok := a.s.apps[digest]
	if !ok {
		if id, err = a.s.number(ctx, digest, spec); err != nil {
			return 0, fmt.Errorf("application %s: %w", r.App.Name, err)
		}
		a.learned[digest] = id
	}
	a.byPointer[r.App] = id
	return id, nil
}

// number looks the digest up in the database, and inserts the application if it is not there.
func (s *Store) number(ctx context.Context, digest string, spec []byte) (int64, error) {
	var id int64
	err := s.writer.QueryRowContext(ctx, "SELECT id FROM applications WHERE digest = ?", digest).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.writer.QueryRowContext(ctx, "INSERT INTO applications (digest, spec) VALUES (?, ?) RETURNING id", digest, string(spec)).Scan(&id)
	}
	return id, err
}

// committed makes what was learned known to later Appends.
func (a *appNumbers) committed() {
	if len(a.s.apps)+len(a.learned) > rememberedApps {
		clear(a.s.apps)
	}
	for digest, id := range a.learned {
		a.s.apps[digest] = id
	}
}

// applicationsIn returns a function that reads applications by number, each once: runs of the same one share it. An
// application that does not match its digest is a dovetail.Internal error.
func (s *Store) applicationsIn(ctx context.Context, q querier) func(id int64) (*dovetail.Application, error) {
	known := make(map[int64]*dovetail.Application)
	return func(id int64) (*dovetail.Application, error) {
		if app := known[id]; app != nil {
			return app, nil
		}
		var digest string
		var spec []byte
		err := q.QueryRowContext(ctx, "SELECT digest, spec FROM applications WHERE id = ?", id).Scan(&digest, &spec)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, dovetail.Errorf(dovetail.Internal, "application %d is missing from %s; %s", id, s.path, adviseRestore)
		}
		if err != nil {
			return nil, err
		}
		app := new(dovetail.Application)
		sum := sha256.Sum256(spec)
		if hex.EncodeToString(sum[:]) != digest || json.Unmarshal(spec, app) != nil {
			return nil, dovetail.Errorf(dovetail.Internal, "application %d in %s is damaged; %s", id, s.path, adviseRestore)
		}
		known[id] = app
		return app, nil
	}
}
