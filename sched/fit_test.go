package sched

import (
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// TestFitNamesTheLargestShortfall: of all that is missing the message names what is farthest from fitting, and the component
// that asks for it.
func TestFitNamesTheLargestShortfall(t *testing.T) {
	const gib = 1 << 30
	c, err := New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []dovetail.Node{
		{Name: "a", Capacity: dovetail.Resources{2000, gib}, Labels: map[string]string{"disk": "ssd"}},
		{Name: "b", Capacity: dovetail.Resources{1000, gib}},
	} {
		if err := c.Apply(epoch, dovetail.NodeUp{Node: n}); err != nil {
			t.Fatal(err)
		}
	}
	five := dovetail.Component{Name: "five", Count: 5, Resources: dovetail.Resources{900, gib / 16}}
	one := func(r dovetail.Resources, label string) dovetail.Component {
		one := dovetail.Component{Name: "one", Count: 1, Resources: r}
		if label != "" {
			one.Nodes = map[string]string{"disk": label}
		}
		return one
	}
	tests := []struct {
		reason     string
		components []dovetail.Component
		want       []string
	}{
		{"fits", []dovetail.Component{one(dovetail.Resources{2000, gib}, "ssd")}, nil},
		{"elastic replicas need not fit", []dovetail.Component{one(dovetail.Resources{100}, ""), {Name: "w", Max: 9, Resources: dovetail.Resources{9000}}}, nil},
		{"one replica", []dovetail.Component{one(dovetail.Resources{2500, gib}, "")},
			[]string{"component one needs 1 × (2500m cpu, 1Gi memory)", "largest node that it may use has 2: short of 500m"}},
		{"one replica lacks more than all of another component", []dovetail.Component{five, one(dovetail.Resources{1000, 10 * gib}, "")},
			[]string{"component one ", "one replica asks for 10Gi memory", "has 1Gi: short of 9Gi"}},
		{"all replicas of a component on the nodes with its label", []dovetail.Component{
			{Name: "ssds", Count: 3, Resources: dovetail.Resources{1000}, Nodes: map[string]string{"disk": "ssd"}}},
			[]string{"component ssds ", "all of them ask for 3 cpu", "have 2 in all: short of 1"}},
		{"the whole core", []dovetail.Component{five, one(dovetail.Resources{1000, gib / 16}, "")},
			[]string{"component five ", "the whole core asks for 5500m cpu", "have 3 in all: short of 2500m"}},
		{"no node at all is the largest", []dovetail.Component{five, one(dovetail.Resources{1}, "tape")},
			[]string{"component one ", "no node has the labels"}},
		{"pieces", []dovetail.Component{{Name: "big", Count: 2, Resources: dovetail.Resources{1500}}},
			[]string{"component big ", "not in large enough pieces"}},
	}
	for _, tt := range tests {
		err := c.Fit(&dovetail.Application{Components: tt.components})
		if (err == nil) != (tt.want == nil) || err != nil && dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%s: %v, want an invalid error only if it does not fit", tt.reason, err)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v\nwant …%s…", tt.reason, err, part)
			}
		}
	}
}
