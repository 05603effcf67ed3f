// Package place answers: on which nodes do replicas fit, and on which of them should they go?
//
// A Space is the free capacity of every node, with an index that finds the best node for a replica in about logarithmic
// time.
package place

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// Node is one machine as placement sees it.
type Node struct {
	Capacity dovetail.Resources
	Free     dovetail.Resources // negative where the capacity shrank below what is placed
	Replicas int
	Labels   map[string]string
	Up       bool // it is there
	Cordoned bool // it gets nothing new
}

func (n *Node) open() bool { return n.Up && !n.Cordoned }

// Shape is what one replica asks of a node.
type Shape struct {
	Each  dovetail.Resources
	Nodes map[string]string // labels that the node must have
}

// Spot is N replicas on one node.
type Spot struct {
	Node, N int
}

// Order is a preference among the nodes on which a replica fits: the lowest Key first; among equals the lowest number.
type Order struct {
	Name string
	Key  func(n *Node) Key
	// Whole says that a node is filled before the next one is looked at.
	Whole bool
}

// Key is compared entry by entry.
type Key [2]int64

func (k Key) compare(o Key) int {
	if c := cmp.Compare(k[0], o[0]); c != 0 {
		return c
	}
	return cmp.Compare(k[1], o[1])
}

// Orders returns every placement order, by name.
func Orders() []Order {
	return []Order{
		{Name: "zoe", Key: zoe},
		{Name: "pack", Key: pack, Whole: true},
		{Name: "spread", Key: spread},
	}
}

