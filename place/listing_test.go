package place

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// TestListingsAreKept: the first nodes with room are those that a look at every node finds, however many changed since they were asked for
// last, and whether the list grew or shrank meanwhile.
func TestListingsAreKept(t *testing.T) {
	for _, order := range Orders() {
		rng := rand.New(rand.NewPCG(1, 2))
		s := NewSpace(order)
		var took []int // replicas on each node
		for range 700 {
			s.Add(Node{Capacity: dovetail.Resources{dovetail.CPU: 1000 * (1 + rng.Int64N(4)), dovetail.Memory: 1 << 30}, Up: true})
			took = append(took, 0)
		}
		each := dovetail.Resources{dovetail.CPU: 1000, dovetail.Memory: 1 << 20}
		for round := range 2000 {
			full := round/100%2 == 0 // the cluster fills up, and empties again
			for range 1 + rng.IntN(16)*rng.IntN(16)*rng.IntN(16) {
				i := rng.IntN(len(took))
				switch n := each.Count(s.Node(i).Free, 9); {
				case full && n > 0:
					s.Take(i, each, 1)
					took[i]++
				case !full && took[i] > 0:
					s.Take(i, each, -1)
					took[i]--
				}
			}
			if rng.IntN(20) == 0 {
				s.Update(rng.IntN(len(took)), func(n *Node) { n.Cordoned = !n.Cordoned })
			}
			if rng.IntN(4) > 0 {
				continue // nobody asks
			}
			var want []ranked
			for i := range s.nodes {
				if n := &s.nodes[i]; n.open() && each.Fits(n.Free) {
					want = append(want, ranked{order.Key(n), i})
				}
			}
			slices.SortFunc(want, ranked.compare)
			k := 1 + rng.IntN(1+rng.IntN(100))
			got := s.firstWithRoom(&Shape{Each: each}, k)
			if !slices.Equal(got, want[:min(k, len(want))]) {
				t.Fatalf("%s, round %d: the first %d are %v, expected %v", order.Name, round, k, got, want[:min(k, len(want))])
			}
		}
	}
}
