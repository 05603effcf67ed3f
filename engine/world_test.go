package engine_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// world is a cluster in memory and its Runner. Its replicas outlive every Engine, as processes outlive the daemon. It reports
// late, twice and out of order, and some replicas fail or are refused. What the Runner's contract forbids it notes in faults.
type world struct {
	mu      sync.Mutex
	rng     *rand.Rand
	nodes   []dovetail.Node
	procs   map[dovetail.Replica]*proc
	outbox  []dovetail.Event // not reported yet
	wake    chan struct{}    // the outbox is not empty
	faults  []string
	chaos   bool // failures, refusals, reordering
	started int

	reluctant chan struct{} // if not nil, Run reports nothing before it is closed
}

// proc is a replica as its runner knows it.
type proc struct {
	launch engine.Launch
	state  procState
	ready  bool
	asked  bool
	frozen bool
	exit   dovetail.Exit
}

type procState int

const (
	launching procState = iota
	alive
	dead
)

func newWorld(seed uint64, nodes ...dovetail.Node) *world {
	return &world{
		rng: rand.New(rand.NewPCG(seed, 0)), nodes: nodes, procs: make(map[dovetail.Replica]*proc), wake: make(chan struct{}, 1),
	}
}

func (w *world) latency(most time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(most))) + time.Millisecond
}

// Start does what engine.Runner says.
func (w *world) Start(l engine.Launch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.procs[l.Replica] != nil {
		return
	}
	for id, p := range w.procs {
		if id.Run == l.Replica.Run && id.Component == l.Replica.Component && id.Index == l.Replica.Index && p.state != dead && w.has(p.launch.Node) {
			w.faults = append(w.faults, "two replicas of one name at the same time")
		}
	}
	w.started++
	p := &proc{launch: l}
	w.procs[l.Replica] = p
	time.AfterFunc(w.latency(200*time.Millisecond), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case p.state != launching:
		case w.chaos && w.rng.IntN(20) == 0:
			p.state = dead
			w.send(dovetail.Refused{Replica: l.Replica, N: 1, Why: "not today"})
		default:
			w.rise(p)
		}
	})
}

// has reports whether there is such a node. What is on a node that is gone may overlap with what replaces it.
func (w *world) has(name string) bool {
	return slices.ContainsFunc(w.nodes, func(n dovetail.Node) bool { return n.Name == name })
}

func (w *world) rise(p *proc) {
	p.state = alive
	w.send(up(p))
	if p.launch.Component().Ready != nil {
		time.AfterFunc(w.latency(300*time.Millisecond), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if p.state == alive {
				p.ready = true
				w.send(dovetail.ReplicasReady{Replica: p.launch.Replica, N: 1})
			}
		})
	}
	life := time.Duration(p.launch.Run.App.Expected)
	if p.launch.Component().Ends == "run" && life > 0 {
		time.AfterFunc(life, func() { w.die(p, dovetail.Exit{}) })
	} else if w.chaos && w.rng.IntN(6) == 0 {
		time.AfterFunc(w.latency(20*time.Second), func() { w.die(p, dovetail.Exit{Code: 1}) })
	}
}

func up(p *proc) dovetail.Event {
	return dovetail.ReplicasUp{Replica: p.launch.Replica, N: 1, Host: p.launch.Node, Ports: map[string]int{"rpc": 7000 + p.launch.Replica.Index}}
}

func (w *world) die(p *proc, exit dovetail.Exit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bury(p, exit)
}

func (w *world) bury(p *proc, exit dovetail.Exit) {
	if p.state != dead {
		p.state, p.exit = dead, exit
		w.send(dovetail.ReplicasDown{Replica: p.launch.Replica, N: 1, Exit: exit})
	}
}

// Stop does what engine.Runner says.
func (w *world) Stop(r dovetail.Replica, remove bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.procs[r]
	if p == nil || p.state == dead {
		exit := dovetail.Exit{Asked: true}
		if p != nil {
			exit = p.exit
		}
		w.send(dovetail.ReplicasDown{Replica: r, N: 1, Exit: exit})
		return
	}
	if p.frozen {
		w.faults = append(w.faults, "a frozen replica was asked to stop")
	}
	p.asked = true
	most := 100 * time.Millisecond
	if remove {
		most = 2 * time.Second
	}
	time.AfterFunc(w.latency(most), func() { w.die(p, dovetail.Exit{Asked: true, Code: 143}) })
}

