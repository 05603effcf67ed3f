package study

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// Inspector shows the core of a running engine; *engine.Engine is one.
type Inspector interface {
	// Inspect calls f inside the engine's loop. f must be quick, change nothing and keep nothing of c.
	Inspect(ctx context.Context, f func(c *sched.Core, now time.Time)) error
}

// Recorder knows finished runs; engine.Reader is one.
type Recorder interface {
	// History returns finished runs, newest end first.
	History(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error)
}

// The bounds of an oracle.
const (
	maxPlays   = 64
	maxLive    = 10_000                 // runs that have not ended: with more, no play would come to its end in time
	explainFor = 500 * time.Millisecond // plays for an explanation take no longer …
	whatIfFor  = 2 * time.Second        // … and for a what-if, each of its two forecasts
	freshFor   = 2 * time.Second        // a forecast is used again for so long, while nothing was decided or submitted
	restFactor = 20                     // … and in any case for so many times as long as copying the state held up the engine
	learnEvery = 30 * time.Second
	learned    = 2000 // finished runs that runtimes are learned from, the latest
	lately     = 24 * time.Hour
	fewRecent  = 20 // runs submitted lately: with fewer, later arrivals are not foreseen
)

// Oracle tells when the runs that wait in a running engine are expected to start. It copies the engine's state and plays the copy
// on outside the engine's loop. One question is answered at a time, and a forecast serves several. An Oracle is safe for
// concurrent use.
type Oracle struct {
	engine Inspector
	past   Recorder
	now    func() time.Time
	turn   chan struct{} // holds a value while somebody asks: who put it there owns what follows

	last       *known // forecast as things are; nil: none yet
	experience *Experience
	recent     []Arrival
	learnedAt  time.Time
}

// known is a forecast, of what, and how long it holds.
type known struct {
	mark
	future *Future
	fresh  time.Time // until then if nothing was decided or submitted
	rest   time.Time // until then in any case: the engine was held up long enough
}

// mark tells whether anything happened that matters to forecasts.
type mark struct {
	seq    int64
	next   dovetail.RunID
	config dovetail.Config
}

// copied is the engine's state.
type copied struct {
	mark
	state json.RawMessage
	now   time.Time
	held  time.Duration // how long copying held up the engine
}

// NewOracle returns an oracle for an engine and what was recorded of finished runs.
func NewOracle(e Inspector, past Recorder) *Oracle {
	return &Oracle{engine: e, past: past, now: time.Now, turn: make(chan struct{}, 1)}
}

// Expect returns when a run is expected to start; nil if it does not wait, or if nobody can tell soon enough: too many runs wait, or
// another question takes its time.
func (o *Oracle) Expect(ctx context.Context, run dovetail.RunID) (*dovetail.Expectation, error) {
	soon, cancel := context.WithTimeout(ctx, explainFor)
	defer cancel()
	if !o.take(soon) {
		return nil, ctx.Err()
	}
	defer o.leave()
	u, err := o.asThingsAre(ctx)
	switch {
	case dovetail.CodeOf(err) == dovetail.Unavailable:
		return nil, nil //nolint:nilnil // that nobody can tell is an answer
	case err != nil:
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(u.Runs, run, func(w WaitingRun, id dovetail.RunID) int { return int(w.Run.ID - id) })
	if !ok || len(u.Runs[i].Start) == 0 {
		return nil, nil //nolint:nilnil // it does not wait any more, or nothing was played
	}
	x := u.Expect(u.Runs[i].Start)
	x.Basis = u.basis()
	return &x, nil
}

// WhatIf says who would start when under an alternative. It fails with dovetail.Unavailable when too many runs wait, and with
// dovetail.Invalid when the alternative makes no sense.
func (o *Oracle) WhatIf(ctx context.Context, a dovetail.Alternative) (dovetail.WhatIf, error) {
	var none dovetail.WhatIf
	if !o.take(ctx) {
		return none, ctx.Err()
	}
	defer o.leave()
	c, f, err := o.look(ctx)
	if err != nil {
		return none, err
	}
	now, err := f.within(ctx, whatIfFor)
	if err != nil {
		return none, err
	}
	f.Config, f.Nodes, f.Submit = a.Config, a.Nodes, a.Submit
	then, err := f.within(ctx, whatIfFor)
	if err != nil {
		return none, err
	}
	w := dovetail.WhatIf{At: c.now, Now: c.config, Then: a.Config, Nodes: a.Nodes, Plays: min(now.Plays, then.Plays), Basis: then.basis()}
	for i := range then.Runs {
		w.Runs = append(w.Runs, prospect(now, then, i))
	}
	return w, ctx.Err()
}

// take waits until nobody else asks; it is false if the context ends first.
func (o *Oracle) take(ctx context.Context) bool {
	select {
	case o.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *Oracle) leave() { <-o.turn }

// asThingsAre returns a forecast: one that holds still, or a new one.
func (o *Oracle) asThingsAre(ctx context.Context) (*Future, error) {
	if k := o.last; k != nil {
		var m mark
		if err := o.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) { m = markOf(c) }); err != nil {
			return nil, err
		}
		if now := o.now(); k.mark == m && now.Before(k.fresh) || now.Before(k.rest) {
			return k.future, nil
		}
	}
	c, f, err := o.look(ctx)
	if err != nil {
		return nil, err
	}
	u, err := f.within(ctx, explainFor)
	if err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		o.last = &known{c.mark, u, o.now().Add(freshFor), o.now().Add(restFactor * c.held)}
	}
	return u, nil
}

