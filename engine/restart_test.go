package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// TestRestart changes the world while no daemon runs.
func TestRestart(t *testing.T) {
	master := dovetail.Replica{Run: 1, Attempt: 1}
	cases := []struct {
		reason  string
		while   func(d *daemon) // the daemon is down
		retries int             // of run 1 afterwards
		started int             // replicas, in all
	}{
		{"nothing happened: replicas are adopted, none is started anew", func(*daemon) {}, 0, 4},
		{"the core worker exited meanwhile and is replaced", func(d *daemon) {
			d.world.die(d.world.find(1, 1), dovetail.Exit{Code: 1})
		}, 1, 5},
		{"the master exited meanwhile, which the run survives once more", func(d *daemon) {
			d.world.die(d.world.procs[master], dovetail.Exit{Code: 1})
		}, 1, 5},
		{"the record of the master is lost: it is not started under the same name", func(d *daemon) {
			d.world.lose(master)
		}, 1, 5},
		{"a node is gone, with all that ran on it", func(d *daemon) {
			d.world.remove("n2")
		}, 1, 6},
		{"an orphan is stopped", func(d *daemon) {
			d.world.adopt(dovetail.Replica{Run: 77, Attempt: 5}, d.world.procs[master])
		}, 0, 5},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.reason, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDaemon(t, newWorld(1, machine("n2", 1000), machine("n1", 2000)))
				d.start()
				d.ready()
				d.submit(wordcount(2, 5*time.Minute), "")
				<-time.After(10 * time.Second)
				synctest.Wait()
				d.stop()
				c.while(d)
				d.start()
				d.ready()
				<-time.After(30 * time.Second)
				synctest.Wait()
				err := d.engine.Inspect(t.Context(), func(core *sched.Core, _ time.Time) {
					s, ok := core.Status(1)
					if !ok || s.State != dovetail.Running || s.Retries != c.retries {
						t.Errorf("run 1 is %s after %d retries; want running after %d", s.State, s.Retries, c.retries)
					}
				})
				if err != nil {
					t.Error(err)
				}
				if d.world.started != c.started {
					t.Errorf("%d replicas were started in all; want %d", d.world.started, c.started)
				}
				d.tell(dovetail.Cancelled{Run: 1})
				await(t, "the run ends", func() bool { return d.store.allEnded(1) })
				<-time.After(time.Minute)
				synctest.Wait()
				d.stop()
				d.replays()
				d.store.check(t, 1)
				d.world.check(t)
			})
		})
	}
}

func (w *world) find(run dovetail.RunID, component int) *proc {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.ids() {
		if id.Run == run && id.Component == component {
			return w.procs[id]
		}
	}
	return nil
}

// lose drops a replica and every trace of it.
func (w *world) lose(id dovetail.Replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.procs[id].state = dead
	delete(w.procs, id)
}

// remove takes a node away; what runs there goes on.
func (w *world) remove(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, n := range w.nodes {
		if n.Name == name {
			w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
			w.nodes = append(w.nodes, machine("n3", 1000))
			return
		}
	}
}

// adopt lets something run that nobody asked for.
func (w *world) adopt(id dovetail.Replica, like *proc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started++
	p := &proc{launch: like.launch, state: alive}
	p.launch.Replica = id
	w.procs[id] = p
}

// TestNothingIsDecidedBeforeItIsKnownWhatRuns restarts with a runner that takes its time.
func TestNothingIsDecidedBeforeItIsKnownWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, machine("n1", 4000))
		d := newDaemon(t, w)
		d.start()
		d.ready() // the node is on record: there is room
		d.stop()
		w.reluctant = make(chan struct{})
		d.start()
		id := d.submit(wordcount(0, time.Second), "")
		<-time.After(time.Minute)
		synctest.Wait()
		if h := d.engine.Health(); h.Ready || h.Problem == "" {
			t.Errorf("health is %+v; want not ready, and why", h)
		}
		if w.started != 0 || d.store.seen[id].State != dovetail.Queued {
			t.Errorf("%d replicas were started and run %d is %s; want it accepted and nothing decided", w.started, id, d.store.seen[id].State)
		}
		big := wordcount(0, time.Second)
		big.Components[0].Resources = dovetail.Resources{dovetail.CPU: 5000}
		if _, _, err := d.engine.Submit(t.Context(), engine.Submission{App: big}); dovetail.CodeOf(err) != dovetail.Unavailable {
			t.Errorf("a run that may fit a node that is not known yet: got %v; want Unavailable", err)
		}
		close(w.reluctant)
		await(t, "the run ends", func() bool { return d.store.allEnded(1) })
		d.stop()
	})
}