// Find returns the order with this name; the error lists the names there are.
func Find(name string) (Order, error) {
	var names []string
	for _, o := range Orders() {
		if o.Name == name {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return Order{}, fmt.Errorf("unknown placement %q; expected one of %s", name, strings.Join(names, ", "))
}

// zoe prefers the least containers, then the most free memory (seed 004 §3.1.2).
func zoe(n *Node) Key { return Key{int64(n.Replicas), -n.Free[dovetail.Memory]} }

// pack prefers the node with the least free share, so that others stay empty for large replicas.
func pack(n *Node) Key { return Key{freeShare(n)} }

// spread prefers the node with the largest free share.
func spread(n *Node) Key { return Key{-freeShare(n)} }

// freeShare returns the sum over cpu and memory of the free share, in millionths.
func freeShare(n *Node) int64 {
	var sum int64
	for _, k := range [...]dovetail.ResourceKind{dovetail.CPU, dovetail.Memory} {
		if n.Capacity[k] > 0 {
			sum += int64(float64(n.Free[k]) / float64(n.Capacity[k]) * 1e6)
		}
	}
	return sum
}

// Space is the nodes of a cluster and what is free on them. Nodes are numbered from 0 in the order they were added.
type Space struct {
	order Order
	nodes []Node
	tree  []vertex // heap layout, leaves from len(tree)/2 on
	stale []int    // nodes whose leaves are out of date; each once
	isOld []bool   // … per node
	heap  []candidate
	spots []Spot // what Place returned last
	free  dovetail.Resources
	grown int64 // see Grown
	grows int64 // how often it grew: a number that was given once is not given again

	options  []option // what follows is memory of PlaceBy
	peaks    []peak
	enough   []ranked
	fresh    []ranked
	listings map[dovetail.Resources]*listing
	log      changes
	dirty    []int
	marks    []int // per node, the last time it was found to have changed
	mark     int
}

// vertex summarises a subtree: an upper bound of what is free on one of its open nodes, and the best key among those.
type vertex struct {
	room dovetail.Resources
	best Key
	any  bool // there is an open node
}

// NewSpace returns a space without nodes.
func NewSpace(o Order) *Space { return &Space{order: o, grown: 1, grows: 1} }

// Len returns the number of nodes.
func (s *Space) Len() int { return len(s.nodes) }

// Node returns node i; it must not be changed.
func (s *Space) Node(i int) *Node { return &s.nodes[i] }

// Free returns what is free in all, on nodes that may get new replicas.
func (s *Space) Free() dovetail.Resources { return s.free }

// Grown returns a number that is another one whenever some node may have more room than when it was asked for before. While it
// is the same, what did not fit does not fit.
func (s *Space) Grown() int64 { return s.grown }

// Rewind makes Grown return what it did when the nodes had as much room as they have now, or more. Whatever was noted under that number
// must have been noted then, or while there was at least as much room as now.
func (s *Space) Rewind(grown int64) { s.grown = grown }

func (s *Space) grow() {
	s.grows++
	s.grown = s.grows
}

// SetOrder changes the preference among nodes.
func (s *Space) SetOrder(o Order) {
	s.order = o
	s.listings = nil
	s.rebuild()
}

// Add adds a node with nothing on it and returns its number.
func (s *Space) Add(n Node) int {
	s.grow()
	n.Free = n.Capacity
	s.nodes = append(s.nodes, n)
	s.isOld = append(s.isOld, false)
	s.changed(len(s.nodes) - 1)
	if len(s.nodes) > len(s.tree)/2 {
		s.rebuild()
	} else {
		s.refresh(len(s.nodes) - 1)
		s.free = s.free.Plus(available(&s.nodes[len(s.nodes)-1]))
	}
	return len(s.nodes) - 1
}

// Update changes what a node is; what is placed on it stays.
func (s *Space) Update(i int, f func(n *Node)) {
	s.grow()
	n := &s.nodes[i]
	s.free = s.free.Minus(available(n))
	used := n.Capacity.Minus(n.Free)
	f(n)
	n.Free = n.Capacity.Minus(used)
	s.free = s.free.Plus(available(n))
	s.changed(i)
	s.refresh(i)
}

// available is what a node contributes to the free total.
func available(n *Node) dovetail.Resources {
	if !n.open() {
		return dovetail.Resources{}
	}
	return n.Free.Max(dovetail.Resources{})
}

// Take puts n replicas on node i whether they fit or not; a negative n takes them away.
func (s *Space) Take(i int, each dovetail.Resources, n int) {
	if n < 0 {
		s.grow()
	}
	node := &s.nodes[i]
	node.Replicas += n
	open := node.open()
	for k := range each {
		before := node.Free[k]
		after := before - each[k]*int64(n)
		node.Free[k] = after
		if open {
			s.free[k] += max(after, 0) - max(before, 0)
		}
	}
	s.changed(i)
	s.age(i)
}

// age notes that a node's leaf is out of date.
func (s *Space) age(i int) {
	if !s.isOld[i] {
		s.isOld[i] = true
		s.stale = append(s.stale, i)
	}
}

// renew brings the index up to date.
func (s *Space) renew() {
	half := len(s.tree) / 2
	all := len(s.stale)*bits.Len(uint(half)) > half // then every vertex once is less than the way up from each leaf
	for _, i := range s.stale {
		s.isOld[i] = false
		if all {
			s.tree[half+i] = s.leaf(i)
		} else {
			s.refresh(i)
		}
	}
	if all {
		s.joinAll()
	}
	s.stale = s.stale[:0]
}

// joinAll summarises every subtree afresh.
func (s *Space) joinAll() {
	for v := len(s.tree)/2 - 1; v > 0; v-- {
		s.tree[v] = join(&s.tree[2*v], &s.tree[2*v+1])
	}
}

// Best returns the preferred node for one replica, the lowest among equals, or −1 if none has room.
func (s *Space) Best(sh *Shape) int {
	s.renew()
	best := -1
	if len(s.tree) > 1 {
		s.search(1, sh, &best)
	}
	return best
}

func (s *Space) search(v int, sh *Shape, best *int) {
	t := &s.tree[v]
	if !t.any || !sh.Each.Fits(t.room) {
		return
	}
	half := len(s.tree) / 2
	if *best >= 0 {
		if c := t.best.compare(s.tree[half+*best].best); c > 0 || c == 0 && s.first(v) > *best {
			return
		}
	}
	if v >= half {
		if matches(sh.Nodes, s.nodes[v-half].Labels) {
			*best = v - half
		}
		return
	}
	left, right := 2*v, 2*v+1
	if s.tree[right].any && s.tree[right].best.compare(s.tree[left].best) < 0 {
		left, right = right, left
	}
	s.search(left, sh, best)
	s.search(right, sh, best)
}

// first returns the lowest node below a vertex.
func (s *Space) first(v int) int {
	half := len(s.tree) / 2
	return v<<(bits.Len(uint(half))-bits.Len(uint(v))) - half
}

// Holds reports whether n replicas of one shape would fit, if on node i extra[i] more were free; extra may be nil. It takes
// nothing, and costs a few comparisons a node; without extra only for nodes near those on which one fits.
func (s *Space) Holds(sh *Shape, n int, extra []dovetail.Resources) bool {
	if n <= 0 {
		return true
	}
	if extra == nil {
		return s.count(sh, n) >= n
	}
	for i := range s.nodes {
		node := &s.nodes[i]
		if !node.open() || !matches(sh.Nodes, node.Labels) {
			continue
		}
		if n -= sh.Each.Count(node.Free.Plus(extra[i]), n); n <= 0 {
			return true
		}
	}
	return false
}

// count returns how many replicas of a shape fit, at most limit. It takes nothing, and passes over parts of the index in which not
// one fits.
func (s *Space) count(sh *Shape, limit int) int {
	s.renew()
	if len(s.tree) < 2 {
		return 0
	}
	return s.countBelow(1, sh, limit)
}

func (s *Space) countBelow(v int, sh *Shape, limit int) int {
	t := &s.tree[v]
	if !t.any || !sh.Each.Fits(t.room) {
		return 0
	}
	if half := len(s.tree) / 2; v >= half {
		if !matches(sh.Nodes, s.nodes[v-half].Labels) {
			return 0
		}
		return sh.Each.Count(t.room, limit)
	}
	n := s.countBelow(2*v, sh, limit)
	if n < limit {
		n += s.countBelow(2*v+1, sh, limit-n)
	}
	return n
}

// Place takes room for up to n replicas and returns where, nodes in the order in which they were first preferred; fewer if there
// is no more room. Large n are placed in steps of several replicas, so that the cost grows with the nodes and not with the replicas.
// What it returns is valid until it is called again.
func (s *Space) Place(sh *Shape, n int) []Spot {
	s.spots = s.spots[:0]
	if n > 1 && n >= len(s.nodes)/denseShare {
		s.placeDense(sh, n)
		return s.spots
	}
	for n > 0 {
		i := s.Best(sh)
		if i < 0 {
			break
		}
		step := s.step(sh, i, n)
		s.Take(i, sh.Each, step)
		n -= step
		if at := slices.IndexFunc(s.spots, func(o Spot) bool { return o.Node == i }); at >= 0 {
			s.spots[at].N += step
		} else {
			s.spots = append(s.spots, Spot{i, step})
		}
	}
	return s.spots
}

// step returns how many of n replicas are put on node i at once.
func (s *Space) step(sh *Shape, i, n int) int {
	fit := sh.Each.Count(s.nodes[i].Free, n)
	if s.order.Whole {
		return fit
	}
	return min(fit, max(1, n/(2*len(s.nodes))))
}

func matches(want, labels map[string]string) bool {
	return len(want) == 0 || hasAll(want, labels)
}

func hasAll(want, labels map[string]string) bool {
	for k, v := range want { //dovetail:anyorder every entry must match
		if labels[k] != v {
			return false
		}
	}
	return true
}

func (s *Space) rebuild() {
	half := 1
	for half < len(s.nodes) {
		half *= 2
	}
	s.grow()
	s.tree = make([]vertex, 2*half)
	s.stale = s.stale[:0]
	clear(s.isOld)
	s.free = dovetail.Resources{}
	for i := range s.nodes {
		s.tree[half+i] = s.leaf(i)
		s.free = s.free.Plus(available(&s.nodes[i]))
	}
	s.joinAll()
}

func (s *Space) refresh(i int) {
	v := len(s.tree)/2 + i
	s.tree[v] = s.leaf(i)
	for v /= 2; v > 0; v /= 2 {
		sum := join(&s.tree[2*v], &s.tree[2*v+1])
		if sum == s.tree[v] {
			return // nothing changes further up
		}
		s.tree[v] = sum
	}
}

func (s *Space) leaf(i int) vertex {
	n := &s.nodes[i]
	if !n.open() {
		return vertex{}
	}
	return vertex{room: n.Free, best: s.order.Key(n), any: true}
}

func join(a, b *vertex) vertex {
	switch {
	case !a.any:
		return *b
	case !b.any:
		return *a
	}
	j := vertex{room: a.room.Max(b.room), best: a.best, any: true}
	if b.best.compare(a.best) < 0 {
		j.best = b.best
	}
	return j
}

// Admits reports whether the node takes new replicas of this shape at all, room aside.
func (n *Node) Admits(sh *Shape) bool { return n.open() && n.Matches(sh) }

// Matches reports whether the node has the labels that the shape asks for.
func (n *Node) Matches(sh *Shape) bool { return matches(sh.Nodes, n.Labels) }
