package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// Filter rules nodes out and says why.
type Filter struct {
	Why    func(sh *Shape) string
	Allows func(sh *Shape, n *Node) bool
	Room   bool // it looks at what is free: such filters come last
}

// Filters returns every filter, in the order in which they are asked.
func Filters() []Filter {
	filters := []Filter{
		{
			Why:    func(*Shape) string { return "down" },
			Allows: func(_ *Shape, n *Node) bool { return n.Up },
		}, {
			Why:    func(*Shape) string { return "cordoned" },
			Allows: func(_ *Shape, n *Node) bool { return !n.Cordoned },
		}, {
			Why: func(sh *Shape) string {
				var want []string
				for _, k := range slices.Sorted(maps.Keys(sh.Nodes)) {
					want = append(want, k+"="+sh.Nodes[k])
				}
				return "without label " + strings.Join(want, ",")
			},
			Allows: func(sh *Shape, n *Node) bool { return matches(sh.Nodes, n.Labels) },
		},
	}
	for k := range dovetail.NumResources {
		filters = append(filters, Filter{
			Why:    func(*Shape) string { return fmt.Sprintf("too little %s", k) },
			Allows: func(sh *Shape, n *Node) bool { return sh.Each[k] <= 0 || sh.Each[k] <= n.Free[k] },
			Room:   true,
		})
	}
	return filters
}

// Refused counts the nodes that have no room for one replica now, by the first filter that rules them out. Before those that look at what is free,
// refuses is asked, which says what is wrong with who is on a node, or nothing; it may be nil.
func (s *Space) Refused(sh *Shape, refuses func(node int) string) map[string]int {
	refused := make(map[string]int)
	filters := Filters()
	for i := range s.nodes {
		if why := s.refusal(sh, i, filters, refuses); why != "" {
			refused[why]++
		}
	}
	return refused
}

// refusal returns why a node has no room for one replica, or nothing.
func (s *Space) refusal(sh *Shape, node int, filters []Filter, refuses func(node int) string) string {
	asked := refuses == nil
	for _, f := range filters {
		if f.Room && !asked {
			asked = true
			if why := refuses(node); why != "" {
				return why
			}
		}
		if !f.Allows(sh, &s.nodes[node]) {
			return f.Why(sh)
		}
	}
	return ""
}

// Empty returns a space of the same nodes with nothing on them; if all is set, those that are down or cordoned are as good as
// the others.
func (s *Space) Empty(all bool) *Space {
	e := NewSpace(s.order)
	for _, n := range s.nodes {
		n.Replicas = 0
		if all {
			n.Up, n.Cordoned = true, false
		}
		e.Add(n)
	}
	return e
}
