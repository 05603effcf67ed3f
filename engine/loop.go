package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// How the loop waits.
const (
	firstRetry = 100 * time.Millisecond // after a failed append; doubled from then on
	lastRetry  = 5 * time.Second
	longestNap = time.Minute // the wall clock may be set while the loop waits for a time of day
)

// Run works until the context ends, then returns nil. Another error is the back-end's or a fault of the program. It must be
// called once. What it was doing when it ended is picked up by the next Engine on the same store.
func (e *Engine) Run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	var backend sync.WaitGroup
	backend.Go(func() {
		err := e.drive(ctx)
		if err == nil {
			err = errors.New("it gave no reason")
		}
		cancel(fmt.Errorf("the back-end stopped: %w", err)) // without effect when the context has ended before
	})
	defer func() {
		cancel(nil)
		backend.Wait()
		e.health.set(false, "the daemon is stopping")
		e.watchers.close()
		close(e.done)
	}()
	err := e.loop(ctx)
	switch {
	case parent.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// drive lets the back-end report what there is, and then what happens.
func (e *Engine) drive(ctx context.Context) error {
	observed := sync.OnceFunc(func() { close(e.observed) })
	if r := e.opts.Runner; r != nil {
		return r.Run(ctx, e.inbox, observed)
	}
	events, err := e.opts.Backend.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe what runs: %w", err)
	}
	for _, ev := range events {
		select {
		case e.inbox <- ev:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	observed()
	return e.opts.Backend.Run(ctx, e.inbox)
}

// loop takes turns until the context ends or something is beyond repair.
func (e *Engine) loop(ctx context.Context) error {
	if e.turner.Seq() == 0 || e.turner.Core().Config() != e.opts.Config {
		if _, err := e.commit(ctx, dovetail.Configured{Config: e.opts.Config}); err != nil {
			return err
		}
	}
	observed := e.observed
	for {
		b := e.gather(ctx, observed)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := e.turn(ctx, b)
		if err == nil && b.observed {
			observed = nil
			err = e.recover(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// batch is what one turn is made of: events of the back-end first, then those of callers, in order of arrival.
type batch struct {
	events   []dovetail.Event
	requests []*request // those that asked for the last events, one each
	runs     int        // submitted in this batch
	observed bool       // the back-end has reported all there is, and events has the last of it
}

// gather waits until there is something to do, and takes everything that has come in by then: one append serves all. What the
// back-end reported before it said that it was all is in the inbox by then, which holds no more than one batch takes.
func (e *Engine) gather(ctx context.Context, observed <-chan struct{}) batch {
	var b batch
	nap := time.NewTimer(e.nap())
	defer nap.Stop()
	var first *request
	select {
	case <-ctx.Done():
	case <-observed:
		b.observed = true
	case ev := <-e.inbox:
		b.events = append(b.events, e.note(ev))
	case first = <-e.requests:
	case <-nap.C:
	}
	for more := true; more && len(b.events) < maxEvents; {
		select {
		case ev := <-e.inbox:
			b.events = append(b.events, e.note(ev))
		default:
			more = false
		}
	}
	if first != nil {
		e.take(&b, first)
	}
	for more := true; more && len(b.requests) < maxRequests; {
		select {
		case r := <-e.requests:
			e.take(&b, r)
		default:
			more = false
		}
	}
	return b
}

// note remembers, until recovery is over, what the back-end has reported.
func (e *Engine) note(ev dovetail.Event) dovetail.Event {
	if e.ready {
		return ev
	}
	if n, ok := ev.(dovetail.NodeUp); ok {
		e.seenNodes[n.Node.Name] = true
	} else if id, _ := replicaOf(ev); id != (dovetail.Replica{}) {
		e.seenReplicas[id] = true
	}
	return ev
}

// take adds a caller's event to the batch. Who only wants to look does so at once.
func (e *Engine) take(b *batch, r *request) {
	if r.look != nil {
		r.look(e.turner.Core(), e.now())
		r.answer(nil)
		return
	}
	ev, err := r.event(b, e.turner.Core().Next()+dovetail.RunID(b.runs))
	if err != nil {
		r.answer(err)
		return
	}
	if _, ok := ev.(dovetail.Submitted); ok {
		b.runs++
	}
	b.events = append(b.events, ev)
	b.requests = append(b.requests, r)
}

// turn takes one turn with a batch, answers the callers, and acts.
func (e *Engine) turn(ctx context.Context, b batch) error {
	first := len(b.events) - len(b.requests)
	if e.due(e.now()) {
		b.events = append(b.events, dovetail.Tick{})
	}
	if len(b.events) == 0 {
		return nil
	}
	res, err := e.commit(ctx, b.events...)
	if err != nil {
		return err
	}
	for i, r := range b.requests {
		err := res.Err(first + i)
		if err == nil && r.finish != nil {
			r.finish(&res)
		}
		r.answer(err)
	}
	e.act(&res)
	return nil
}

// commit takes one turn and returns when it is durable. While the store fails it goes on trying, until the context ends.
func (e *Engine) commit(ctx context.Context, events ...dovetail.Event) (TurnResult, error) {
	lasting := context.WithoutCancel(ctx) // an append that has begun is not torn
	res, err := e.turner.Turn(lasting, time.Now(), events...)
	if err != nil {
		if !e.turner.Pending() {
			return res, err
		}
		if res, err = e.persist(ctx, err); err != nil {
			return res, err
		}
	}
	if res.Behind > 0 && !e.warnedClock {
		e.warnedClock = true
		e.log.Warn("the clock is behind the journal; until it has caught up, time stands still for the scheduler", "behind", res.Behind)
	}
	for i, err := range res.Refused {
		if err != nil && i < len(events) {
			e.log.Debug("an event was refused", "event", dovetail.EventType(events[i]), "error", err)
		}
	}
	e.stats.turned(len(events), &res)
	e.watchers.publish(res.Changes.Events)
	e.opts.Recorded(&res.Changes)
	for i := range res.Changes.Records {
		if isReset(res.Changes.Records[i].Event) {
			e.resets.Add(1) // after Recorded: who knows the number has heard of it
		}
	}
	e.wake = e.turner.Core().Wake()
	e.keep(lasting)
	return res, nil
}

// persist appends the pending turn again and again, later and later. Meanwhile replicas go on running, nothing new is
// accepted, and who wants to look may.
func (e *Engine) persist(ctx context.Context, cause error) (TurnResult, error) {
	e.log.Error("the store fails; nothing is accepted, started or stopped until it works again", "error", cause)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		problem := fmt.Sprintf("the store fails: %v; nothing is accepted until it works again, what runs goes on", cause)
		e.health.set(false, problem)
		if err := e.refuse(ctx, wait, problem); err != nil {
			return TurnResult{}, err
		}
		res, err := e.turner.Retry(context.WithoutCancel(ctx))
		if err == nil {
			e.log.Info("the store works again")
			e.healthy()
			return res, nil
		}
		cause = err
	}
}

// refuse answers callers for a while without taking turns.
func (e *Engine) refuse(ctx context.Context, wait time.Duration, problem string) error {
	nap := time.NewTimer(wait)
	defer nap.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-nap.C:
			return nil
		case r := <-e.requests:
			if r.look != nil {
				r.look(e.turner.Core(), e.now())
				r.answer(nil)
			} else {
				r.answer(dovetail.Errorf(dovetail.Unavailable, "%s", problem))
			}
		}
	}
}

// healthy sets the health of an engine whose store works.
func (e *Engine) healthy() {
	if e.ready {
		e.health.set(true, "")
	} else {
		e.health.set(false, "the state is loaded; waiting for the back-end to report what runs")
	}
}

// act lets the back-end do what a durable turn decided.
func (e *Engine) act(res *TurnResult) {
	for _, c := range res.Commands {
		e.command(c)
	}
	if e.opts.Backend != nil {
		for _, a := range res.Plan.Actions {
			e.do(res.At, a)
		}
	}
}

func (e *Engine) command(c Command) {
	e.opts.Hook("action.before")
	c.Do(e.opts.Runner)
	e.opts.Hook("action.after")
}

func (e *Engine) do(at time.Time, a dovetail.Action) {
	e.opts.Hook("action.before")
	e.opts.Backend.Do(at, a)
	e.opts.Hook("action.after")
}

// due reports whether the core wants a turn although nothing happened.
func (e *Engine) due(now time.Time) bool {
	return e.ready && !e.wake.IsZero() && !now.Before(e.wake)
}

// nap returns how long the loop may wait for something to happen.
func (e *Engine) nap() time.Duration {
	if !e.ready || e.wake.IsZero() {
		return longestNap
	}
	return min(max(time.Until(e.wake), 0), longestNap)
}

// keep stores a snapshot when one is due. Without it the journal only grows longer, so that a failure can wait.
func (e *Engine) keep(ctx context.Context) {
	if e.turner.length() < e.snapshotAt {
		return
	}
	e.snapshotAt = e.turner.length() + int64(e.opts.SnapshotEvery)
	snap, err := e.turner.Snapshot()
	if err == nil {
		err = e.opts.Store.Snapshot(ctx, snap)
	}
	if err != nil {
		e.log.Warn("no snapshot could be stored; the next one is tried later", "error", err)
		return
	}
	e.stats.change(func(n *Stats) { n.Snapshots++ })
}
