package coloc

import (
	"math"
	"slices"
)

// The bounds within which the end of a line is played forward.
const (
	MostServing = 64      // runs in service
	mostSteps   = 1 << 14 // runs to be tried × runs that end × (nodes that runs hold + runs to be tried)
	alike       = 0.01    // relative difference up to which ends are equal: nobody can foretell them better
)

// Serving is a run in service.
type Serving struct {
	ID    ID
	Left  float64 // seconds that it takes yet at the usual pace; +Inf: it does not end
	Nodes []int   // that it has; numbers mean something within a scene only
}

// actor is a run in a play: an index of a node is its place in play.nodes.
type actor struct {
	id    ID
	paces []float64 // beside each class, and
	alone float64   // on a node of its own
	left  float64
	speed float64
	nodes []int
}

// play is the end of a line that is played forward.
type play struct {
	b     *Book
	l     *prices
	nodes []int   // by number
	first []actor // those in service
	line  []actor // the candidates

	runs []actor
	wait []int   // of the line, in order
	here [][]int // runs on each node
	free []int   // places on each node that runs have left
	to   []int   // nodes with free places, those with the fewest runs first
	ids  []ID
}

// late reports for each run of the window whether all would be done later if it were the next one, by more than 1 % than with another one.
// It returns nil if runs wait beyond the window, if nobody is in service, if it is not known how long runs take or where they would go, if
// some would need other places than those that are left meanwhile, and if there is too much to play.
//
// It is a rollout of the price policy (Bertsekas, Tsitsiklis and Wu 1997, Rollout algorithms for combinatorial optimization): each run is
// tried as the next one, and the others are played forward. Runs progress at the known rates, in the mean over their nodes. Whenever some
// end, others that fit into the places that they leave start: always the one that is worth most there, on the nodes with the fewest runs.
func (b *Book) late(s *Scene, l *prices) []bool {
	g, ok := b.cast(s, l)
	if !ok {
		return nil
	}
	ends, least := make([]float64, len(g.line)), math.Inf(1)
	for i := range g.line {
		if k := slices.IndexFunc(g.line[:i], g.line[i].same); k >= 0 {
			ends[i] = ends[k]
		} else {
			ends[i] = g.end(i)
		}
		if math.IsInf(ends[i], 1) {
			return nil
		}
		least = min(least, ends[i])
	}
	late := make([]bool, len(ends))
	for i, end := range ends {
		late[i] = end > least*(1+alike)
	}
	return late
}

// same reports whether it makes no difference which of two runs of the line is the next one.
func (a actor) same(o actor) bool {
	return a.id == o.id && a.left == o.left && slices.Equal(a.nodes, o.nodes)
}

// cast returns the play of a scene, and whether it is to be played.
func (b *Book) cast(s *Scene, l *prices) (*play, bool) {
	if len(s.Serving) == 0 || len(s.Serving) > MostServing {
		return nil, false
	}
	g := &play{b: b, l: l}
	held, most := 0, 0
	for i := range s.Serving {
		r := &s.Serving[i]
		if !(r.Left > 0) || len(r.Nodes) == 0 {
			return nil, false
		}
		held += len(r.Nodes)
		g.nodes = append(g.nodes, r.Nodes...)
	}
	for i := range s.Window {
		c := &s.Window[i]
		if !(c.Seconds > 0) || math.IsInf(c.Seconds, 1) || len(c.At) == 0 {
			return nil, false
		}
		most = max(most, len(c.At))
		g.nodes = append(g.nodes, c.At...)
	}
	n := len(s.Window)
	if n*(n+len(s.Serving))*(held+most+n) > mostSteps {
		return nil, false
	}
	slices.Sort(g.nodes)
	g.nodes = slices.Compact(g.nodes)
	for i := range s.Serving {
		g.first = append(g.first, g.actor(s.Serving[i].ID, s.Serving[i].Left, s.Serving[i].Nodes))
	}
	for i := range s.Window {
		g.line = append(g.line, g.actor(s.Window[i].ID, s.Window[i].Seconds, s.Window[i].At))
	}
	g.here, g.free = make([][]int, len(g.nodes)), make([]int, len(g.nodes))
	return g, true
}

