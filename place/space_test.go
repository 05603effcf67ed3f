package place

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func genResources(t *rapid.T, most int, label string) dovetail.Resources {
	return dovetail.Resources{int64(rapid.IntRange(0, most).Draw(t, label)), int64(rapid.IntRange(0, most).Draw(t, label)), int64(rapid.IntRange(0, most/4).Draw(t, label))}
}

// best is what Best is to find, by looking at every node.
func best(s *Space, o Order, sh *Shape) int {
	low := -1
	for i := range s.Len() {
		n := s.Node(i)
		if n.Admits(sh) && sh.Each.Fits(n.Free) && (low < 0 || o.Key(n).compare(o.Key(s.Node(low))) < 0) {
			low = i
		}
	}
	return low
}

// oneByOne is what Place is to do, by asking for the best node again and again, on a copy.
func oneByOne(s *Space, o Order, sh *Shape, n int) map[int]int {
	c := &Space{order: o, nodes: slices.Clone(s.nodes)}
	c.isOld = make([]bool, len(c.nodes))
	spots := make(map[int]int)
	for n > 0 {
		i := best(c, o, sh)
		if i < 0 {
			break
		}
		step := sh.Each.Count(c.nodes[i].Free, n)
		if !o.Whole {
			step = min(step, max(1, n/(2*len(c.nodes))))
		}
		c.Take(i, sh.Each, step)
		spots[i] += step
		n -= step
	}
	return spots
}

// TestSpace holds the index against a plain look at every node, through random changes.
func TestSpace(t *testing.T) {
	for _, o := range Orders() {
		t.Run(o.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := NewSpace(o)
				for range rapid.IntRange(1, 60).Draw(t, "steps") {
					switch what := rapid.IntRange(0, 5).Draw(t, "what"); {
					case what == 0 || s.Len() == 0:
						n := Node{Capacity: genResources(t, 40, "capacity"), Up: true}
						if rapid.Bool().Draw(t, "label") {
							n.Labels = map[string]string{"disk": "ssd"}
						}
						s.Add(n)
					case what == 1:
						s.Update(rapid.IntRange(0, s.Len()-1).Draw(t, "node"), func(n *Node) {
							n.Cordoned = rapid.Bool().Draw(t, "cordoned")
							n.Up = rapid.IntRange(0, 3).Draw(t, "up") > 0
							n.Capacity = genResources(t, 40, "capacity")
						})
					default:
						s.place(t, o)
					}
					s.check(t)
				}
			})
		})
	}
}

func (s *Space) place(t *rapid.T, o Order) {
	sh := &Shape{Each: genResources(t, 12, "each")}
	if rapid.IntRange(0, 2).Draw(t, "ssd") == 0 {
		sh.Nodes = map[string]string{"disk": "ssd"}
	}
	if got, want := s.Best(sh), best(s, o, sh); got != want {
		t.Fatalf("best node for %v is %d, want %d", sh, got, want)
	}
	n := rapid.IntRange(1, 50).Draw(t, "n")
	want := oneByOne(s, o, sh, n)
	all, most := 0, 0
	for _, k := range want {
		all += k
	}
	for i := range s.Len() {
		if s.Node(i).Admits(sh) {
			most += sh.Each.Count(s.Node(i).Free, n)
		}
	}
	if all != min(n, most) || s.Holds(sh, n, nil) != (most >= n) {
		t.Fatalf("%d of %d would be placed, %d would fit, and Holds says %t", all, n, most, s.Holds(sh, n, nil))
	}
	got := make(map[int]int)
	for _, spot := range s.Place(sh, n) {
		got[spot.Node] = spot.N
	}
	if !maps.Equal(got, want) {
		t.Fatalf("placed %v, want %v", got, want)
	}
}

func (s *Space) check(t *rapid.T) {
	var free dovetail.Resources
	for i := range s.nodes {
		free = free.Plus(available(&s.nodes[i]))
	}
	if free != s.free {
		t.Fatalf("%v is free, counted %v", free, s.free)
	}
}

