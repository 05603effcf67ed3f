package place

import (
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// To find the first nodes in order costs a walk through the index for each of them. Between one request and the next few nodes change, so
// the list of the first ones for a shape without labels is kept, with a log of the nodes that changed since: those are looked at anew, all
// others are where they were.

const (
	listed       = 2    // times as many nodes as were asked for are listed, so that some may change
	mostListings = 64   // shapes that a list is kept for
	mostLogged   = 4096 // changes that are remembered
	mostDirty    = 512  // changed nodes with which a list is made anew
)

// listing is the first nodes in order that had room for a replica when it was looked at last.
type listing struct {
	nodes []ranked
	last  ranked // all that come no later, and have room, are there
	all   bool   // whatever comes later: there were no others
	at    int    // changes that were made before
}

// ranked is a node and its place in the order.
type ranked struct {
	key  Key
	node int
}

func (a ranked) compare(b ranked) int {
	if c := a.key.compare(b.key); c != 0 {
		return c
	}
	return a.node - b.node
}

// changes is the log of nodes that changed.
type changes struct {
	nodes []int // the last ones
	count int   // in all
}

// changed notes that a node is not what it was, if anybody wants to know.
func (s *Space) changed(node int) {
	if len(s.listings) == 0 {
		return
	}
	if len(s.log.nodes) == mostLogged {
		s.log.nodes = append(s.log.nodes[:0], s.log.nodes[mostLogged/2:]...)
	}
	s.log.nodes = append(s.log.nodes, node)
	s.log.count++
}

// since returns the nodes that changed since so many changes, each once and in order of nodes, and false if they are too many or forgotten. They
// are marked.
func (s *Space) since(count int) ([]int, bool) {
	s.dirty = s.dirty[:0]
	n := s.log.count - count
	if n > len(s.log.nodes) {
		return nil, false
	}
	if len(s.marks) < len(s.nodes) {
		s.marks = make([]int, len(s.nodes))
	}
	s.mark++
	for _, node := range s.log.nodes[len(s.log.nodes)-n:] {
		if s.marks[node] == s.mark {
			continue
		}
		s.marks[node] = s.mark
		if s.dirty = append(s.dirty, node); len(s.dirty) > mostDirty {
			return nil, false
		}
	}
	return s.dirty, true
}

// firstWithRoom returns the first k nodes in order that have room for a replica of a shape, in order; fewer if there are no more. It is
// valid until the next call.
func (s *Space) firstWithRoom(sh *Shape, k int) []ranked {
	if len(sh.Nodes) > 0 {
		s.enough, _ = s.walkInOrder(s.enough[:0], sh, k)
		return s.enough
	}
	l := s.listings[sh.Each]
	if l != nil {
		if s.bring(l, sh, k); l.at == s.log.count && (len(l.nodes) >= k || l.all) {
			return l.nodes[:min(k, len(l.nodes))]
		}
	} else {
		if s.listings == nil || len(s.listings) >= mostListings {
			s.listings = make(map[dovetail.Resources]*listing)
		}
		l = &listing{}
		s.listings[sh.Each] = l
	}
	l.nodes, l.all = s.walkInOrder(l.nodes[:0], sh, listed*k)
	if n := len(l.nodes); n > 0 {
		l.last = l.nodes[n-1]
	}
	l.at = s.log.count
	return l.nodes[:min(k, len(l.nodes))]
}

// bring brings a list of which k nodes are asked for up to date, unless too much has changed.
func (s *Space) bring(l *listing, sh *Shape, k int) {
	dirty, ok := s.since(l.at)
	if !ok {
		return
	}
	l.at = s.log.count
	if len(dirty) == 0 {
		return
	}
	fresh := s.fresh[:0]
	for _, node := range dirty {
		n := &s.nodes[node]
		if !n.open() || !sh.Each.Fits(n.Free) {
			continue
		}
		if x := (ranked{s.order.Key(n), node}); l.all || x.compare(l.last) <= 0 {
			fresh = append(fresh, x)
		}
	}
	s.fresh = fresh
	slices.SortFunc(fresh, ranked.compare)
	out := s.enough[:0]
	for _, x := range l.nodes {
		if s.marks[x.node] == s.mark {
			continue
		}
		for len(fresh) > 0 && fresh[0].compare(x) < 0 {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		out = append(out, x)
	}
	out = append(out, fresh...)
	l.nodes, s.enough = out, l.nodes
	if most := listed * k; len(l.nodes) > 2*most {
		l.nodes, l.last, l.all = l.nodes[:most], l.nodes[most-1], false
	}
}

// walkInOrder appends the first k nodes in order that have room for a replica of a shape, and reports whether those are all.
func (s *Space) walkInOrder(out []ranked, sh *Shape, k int) ([]ranked, bool) {
	s.renew()
	if len(s.tree) < 2 {
		return out, true
	}
	half := len(s.tree) / 2
	s.peaks = append(s.peaks[:0], peak{s.tree[1].best, 1, 0})
	h := s.peaks
	for len(h) > 0 && len(out) < k {
		v := h[0].vertex
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		sink(h, 0)
		switch x := &s.tree[v]; {
		case !x.any || !sh.Each.Fits(x.room):
		case v >= half:
			if matches(sh.Nodes, s.nodes[v-half].Labels) {
				out = append(out, ranked{x.best, v - half})
			}
		default:
			for _, below := range [...]int{2 * v, 2*v + 1} {
				if x := &s.tree[below]; x.any && sh.Each.Fits(x.room) {
					h = append(h, peak{x.best, below, s.first(below)})
					raise(h, len(h)-1)
				}
			}
		}
	}
	s.peaks = h[:0]
	return out, len(out) < k
}

// peak is a subtree that is yet to be looked at: nothing in it comes before its key, and, of equals, before its first node.
type peak struct {
	key    Key
	vertex int
	first  int
}

func (p *peak) before(o *peak) bool {
	if c := p.key.compare(o.key); c != 0 {
		return c < 0
	}
	return p.first < o.first
}
