package report

import (
	"cmp"
	"slices"
	"time"
)

// inOrder sorts stays for drawing: core first, then by time, then by name.
func inOrder(a, b stay) int {
	return cmp.Or(
		cmp.Compare(a.node, b.node),
		compareBool(a.elastic, b.elastic),
		a.from.Compare(b.from),
		cmp.Compare(a.run, b.run),
		cmp.Compare(a.component, b.component),
		b.to.Compare(a.to),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// stack gives each stay of one node a height at which nothing else is drawn during that time, and returns the height that
// all of them together reach, at least 1. Core replicas come first and so lie at the bottom. What fits at any time need
// not fit as rectangles that keep their height: if the picture grows too high, replicas are stacked as they came, which
// is lowest where all are of one size.
func stack(stays []stay) float64 {
	top := pile(stays)
	if top <= 1+slack {
		return top
	}
	slices.SortStableFunc(stays, func(a, b stay) int { return a.from.Compare(b.from) })
	if byTime := pile(stays); byTime < top {
		return byTime
	}
	slices.SortStableFunc(stays, inOrder)
	return pile(stays)
}

const slack = 1e-9

// pile puts each stay, in turn, at the lowest height that is free.
func pile(stays []stay) float64 {
	top := 1.0
	for i := range stays {
		s := &stays[i]
		s.at = lowest(stays[:i], s)
		top = max(top, s.at+s.share)
	}
	return top
}

// lowest returns the lowest height at which s overlaps none of the others.
func lowest(others []stay, s *stay) float64 {
	var meet []*stay
	for i := range others {
		if o := &others[i]; o.from.Before(s.to) && s.from.Before(o.to) {
			meet = append(meet, o)
		}
	}
	slices.SortFunc(meet, func(a, b *stay) int { return cmp.Compare(a.at, b.at) })
	at := 0.0
	for _, o := range meet {
		if o.at >= at+s.share-slack {
			break
		}
		at = max(at, o.at+o.share)
	}
	return at
}

// byNode splits stays that are in order into one slice a node.
func byNode(stays []stay, nodes int) [][]stay {
	rows := make([][]stay, nodes)
	for len(stays) > 0 {
		n := 1
		for n < len(stays) && stays[n].node == stays[0].node {
			n++
		}
		rows[stays[0].node] = stays[:n]
		stays = stays[n:]
	}
	return rows
}

// step is a stretch of time during which a run's number of replicas of one class stays the same.
type step struct {
	from, to time.Time
	n        int
}

// steps returns how many replicas of one class a run had, over time.
func steps(stays []stay, run int, elastic bool) []step {
	var changes []step // n is a difference here
	for i := range stays {
		if s := &stays[i]; s.run == run && s.elastic == elastic {
			changes = append(changes, step{from: s.from, n: 1}, step{from: s.to, n: -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b step) int { return a.from.Compare(b.from) })
	var all []step
	n := 0
	for i, c := range changes {
		n += c.n
		if i+1 == len(changes) || !changes[i+1].from.After(c.from) || n == 0 {
			continue
		}
		all = append(all, step{from: c.from, to: changes[i+1].from, n: n})
	}
	return all
}

// tickSteps are the distances between the marks of a time axis.
var tickSteps = [...]time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// ticks returns the distance between marks so that at most limit of them lie within the span.
func ticks(span time.Duration, limit int) time.Duration {
	for _, d := range tickSteps {
		if span/d <= time.Duration(limit) {
			return d
		}
	}
	day := 24 * time.Hour
	return (span/time.Duration(limit)/day + 1) * day
}
