package engine_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// TestCrashAtEveryPoint crashes the engine at every single point before and after an append or an action, each time in a
// new world, and restarts it on what is left: the store, and the replicas that go on running. Nothing is lost, doubled or
// orphaned. Submissions are repeated with their keys, as clients do.
func TestCrashAtEveryPoint(t *testing.T) {
	for seed := range uint64(2) {
		crashes := 1
		for point := 1; crashes > 0 && !t.Failed(); point++ {
			t.Run(fmt.Sprintf("%d/%d", seed, point), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { crashes = survive(t, seed, 4, point, false) })
			})
		}
	}
}

// TestCrashAgainAndAgain crashes the engine again and again, a little later each time, also while it recovers from the last
// crash.
func TestCrashAgainAndAgain(t *testing.T) {
	for seed := range uint64(12) {
		first := 3 + int(seed)
		t.Run(fmt.Sprintf("%d/%d", seed, first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if n := survive(t, seed, 6, first, true); n < 3 {
					t.Errorf("the engine crashed %d times; want more, or this shows little", n)
				}
			})
		})
	}
}

// survive lets so many runs come and go while the engine crashes at this point, or again and again from it on, and returns
// how often it did.
func survive(t *testing.T, seed uint64, runs, points int, again bool) int {
	t.Helper()
	w := newWorld(seed, machine("n1", 2000), machine("n2", 1500))
	w.chaos = seed%2 == 1
	d := newDaemon(t, w)
	d.replayEach, d.every = 50, 30
	left, crashes := points, 0 // only the loop of one engine at a time uses them
	d.hook = func(string) {
		if left--; left == 0 {
			crashes++
			if again { // a recovery that never gets to its end cannot be survived
				left = points + 4*crashes
			}
			panic(errCrash)
		}
	}
	d.start()
	var submitted sync.WaitGroup
	c := &restarter{d: d}
	c.watch()
	for i := range runs {
		submitted.Go(func() {
			<-time.After(time.Duration(i) * 700 * time.Millisecond)
			c.submit(wordcount(1+i%3, time.Duration(1+i)*time.Second), fmt.Sprintf("key-%d", i))
		})
	}
	submitted.Wait()
	await(t, "all runs end", func() bool { return d.store.allEnded(runs) })
	<-time.After(time.Minute)
	synctest.Wait()
	c.stop()
	d.replays()
	d.store.check(t, runs)
	w.check(t)
	return crashes
}

// restarter starts an engine again whenever it has crashed, as a supervisor does.
type restarter struct {
	d      *daemon
	mu     sync.Mutex // guards d.engine
	over   bool
	halted chan struct{}
}

func (r *restarter) watch() {
	r.halted = make(chan struct{})
	go func() {
		defer close(r.halted)
		for {
			err := <-r.d.ended
			if r.stopping() {
				if err != nil {
					r.d.t.Errorf("Run returned %v; want nil when its context ends", err)
				}
				return
			}
			if !errors.Is(err, errCrash) {
				r.d.t.Errorf("Run returned %v; want a crash", err)
			}
			<-time.After(300 * time.Millisecond)
			r.mu.Lock()
			r.d.start()
			r.mu.Unlock()
		}
	}()
}

func (r *restarter) stop() {
	r.mu.Lock()
	r.over = true
	r.d.cancel()
	r.mu.Unlock()
	<-r.halted
}

func (r *restarter) stopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

func (r *restarter) engine() *engine.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.d.engine
}

// submit submits a run with a key until one engine or the next has it on record.
func (r *restarter) submit(app *dovetail.Application, key string) {
	for range 100 {
		_, _, err := r.engine().Submit(r.d.t.Context(), engine.Submission{App: app, Key: key, Digest: "d"})
		if err == nil {
			return
		}
		if dovetail.CodeOf(err) != dovetail.Unavailable {
			r.d.t.Errorf("submit %s: %v", key, err)
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	r.d.t.Errorf("submit %s: the engine was unavailable for too long", key)
}