// TestOrdersChoose says in small what each order is for.
func TestOrdersChoose(t *testing.T) {
	for _, tc := range []struct {
		order, reason string
		want          int
	}{
		{"zoe", "the least containers, although another has more memory", 1},
		{"pack", "the fullest node that has room", 0},
		{"spread", "the emptiest node", 2},
	} {
		o, err := Find(tc.order)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSpace(o)
		for range 3 {
			s.Add(Node{Capacity: dovetail.Resources{10, 100}, Up: true})
		}
		s.Take(0, dovetail.Resources{3, 30}, 2)
		s.Take(1, dovetail.Resources{5, 50}, 1)
		s.Take(2, dovetail.Resources{1, 10}, 2)
		if got := s.Best(&Shape{Each: dovetail.Resources{1, 1}}); got != tc.want {
			t.Errorf("%s chose node %d, want %d: %s", tc.order, got, tc.want, tc.reason)
		}
	}
}

func TestRefusedSaysWhy(t *testing.T) {
	s := NewSpace(Orders()[0])
	for range 2 {
		s.Add(Node{Capacity: dovetail.Resources{1000, 10}, Up: true})
	}
	s.Update(1, func(n *Node) { n.Cordoned = true })
	s.Add(Node{Capacity: dovetail.Resources{9000, 10}, Up: true, Labels: map[string]string{"disk": "ssd"}})
	got := fmt.Sprint(s.Refused(&Shape{Each: dovetail.Resources{2000, 1}, Nodes: map[string]string{"disk": "ssd"}}, nil))
	if want := "map[cordoned:1 without label disk=ssd:1]"; got != want {
		t.Errorf("refused %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(s.Refused(&Shape{Each: dovetail.Resources{2000, 1}}, nil)), "map[cordoned:1 too little cpu:1]"; got != want {
		t.Errorf("refused %s, want %s", got, want)
	}
}

// TestPlaceMany checks that a component of very many replicas costs steps in proportion to the nodes.
func TestPlaceMany(t *testing.T) {
	s := NewSpace(Orders()[0])
	for range 10 {
		s.Add(Node{Capacity: dovetail.Resources{1 << 20, 1 << 20}, Up: true})
	}
	spots := s.Place(&Shape{Each: dovetail.Resources{1, 1}}, 100_000)
	most := 0
	for i := range 10 {
		most = max(most, s.Node(i).Replicas)
	}
	if len(spots) > 300 || most > 20_000 {
		t.Errorf("%d steps, %d replicas on one node", len(spots), most)
	}
}

// TestRules holds what a class rules out against a look at every node: it never rules out what fits.
func TestRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSpace(Orders()[0])
		for range rapid.IntRange(1, 10).Draw(t, "nodes") {
			s.Add(Node{Capacity: genResources(t, 400, "capacity"), Up: true})
		}
		each := genResources(t, 100, "each")
		c := &Class{Each: Classify(each)}
		for k := range each {
			if c.Each[k] > each[k] || 2*c.Each[k] < each[k] {
				t.Fatalf("%v is of the class %v", each, c.Each)
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			n := rapid.IntRange(1, 20).Draw(t, "n")
			if s.Rules(c, n) {
				if s.Holds(&Shape{Each: each}, n, nil) {
					t.Fatalf("%d × %v are ruled out and fit", n, each)
				}
			}
			s.Take(rapid.IntRange(0, s.Len()-1).Draw(t, "node"), each, rapid.IntRange(-3, 3).Draw(t, "take"))
		}
	})
}

// TestGrown: what Grown returns tells one state of a space from every other that has more room somewhere, although it is rewound.
func TestGrown(t *testing.T) {
	s := NewSpace(Orders()[0])
	each := dovetail.Resources{1}
	s.Add(Node{Capacity: dovetail.Resources{3}, Up: true})
	full := s.Grown()
	s.Take(0, each, 2)
	if s.Grown() != full {
		t.Error("placing replicas changes it")
	}
	s.Take(0, each, -1)
	more := s.Grown()
	if more == full {
		t.Error("taking replicas away does not change it")
	}
	s.Take(0, each, 1)
	s.Rewind(full)
	s.Take(0, each, -2)
	if now := s.Grown(); now == full || now == more {
		t.Errorf("%d was returned before, when there was less room", now)
	}
}
