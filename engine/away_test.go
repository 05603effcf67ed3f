package engine_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
)

// shelf tells a core with room for three job classes about more, crashes before and after appends, and knows what must be known.
type shelf struct {
	t      *rapid.T
	store  *mem.Store
	turner *engine.Turner
	now    time.Time
	runs   map[string]int // that the evidence of a class rests on: what was told last, and not forgotten
	told   int
}

func (s *shelf) load() {
	turner, err := engine.Load(s.t.Context(), s.store, false)
	if err != nil {
		s.t.Fatalf("load: %v", err)
	}
	s.turner = turner
}

// turn takes a turn with an event, and crashes at a point on the way ("" for none). What was not on record by then is told again.
func (s *shelf) turn(e dovetail.Event, crash string) {
	s.now = s.now.Add(time.Second)
	crashed := func() (crashed bool) {
		defer func() {
			if r := recover(); r != nil {
				if err, ok := r.(error); !ok || !errors.Is(err, errCrash) {
					panic(r)
				}
				crashed = true
			}
		}()
		s.turner.Hook(func(point string) {
			if point == crash {
				panic(errCrash)
			}
		})
		res, err := s.turner.Turn(s.t.Context(), s.now, e)
		if err != nil || res.Err(0) != nil {
			s.t.Fatalf("turn with %v: %v, %v", e, err, res.Err(0))
		}
		return false
	}()
	if crashed {
		s.load()
	}
	if crashed && crash == "append.before" {
		s.turn(e, "")
	}
}

// found returns on how many runs the evidence of each class rests, in the core or put away, wherever it is more.
func (s *shelf) found() map[string]int {
	away, err := s.store.PutAway(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	all := make(map[string]int)
	for _, k := range append(away, s.turner.Core().Neighbours()...) {
		if k.Evidence != nil {
			all[k.Class] = max(all[k.Class], k.Evidence.Runs)
		}
	}
	return all
}

func (s *shelf) class() string { return fmt.Sprintf("c%d", rapid.IntRange(0, 7).Draw(s.t, "class")) }

func (s *shelf) crash() string {
	return rapid.SampledFrom([]string{"", "", "append.before", "append.after"}).Draw(s.t, "crash")
}

// TestNothingKnownIsLost puts classes away, brings them back and forgets them in any order, with crashes at every step.
func TestNothingKnownIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &shelf{t: rt, store: mem.New(), now: noon, runs: make(map[string]int)}
		s.load()
		config := dovetail.DefaultConfig()
		config.Colocation.Classes = 3
		s.turn(dovetail.Configured{Config: config}, "")
		rt.Repeat(map[string]func(*rapid.T){
			"pair": func(*rapid.T) {
				s.told++
				class := s.class()
				s.turn(dovetail.Paired{Evidence: dovetail.Evidence{
					Class: class, Runs: s.told, Until: s.now, Rates: []dovetail.Rate{{Beside: s.class(), Rate: .5, Low: .4, High: .6, Runs: 1}},
				}}, s.crash())
				s.runs[class] = s.told
			},
			"back": func(*rapid.T) { // as learn does
				away, err := s.store.PutAway(rt.Context(), s.class())
				if err != nil {
					rt.Fatal(err)
				}
				if len(away) > 0 {
					s.turn(dovetail.Recalled{Classes: away, Back: true}, s.crash())
				}
			},
			"forget": func(*rapid.T) {
				class := s.class()
				s.turn(dovetail.Forgotten{Class: class}, s.crash())
				delete(s.runs, class)
			},
			"forget all": func(*rapid.T) {
				s.turn(dovetail.Forgotten{}, s.crash())
				clear(s.runs)
			},
			"snapshot": func(*rapid.T) {
				snap, err := s.turner.Snapshot()
				if err == nil {
					err = s.store.Snapshot(rt.Context(), snap)
				}
				if err != nil {
					rt.Fatal(err)
				}
			},
			"restart": func(*rapid.T) { s.load() },
			"": func(*rapid.T) {
				if diff := cmp.Diff(s.runs, s.found()); diff != "" {
					rt.Fatalf("evidence by class (-told +found):\n%s", diff)
				}
				if n := len(s.turner.Core().Neighbours()); n > 3 {
					rt.Fatalf("the core keeps %d classes", n)
				}
			},
		})
	})
}

// What follows from what was known before it was forgotten or imported anew is refused, even in one turn with that.
func TestTellAsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(t, newWorld(1, machine("n1", 4)))
		var heard atomic.Int64 // resets that Recorded was called with
		d.recorded = func(c *engine.Changes) {
			for i := range c.Records {
				switch c.Records[i].Event.(type) {
				case dovetail.Forgotten, dovetail.Recalled:
					heard.Add(1)
				}
			}
			<-time.After(time.Second) // what is asked for meanwhile gets into one turn
		}
		d.start()
		d.ready()
		a := dovetail.Recalled{Classes: []dovetail.KnownClass{{Class: "a", Seen: noon, Updates: 1, Goodness: 3}}, Back: true}
		for _, reset := range []dovetail.Event{dovetail.Forgotten{}, dovetail.Forgotten{Class: "b"}, dovetail.Recalled{Classes: a.Classes}} {
			before := d.engine.Resets()
			busy, first, second := make(chan error, 1), make(chan error, 1), make(chan error, 1)
			go func() { busy <- d.engine.Tell(t.Context(), dovetail.Configured{Config: dovetail.DefaultConfig()}) }()
			synctest.Wait() // the loop is busy with it for a second
			go func() { first <- d.engine.Tell(t.Context(), reset) }()
			synctest.Wait()
			go func() { second <- d.engine.TellAsOf(t.Context(), before, a) }()
			synctest.Wait()
			if err := errors.Join(<-busy, <-first); err != nil {
				t.Fatal(err)
			}
			if err := <-second; dovetail.CodeOf(err) != dovetail.Conflict {
				t.Errorf("in one turn with %v: error %v; expected a conflict", reset, err)
			}
			if err := d.engine.TellAsOf(t.Context(), before, a); dovetail.CodeOf(err) != dovetail.Conflict {
				t.Errorf("after %v: error %v; expected a conflict", reset, err)
			}
			if now := d.engine.Resets(); now != before+1 || now != heard.Load() {
				t.Errorf("after %v: %d resets, %d heard of; expected one more than %d", reset, now, heard.Load(), before)
			}
		}
		if err := d.engine.TellAsOf(t.Context(), d.engine.Resets(), a); err != nil {
			t.Errorf("as of now: %v", err)
		}
		if n := d.engine.Resets(); n != 3 {
			t.Errorf("%d resets; what is brought back is none", n)
		}
		d.stop()
	})
}
