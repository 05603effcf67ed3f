package engine

import (
	"context"
	"sync"
	"time"
)

// Stats counts what the engine has done since it was opened.
type Stats struct {
	Turns          int64     // taken
	Events         int64     // handed to turns, decisions not counted
	Refused        int64     // events that the core refused
	Records        int64     // appended to the journal
	AppendFailures int64     // attempts that failed; each is repeated
	Snapshots      int64     // stored
	Actions        int64     // commands to a Runner, or actions to a Backend
	Queue          int       // events and requests that wait now
	Seq            int64     // of the last record
	Append         Histogram // how long appends that succeeded took, in seconds
	Batch          Histogram // events a turn
}

// Histogram counts values by size.
type Histogram struct {
	Bounds []float64 // upper bounds, ascending; the last bucket has none
	Counts []int64   // one more than Bounds
	Sum    float64   // of all values
}

// Count returns the number of values.
func (h *Histogram) Count() int64 {
	var n int64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

func (h *Histogram) add(v float64) {
	i := 0
	for i < len(h.Bounds) && v > h.Bounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += v
}

func newHistogram(bounds ...float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]int64, len(bounds)+1)}
}

func (h *Histogram) clone() Histogram {
	return Histogram{Bounds: h.Bounds, Counts: append([]int64(nil), h.Counts...), Sum: h.Sum}
}

// stats is a Stats that the loop keeps and anybody may read.
type stats struct {
	mu  sync.Mutex
	now Stats
}

// change lets f change the counters.
func (s *stats) change(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Append.Counts == nil {
		s.now.Append = newHistogram(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5)
		s.now.Batch = newHistogram(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
	}
	f(&s.now)
}

// turned counts one turn with so many events.
func (s *stats) turned(events int, res *TurnResult) {
	s.change(func(n *Stats) {
		n.Turns++
		n.Events += int64(events)
		for _, err := range res.Refused {
			if err != nil {
				n.Refused++
			}
		}
		n.Batch.add(float64(events))
		n.Actions += int64(len(res.Commands))
		n.Records += int64(len(res.Changes.Records))
		n.Seq += int64(len(res.Changes.Records))
	})
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	var now Stats
	e.stats.change(func(n *Stats) {
		now = *n
		now.Append, now.Batch = n.Append.clone(), n.Batch.clone()
	})
	now.Queue = len(e.inbox) + len(e.requests)
	return now
}

// timed is a Store whose appends are counted and timed.
type timed struct {
	Store
	stats *stats
}

// Append passes the changes on.
func (t timed) Append(ctx context.Context, c Changes) error {
	begin := time.Now()
	err := t.Store.Append(ctx, c)
	took := time.Since(begin)
	t.stats.change(func(n *Stats) {
		if err != nil {
			n.AppendFailures++
			return
		}
		n.Append.add(took.Seconds())
	})
	return err
}
