package place

// denseShare: the index is asked for one node after the other when fewer replicas are to be placed than this share of the nodes.
// For more, it is faster to look at every node once.
const denseShare = 8

// candidate is a node that has room for one more replica.
type candidate struct {
	key  Key
	node int
}

func (c *candidate) before(o *candidate) bool {
	if d := c.key.compare(o.key); d != 0 {
		return d < 0
	}
	return c.node < o.node
}

// candidates collects the nodes that have room for a replica. The function it returns gives the preferred one, as Best does, as
// long as nothing is placed but on the node that it gave last.
func (s *Space) candidates(sh *Shape) func(*Shape) int {
	h := s.heap[:0]
	for i := range s.nodes {
		if n := &s.nodes[i]; n.open() && sh.Each.Fits(n.Free) && matches(sh.Nodes, n.Labels) {
			h = append(h, candidate{s.order.Key(n), i})
		}
	}
	s.heap = h
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(h, i)
	}
	given := false
	return func(sh *Shape) int {
		if given {
			if n := &s.nodes[h[0].node]; sh.Each.Fits(n.Free) {
				h[0].key = s.order.Key(n)
			} else {
				h[0] = h[len(h)-1]
				h = h[:len(h)-1]
			}
			down(h, 0)
		}
		if given = len(h) > 0; !given {
			return -1
		}
		return h[0].node
	}
}

// down restores the heap below position i.
func down(h []candidate, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(&h[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
