package place

import "slices"

// Scorer says how much a node is wanted for one more replica: in [0,1], where 0.5 means neither more nor less than others.
type Scorer struct {
	Name   string
	Weight float64 // against that of other scorers; positive
	Score  func(node int) float64
}

// Taste is what somebody wants of nodes beside room and labels.
type Taste struct {
	Allows  func(node int) bool // nil: every node
	Shuns   func(node int) bool // such a node is taken only if no other one has room; nil: none
	Own     func(node int) int  // replicas of the same run that are there; not asked without scorers
	Hints   []int               // nodes to look at beside the best ones of the order, ascending
	Scorers []Scorer
}

// score returns the weighted mean of what the scorers say; 0.5 if there is none.
func (t *Taste) score(node int) float64 {
	if len(t.Scorers) == 1 {
		return t.Scorers[0].Score(node)
	}
	sum, weights := 0.0, 0.0
	for i := range t.Scorers {
		s := &t.Scorers[i]
		sum += float64(s.Weight * s.Score(node))
		weights += s.Weight
	}
	if weights == 0 {
		return 0.5
	}
	return sum / weights
}

// A replica is put on the best of at least shortest nodes, and of perReplica for each replica that is to be placed.
const (
	shortest   = 64
	perReplica = 4
)

// option is a node on the short list.
type option struct {
	own   int
	score float64
	key   Key
	node  int
	spot  int // its place in Space.spots plus one; 0: nothing was put there yet
}

// before prefers fewer replicas of the same run, then the higher score, then the order of nodes.
func (o *option) before(p *option) bool {
	if o.own != p.own {
		return o.own < p.own
	}
	if o.score != p.score {
		return o.score > p.score
	}
	if c := o.key.compare(p.key); c != 0 {
		return c < 0
	}
	return o.node < p.node
}

// PlaceBy does as Place, but by somebody's taste: of the nodes on which it allows a replica, the first ones in order make a short list, and
// of these each replica goes to the one with the fewest replicas of the same run, then the highest score, then the first in order. An order
// that fills nodes does not look at replicas of the same run. Shunned nodes are taken when all others are full.
func (s *Space) PlaceBy(sh *Shape, n int, t *Taste) []Spot {
	s.spots = s.spots[:0]
	if t.Shuns != nil {
		n = s.placeBy(sh, n, t, func(i int) bool { return (t.Allows == nil || t.Allows(i)) && !t.Shuns(i) })
	}
	s.placeBy(sh, n, t, t.Allows)
	return s.spots
}

// placeBy takes room for up to n replicas on nodes that are allowed, notes where, and returns how many had no room.
func (s *Space) placeBy(sh *Shape, n int, t *Taste, allows func(int) bool) int {
	for n > 0 {
		s.shortlist(sh, max(shortest, perReplica*n), t, allows)
		if len(s.options) == 0 {
			break
		}
		h := s.options
		for i := len(h)/2 - 1; i >= 0; i-- {
			sink(h, i)
		}
		for n > 0 && len(h) > 0 {
			best := &h[0]
			step := s.step(sh, best.node, n)
			s.Take(best.node, sh.Each, step)
			n -= step
			if best.spot == 0 {
				best.spot = s.spot(best.node)
			}
			s.spots[best.spot-1].N += step
			if node := &s.nodes[best.node]; sh.Each.Fits(node.Free) {
				best.key = s.order.Key(node)
				if len(t.Scorers) > 0 && !s.order.Whole {
					best.own += step
				}
			} else {
				h[0] = h[len(h)-1]
				h = h[:len(h)-1]
			}
			sink(h, 0)
		}
	}
	return n
}

// spot returns the place plus one of a node among the spots, where it is added if it is not there.
func (s *Space) spot(node int) int {
	if at := slices.IndexFunc(s.spots, func(o Spot) bool { return o.Node == node }); at >= 0 {
		return at + 1
	}
	s.spots = append(s.spots, Spot{Node: node})
	return len(s.spots)
}

// shortlist makes options of the first k nodes in order that have room for a replica and are allowed, and of the hints that are.
func (s *Space) shortlist(sh *Shape, k int, t *Taste, allows func(int) bool) {
	s.options = s.options[:0]
	if allows == nil {
		for _, x := range s.firstWithRoom(sh, k) {
			s.list(x, t)
		}
	} else {
		s.walkAllowed(sh, k, t, allows)
	}
	for _, node := range t.Hints {
		n := &s.nodes[node]
		if n.open() && sh.Each.Fits(n.Free) && matches(sh.Nodes, n.Labels) && (allows == nil || allows(node)) &&
			!slices.ContainsFunc(s.options, func(o option) bool { return o.node == node }) {
			s.list(ranked{s.order.Key(n), node}, t)
		}
	}
}

// walkAllowed lists the first k nodes in order that have room for a replica and are allowed. It looks at more and more of those that have room.
func (s *Space) walkAllowed(sh *Shape, k int, t *Taste, allows func(int) bool) {
	for want := k; ; want *= 4 {
		s.options = s.options[:0]
		first := s.firstWithRoom(sh, want)
		for i := 0; i < len(first) && len(s.options) < k; i++ {
			if allows(first[i].node) {
				s.list(first[i], t)
			}
		}
		if len(s.options) == k || len(first) < want {
			return
		}
	}
}

// list puts a node on the short list.
func (s *Space) list(x ranked, t *Taste) {
	o := option{key: x.key, node: x.node}
	if len(t.Scorers) > 0 {
		o.score = t.score(x.node)
		if !s.order.Whole {
			o.own = t.Own(x.node)
		}
	}
	s.options = append(s.options, o)
}
