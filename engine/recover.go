package engine

import (
	"context"

	"github.com/dovetail-sched/dovetail"
)

// recover brings the record and reality together when the back-end has reported all there is. Until then events and
// submissions are recorded, but nothing is decided: a restart neither reclaims nor starts by mistake.
//
//   - Nodes that were not reported are gone. Replicas that were up and of which the Runner has no record are lost.
//   - What is to start, to stop or to stand still is asked for again: the crash may have fallen between record and action.
//   - What runs and is not on the roster was told to stop when it was reported (Roster.Stray).
//
// Then the first decision is taken.
func (e *Engine) recover(ctx context.Context) error {
	if r := e.turner.Roster(); r != nil {
		if missing := r.Missing(e.seenNodes, e.seenReplicas); len(missing) > 0 {
			e.log.Info("some nodes or replicas are gone since the daemon stopped", "number", len(missing))
			if err := e.turn(ctx, batch{events: missing}); err != nil {
				return err
			}
		}
		for _, c := range r.Again(e.seenReplicas) {
			e.command(c)
		}
	} else {
		e.tellAgain()
	}
	e.ready, e.seenNodes, e.seenReplicas = true, nil, nil
	e.turner.Hold(false)
	res, err := e.commit(ctx)
	if err != nil {
		return err
	}
	e.act(&res)
	e.healthy()
	e.log.Info("ready", "record", e.turner.Seq(), "waiting", e.turner.Core().Waiting(), "serving", len(e.turner.Core().Serving()))
	return nil
}

// tellAgain tells a back-end that deals in counts everything it is to do.
func (e *Engine) tellAgain() {
	c := e.turner.Core()
	for _, d := range c.Desired() {
		e.do(e.now(), d)
	}
	for _, id := range c.Serving() {
		if s, ok := c.Status(id); ok && s.State == dovetail.Stopping {
			e.do(e.now(), dovetail.StopRun{Run: id})
		}
	}
}