// TestAllReportsAreHeardBeforeTheFirstDecision restarts with more replicas than fit into one batch.
func TestAllReportsAreHeardBeforeTheFirstDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(t, newWorld(1, machine("n1", 1_000_000)))
		d.replayEach = 1000
		d.start()
		d.ready()
		app := wordcount(1500, time.Hour)
		app.Components[1].Resources = dovetail.Resources{1}
		d.submit(app, "")
		<-time.After(time.Minute)
		synctest.Wait()
		d.stop()
		before := d.world.started
		d.start()
		d.ready()
		<-time.After(time.Minute)
		synctest.Wait()
		if before != 1502 || d.world.started != before {
			t.Errorf("%d replicas were started, and after a restart %d; want 1502 and no more", before, d.world.started)
		}
		d.stop()
	})
}

// failing is a runner that ends.
type failing struct{ *world }

func (f failing) Run(context.Context, chan<- dovetail.Event, func()) error {
	return errors.New("no cgroups")
}

func TestBackendThatStopsEndsTheEngine(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Options{Store: newLedger(), Runner: failing{newWorld(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no cgroups") {
		t.Errorf("Run returned %v; want the back-end's reason", err)
	}
}

// counter is a Backend that deals in counts: what it is told comes true at once.
type counter struct {
	nodes []dovetail.Node
	have  map[dovetail.Slot]int
	told  []dovetail.Action
	out   chan dovetail.Event
}

// Do does what engine.Backend says.
func (c *counter) Do(_ time.Time, a dovetail.Action) {
	c.told = append(c.told, a)
	switch a := a.(type) {
	case dovetail.RunReplicas:
		if more := a.N - c.have[a.Slot]; more > 0 {
			c.out <- dovetail.ReplicasUp{Slot: a.Slot, N: more}
		} else if more < 0 {
			c.out <- dovetail.ReplicasDown{Slot: a.Slot, N: -more, WasUp: true, Exit: dovetail.Exit{Asked: true}}
		}
		c.have[a.Slot] = a.N
	case dovetail.StopRun:
		for s, n := range c.have {
			if s.Run == a.Run && n > 0 {
				c.out <- dovetail.ReplicasDown{Slot: s, N: n, WasUp: true, Exit: dovetail.Exit{Asked: true}}
				delete(c.have, s)
			}
		}
	}
}

// Observe does what engine.Backend says.
func (c *counter) Observe(context.Context) ([]dovetail.Event, error) {
	var events []dovetail.Event
	for _, n := range c.nodes {
		events = append(events, dovetail.NodeUp{Node: n})
	}
	return events, nil
}

// Run does what engine.Backend says.
func (c *counter) Run(ctx context.Context, inbox chan<- dovetail.Event) error {
	for {
		select {
		case e := <-c.out:
			inbox <- e
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestBackendInCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &counter{nodes: []dovetail.Node{machine("n1", 10_000)}, have: make(map[dovetail.Slot]int), out: make(chan dovetail.Event, 100)}
		store := newLedger()
		app := wordcount(7, 0)
		app.Components[0].Ready = nil
		run := func(f func(e *engine.Engine)) {
			e, err := engine.Open(t.Context(), engine.Options{Store: store, Backend: b})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- e.Run(ctx) }()
			await(t, "the engine is ready", func() bool { return e.Health().Ready })
			f(e)
			<-time.After(time.Second)
			synctest.Wait()
			if broken := engine.TurnerOf(e).Validate(); len(broken) > 0 {
				t.Errorf("broken: %v", broken)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		run(func(e *engine.Engine) {
			if _, _, err := e.Submit(t.Context(), engine.Submission{App: app}); err != nil {
				t.Error(err)
			}
		})
		total := 0
		for _, n := range b.have {
			total += n
		}
		if total != 9 {
			t.Errorf("%d replicas run, want 1 master and 8 workers", total)
		}
		b.told = nil
		run(func(e *engine.Engine) {
			if len(b.told) != 3 {
				t.Errorf("after a restart the back-end was told %v; want the desired state of its 3 slots again", b.told)
			}
			if err := e.Tell(t.Context(), dovetail.Cancelled{Run: 1}); err != nil {
				t.Error(err)
			}
		})
		store.check(t, 1)
	})
}