// Freeze does what engine.Runner says.
func (w *world) Freeze(r dovetail.Replica, frozen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.procs[r]; p != nil {
		p.frozen = frozen
	}
}

// Forget does what engine.Runner says.
func (w *world) Forget(r dovetail.Replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.procs[r]; p != nil && p.state != dead {
		w.faults = append(w.faults, "a living replica was to be forgotten")
		return
	}
	delete(w.procs, r)
}

// send puts an event into the outbox: perhaps twice, perhaps before another one.
func (w *world) send(e dovetail.Event) {
	w.outbox = append(w.outbox, e)
	if n := len(w.outbox); w.chaos {
		if w.rng.IntN(5) == 0 {
			w.outbox = append(w.outbox, e)
		}
		if n > 1 && w.rng.IntN(5) == 0 {
			w.outbox[n-1], w.outbox[n-2] = w.outbox[n-2], w.outbox[n-1]
		}
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run does what engine.Runner says.
func (w *world) Run(ctx context.Context, inbox chan<- dovetail.Event, observed func()) error {
	if w.reluctant != nil {
		select {
		case <-w.reluctant:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, e := range w.inventory() {
		select {
		case inbox <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	observed()
	for {
		for {
			e, ok := w.next()
			if !ok {
				break
			}
			select {
			case inbox <- e:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inventory says what there is. What was in the outbox of the last Run is lost with it.
func (w *world) inventory() []dovetail.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outbox = nil
	var events []dovetail.Event
	for _, n := range w.nodes {
		events = append(events, dovetail.NodeUp{Node: n})
	}
	for _, id := range w.ids() {
		p := w.procs[id]
		if p.state == alive {
			events = append(events, up(p))
		}
		if p.state == alive && p.ready {
			events = append(events, dovetail.ReplicasReady{Replica: id, N: 1})
		}
		if p.state == dead {
			events = append(events, dovetail.ReplicasDown{Replica: id, N: 1, Exit: p.exit})
		}
	}
	return events
}

// ids returns the replicas there is a record of, in order, so that a seed repeats itself.
func (w *world) ids() []dovetail.Replica {
	var ids []dovetail.Replica
	for id := range w.procs {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b dovetail.Replica) int {
		return slices.Compare([]int64{int64(a.Run), int64(a.Component), int64(a.Index), a.Attempt},
			[]int64{int64(b.Run), int64(b.Component), int64(b.Index), b.Attempt})
	})
	return ids
}

func (w *world) next() (dovetail.Event, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.outbox) == 0 {
		return nil, false
	}
	e := w.outbox[0]
	w.outbox = w.outbox[1:]
	return e, true
}

// check fails the test if the world saw something that must not be, or if replicas or records are left.
func (w *world) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		t.Error(f)
	}
	for _, id := range w.ids() {
		t.Errorf("there is still a record of replica %+v (state %d)", id, w.procs[id].state)
	}
}

func machine(name string, cpu int64) dovetail.Node {
	return dovetail.Node{Name: name, Address: name, Capacity: dovetail.Resources{cpu, 1 << 30}}
}

// wordcount is a master whose end is that of the run, a core worker, and elastic ones.
func wordcount(elastic int, life time.Duration) *dovetail.Application {
	each := dovetail.Resources{500, 1 << 20}
	return &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: "wordcount", Kind: dovetail.Batch, Expected: dovetail.Duration(life),
		Components: []dovetail.Component{
			{Name: "master", Count: 1, Resources: each, Ready: &dovetail.Ready{TCP: "rpc"}, Ends: "run", Restart: dovetail.Restart{Retries: 3},
				Ports: map[string]dovetail.Port{"rpc": {Port: 7000}}},
			{Name: "worker", Count: 1, Max: 1 + elastic, Resources: each, After: []string{"master"}, Restart: dovetail.Restart{Retries: 3}},
		},
	}
}
