package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

// genTaste draws what somebody wants of nodes: a table of each answer.
func genTaste(t *rapid.T, nodes int) *Taste {
	bits := func(label string, most int) []bool {
		all := make([]bool, nodes)
		for i := range all {
			all[i] = rapid.IntRange(0, most).Draw(t, label) == 0
		}
		return all
	}
	taste := &Taste{}
	if rapid.Bool().Draw(t, "picky") {
		allowed := bits("allowed", 1)
		taste.Allows = func(i int) bool { return allowed[i] }
	}
	if rapid.Bool().Draw(t, "shy") {
		shunned := bits("shunned", 1)
		taste.Shuns = func(i int) bool { return shunned[i] }
	}
	for range rapid.IntRange(0, 2).Draw(t, "scorers") {
		scores := make([]float64, nodes)
		for i := range scores {
			scores[i] = rapid.SampledFrom([]float64{0, .25, .5, 1}).Draw(t, "score")
		}
		taste.Scorers = append(taste.Scorers, Scorer{Weight: float64(1 + len(taste.Scorers)), Score: func(i int) float64 { return scores[i] }})
	}
	own := make([]int, nodes)
	for i := range own {
		own[i] = rapid.IntRange(0, 1).Draw(t, "own")
	}
	taste.Own = func(i int) int { return own[i] }
	for i := range nodes {
		if rapid.IntRange(0, 7).Draw(t, "hint") == 0 {
			taste.Hints = append(taste.Hints, i)
		}
	}
	return taste
}

// byTaste is what PlaceBy is to do, by sorting all nodes again and again, on a copy.
func byTaste(s *Space, o Order, sh *Shape, n int, t *Taste) map[int]int {
	c := &Space{order: o, nodes: slices.Clone(s.nodes), isOld: make([]bool, len(s.nodes))}
	spots := make(map[int]int)
	put := func(allows func(i int) bool) {
		for n > 0 {
			var first []int
			for i := range c.nodes {
				if c.nodes[i].Admits(sh) && sh.Each.Fits(c.nodes[i].Free) && allows(i) {
					first = append(first, i)
				}
			}
			slices.SortStableFunc(first, func(a, b int) int { return o.Key(&c.nodes[a]).compare(o.Key(&c.nodes[b])) })
			k := max(shortest, perReplica*n)
			list := slices.Clone(first[:min(k, len(first))])
			for _, h := range t.Hints {
				if slices.Contains(first, h) && !slices.Contains(list, h) {
					list = append(list, h)
				}
			}
			if len(list) == 0 {
				return
			}
			own, score := make(map[int]int), make(map[int]float64)
			for _, i := range list {
				if len(t.Scorers) > 0 {
					score[i] = t.score(i)
					if !o.Whole {
						own[i] = t.Own(i)
					}
				}
			}
			for n > 0 && len(list) > 0 {
				i := slices.MinFunc(list, func(a, b int) int {
					return cmp.Or(cmp.Compare(own[a], own[b]), -cmp.Compare(score[a], score[b]), o.Key(&c.nodes[a]).compare(o.Key(&c.nodes[b])), a-b)
				})
				step := c.step(sh, i, n)
				c.Take(i, sh.Each, step)
				spots[i] += step
				n -= step
				if len(t.Scorers) > 0 && !o.Whole {
					own[i] += step
				}
				list = slices.DeleteFunc(list, func(i int) bool { return !sh.Each.Fits(c.nodes[i].Free) })
			}
		}
	}
	allows := func(i int) bool { return t.Allows == nil || t.Allows(i) }
	if t.Shuns != nil {
		put(func(i int) bool { return allows(i) && !t.Shuns(i) })
	}
	put(allows)
	return spots
}

