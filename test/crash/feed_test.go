package crash_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// inFlight is how many runs the feeder keeps in the system.
const inFlight = 10

// feeder submits jobs one after the other, whichever daemon answers, and follows each to its end.
type feeder struct {
	client *client.Client
	seed   uint64
	dir    string
	fail   func(error) // called from any goroutine

	mu   sync.Mutex
	jobs []*job
	wg   sync.WaitGroup
}

// feed submits jobs until stop is closed. Then it waits until all have ended.
func (f *feeder) feed(ctx context.Context, stop <-chan struct{}) {
	room := make(chan struct{}, inFlight)
	defer f.wg.Wait()
	for n := 0; ; n++ {
		select {
		case room <- struct{}{}:
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
		j := makeJob(f.seed, n, f.dir)
		f.mu.Lock()
		f.jobs = append(f.jobs, j)
		f.mu.Unlock()
		f.wg.Go(func() {
			defer func() { <-room }()
			if err := f.follow(ctx, j); err != nil {
				f.fail(fmt.Errorf("job %s (%s, run %d): %w", j.key, j.kind, j.run, err))
			}
		})
	}
}

// follow takes one job from its submission to its end.
func (f *feeder) follow(ctx context.Context, j *job) error {
	request := client.SubmitRequest{Spec: []byte(j.spec), Key: j.key, Hold: j.hold}
	for range 2 { // the second time the key is known, as if the first answer had been lost
		err := f.persist(ctx, func() error {
			s, err := f.client.Submit(ctx, request)
			if err == nil && j.run != 0 && (s.ID != j.run || s.Created) {
				return fmt.Errorf("the key gave run %d first and run %d (created: %t) then", j.run, s.ID, s.Created)
			}
			if err == nil {
				j.run = s.ID
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("submit: %w", err)
		}
	}
	id := fmt.Sprint(j.run)
	switch {
	case j.hold:
		if err := f.insist(ctx, func() error { return f.client.Release(ctx, id) }); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	case j.cancel:
		if err := f.insist(ctx, func() error { return f.client.Cancel(ctx, id) }); err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
	}
	return f.end(ctx, j, id)
}

// end waits for the end of a run and looks at its outcome.
func (f *feeder) end(ctx context.Context, j *job, id string) error {
	for {
		var detail client.RunDetail
		err := f.persist(ctx, func() (err error) {
			detail, err = f.client.Run(ctx, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("ask for its state: %w", err)
		}
		if detail.Status.State == dovetail.Ended {
			if detail.Status.Outcome != j.outcome {
				return fmt.Errorf("it ended as %s (%s), want %s", detail.Status.Outcome, detail.Status.Why, j.outcome)
			}
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("it is still %s (%+v): %w", detail.Status.State, detail.Status, err)
		}
	}
}

// persist repeats a request for as long as no daemon answers.
func (f *feeder) persist(ctx context.Context, request func() error) error {
	for {
		err := request()
		if err == nil || dovetail.CodeOf(err) != dovetail.Unavailable {
			return err
		}
		if ctx.Err() != nil || pause(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// insist is persist for a request that may have succeeded before its answer was lost: then it contradicts the state.
func (f *feeder) insist(ctx context.Context, request func() error) error {
	err := f.persist(ctx, request)
	if err != nil && dovetail.CodeOf(err) == dovetail.Conflict {
		return nil
	}
	return err
}

// pause waits for d, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
