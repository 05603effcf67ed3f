package sim

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// job is one with a core replica and this many elastic ones.
func job(elastic int, runtime time.Duration) *trace.Job {
	return &trace.Job{ID: 1, Runtime: runtime, App: &dovetail.Application{Name: "app", Kind: dovetail.Batch, Components: []dovetail.Component{
		{Name: "main", Count: 1, Max: 1 + elastic, Resources: dovetail.Resources{dovetail.CPU: 1000}},
	}}}
}

func cluster(t *testing.T, f Faults, names ...string) *Cluster {
	t.Helper()
	var nodes []dovetail.Node
	for _, n := range names {
		nodes = append(nodes, dovetail.Node{Name: n, Capacity: dovetail.Resources{dovetail.CPU: 64_000}})
	}
	c, err := NewCluster(nodes, nil, f, 1, Epoch())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The core counts. A replica that dies while another of its slot is being stopped may be the one that was to stop: it is not missed
// before the other is gone, too. An order of more replicas meanwhile is one of as many as it names more than before.
func TestDeathInPlaceOfAStop(t *testing.T) {
	c := cluster(t, Faults{StopDelay: 10 * time.Second}, "a")
	if err := c.Admit(1, job(5, time.Hour)); err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time { return Epoch().Add(time.Duration(s) * time.Second) }
	slot := dovetail.Slot{Run: 1, Elastic: true, Node: "a"}
	for i, step := range []struct {
		reason string
		do     func()
		want   []dovetail.Event
	}{
		{"three start", func() { c.Do(at(0), dovetail.RunReplicas{Slot: slot, N: 3}) }, []dovetail.Event{dovetail.ReplicasUp{Slot: slot, N: 3}}},
		{"one of them is to stop", func() { c.Do(at(1), dovetail.RunReplicas{Slot: slot, N: 2}) }, nil},
		{"another dies", func() { c.lose(c.runs[1], c.runs[1].cells[0], 1) }, nil},
		{"three instead of two: one more", func() { c.Do(at(3), dovetail.RunReplicas{Slot: slot, N: 3}) }, []dovetail.Event{dovetail.ReplicasUp{Slot: slot, N: 1}}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, c.Due(at(i)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
	c.Due(at(11)) // the one that was to stop is gone, and now the dead one is missed
	c.Do(at(11), dovetail.RunReplicas{Slot: slot, N: 3})
	if diff := cmp.Diff([]dovetail.Event{dovetail.ReplicasUp{Slot: slot, N: 1}}, c.Due(at(11))); diff != "" {
		t.Errorf("three are wanted, two are there (-want +got):\n%s", diff)
	}
}

// A time that cannot be counted never comes: neither the end of a run, nor a fault.
func TestFarFuture(t *testing.T) {
	const year = 365 * 24 * time.Hour
	node := []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 1000}}}
	for seed := range uint64(20) {
		jobs := []trace.Job{*job(999, 2*year+year/2)} // 2,500 years on a single replica
		o := Options{Nodes: node, Config: dovetail.DefaultConfig(), Seed: seed, Faults: Faults{NodeMTBF: 280 * year}}
		o.Until = 290 * year
		out, err := Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if j := out.Jobs[0]; j.Start != 0 || j.Outcome == dovetail.OutcomeSucceeded {
			t.Errorf("seed %d: %+v; expected it to start at once and not to succeed", seed, j)
		}
	}
	out, err := Play(t.Context(), Options{Nodes: node, Config: dovetail.DefaultConfig()}, []trace.Job{*job(999, 2*year+year/2)})
	if err != nil {
		t.Fatal(err)
	}
	if out.Jobs[0].Ended() {
		t.Errorf("%+v ended", out.Jobs[0])
	}
}

// Faults that make no sense are refused by name.
func TestFaultsAreChecked(t *testing.T) {
	for _, tc := range []struct {
		faults Faults
		word   string // of the message
	}{
		{Faults{StartDelay: -1}, "startDelay"},
		{Faults{StartJitter: -1}, "startJitter"},
		{Faults{StopDelay: -1}, "stopDelay"},
		{Faults{ReplicaMTBF: -1}, "replicaMTBF"},
		{Faults{NodeMTBF: -1}, "nodeMTBF"},
		{Faults{NodeMTTR: -1}, "nodeMTTR"},
		{Faults{SlowNodes: 1.1}, "slowNodes"},
		{Faults{SlowNodes: math.NaN()}, "slowNodes"},
		{Faults{SlowSpeed: 101}, "slowSpeed"},
		{Faults{Redo: -0.1}, "redo"},
		{Faults{Redo: math.NaN()}, "redo"},
	} {
		_, err := NewCluster([]dovetail.Node{{Name: "a"}}, nil, tc.faults, 0, Epoch())
		if err == nil || !strings.Contains(err.Error(), tc.word) || dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%+v: error %v; expected one about %s", tc.faults, err, tc.word)
		}
	}
}

