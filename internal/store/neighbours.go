package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Span is a stretch of time: From, until just before To.
type Span struct{ From, To time.Time }

// Stay says that a run had replicas on a node for a time. A run may have several stays on a node at once, one for each of
// its components.
type Stay struct {
	Run   dovetail.RunID
	Class string
	Node  string
	Span
}

// Merge returns the union of the spans: in order, apart from each other, none of them empty. It reorders its argument.
func Merge(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	var union []Span
	for _, s := range spans {
		last := len(union) - 1
		switch {
		case !s.From.Before(s.To):
		case last >= 0 && !union[last].To.Before(s.From):
			if union[last].To.Before(s.To) {
				union[last].To = s.To
			}
		default:
			union = append(union, s)
		}
	}
	return union
}

// Common returns the times that are in both a and b, which Merge has put in order.
func Common(a, b []Span) []Span {
	var both []Span
	for len(a) > 0 && len(b) > 0 {
		s := Span{From: later(a[0].From, b[0].From), To: earlier(a[0].To, b[0].To)}
		if s.From.Before(s.To) {
			both = append(both, s)
		}
		if a[0].To.Before(b[0].To) {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Presence returns when a run had any replica on each node, merged. The placements are the run's own, in order of time; what
// they leave open lasts until end.
func Presence(placements []dovetail.Placement, end time.Time) map[string][]Span {
	open := make(map[dovetail.Slot]time.Time)
	nodes := make(map[string][]Span)
	for _, p := range placements {
		from, there := open[p.Slot]
		switch {
		case p.N > 0 && !there:
			open[p.Slot] = p.At
		case p.N <= 0 && there:
			delete(open, p.Slot)
			nodes[p.Node] = append(nodes[p.Node], Span{From: from, To: earlier(p.At, end)})
		}
	}
	for slot, from := range open {
		nodes[slot.Node] = append(nodes[slot.Node], Span{From: from, To: end})
	}
	for node, spans := range nodes {
		nodes[node] = Merge(spans)
	}
	return nodes
}

// Neighbours returns when and where the stays of other runs overlap a presence, in order of From, Run and Node. The stays
// of one run on one node are merged first, so that a neighbour that grows does not become two.
func Neighbours(own map[string][]Span, others []Stay) []dovetail.Neighbour {
	slices.SortFunc(others, func(a, b Stay) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Node, b.Node)) })
	var found []dovetail.Neighbour
	for len(others) > 0 {
		first := others[0]
		var spans []Span
		for len(others) > 0 && others[0].Run == first.Run && others[0].Node == first.Node {
			spans = append(spans, others[0].Span)
			others = others[1:]
		}
		for _, s := range Common(own[first.Node], Merge(spans)) {
			found = append(found, dovetail.Neighbour{Run: first.Run, Class: first.Class, Node: first.Node, From: s.From, To: s.To})
		}
	}
	slices.SortFunc(found, func(a, b dovetail.Neighbour) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Node, b.Node))
	})
	return found
}
