package learn_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/learn"
)

// others returns what else than outlooks the engine was told since it was asked last.
func (f *fakeEngine) others() []dovetail.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.other
	f.other = nil
	return all
}

// serve runs a service until the test ends.
func serve(t *testing.T, w *world, e *fakeEngine) *learn.Service {
	t.Helper()
	s := learn.NewService(w.learner, w.store, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, e)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
	return s
}

func away(class string) dovetail.KnownClass {
	return dovetail.KnownClass{Class: class, Seen: day, Updates: 3, Goodness: 5, Preferences: []dovetail.Preference{{Class: "x", H: 1, Updates: 3, Goodness: 5}}}
}

func submits(classes ...string) *engine.Changes {
	c := new(engine.Changes)
	for i, class := range classes {
		c.Submitted = append(c.Submitted, &dovetail.Run{ID: dovetail.RunID(100 + i), Class: class, App: driven()})
	}
	return c
}

// What was known of a class comes back when a run of it is submitted, or is there when the service begins: the daemon may have been killed in between.
func TestServiceBringsBackWhatWasPutAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newWorld(t, "cobell"), newFakeEngine(t)
		w.record(&engine.Changes{PutAway: []dovetail.KnownClass{away("b"), away("a"), away("waits"), away("c")}})
		if err := e.core.Apply(day, dovetail.Submitted{Run: &dovetail.Run{ID: 1, Name: "r", Class: "waits", App: driven()}}); err != nil {
			t.Fatal(err)
		}
		expect := func(reason string, want ...dovetail.KnownClass) {
			t.Helper()
			<-time.After(2 * time.Second)
			synctest.Wait()
			var back []dovetail.KnownClass
			for _, event := range e.others() {
				r, ok := event.(dovetail.Recalled)
				if !ok || !r.Back {
					t.Errorf("%s: told %v", reason, event)
				}
				back = append(back, r.Classes...)
				w.seq++
				w.record(&engine.Changes{Records: []engine.Record{{Seq: w.seq, At: day, Event: event}}})
			}
			if diff := cmp.Diff(want, back); diff != "" {
				t.Errorf("%s: back (-want +got):\n%s", reason, diff)
			}
		}
		s := serve(t, w, e)
		expect("a run waits", away("waits"))
		s.Recorded(submits("b", "new", "a", "a"))
		expect("runs are submitted", away("a"), away("b"))
		s.Recorded(submits("b", "a", "waits"))
		expect("they are back")
		if !e.core.Knows("a") || e.core.Knows("c") {
			t.Errorf("the core knows a: %t, c: %t", e.core.Knows("a"), e.core.Knows("c"))
		}
	})
}

// forgets lets all be forgotten, as an engine does: on record, then heard of, then counted.
func (w *world) forgets(t *testing.T, e *fakeEngine, s *learn.Service, at time.Time) {
	t.Helper()
	w.seq++
	c := w.record(&engine.Changes{Records: []engine.Record{{Seq: w.seq, At: at, Event: dovetail.Forgotten{}}}})
	if err := e.core.Apply(day, dovetail.Forgotten{}); err != nil {
		t.Fatal(err)
	}
	s.Recorded(c)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resets++
}

// What is forgotten while a service has it in hand stays forgotten: what was put away, of which the core knows nothing, and what runs said.
func TestWhatIsForgottenMeanwhileStaysForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newWorld(t, "cobell"), newFakeEngine(t)
		w.record(&engine.Changes{PutAway: []dovetail.KnownClass{away("a")}})
		s := serve(t, w, e)
		e.meddle = func() { w.forgets(t, e, s, day.Add(time.Hour)) }
		s.Recorded(submits("a"))
		<-time.After(5 * time.Second)
		synctest.Wait()
		if told := e.others(); len(told) > 0 || e.core.Knows("a") || e.meddle != nil {
			t.Errorf("told %v; the core knows a: %t", told, e.core.Knows("a"))
		}

		rng := rand.New(rand.NewPCG(7, 8))
		runs := some(rng, 10, .05, func() float64 { return 8 }) // the last one ends after nine hours
		e.meddle = func() { w.forgets(t, e, s, day.Add(5*time.Hour+time.Minute)) }
		s.Recorded(w.put(runs...))
		<-time.After(5 * time.Second)
		synctest.Wait()
		if p := evidenceOf(t, e.others(), 1); p.Runs != 4 || e.meddle != nil {
			t.Errorf("evidence of %d runs; expected the 4 that ended later", p.Runs)
		}
	})
}

