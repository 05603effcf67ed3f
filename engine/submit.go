package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// Submission asks for a run.
type Submission struct {
	App    *dovetail.Application // valid, and never changed afterwards
	Name   string                // of the run; empty: class name and number
	User   string
	Key    string            // the client's idempotency key: the same key never makes two runs; may be empty
	Digest string            // of the submitted body; tells a repeated key from a misused one
	Params map[string]string // resolved: every declared parameter has its value
	Hold   bool              // it waits until it is released
	Wait   bool              // accept it although its core fits no cluster known so far
	Input  int64             // bytes that it reads; 0: as App.InputSize says
}

// run makes a run with this ID of the submission.
func (s *Submission) run(id dovetail.RunID, app *dovetail.Application) *dovetail.Run {
	name := s.Name
	if name == "" {
		name = dovetail.RunName(app.Name, id)
	}
	return &dovetail.Run{
		ID: id, Name: name, Class: dovetail.ClassOf(app.Name, s.Params), User: s.User, Key: s.Key, Digest: s.Digest,
		Params: s.Params, App: app, Input: cmp.Or(s.Input, app.InputSize), Hold: s.Hold, Wait: s.Wait,
	}
}

// Run returns the run that the submission would make, without a number, and without a name unless one was chosen.
func (s *Submission) Run() *dovetail.Run {
	r := s.run(0, s.App)
	r.Name = s.Name
	return r
}

// check reports what is wrong with a submission whatever the state.
func (s *Submission) check() error {
	if s.App == nil || len(s.App.Components) == 0 {
		return dovetail.Errorf(dovetail.Invalid, "a submission needs an application with at least one component")
	}
	if s.Input < 0 {
		return dovetail.Errorf(dovetail.Invalid, "inputSize is %d; expected a number of bytes, 0 or more", s.Input)
	}
	return nil
}

// Submit records a run and returns its status when that is durable. The bool is false when the key was used before with the
// same digest: then the status is that of the run there is. The same key with another digest is a dovetail.Conflict error, a
// core that can never fit the cluster a dovetail.Invalid one (unless Wait is set), and while the store fails everything is
// dovetail.Unavailable.
func (e *Engine) Submit(ctx context.Context, s Submission) (dovetail.RunStatus, bool, error) {
	if err := s.check(); err != nil {
		return dovetail.RunStatus{}, false, err
	}
	release, err := e.claims.claim(ctx, e.done, s.Key)
	if err != nil {
		return dovetail.RunStatus{}, false, err
	}
	if known, err := e.byKey(ctx, s); known != nil || err != nil {
		release()
		if err != nil {
			return dovetail.RunStatus{}, false, err
		}
		return *known, false, nil
	}
	app := e.apps.intern(s.App)
	var id dovetail.RunID
	status := make(chan dovetail.RunStatus, 1)
	r := &request{drop: release}
	r.event = func(_ *batch, next dovetail.RunID) (dovetail.Event, error) {
		id = next
		if !s.Wait {
			if err := e.turner.Core().Fit(app); err != nil && !e.ready {
				return nil, dovetail.Errorf(dovetail.Unavailable, "the daemon is starting and does not know all of its nodes yet; submit again in a moment")
			} else if err != nil {
				return nil, orWait(err)
			}
		}
		return dovetail.Submitted{Run: s.run(id, app)}, nil
	}
	r.finish = func(res *TurnResult) {
		status <- res.status(id)
		release()
	}
	if err := e.ask(ctx, r); err != nil {
		return dovetail.RunStatus{}, false, err
	}
	return <-status, true, nil
}

// orWait adds to a refusal what else can be done in a cluster that may grow.
func orWait(refusal error) error {
	return dovetail.Errorf(dovetail.Invalid, "%v, or submit it to wait for capacity", refusal)
}

// status returns what a turn recorded of a run that it changed.
func (r *TurnResult) status(id dovetail.RunID) dovetail.RunStatus {
	i, ok := slices.BinarySearchFunc(r.Changes.Runs, id, func(s dovetail.RunStatus, id dovetail.RunID) int { return int(s.ID - id) })
	if !ok {
		return dovetail.RunStatus{ID: id, State: dovetail.Queued, Submitted: r.At}
	}
	return r.Changes.Runs[i]
}

// byKey returns the run that was submitted with the key before, or nil.
func (e *Engine) byKey(ctx context.Context, s Submission) (*dovetail.RunStatus, error) {
	if s.Key == "" {
		return nil, nil
	}
	runs, err := e.opts.Reader.Runs(ctx, RunFilter{Key: s.Key, Limit: 1})
	switch {
	case err != nil:
		return nil, dovetail.Errorf(dovetail.Unavailable, "cannot look up the key %q: %v; submit again with the same key", s.Key, err)
	case len(runs) == 0:
		return nil, nil
	case runs[0].Digest != s.Digest:
		return nil, dovetail.Errorf(dovetail.Conflict,
			"the key %q was used for run %d, with another submission; use a new key for a new run", s.Key, runs[0].ID)
	}
	return &runs[0], nil
}

// claims lets one submission with a key pass at a time: from before it looks the key up in the read side until its run is
// there. So two at the same time cannot both find nothing.
type claims struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when released
}

// claim waits until nobody else holds the key. The function that it returns must be called exactly once, unless the engine
// ends: then nobody gets any further.
func (c *claims) claim(ctx context.Context, ended <-chan struct{}, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	for {
		c.mu.Lock()
		other := c.held[key]
		if other == nil {
			if c.held == nil {
				c.held = make(map[string]chan struct{})
			}
			mine := make(chan struct{})
			c.held[key] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.held, key)
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ended:
			return nil, errStopping()
		case <-ctx.Done():
			return nil, dovetail.Errorf(dovetail.Unavailable, "another submission with the key %q is on its way; submit again with the same key", key)
		}
	}
}

// DryRun says what submitting would lead to now: the plan, and why the run would be where it is. It works on a copy; nothing is
// recorded. Copying takes time in proportion to the whole state.
func (e *Engine) DryRun(ctx context.Context, s Submission) (dovetail.Plan, dovetail.Explanation, error) {
	fail := func(err error) (dovetail.Plan, dovetail.Explanation, error) {
		return dovetail.Plan{}, dovetail.Explanation{}, err
	}
	if err := s.check(); err != nil {
		return fail(err)
	}
	var data json.RawMessage
	var now time.Time
	var failed error
	err := e.Inspect(ctx, func(c *sched.Core, at time.Time) { data, failed = c.Snapshot(); now = at })
	if err == nil {
		err = failed
	}
	if err != nil {
		return fail(err)
	}
	c, err := sched.Restore(data)
	if err != nil {
		return fail(fmt.Errorf("copy the state: %w", err))
	}
	if !s.Wait {
		if err := c.Fit(s.App); err != nil {
			return fail(orWait(err))
		}
	}
	id := c.Next()
	if err := c.Apply(now, dovetail.Submitted{Run: s.run(id, s.App)}); err != nil {
		return fail(err)
	}
	plan := c.Decide(now)
	if !plan.Empty() {
		if err := c.Apply(now, dovetail.Decided{Plan: plan}); err != nil {
			return fail(fmt.Errorf("apply the plan to the copy: %w", err))
		}
	}
	why, _ := c.Explain(id, now)
	return plan, why, nil
}
