package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// bubble runs f with a daemon that is ready, and stops the daemon afterwards.
func bubble(t *testing.T, f func(t *testing.T, d *daemon)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(t, newWorld(1, machine("n1", 4000)))
		d.start()
		d.ready()
		f(t, d)
		d.stop()
	})
}

func TestStoreFails(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		first := d.submit(wordcount(1, time.Hour), "")
		<-time.After(10 * time.Second)
		synctest.Wait()
		d.store.fail(-1)
		late := make(chan error, 1)
		go func() {
			_, _, err := d.engine.Submit(t.Context(), engine.Submission{App: wordcount(0, time.Second), Name: "late"})
			late <- err
		}()
		<-time.After(time.Minute)
		synctest.Wait()
		if h := d.engine.Health(); h.Ready || !strings.Contains(h.Problem, errDiskFull.Error()) {
			t.Errorf("while the store fails, health is %+v; want not ready, with the cause", h)
		}
		_, _, err := d.engine.Submit(t.Context(), engine.Submission{App: wordcount(0, 0)})
		if dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), errDiskFull.Error()) {
			t.Errorf("a submission while the store fails: got %v; want Unavailable, with the cause", err)
		}
		if err := d.engine.Tell(t.Context(), dovetail.Cancelled{Run: first}); dovetail.CodeOf(err) != dovetail.Unavailable {
			t.Errorf("a cancellation while the store fails: got %v; want Unavailable", err)
		}
		looked := false
		if err := d.engine.Inspect(t.Context(), func(*sched.Core, time.Time) { looked = true }); err != nil || !looked {
			t.Errorf("a look while the store fails: got %v; want it to be granted", err)
		}
		if d.world.started != 3 {
			t.Errorf("%d replicas were started; want the 3 from before: nothing is acted on that is not on record", d.world.started)
		}
		if n := d.store.failures(); n < 5 || n > 60 {
			t.Errorf("%d attempts in a minute; want them to go on, later and later", n)
		}
		select {
		case err := <-late:
			t.Errorf("what is not on record was answered with %v; want it to wait", err)
		default:
		}
		d.store.fail(0)
		if err := <-late; err != nil {
			t.Errorf("when the store works again, the submission that waited got %v; want it on record", err)
		}
		await(t, "health is restored", func() bool { return d.engine.Health().Ready })
		await(t, "the run ends", func() bool { return d.engine.Stats().AppendFailures > 0 && d.ended1(2) })
		if err := d.engine.Tell(t.Context(), dovetail.Cancelled{Run: first}); err != nil {
			t.Error(err)
		}
		await(t, "all runs end", func() bool { return d.store.allEnded(2) })
		d.store.check(t, 2)
	})
}

// ended1 reports whether the run has ended.
func (d *daemon) ended1(id dovetail.RunID) bool {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	return d.store.ends[id] == 1
}

func TestCallersDoNotWaitLongerThanTheyLike(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		d.store.fail(-1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := d.engine.Submit(ctx, engine.Submission{App: wordcount(0, time.Second), Key: "k"})
		if dovetail.CodeOf(err) != dovetail.Unavailable || !strings.Contains(err.Error(), "same key") || !strings.Contains(err.Error(), errDiskFull.Error()) {
			t.Errorf("got %v; want Unavailable, the cause, and what to do", err)
		}
		d.store.fail(0)
		s, created, err := d.engine.Submit(t.Context(), engine.Submission{App: wordcount(0, time.Second), Key: "k"})
		if err != nil || created || s.ID != 1 {
			t.Errorf("asked again with the same key: run %d, created: %t, %v; want run 1 of the first attempt", s.ID, created, err)
		}
	})
}