func (g *play) actor(id ID, left float64, nodes []int) actor {
	a := actor{id: id, alone: g.b.alonePace(id), left: left, nodes: make([]int, len(nodes))}
	if g.b.has(id) {
		a.paces = g.b.paces(id)
	}
	for i, n := range nodes {
		a.nodes[i], _ = slices.BinarySearch(g.nodes, n)
	}
	return a
}

// end plays a run of the line first, and returns after how many seconds all runs that end have ended: +Inf if some do not fit into the
// places that others leave.
func (g *play) end(first int) float64 {
	for i := range g.here {
		g.here[i] = g.here[i][:0]
	}
	clear(g.free)
	g.runs, g.wait = g.runs[:0], g.wait[:0]
	for i := range g.first {
		g.enter(g.first[i])
	}
	for i := range g.line {
		if i == first {
			g.enter(g.line[i])
		} else {
			g.wait = append(g.wait, i)
		}
	}
	for now := 0.0; ; {
		step := math.Inf(1)
		for i := range g.runs {
			if r := &g.runs[i]; r.left > 0 {
				r.speed = g.speed(i)
				step = min(step, r.left/r.speed)
			}
		}
		if math.IsInf(step, 1) {
			if len(g.wait) > 0 {
				return step
			}
			return now
		}
		now += step
		for i := range g.runs {
			switch r := &g.runs[i]; {
			case r.left <= 0: // it has ended
			case r.left > step*r.speed*(1+equal):
				r.left -= float64(step * r.speed)
			default:
				g.leave(i)
			}
		}
		for more := true; more; {
			more = g.follow()
		}
	}
}

// enter puts a run on its nodes.
func (g *play) enter(a actor) {
	for _, n := range a.nodes {
		g.here[n] = append(g.here[n], len(g.runs))
	}
	g.runs = append(g.runs, a)
}

// leave ends a run.
func (g *play) leave(run int) {
	g.runs[run].left = 0
	for _, n := range g.runs[run].nodes {
		g.here[n] = slices.DeleteFunc(g.here[n], func(o int) bool { return o == run })
		g.free[n]++
	}
}

// speed returns how fast a run progresses.
func (g *play) speed(run int) float64 {
	r, sum := &g.runs[run], 0.0
	for _, n := range r.nodes {
		if len(g.here[n]) == 1 {
			sum += r.alone
			continue
		}
		pace := 1.0
		for _, o := range g.here[n] {
			if o != run {
				pace *= paceIn(r.paces, g.runs[o].id)
			}
		}
		sum += pace
	}
	return sum / float64(len(r.nodes))
}

// follow lets the run of the line that is worth most start, if one fits.
func (g *play) follow() bool {
	g.room()
	pick, best := -1, 0.0
	for w, i := range g.wait {
		a := &g.line[i]
		equals := func(o int) bool { return g.line[o].id == a.id && len(g.line[o].nodes) == len(a.nodes) }
		if len(a.nodes) > len(g.to) || slices.ContainsFunc(g.wait[:w], equals) {
			continue
		}
		worth := 0.0
		for _, n := range g.to[:len(a.nodes)] {
			g.ids = g.ids[:0]
			for _, o := range g.here[n] {
				g.ids = append(g.ids, g.runs[o].id)
			}
			worth += g.b.worth(g.l, a.id, g.ids)
		}
		worth /= float64(len(a.nodes))
		if pick < 0 || worth > best+float64(equal*(math.Abs(best)+g.l.of(g.b, a.id))) {
			pick, best = w, worth
		}
	}
	if pick < 0 {
		return false
	}
	a := g.line[g.wait[pick]]
	a.nodes = slices.Clone(g.to[:len(a.nodes)])
	for _, n := range a.nodes {
		g.free[n]--
	}
	g.enter(a)
	g.wait = slices.Delete(g.wait, pick, pick+1)
	return true
}

// room finds the nodes with free places, those with the fewest runs first.
func (g *play) room() {
	g.to = g.to[:0]
	for n, free := range g.free {
		if free > 0 {
			g.to = append(g.to, n)
		}
	}
	slices.SortStableFunc(g.to, func(x, y int) int { return len(g.here[x]) - len(g.here[y]) })
}