// TestPlaceBy holds placing by taste, with its lists that are kept between requests, against a plain look at every node.
func TestPlaceBy(t *testing.T) {
	for _, o := range Orders() {
		t.Run(o.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := NewSpace(o)
				for range rapid.IntRange(1, 300).Draw(t, "nodes") {
					s.Add(Node{Capacity: dovetail.Resources{8, int64(rapid.IntRange(4, 9).Draw(t, "capacity"))}, Up: true})
				}
				for range rapid.IntRange(1, 20).Draw(t, "steps") {
					i := rapid.IntRange(0, s.Len()-1).Draw(t, "node")
					switch rapid.IntRange(0, 5).Draw(t, "what") {
					case 0:
						s.Update(i, func(n *Node) { n.Cordoned = !n.Cordoned })
					case 1:
						s.Add(Node{Capacity: dovetail.Resources{6, 6}, Up: true, Labels: map[string]string{"disk": "ssd"}})
					case 2:
						s.Take(i, dovetail.Resources{1, 1}, rapid.IntRange(-2, 2).Draw(t, "take"))
					default:
						sh := &Shape{Each: dovetail.Resources{int64(rapid.IntRange(1, 3).Draw(t, "cpu")), 1}}
						if rapid.IntRange(0, 4).Draw(t, "ssd") == 0 {
							sh.Nodes = map[string]string{"disk": "ssd"}
						}
						n, taste := rapid.IntRange(1, 40).Draw(t, "n"), genTaste(t, s.Len())
						want := byTaste(s, o, sh, n, taste)
						got := make(map[int]int)
						for _, spot := range s.PlaceBy(sh, n, taste) {
							got[spot.Node] = spot.N
						}
						if !maps.Equal(got, want) {
							t.Fatalf("placed %v, want %v", got, want)
						}
					}
					s.check(t)
				}
			})
		})
	}
}

// TestTasteChooses says in small what each part of a taste is for.
func TestTasteChooses(t *testing.T) {
	likes := func(nodes ...int) []Scorer {
		return []Scorer{{Weight: 1, Score: func(i int) float64 {
			if slices.Contains(nodes, i) {
				return .9
			}
			return .5
		}}}
	}
	on := func(nodes ...int) func(int) bool { return func(i int) bool { return slices.Contains(nodes, i) } }
	nobody := func(int) int { return 0 }
	for _, tc := range []struct {
		reason string
		taste  Taste
		n      int
		want   string
	}{
		{"without a taste the first in order", Taste{}, 1, "[{0 1}]"},
		{"the node that is wanted", Taste{Scorers: likes(2), Own: nobody}, 1, "[{2 1}]"},
		{"one each, before the wanted one gets a second", Taste{Scorers: likes(2), Own: nobody}, 3, "[{2 1} {0 1} {1 1}]"},
		{"not where the run is already", Taste{Scorers: likes(2), Own: func(i int) int { return i / 2 }}, 1, "[{0 1}]"},
		{"only where it is allowed", Taste{Allows: on(1)}, 9, "[{1 4}]"},
		{"shunned nodes last", Taste{Shuns: on(0, 1)}, 6, "[{2 4} {0 1} {1 1}]"},
		{"never where it is not allowed, not even before a shunned one", Taste{Allows: on(1), Shuns: on(1)}, 2, "[{1 2}]"},
	} {
		s := NewSpace(Orders()[0])
		for range 3 {
			s.Add(Node{Capacity: dovetail.Resources{4}, Up: true})
		}
		if got := fmt.Sprint(s.PlaceBy(&Shape{Each: dovetail.Resources{1}}, tc.n, &tc.taste)); got != tc.want {
			t.Errorf("%s: placed %s, want %s", tc.reason, got, tc.want)
		}
	}
}

// BenchmarkPlaceBy places one replica on 10,000 nodes, where 5,000 are already, and takes the oldest away, by the order alone and by a taste.
func BenchmarkPlaceBy(b *testing.B) {
	for _, by := range []string{"order", "taste"} {
		b.Run(by, func(b *testing.B) {
			s := NewSpace(Orders()[0])
			for range 10_000 {
				s.Add(Node{Capacity: dovetail.Resources{8000, 32 << 30}, Up: true})
			}
			sh := &Shape{Each: dovetail.Resources{500, 1 << 30}}
			taste := &Taste{Own: func(int) int { return 0 }, Scorers: []Scorer{{Weight: 1, Score: func(i int) float64 { return float64(i%7) / 7 }}}}
			var placed []int
			for b.Loop() {
				put := func() []Spot { return s.Place(sh, 1) }
				if by == "taste" {
					put = func() []Spot { return s.PlaceBy(sh, 1, taste) }
				}
				spots := put()
				if placed = append(placed, spots[0].Node); len(placed) > 5_000 {
					s.Take(placed[0], sh.Each, -1)
					placed = placed[1:]
				}
			}
		})
	}
}