// Slow nodes slow down what runs on them, and are as many as was asked for, on the whole.
func TestSlowNodes(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	slow := 0
	for _, n := range cluster(t, Faults{SlowNodes: 0.3, SlowSpeed: 25}, names...).nodes {
		switch n.speed {
		case 25:
			slow++
		case Whole:
		default:
			t.Fatalf("a node has speed %d", n.speed)
		}
	}
	if slow < 250 || slow > 350 {
		t.Errorf("%d of 1000 nodes are slow; expected about 300", slow)
	}
	o := Options{
		Nodes: []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 4000}}}, Config: dovetail.DefaultConfig(),
		Faults: Faults{SlowNodes: 1, SlowSpeed: 25},
	}
	out, err := Play(t.Context(), o, []trace.Job{*job(3, time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Jobs[0].Finish; got != 4*time.Minute {
		t.Errorf("a run of a minute took %s on nodes of a quarter of the speed; expected 4 minutes", got)
	}
}

// A node that is lost takes the replicas on it along; a run whose core was there makes no progress until it is replaced, and its
// work is not lost.
func TestNodeLossAndReturn(t *testing.T) {
	c := cluster(t, Faults{NodeMTBF: 1000 * time.Hour, NodeMTTR: 1000 * time.Hour}, "a", "b")
	if err := c.Admit(1, job(1, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time { return Epoch().Add(time.Duration(s) * time.Second) }
	first, elastic := dovetail.Slot{Run: 1, Node: "a"}, dovetail.Slot{Run: 1, Elastic: true, Node: "b"}
	c.Do(at(0), dovetail.RunReplicas{Slot: first, N: 1})
	c.Do(at(0), dovetail.RunReplicas{Slot: elastic, N: 1})
	c.Due(at(0))
	c.Due(at(4))
	c.nodeFault(0)
	if diff := cmp.Diff([]dovetail.Event{dovetail.NodeDown{Node: "a"}}, c.Due(at(4))); diff != "" {
		t.Errorf("a node is gone (-want +got):\n%s", diff)
	}
	c.Due(at(30))
	if r := c.runs[1]; r.done != 4*2*Whole*1_000_000 || r.complete.index != 0 {
		t.Errorf("without its core the run has done %d and has a timer %d; expected the work of 4 s with 2 replicas, and none", r.done, r.complete.index)
	}
	moved := dovetail.Slot{Run: 1, Node: "b"}
	c.Do(at(30), dovetail.RunReplicas{Slot: moved, N: 1})
	c.Due(at(30))
	if next := c.time(c.runs[1].complete.at); !next.Equal(at(36)) {
		t.Errorf("the run completes at %s; expected 6 s after its core was replaced", next)
	}
	c.nodeFault(0)
	if diff := cmp.Diff([]dovetail.Event{dovetail.NodeUp{Node: c.nodes[0].Node}}, c.Due(at(30))); diff != "" {
		t.Errorf("the node is back (-want +got):\n%s", diff)
	}
}

// What replicas did that are reclaimed or die is lost in part, and done again; what the others did is not.
func TestRedo(t *testing.T) {
	at := func(s int) time.Time { return Epoch().Add(time.Duration(s) * time.Second) }
	core, elastic := dovetail.Slot{Run: 1, Node: "a"}, dovetail.Slot{Run: 1, Elastic: true, Node: "a"}
	for _, tc := range []struct {
		reason string
		redo   float64
		lose   func(c *Cluster)
		redone time.Duration
	}{
		{"as in the seed, nothing is lost", 0, func(c *Cluster) { c.Do(at(10), dovetail.RunReplicas{Slot: elastic, N: 1}) }, 0},
		{"half of what two of three did", 0.5, func(c *Cluster) { c.Do(at(10), dovetail.RunReplicas{Slot: elastic, N: 1}) }, 10 * time.Second},
		{"all of what three did", 1, func(c *Cluster) { c.Do(at(10), dovetail.RunReplicas{Slot: elastic, N: 0}) }, 30 * time.Second},
		{"the core replica dies", 1, func(c *Cluster) { c.now = 10_000_000; c.lose(c.runs[1], c.runs[1].cells[0], 1) }, 10 * time.Second},
		{"one after another, the second having done more", 1, func(c *Cluster) {
			c.Do(at(4), dovetail.RunReplicas{Slot: elastic, N: 2})
			c.Do(at(10), dovetail.RunReplicas{Slot: elastic, N: 1})
		}, 14 * time.Second},
		{"a replica that is new has nothing to lose", 1, func(c *Cluster) {
			c.Do(at(4), dovetail.RunReplicas{Slot: elastic, N: 0})
			c.Do(at(10), dovetail.RunReplicas{Slot: elastic, N: 3})
			c.Do(at(10), dovetail.RunReplicas{Slot: elastic, N: 0})
		}, 12 * time.Second},
		{"the run is stopped", 1, func(c *Cluster) { c.Do(at(10), dovetail.StopRun{Run: 1}) }, 0},
	} {
		c := cluster(t, Faults{Redo: tc.redo}, "a")
		if err := c.Admit(1, job(3, time.Minute)); err != nil {
			t.Fatal(err)
		}
		c.Do(at(0), dovetail.RunReplicas{Slot: core, N: 1})
		c.Do(at(0), dovetail.RunReplicas{Slot: elastic, N: 3})
		tc.lose(c)
		if got := c.Redone(1); got != tc.redone {
			t.Errorf("%s: %s are done again; expected %s", tc.reason, got, tc.redone)
		}
	}
}

// A preemption is one for an instant, however many replicas on however many nodes a run loses by a decision. What dies is none.
func TestPreemptions(t *testing.T) {
	at := func(s int) time.Time { return Epoch().Add(time.Duration(s) * time.Second) }
	elastic := func(node string) dovetail.Slot { return dovetail.Slot{Run: 1, Elastic: true, Node: node} }
	take := func(c *Cluster, second int, node string, left int) {
		c.Do(at(second), dovetail.RunReplicas{Slot: elastic(node), N: left})
	}
	for _, tc := range []struct {
		reason       string
		lose         func(*Cluster)
		times, taken int
	}{
		{"nothing", func(*Cluster) {}, 0, 0},
		{"at the very beginning", func(c *Cluster) { take(c, 0, "a", 1) }, 1, 2},
		{"on two nodes at one instant", func(c *Cluster) { take(c, 4, "a", 1); take(c, 4, "b", 0) }, 1, 5},
		{"at two instants", func(c *Cluster) { take(c, 4, "a", 1); take(c, 5, "a", 0) }, 2, 3},
		{"more replicas", func(c *Cluster) { take(c, 4, "a", 4) }, 0, 0},
		{"a replica dies", func(c *Cluster) { c.now = 4_000_000; c.lose(c.runs[1], c.runs[1].cells[1], 1) }, 0, 0},
		{"the node goes", func(c *Cluster) { c.now = 4_000_000; c.nodeFault(1) }, 0, 0},
		{"the run is stopped", func(c *Cluster) { c.Do(at(4), dovetail.StopRun{Run: 1}) }, 0, 0},
	} {
		c := cluster(t, Faults{NodeMTBF: time.Hour}, "a", "b")
		if err := c.Admit(1, job(6, time.Hour)); err != nil {
			t.Fatal(err)
		}
		c.Do(at(0), dovetail.RunReplicas{Slot: dovetail.Slot{Run: 1, Node: "a"}, N: 1})
		take(c, 0, "a", 3)
		take(c, 0, "b", 3)
		tc.lose(c)
		if times, taken := c.Preemptions(1), c.Taken(1); times != tc.times || taken != tc.taken {
			t.Errorf("%s: %d preemptions, %d replicas; want %d and %d", tc.reason, times, taken, tc.times, tc.taken)
		}
	}
}

// A run takes as much longer as its lost work takes.
func TestRedoTakesTime(t *testing.T) {
	// Three replicas of the long run go to the short one at 10 s: 30 replica-seconds are lost, and done again.
	nodes := []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 4000}}}
	jobs := []trace.Job{*job(3, 20*time.Second), *job(0, time.Second)}
	short := *jobs[1].App
	short.Components = []dovetail.Component{{Name: "main", Count: 3, Resources: dovetail.Resources{dovetail.CPU: 1000}}}
	jobs[1].ID, jobs[1].App, jobs[1].Submit = 2, &short, 10*time.Second
	for redo, finish := range map[float64]time.Duration{0: 20750 * time.Millisecond, 1: 28250 * time.Millisecond} {
		o := Options{Nodes: nodes, Config: dovetail.DefaultConfig(), Faults: Faults{Redo: redo}, Validate: true}
		o.Config.Alloc = "eager"
		out, err := Play(t.Context(), o, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if j := out.Jobs[0]; j.Finish != finish || j.Taken != 3 || j.Preemptions != 1 || j.Redone != time.Duration(redo*30)*time.Second {
			t.Errorf("redo %v: %+v; expected it to lose 3 replicas at once and to end at %s", redo, j, finish)
		}
	}
}

// A limit with nanoseconds is reached at the next microsecond: the clock would wait for it for ever.
func TestNanoseconds(t *testing.T) {
	j := *job(0, time.Minute)
	j.App.MaxRuntime = dovetail.Duration(time.Second + 1)
	nodes := []dovetail.Node{{Name: "a", Capacity: dovetail.Resources{dovetail.CPU: 1000}}}
	out, err := Play(t.Context(), Options{Nodes: nodes, Config: dovetail.DefaultConfig()}, []trace.Job{j})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Jobs[0]; got.Outcome != dovetail.OutcomeTimedOut || got.Finish != time.Second+time.Microsecond {
		t.Errorf("%+v; expected it to time out after 1.000001 s", got)
	}
}