func TestKeys(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		app := wordcount(0, time.Second)
		var wg sync.WaitGroup
		var mu sync.Mutex
		created, ids := 0, make(map[dovetail.RunID]bool)
		for range 50 {
			wg.Go(func() {
				s, fresh, err := d.engine.Submit(t.Context(), engine.Submission{App: app, Key: "k", Digest: "a"})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if fresh {
					created++
				}
				ids[s.ID] = true
			})
		}
		wg.Wait()
		if created != 1 || len(ids) != 1 {
			t.Errorf("50 submissions with one key made %d runs, %v; want one", created, ids)
		}
		_, _, err := d.engine.Submit(t.Context(), engine.Submission{App: app, Key: "k", Digest: "b"})
		if dovetail.CodeOf(err) != dovetail.Conflict {
			t.Errorf("the key with another digest: got %v; want Conflict", err)
		}
		await(t, "the run ends", func() bool { return d.store.allEnded(1) })
		d.stop()
		d.start()
		d.ready()
		s, fresh, err := d.engine.Submit(t.Context(), engine.Submission{App: app, Key: "k", Digest: "a"})
		if err != nil || fresh || s.ID != 1 || s.State != dovetail.Ended {
			t.Errorf("the key of an ended run, after a restart: %+v, created: %t, %v; want run 1, ended", s, fresh, err)
		}
		if next := d.submit(app, ""); next != 2 {
			t.Errorf("the next run is %d; want 2: numbers go on after a restart", next)
		}
	})
}

func TestSubmit(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		big := wordcount(0, time.Second)
		big.Components[1].Count = 99
		cases := []struct {
			reason string
			sub    engine.Submission
			code   dovetail.ErrorCode
			want   dovetail.RunStatus // Name, Class, State, Held
		}{
			{"there must be an application", engine.Submission{}, dovetail.Invalid, dovetail.RunStatus{}},
			{"with components", engine.Submission{App: &dovetail.Application{Name: "x"}}, dovetail.Invalid, dovetail.RunStatus{}},
			{"a core that can never fit is refused", engine.Submission{App: big}, dovetail.Invalid, dovetail.RunStatus{}},
			{"unless it may wait", engine.Submission{App: big, Wait: true}, "",
				dovetail.RunStatus{Name: "wordcount-1", Class: "wordcount", State: dovetail.Queued}},
			{"on hold", engine.Submission{App: wordcount(0, time.Second), Name: "mine", Hold: true}, "",
				dovetail.RunStatus{Name: "mine", Class: "wordcount", State: dovetail.Queued, Held: true}},
			{"parameters make the class, in order of name", engine.Submission{App: wordcount(0, 0), Params: map[string]string{"b": "x&y", "a": "1"}, Hold: true}, "",
				dovetail.RunStatus{Name: "wordcount-3", Class: "wordcount?a=1&b=x%26y", State: dovetail.Queued, Held: true}},
		}
		for _, c := range cases {
			s, created, err := d.engine.Submit(t.Context(), c.sub)
			if c.code != "" {
				if dovetail.CodeOf(err) != c.code {
					t.Errorf("%s: got %v; want code %s", c.reason, err, c.code)
				}
				continue
			}
			if err != nil || !created || s.Name != c.want.Name || s.Class != c.want.Class || s.State != c.want.State || s.Held != c.want.Held {
				t.Errorf("%s: got %+v, created: %t, %v; want %+v", c.reason, s, created, err, c.want)
			}
		}
		s, _, err := d.engine.Submit(t.Context(), engine.Submission{App: wordcount(0, time.Second)})
		if err != nil || s.State != dovetail.Queued && s.State != dovetail.Starting || s.Submitted.IsZero() {
			t.Errorf("got %+v, %v; want the status after the decision", s, err)
		}
	})
}

func TestTell(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		cases := []struct {
			reason string
			event  dovetail.Event
			code   dovetail.ErrorCode
		}{
			{"facts about replicas are not for callers", dovetail.ReplicasUp{}, dovetail.Invalid},
			{"nor are decisions", dovetail.Decided{}, dovetail.Invalid},
			{"nor submissions, which need a number", dovetail.Submitted{}, dovetail.Invalid},
			{"there is no such run", dovetail.Cancelled{Run: 7}, dovetail.NotFound},
			{"there is no such node", dovetail.Cordoned{Node: "x", On: true}, dovetail.NotFound},
			{"a configuration must be known", dovetail.Configured{}, dovetail.Invalid},
			{"what is learned must be of a class", dovetail.Fitted{}, dovetail.Invalid},
		}
		for _, c := range cases {
			if err := d.engine.Tell(t.Context(), c.event); dovetail.CodeOf(err) != c.code {
				t.Errorf("%s: got %v; want code %s", c.reason, err, c.code)
			}
		}
		seq := d.engine.Stats().Seq
		if err := d.engine.Tell(t.Context(), dovetail.Cordoned{Node: "n1", On: true}); err != nil || d.engine.Stats().Seq != seq+1 {
			t.Errorf("got %v after record %d; want the event on record as %d", err, d.engine.Stats().Seq, seq+1)
		}
	})
}

