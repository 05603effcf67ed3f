package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// atOnce is how many runs of one class may have ended in one microsecond.
const atOnce = 10_000

// Unknown returns those of the runs that are not on record, each once and in order: whatever was imported before, or has run here. Two runs are
// the same if all is the same that predictions know of them, with the end in microseconds; the number of the run does not matter.
func Unknown(ctx context.Context, past Recorder, runs []dovetail.Past) ([]dovetail.Past, error) {
	spans := make(map[string]*span)
	for i := range runs {
		p := &runs[i]
		if spans[p.Class] == nil {
			spans[p.Class] = &span{from: p.Ended, to: p.Ended}
		}
		spans[p.Class].add(p.Ended)
	}
	seen := make(map[string]bool)
	var fresh []dovetail.Past
	for i := range runs {
		p := &runs[i]
		key, err := identity(p)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		known, err := spans[p.Class].has(ctx, past, p, key)
		if err != nil {
			return nil, fmt.Errorf("look for runs of %s that are on record already: %w", p.Class, err)
		}
		if !known {
			fresh = append(fresh, *p)
		}
	}
	return fresh, nil
}

// span is when runs of a class have ended, and whether any run on record did so then: mostly there is none, and they need not be looked for
// one by one.
type span struct {
	from, to     time.Time
	asked, empty bool
}

func (s *span) add(at time.Time) { s.from, s.to = earlier(s.from, at), later(s.to, at) }

// has reports whether a run of the class is on record.
func (s *span) has(ctx context.Context, past Recorder, p *dovetail.Past, key string) (bool, error) {
	if !s.asked {
		one, err := past.History(ctx, engine.HistoryFilter{Class: p.Class, Since: s.from, Until: s.to.Add(time.Microsecond), Limit: 1, Learn: true})
		if err != nil {
			return false, err
		}
		s.asked, s.empty = true, len(one) == 0
	}
	if s.empty {
		return false, nil
	}
	found, err := past.History(ctx, engine.HistoryFilter{Class: p.Class, Since: p.Ended, Until: p.Ended.Add(time.Microsecond), Limit: atOnce, Learn: true})
	if err != nil {
		return false, err
	}
	for i := range found {
		other := PastOf(&found[i])
		k, err := identity(&other)
		if err != nil || k == key {
			return err == nil, err
		}
	}
	return false, nil
}

// identity returns a text that is the same for runs that are the same.
func identity(p *dovetail.Past) (string, error) {
	q := *p
	q.Run, q.Ended = 0, q.Ended.UTC().Truncate(time.Microsecond)
	data, err := json.Marshal(&q) // what is empty is left out, and parameters are in order
	return string(data), err
}
