// Package store answers: what do all stores agree on, whatever they keep their data in?
//
// It holds the bounds of the questions a reader may be asked and the arithmetic of neighbours. The stores themselves are its
// subdirectories; what they promise is written at engine.Store and engine.Reader and checked by storetest.
package store

import (
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// How many entries one answer holds: when the question does not say, and at most.
const (
	DefaultRuns    = 100
	MaxRuns        = 1000
	DefaultEvents  = 1000
	MaxEvents      = 10_000
	DefaultHistory = 100
	MaxHistory     = 10_000
)

// CheckRuns returns the filter with its default limit filled in. A limit or a cursor out of bounds is a dovetail.Invalid
// error.
func CheckRuns(f engine.RunFilter) (engine.RunFilter, error) {
	if f.Before < 0 {
		return f, dovetail.Errorf(dovetail.Invalid, "before is %d; expected the ID of a run, or 0 for the first page", f.Before)
	}
	var err error
	f.Limit, err = limit(f.Limit, DefaultRuns, MaxRuns)
	return f, err
}

// CheckEvents returns the filter with its default limit filled in. A limit, a tail or a cursor out of bounds is a
// dovetail.Invalid error.
func CheckEvents(f engine.EventFilter) (engine.EventFilter, error) {
	if f.After < 0 {
		return f, dovetail.Errorf(dovetail.Invalid, "after is %d; expected the number of an event, or 0 for the first page", f.After)
	}
	if f.Tail < 0 || f.Tail > MaxEvents {
		return f, dovetail.Errorf(dovetail.Invalid, "tail is %d; expected 0 to %d", f.Tail, MaxEvents)
	}
	var err error
	f.Limit, err = limit(f.Limit, DefaultEvents, MaxEvents)
	return f, err
}

// CheckHistory returns the filter with its default limit filled in. A limit out of bounds and a cursor without its time are
// dovetail.Invalid errors.
func CheckHistory(f engine.HistoryFilter) (engine.HistoryFilter, error) {
	if f.Before != 0 && f.Until.IsZero() {
		return f, dovetail.Errorf(dovetail.Invalid, "before is %d; expected the ID of a run that ended at the time until, or 0", f.Before)
	}
	var err error
	f.Limit, err = limit(f.Limit, DefaultHistory, MaxHistory)
	return f, err
}

func limit(n, byDefault, most int) (int, error) {
	switch {
	case n < 0 || n > most:
		return 0, dovetail.Errorf(dovetail.Invalid, "limit is %d; expected 1 to %d, or 0 for %d", n, most, byDefault)
	case n == 0:
		return byDefault, nil
	}
	return n, nil
}

// Pattern splits the Name of a RunFilter into the text to look for and whether any ending may follow it.
func Pattern(name string) (text string, prefix bool) { return strings.CutSuffix(name, "*") }

// Page cuts events that are in order of Seq to a page of limit, but never between two events of one Seq: the last Seq of a
// page is a cursor that loses nothing. So a page is longer than limit when its first Seq alone has more events.
func Page(events []dovetail.EventRecord, limit int) []dovetail.EventRecord {
	if len(events) <= limit {
		return events
	}
	n := limit
	for n > 0 && events[n-1].Seq == events[limit].Seq {
		n--
	}
	if n > 0 {
		return events[:n]
	}
	for n < len(events) && events[n].Seq == events[0].Seq {
		n++
	}
	return events[:n]
}

// Imported returns an imported run as part of the history; its ID is negative: below that of every run, so that it comes after those that
// ended at the same time.
func Imported(id dovetail.RunID, p *dovetail.Past) dovetail.History {
	ended := p.Ended
	return dovetail.History{
		Status: dovetail.RunStatus{ID: id, Class: p.Class, App: p.App, State: dovetail.Ended, Outcome: p.Outcome, InputSize: p.InputSize, Ended: &ended},
		Params: p.Params, Import: p,
	}
}