// look copies the state of the engine, and prepares a forecast of it.
func (o *Oracle) look(ctx context.Context) (*copied, *Forecast, error) {
	if err := o.learn(ctx); err != nil {
		return nil, nil, err
	}
	var c copied
	var failed error
	live := 0
	err := o.engine.Inspect(ctx, func(core *sched.Core, now time.Time) {
		if live = core.Waiting() + core.InService(); live > maxLive {
			return
		}
		begun := o.now()
		c.mark, c.now = markOf(core), now
		c.state, failed = core.Snapshot()
		c.held = o.now().Sub(begun)
	})
	switch {
	case err != nil:
		return nil, nil, err
	case failed != nil:
		return nil, nil, failed
	case live > maxLive:
		return nil, nil, dovetail.Errorf(dovetail.Unavailable,
			"%d runs wait or are in service; with more than %d nobody can tell in time when they will start", live, maxLive)
	}
	f := &Forecast{State: c.state, Now: c.now, Past: o.experience, Plays: maxPlays, Seed: uint64(c.seq)}
	if len(o.recent) >= fewRecent {
		f.Recent, f.Span = o.recent, c.now.Sub(o.recent[0].At).Truncate(time.Microsecond)
	}
	return &c, f, nil
}

func markOf(c *sched.Core) mark { return mark{c.Seq(), c.Next(), c.Config()} }

// learn brings experience up to date, now and then.
func (o *Oracle) learn(ctx context.Context) error {
	now := o.now()
	if o.experience != nil && now.Sub(o.learnedAt) < learnEvery {
		return nil
	}
	finished, err := o.past.History(ctx, engine.HistoryFilter{Limit: learned, Replay: true})
	if err != nil {
		return fmt.Errorf("learn from finished runs: %w", err)
	}
	o.experience, o.recent, o.learnedAt = LearnFrom(finished), arrivals(finished, now), now
	return nil
}

// arrivals returns what was submitted lately and has ended, in order.
func arrivals(finished []dovetail.History, now time.Time) []Arrival {
	var all []Arrival
	for i := range finished {
		h := &finished[i]
		if h.App != nil && len(h.Placements) > 0 && h.Status.Submitted.After(now.Add(-lately)) {
			all = append(all, Arrival{h.Status.Submitted, &dovetail.Run{Class: h.Status.Class, User: h.Status.User, App: h.App, Input: h.Status.InputSize}})
		}
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return a.At.Compare(b.At) })
	return all
}

// within plays for so long at most.
func (f *Forecast) within(ctx context.Context, limit time.Duration) (*Future, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f.Play(ctx)
}

// basis says what a forecast assumes, and how much was played.
func (u *Future) basis() string {
	switch {
	case u.Cut:
		return fmt.Sprintf("A part of one play: %s were too many for more in %s. %s", count(len(u.Runs)), u.Took.Round(time.Millisecond), u.Basis)
	case u.Plays < maxPlays:
		return fmt.Sprintf("%d plays of %d, which was all that time allowed. %s", u.Plays, maxPlays, u.Basis)
	}
	return fmt.Sprintf("%d plays. %s", u.Plays, u.Basis)
}

// prospect compares what is expected of the waiting run with this index in the second forecast.
func prospect(now, then *Future, i int) dovetail.Prospect {
	w := &then.Runs[i]
	p := dovetail.Prospect{
		Run: w.Run.ID, Name: w.Run.Name, Class: w.Run.Class, User: w.Run.User,
		ThenStart: then.Expect(w.Start), ThenFinish: then.Expect(w.Finish),
	}
	if i >= len(now.Runs) {
		p.Submitted = true
		return p
	}
	before := &now.Runs[i]
	start, finish := now.Expect(before.Start), now.Expect(before.Finish)
	p.Start, p.Finish = &start, &finish
	var moves []time.Duration
	for k, number := range then.plays {
		b, ok := slices.BinarySearch(now.plays, number)
		if ok && before.Start[b] != noTime && w.Start[k] != noTime {
			moves = append(moves, w.Start[k]-before.Start[b])
		}
	}
	p.Change = change(moves)
	return p
}

// change returns percentiles over pairs of plays; nil if there are none.
func change(moves []time.Duration) *dovetail.Change {
	if len(moves) == 0 {
		return nil
	}
	least := slices.Min(moves)
	for i := range moves {
		moves[i] -= least // a negative time would mean that something never happens
	}
	at := func(p float64) float64 {
		d, _ := percentile(moves, p)
		return (d + least).Seconds()
	}
	return &dovetail.Change{Low: at((1 - confidence) / 2), Median: at(0.5), High: at((1 + confidence) / 2)}
}