// Who wants to know what was recorded hears of every record once, in order, when it is on record, and of runs that end.
func TestRecordedIsToldOfAllThatIsOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(t, newWorld(1, machine("n1", 4000)))
		var last int64
		var ended []dovetail.RunID
		var imported int
		d.recorded = func(c *engine.Changes) {
			for _, r := range c.Records {
				if last++; r.Seq != last {
					t.Errorf("told of record %d; want %d", r.Seq, last)
				}
				if e, ok := r.Event.(dovetail.Imported); ok {
					imported += len(e.Runs)
				}
			}
			stored := int64(0)
			for r, err := range d.store.Replay(t.Context(), last-1) {
				if err == nil {
					stored = r.Seq
				}
			}
			if stored != last {
				t.Errorf("told of record %d, and the last in the store is %d", last, stored)
			}
			for i := range c.Runs {
				if s := &c.Runs[i]; s.State == dovetail.Ended {
					ended = append(ended, s.ID)
				}
			}
		}
		d.start()
		d.ready()
		id := d.submit(wordcount(1, time.Second), "")
		d.tell(dovetail.Imported{Runs: make([]dovetail.Past, 3)})
		await(t, "the run ends", func() bool { return d.store.allEnded(1) })
		synctest.Wait()
		d.stop()
		if len(ended) != 1 || ended[0] != id || imported != 3 || last != d.engine.Stats().Seq {
			t.Errorf("told of %d records, of which %d imported runs, and of the ends of %v; want %d, 3 and run %d", last, imported, ended, d.engine.Stats().Seq, id)
		}
	})
}

func TestDryRunChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		seq := d.engine.Stats().Seq
		plan, why, err := d.engine.DryRun(t.Context(), engine.Submission{App: wordcount(1, time.Second)})
		if err != nil || len(plan.Assign) != 3 || why.Run != 1 || why.State != dovetail.Starting {
			t.Errorf("got %+v, %+v, %v; want a plan that grants 3 replicas to run 1", plan, why, err)
		}
		big := wordcount(0, time.Second)
		big.Components[1].Count = 99
		if _, _, err := d.engine.DryRun(t.Context(), engine.Submission{App: big}); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("a core that can never fit: got %v; want Invalid", err)
		}
		if _, why, err := d.engine.DryRun(t.Context(), engine.Submission{App: big, Wait: true}); err != nil || why.State != dovetail.Queued || why.Text == "" {
			t.Errorf("which may wait: got %+v, %v; want why it would wait", why, err)
		}
		<-time.After(time.Minute)
		if got := d.engine.Stats().Seq; got != seq || d.world.started != 0 {
			t.Errorf("the journal ends with record %d and %d replicas were started; want %d and none", got, d.world.started, seq)
		}
	})
}

