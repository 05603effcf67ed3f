package place

// denseShare: the index is asked for one node after the other when fewer replicas are to be placed than this share of the nodes.
// For more, it is faster to look at every node once.
const denseShare = 8

// candidate is a node that has room for one more replica.
type candidate struct {
	key  Key
	node int
	spot int // its place in Space.spots plus one; 0: nothing was put there yet
}

func (c *candidate) before(o *candidate) bool {
	for k := range c.key {
		if c.key[k] != o.key[k] {
			return c.key[k] < o.key[k]
		}
	}
	return c.node < o.node
}

// candidates collects the nodes that have room for a replica, as a heap.
func (s *Space) candidates(sh *Shape) []candidate {
	h := s.heap[:0]
	for i := range s.nodes {
		if n := &s.nodes[i]; n.open() && sh.Each.Fits(n.Free) && matches(sh.Nodes, n.Labels) {
			h = append(h, candidate{key: s.order.Key(n), node: i})
		}
	}
	s.heap = h
	for i := len(h)/2 - 1; i >= 0; i-- {
		sink(h, i)
	}
	return h
}

// placeDense takes room for up to n replicas, each on the node that Best would give, and notes where. Only the node that got
// the last one has changed, so that a heap gives the next.
func (s *Space) placeDense(sh *Shape, n int) {
	for h := s.candidates(sh); n > 0 && len(h) > 0; {
		best := &h[0]
		step := s.step(sh, best.node, n)
		s.Take(best.node, sh.Each, step)
		n -= step
		if best.spot == 0 {
			s.spots = append(s.spots, Spot{Node: best.node})
			best.spot = len(s.spots)
		}
		s.spots[best.spot-1].N += step
		if node := &s.nodes[best.node]; sh.Each.Fits(node.Free) {
			best.key = s.order.Key(node)
		} else {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		sink(h, 0)
	}
}
