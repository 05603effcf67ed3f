package mem

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store"
)

// Run does what engine.Reader says. The submission is nil if none was recorded.
func (s *Store) Run(ctx context.Context, id dovetail.RunID) (dovetail.RunStatus, *dovetail.Run, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return dovetail.RunStatus{}, nil, err
	}
	status, ok := s.runs[id]
	if !ok {
		return dovetail.RunStatus{}, nil, dovetail.Errorf(dovetail.NotFound, "there is no run %d", id)
	}
	return status, s.submitted[id], nil
}

// Runs does what engine.Reader says. A limit or cursor out of bounds is a dovetail.Invalid error.
func (s *Store) Runs(ctx context.Context, f engine.RunFilter) ([]dovetail.RunStatus, error) {
	f, err := store.CheckRuns(f)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var found []dovetail.RunStatus
	for _, id := range slices.Backward(s.order) {
		if r := s.runs[id]; matches(&r, &f) {
			if found = append(found, r); len(found) == f.Limit {
				break
			}
		}
	}
	return found, nil
}

func matches(r *dovetail.RunStatus, f *engine.RunFilter) bool {
	text, prefix := store.Pattern(f.Name)
	named := func(name string) bool { return name == text || prefix && strings.HasPrefix(name, text) }
	return (len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		(len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, r.Outcome)) &&
		(f.Name == "" || named(r.Name) || named(r.App)) &&
		(f.User == "" || f.User == r.User) &&
		(f.Key == "" || f.Key == r.Key) &&
		(f.Since.IsZero() || !r.Submitted.Before(f.Since)) &&
		(f.Until.IsZero() || r.Submitted.Before(f.Until)) &&
		(f.Before == 0 || r.ID < f.Before)
}

// Replicas does what engine.Reader says.
func (s *Store) Replicas(ctx context.Context, run dovetail.RunID) ([]dovetail.ReplicaStatus, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var found []dovetail.ReplicaStatus
	for _, r := range s.replicas[run] {
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b dovetail.ReplicaStatus) int {
		return cmp.Or(cmp.Compare(a.Replica.Component, b.Replica.Component), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Attempt, b.Attempt))
	})
	return found, nil
}

// Events does what engine.Reader says. A page never ends between two events of one Seq, see store.Page. A limit, tail or
// cursor out of bounds is a dovetail.Invalid error.
func (s *Store) Events(ctx context.Context, f engine.EventFilter) ([]dovetail.EventRecord, error) {
	f, err := store.CheckEvents(f)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	from, _ := slices.BinarySearchFunc(s.events, f.After+1, func(e dovetail.EventRecord, seq int64) int {
		return cmp.Compare(e.Seq, seq)
	})
	var found []dovetail.EventRecord
	for _, e := range s.events[from:] {
		if (f.Run == 0 || e.Run == f.Run) && (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) {
			found = append(found, e)
		}
	}
	if f.Tail > 0 && len(found) > f.Tail {
		found = found[len(found)-f.Tail:]
	}
	return store.Page(found, f.Limit), nil
}

// History does what engine.Reader says; runs that ended at the same time come highest ID first. A limit out of bounds is a
// dovetail.Invalid error.
func (s *Store) History(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error) {
	f, err := store.CheckHistory(f)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var found []dovetail.History
	for _, e := range slices.Backward(s.ended) {
		if len(found) == f.Limit || e.at.Before(f.Since) {
			break
		}
		if !beforePage(e, f) {
			continue
		}
		if e.id < 0 {
			if f.Replay && !f.Learn {
				continue
			}
			if p := &s.imported[-e.id-1]; (f.Class == "" || f.Class == p.Class) && (f.App == "" || f.App == p.App) {
				found = append(found, store.Imported(e.id, p))
			}
		} else if r := s.runs[e.id]; (f.Class == "" || f.Class == r.Class) && (f.App == "" || f.App == r.App) {
			found = append(found, s.history(r, &f))
		}
	}
	return found, nil
}

// Classes returns the job classes of which runs have ended, or were imported: those with the latest end, latest first and at most so many;
// of one end in order.
func (s *Store) Classes(ctx context.Context, limit int) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	latest := make(map[string]time.Time)
	for _, e := range s.ended { // in order of the end
		if e.id < 0 {
			latest[s.imported[-e.id-1].Class] = e.at
		} else {
			latest[s.runs[e.id].Class] = e.at
		}
	}
	all := slices.SortedFunc(maps.Keys(latest), func(a, b string) int { return cmp.Or(latest[b].Compare(latest[a]), cmp.Compare(a, b)) })
	return all[:min(len(all), limit)], nil
}

// PutAway does what engine.Reader says.
func (s *Store) PutAway(ctx context.Context, classes ...string) ([]dovetail.KnownClass, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.away.Classes(), func(k dovetail.KnownClass) bool {
		return len(classes) > 0 && !slices.Contains(classes, k.Class)
	}), nil
}

// beforePage reports whether a run ended before the time of the filter, or at it with a lower ID.
func beforePage(e ending, f engine.HistoryFilter) bool {
	return f.Until.IsZero() || e.at.Before(f.Until) || f.Before != 0 && e.at.Equal(f.Until) && e.id < f.Before
}

func (s *Store) history(r dovetail.RunStatus, f *engine.HistoryFilter) dovetail.History {
	h := dovetail.History{Status: r, Placements: inTime(s.placements[r.ID])}
	spec := s.submitted[r.ID]
	if spec != nil {
		h.Params = spec.Params
		if f.Replay || f.Learn {
			h.App = spec.App
		}
	}
	if f.Replay && !f.Learn {
		return h
	}
	h.Suspended = s.suspended[r.ID]
	h.Neighbours = s.neighbours(r, h.Placements)
	if f.Learn {
		return h
	}
	for _, replica := range s.replicas[r.ID] {
		h.Usage.CPU += replica.Usage.CPU
		h.Usage.MemoryPeak = max(h.Usage.MemoryPeak, replica.Usage.MemoryPeak)
		h.Usage.Read += replica.Usage.Read
		h.Usage.Written += replica.Usage.Written
	}
	return h
}

// neighbours returns which runs shared nodes with a run that was placed like this.
func (s *Store) neighbours(r dovetail.RunStatus, placements []dovetail.Placement) []dovetail.Neighbour {
	own := store.Presence(placements, *r.Ended)
	var others []store.Stay
	seen := make(map[dovetail.RunID]bool)
	for node := range own {
		for id := range s.onNode[node] {
			if id != r.ID && !seen[id] {
				seen[id] = true
				others = append(others, s.stays(id, r)...)
			}
		}
	}
	return store.Neighbours(own, others)
}

// stays returns where and when another run was; one that has not ended is there at least until r has ended.
func (s *Store) stays(id dovetail.RunID, r dovetail.RunStatus) []store.Stay {
	other, end := s.runs[id], *r.Ended
	if other.Ended != nil {
		end = *other.Ended
	}
	var stays []store.Stay
	for node, spans := range store.Presence(inTime(s.placements[id]), end) {
		for _, span := range spans {
			stays = append(stays, store.Stay{Run: id, Class: other.Class, Node: node, Span: span})
		}
	}
	return stays
}

// inTime returns the placements in order of time, those of one time in order of arrival.
func inTime(placements []dovetail.Placement) []dovetail.Placement {
	sorted := slices.Clone(placements)
	slices.SortStableFunc(sorted, func(a, b dovetail.Placement) int { return a.At.Compare(b.At) })
	return sorted
}