// deaf is an archive that cannot say for a while which events there were.
type deaf struct {
	learn.Archive
	until time.Time
}

func (d deaf) Events(ctx context.Context, f engine.EventFilter) ([]dovetail.EventRecord, error) {
	if time.Now().Before(d.until) {
		return nil, errors.New("busy")
	}
	return d.Archive.Events(ctx, f)
}

// As long as it is not known what was forgotten nothing is learned; and a record of it that is damaged keeps nobody from learning.
func TestServiceWaitsForWhatWasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newWorld(t, "cobell"), newFakeEngine(t)
		rng := rand.New(rand.NewPCG(5, 6))
		w.put(some(rng, 10, .05, func() float64 { return 8 })...)
		w.record(&engine.Changes{Events: []dovetail.EventRecord{
			{Seq: 1, At: day.Add(7 * time.Hour), Type: "forgotten", Data: []byte(`{"class":7}`)},
			{Seq: 2, At: day.Add(5*time.Hour + time.Minute), Type: "forgotten", Data: []byte(`{}`)},
		}})
		s := learn.NewService(w.learner, deaf{w.store, time.Now().Add(10 * time.Second)}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx, e)
		}()
		<-time.After(9 * time.Second)
		synctest.Wait()
		if told := e.take(); len(told) > 0 {
			t.Errorf("told %v before it is known what was forgotten", told)
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		if p := evidenceOf(t, e.others(), 1); p.Runs != 4 {
			t.Errorf("evidence of %d runs; expected the 4 that ended after all was forgotten", p.Runs)
		}
		cancel()
		<-done
	})
}

// A service that begins knows what was forgotten before, and which evidence the core has.
func TestServiceRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		runs := some(rng, 10, .05, func() float64 { return 8 })
		for _, test := range []struct {
			reason    string
			forgotten time.Duration // after day; 0: nothing was
			imported  bool          // it made room for what was imported then
			known     bool          // the core has the evidence
			away      bool          // it was put away
			want      int           // runs of the evidence that the engine is told
		}{
			{"nothing was known", 0, false, false, false, 10},
			{"it was known", 0, false, true, false, 0},
			{"it was put away", 0, false, false, true, 0},
			{"it was forgotten after six runs", 5*time.Hour + time.Minute, false, false, false, 4},
			{"it made room after six runs", 5*time.Hour + time.Minute, true, false, false, 4},
			{"it was forgotten after all", 24 * time.Hour, false, false, false, 0},
		} {
			w, e := newWorld(t, "cobell"), newFakeEngine(t)
			w.put(runs...)
			if test.known {
				if err := e.core.Apply(day, dovetail.Paired{Evidence: *evidenceOf(t, w.fit(), 1)}); err != nil {
					t.Fatal(err)
				}
			}
			if test.away {
				k := dovetail.KnownClass{Class: "sort", Seen: day, Evidence: evidenceOf(t, w.fit(), 1)}
				w.record(&engine.Changes{PutAway: []dovetail.KnownClass{k}})
			}
			if test.forgotten > 0 {
				event := dovetail.Event(dovetail.Forgotten{Class: "sort"})
				if test.imported {
					event = dovetail.Recalled{All: true}
				}
				data, err := dovetail.EncodeEvent(event)
				if err != nil {
					t.Fatal(err)
				}
				others := dovetail.EventRecord{Seq: 1, At: day, Type: "recalled"} // not in place of all: without data
				w.record(&engine.Changes{Events: []dovetail.EventRecord{
					others, {Seq: 2, At: day.Add(test.forgotten), Type: dovetail.EventType(event), Data: data},
				}})
			}
			serve(t, w, e)
			got := 0
			for _, event := range e.others() {
				got += event.(dovetail.Paired).Evidence.Runs
			}
			if got != test.want {
				t.Errorf("%s: the engine was told of %d runs; expected %d", test.reason, got, test.want)
			}
		}
	})
}
