package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// job is one with a core replica and this many elastic ones.
func job(elastic int, runtime time.Duration) *trace.Job {
	return &trace.Job{ID: 1, Runtime: runtime, App: &dovetail.Application{Name: "app", Kind: dovetail.Batch, Components: []dovetail.Component{
		{Name: "main", Count: 1, Max: 1 + elastic, Resources: dovetail.Resources{dovetail.CPU: 1000}},
	}}}
}

func machines(t *testing.T, f Faults, names ...string) *Cluster {
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
	c := machines(t, Faults{StopDelay: 10 * time.Second}, "a")
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
		if diff := cmp.Diff(step.want, append([]dovetail.Event(nil), c.Due(at(i))...)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
	c.Due(at(11)) // the one that was to stop is gone, and now the dead one is missed
	c.Do(at(11), dovetail.RunReplicas{Slot: slot, N: 3})
	if diff := cmp.Diff([]dovetail.Event{dovetail.ReplicasUp{Slot: slot, N: 1}}, append([]dovetail.Event(nil), c.Due(at(11))...)); diff != "" {
		t.Errorf("three are wanted, two are there (-want +got):\n%s", diff)
	}
}
