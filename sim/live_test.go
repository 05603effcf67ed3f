package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/store/mem"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// machines is a back-end of the daemon: simulated machines, driven by real timers of the bubble instead of a player.
type machines struct {
	mu      sync.Mutex
	cluster *sim.Cluster
	inbox   chan<- dovetail.Event
	told    chan struct{} // there was an action
}

func (m *machines) Do(now time.Time, a dovetail.Action) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cluster.Do(now, a)
	select {
	case m.told <- struct{}{}:
	default:
	}
}

// sleep waits until a time, and reports whether it has come: an action, after a turn that the daemon took by itself, may have made
// something happen sooner.
func (m *machines) sleep(at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.told:
		return false
	}
}

func (m *machines) Observe(context.Context) ([]dovetail.Event, error) { return m.cluster.Nodes(), nil }

func (m *machines) Run(ctx context.Context, inbox chan<- dovetail.Event) error {
	m.mu.Lock()
	m.inbox = inbox
	m.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (m *machines) next() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster.Next()
}

// live plays a workload through the daemon's own loop: its goroutines, timers, inbox and requests. Reports and submissions of one
// instant are put in while the loop looks at the core, so that it finds all of them together, as it may at any time.
func live(t *testing.T, o sim.Options, jobs []trace.Job) []string {
	t.Helper()
	cluster, err := sim.NewCluster(o.Nodes, o.Model, o.Faults, o.Seed, sim.Epoch())
	if err != nil {
		t.Fatal(err)
	}
	cluster.Interfere(o.Interference)
	if err := cluster.Contend(o.Contention); err != nil {
		t.Fatal(err)
	}
	if o.Measure {
		cluster.Measure(time.Duration(o.Config.Colocation.Period))
	}
	m := &machines{cluster: cluster, told: make(chan struct{}, 1)}
	store := mem.New()
	e, err := engine.Open(t.Context(), engine.Options{Config: o.Config, Store: store, Backend: m})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	inside := func(f func()) {
		if err := e.Inspect(ctx, func(*sched.Core, time.Time) { f() }); err != nil {
			t.Fatal(err)
		}
	}
	left := 1
	for submitted := 0; left > 0 || submitted < len(jobs); {
		synctest.Wait()
		at, ok := m.next()
		if ok && (submitted == len(jobs) || !sim.Epoch().Add(jobs[submitted].Submit).Before(at)) {
			if !m.sleep(at) {
				continue
			}
			inside(func() {
				for _, ev := range cluster.Due(at) {
					m.inbox <- ev
				}
			})
			synctest.Wait()
			if err := e.Inspect(ctx, func(c *sched.Core, _ time.Time) { left = c.Waiting() + c.InService() }); err != nil {
				t.Fatal(err)
			}
			continue
		}
		at = sim.Epoch().Add(jobs[submitted].Submit)
		if !m.sleep(at) {
			continue
		}
		inside(func() {
			for ; submitted < len(jobs) && sim.Epoch().Add(jobs[submitted].Submit).Equal(at); submitted++ {
				j := &jobs[submitted]
				if err := cluster.Admit(dovetail.RunID(submitted+1), j); err != nil {
					t.Error(err)
				}
				running.Go(func() {
					if _, _, err := e.Submit(ctx, engine.Submission{App: j.App, User: j.User}); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait() // it is in the line of requests; now the next one
			}
		})
	}
	cancel()
	running.Wait()
	return journal(t, store)
}

func journal(t *testing.T, store engine.Store) []string {
	t.Helper()
	var lines []string
	for r, err := range store.Replay(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := dovetail.EncodeEvent(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %s", r.Seq, r.At.Format(time.RFC3339Nano), dovetail.EventType(r.Event), data))
	}
	return lines
}

// workload draws small applications of one to three components; some are submitted at the same instant.
func workload(seed uint64, n int) []trace.Job {
	rng := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, n)
	var at time.Duration
	for i := range jobs {
		if rng.IntN(4) > 0 {
			at += time.Duration(rng.IntN(60_000_000)) * time.Microsecond
		}
		runtime := time.Duration(1+rng.IntN(300_000_000)) * time.Microsecond
		app := &dovetail.Application{
			APIVersion: dovetail.APIVersion, Name: fmt.Sprintf("app-%d", rng.IntN(9)), Kind: dovetail.Batch, Expected: dovetail.Duration(runtime),
		}
		if rng.IntN(5) == 0 {
			app.Kind = dovetail.Interactive
		}
		for c := range 1 + rng.IntN(3) {
			comp := dovetail.Component{
				Name: fmt.Sprintf("c%d", c), Count: 1 + rng.IntN(3),
				Resources: dovetail.Resources{dovetail.CPU: int64(1+rng.IntN(4)) * 500, dovetail.Memory: int64(1+rng.IntN(4)) << 29},
				Restart:   dovetail.Restart{Retries: 3},
			}
			comp.Max = comp.Count + rng.IntN(6)
			if c > 0 && rng.IntN(2) == 0 {
				comp.After = []string{"c0"}
			}
			if rng.IntN(3) == 0 {
				comp.Ready = &dovetail.Ready{File: "there"}
			}
			app.Components = append(app.Components, comp)
		}
		jobs[i] = trace.Job{ID: int64(i + 1), Submit: at, Runtime: runtime, App: app, User: "ann"}
	}
	return jobs
}

// TestSimEqualsLive holds the simulator against the daemon: the same workload through both gives the same journal, byte for byte.
func TestSimEqualsLive(t *testing.T) {
	faults := sim.Faults{
		StartDelay: 700 * time.Millisecond, StartJitter: 300 * time.Millisecond, StopDelay: 1300 * time.Millisecond,
		ReplicaMTBF: 20 * time.Minute, NodeMTBF: 40 * time.Minute, NodeMTTR: 3 * time.Minute, SlowNodes: 0.3,
	}
	for _, tc := range []struct {
		policy, alloc string
		change        func(*sim.Options)
	}{
		{"fifo", "rigid", func(*sim.Options) {}},
		{"fifo", "flexible", func(*sim.Options) {}},
		{"fifo-backfill", "malleable", func(o *sim.Options) { o.Faults = sim.Faults{StopDelay: 2 * time.Second} }},
		{"sjf-2d", "flexible", func(o *sim.Options) { o.Config.Preempt = true }},
		{"srpt-3d2", "flexible", func(o *sim.Options) { o.Config.Reclaim = "lower"; o.Faults = faults }},
		{"hrrn", "flexible", func(o *sim.Options) { o.Faults = faults; o.Config.Place = "pack" }},
		{"edf", "malleable", func(o *sim.Options) { o.Config.MaxWait = dovetail.Duration(90 * time.Second) }},
		{"sjf-3d", "eager", func(o *sim.Options) { o.Faults = faults }},
		{"sjf", "flexible", func(o *sim.Options) {
			o.Faults, o.Interference = faults, byClass{"app-1": {0.5, 1}, "app-2": {0, 2}, "app-3": {1.5, 0}, "app-5": {0.3, 0.1}}
		}},
		{"hrrn", "malleable", func(o *sim.Options) {
			o.Faults, o.Contention, o.Measure = faults, contended(0.5), true
			o.Config.Colocation.Period = dovetail.Duration(20 * time.Second)
		}},
		{"fifo", "eager", func(o *sim.Options) {
			o.Contention, o.Measure = contended(0.5), true
			o.Config.Colocation = dovetail.Colocation{Choose: "bandit", Period: dovetail.Duration(20 * time.Second), Seed: 3}
		}},
		{"fifo-backfill", "flexible", func(o *sim.Options) {
			o.Faults, o.Contention, o.Measure = faults, contended(0.5), true
			o.Config.Colocation = dovetail.Colocation{Choose: "price", Window: 8, Passes: 3, Slowdown: 1.3, Period: dovetail.Duration(20 * time.Second)}
		}},
		{"srpt", "flexible", func(o *sim.Options) {
			o.Config.Regrow, o.Model = dovetail.Duration(7*time.Second), sim.Curve{Serial: 0.1}
		}},
	} {
		t.Run(tc.policy+"/"+tc.alloc, func(t *testing.T) {
			for seed := range uint64(4) {
				o := sim.Options{Config: dovetail.DefaultConfig(), Seed: seed, Validate: true}
				for i := range 6 {
					o.Nodes = append(o.Nodes, dovetail.Node{
						Name: fmt.Sprintf("n%d", i), Capacity: dovetail.Resources{dovetail.CPU: 8000, dovetail.Memory: 12 << 30},
					})
				}
				o.Config.Policy, o.Config.Alloc = tc.policy, tc.alloc
				tc.change(&o)
				jobs := workload(seed, 60)
				store := mem.New()
				o.Store = store
				out, err := sim.Play(t.Context(), o, jobs)
				if err != nil {
					t.Fatal(err)
				}
				if len(out.Refused) > 0 {
					t.Fatalf("seed %d: some jobs do not fit: %v", seed, out.Refused)
				}
				simulated := journal(t, store)
				synctest.Test(t, func(t *testing.T) {
					compare(t, seed, simulated, live(t, o, jobs))
				})
			}
		})
	}
}

func compare(t *testing.T, seed uint64, simulated, lived []string) {
	t.Helper()
	for i := range min(len(simulated), len(lived)) {
		if simulated[i] != lived[i] {
			t.Fatalf("seed %d: record %d of %d/%d differs\nsimulated %s\nlive      %s", seed, i+1, len(simulated), len(lived), simulated[i], lived[i])
		}
	}
	if len(simulated) != len(lived) {
		t.Fatalf("seed %d: %d records simulated, %d live", seed, len(simulated), len(lived))
	}
}