func TestWatch(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := d.engine.Watch(ctx)
		lazy := d.engine.Watch(t.Context())
		last := d.engine.Watch(t.Context())
		d.submit(wordcount(0, time.Second), "")
		var seen []string
		seq := int64(0)
		for e := range events {
			if e.Seq < seq {
				t.Errorf("record %d after %d", e.Seq, seq)
			}
			seq = e.Seq
			seen = append(seen, e.Type)
			if strings.Contains(e.Text, "has ended") {
				cancel() // closes the channel
			}
		}
		if got := strings.Join(seen, " "); !strings.HasPrefix(got, "submitted decided up ready") {
			t.Errorf("saw %s; want the whole life of the run", got)
		}
		drained := make(chan bool)
		go func() { // one that keeps up sees everything
			n := 0
			for range last {
				n++
			}
			drained <- n > 5000
		}()
		for i := range 5000 {
			d.tell(dovetail.Cordoned{Node: "n1", On: i%2 == 0})
			if i%1000 == 0 {
				synctest.Wait() // it keeps up, even where it has no processor of its own
			}
		}
		n := 0
		for range lazy {
			n++
		}
		if n == 0 || n > 4096 {
			t.Errorf("a watcher that fell behind got %d records before its channel was closed", n)
		}
		d.stop()
		if !<-drained {
			t.Error("a watcher that kept up missed something, or was not closed at the end")
		}
		if _, open := <-d.engine.Watch(t.Context()); open {
			t.Error("after the end there is nothing to watch")
		}
		if _, _, err := d.engine.Submit(t.Context(), engine.Submission{App: wordcount(0, 0)}); dovetail.CodeOf(err) != dovetail.Unavailable {
			t.Errorf("after the end: got %v; want Unavailable", err)
		}
		d.start()
	})
}

func TestGroupCommit(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		before := d.engine.Stats()
		d.hook = func(point string) { // an append takes its time, in which others come: all of them, however many processors there are
			if point == "append.before" {
				<-time.After(time.Millisecond)
			}
		}
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				if _, _, err := d.engine.Submit(t.Context(), engine.Submission{App: wordcount(0, 0), Name: fmt.Sprint(i), Hold: true}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		after := d.engine.Stats()
		turns, records := after.Turns-before.Turns, after.Records-before.Records
		if records != 500 || turns > 100 {
			t.Errorf("500 submissions at the same time took %d turns and %d records; want 500 records in few turns", turns, records)
		}
		if after.Append.Count() == 0 || after.Batch.Count() != after.Turns || after.Batch.Sum != float64(after.Events) {
			t.Errorf("the counters contradict each other: %+v", after)
		}
	})
}

// TestMaximumRuntime shows that the core is asked again when it wants to be, although nothing happens.
func TestMaximumRuntime(t *testing.T) {
	bubble(t, func(t *testing.T, d *daemon) {
		app := wordcount(1, time.Hour)
		app.MaxRuntime = dovetail.Duration(90 * time.Second)
		begin := time.Now()
		d.submit(app, "")
		await(t, "the run ends", func() bool { return d.store.allEnded(1) })
		if s := d.store.seen[1]; s.Outcome != dovetail.OutcomeTimedOut || time.Since(begin) > 95*time.Second {
			t.Errorf("the run ended as %s after %v; want timedout after a minute and a half", s.Outcome, time.Since(begin))
		}
	})
}

func TestConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(t, newWorld(1, machine("n1", 4000)))
		inForce := func() dovetail.Config {
			d.start()
			d.ready()
			var c dovetail.Config
			if err := d.engine.Inspect(t.Context(), func(core *sched.Core, _ time.Time) { c = core.Config() }); err != nil {
				t.Fatal(err)
			}
			d.stop()
			return c
		}
		if c := inForce(); c != dovetail.DefaultConfig() {
			t.Errorf("in an empty store: %+v; want the default", c)
		}
		srpt := dovetail.DefaultConfig()
		srpt.Policy = "srpt"
		d.config = srpt
		if c := inForce(); c != srpt {
			t.Errorf("configured: %+v; want %+v", c, srpt)
		}
		d.config = dovetail.Config{}
		d.fresh.Policy = "edf" // it says nothing where something was in force
		if c := inForce(); c != srpt {
			t.Errorf("with none given: %+v; want what was in force, %+v", c, srpt)
		}
		n := 0
		for r, err := range d.store.Replay(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := r.Event.(dovetail.Configured); ok {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d configurations are on record; want 2: the first, and the change", n)
		}
		d = newDaemon(t, newWorld(1, machine("n1", 4000)))
		if d.fresh = srpt; inForce() != srpt {
			t.Error("in an empty store the configuration of fresh ones should be in force")
		}
		_, err := engine.Open(t.Context(), engine.Options{Store: d.store, Runner: d.world, Config: dovetail.Config{Policy: "x"}})
		if dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("an unknown policy: got %v; want Invalid", err)
		}
	})
}
