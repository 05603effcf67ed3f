package zoe

import (
	"container/heap"
	"context"
	"math"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
)

const (
	startUp = 4             // arrivals are no triggers until so many applications wait for the first time
	never   = math.MaxInt64 // µs
	longest = never / 1000  // µs: how much time a schedule can hold; a time.Duration counts nanoseconds
)

// machine is one simulation. Events are ordered by time, then by when they were planned: all arrivals were planned before anything
// else. An arrival or a departure triggers a pass at the same instant. A pass decides on a view, which is the line and the free
// room as they were right after that trigger: further triggers are ignored until it is done.
type machine struct {
	capacity, free room
	apps           []app // in order of arrival
	rank           rank
	pass           pass

	now        int64
	arrived    int
	line       line
	departures departures
	events     int64 // planned so far, but for arrivals

	begun   bool  // startUp applications have waited
	planned int64 // number of the planned pass; 0: none
	view    view
	late    []*app // ended while a pass was planned: still in its view
	vain    int    // passes that started nothing, since it was set to 0 the last time
	list    []grant

	levels  bool
	changed bool // since the last level
	served  int  // applications that have started
	gone    int  // applications that have ended
	used    [2]room
	seen    []report.Level
}

// view is what a pass knows. The line in it is the machine's, without those that arrived later.
type view struct {
	free    room
	arrived int
}

// play runs until nothing is left to happen.
func (m *machine) play(ctx context.Context) error {
	for i := 0; m.step(); i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if m.now > longest {
			return dovetail.Errorf(dovetail.Invalid, "zoe: the jobs take more than the 292 years that a schedule can hold; "+
				"look for runtimes in a wrong unit")
		}
	}
	m.level()
	return nil
}

// step lets the next event happen and reports whether there was one.
func (m *machine) step() bool {
	arrival, departure, pass := int64(never), int64(never), int64(never)
	if m.arrived < len(m.apps) {
		arrival = m.apps[m.arrived].submit
	}
	if len(m.departures) > 0 {
		departure = m.departures[0].end
	}
	if m.planned > 0 {
		pass = m.now
	}
	next := min(arrival, departure, pass)
	if next > m.now {
		m.level()
	}
	switch {
	case next == never:
		return false
	case next == arrival:
		m.now = next
		m.arrive()
	case next == departure && (next < pass || m.departures[0].event < m.planned):
		m.now = next
		m.depart()
	default:
		m.decide()
	}
	return true
}

func (m *machine) arrive() {
	a := &m.apps[m.arrived]
	m.arrived++
	m.changed = true
	a.key = m.rank(a)
	m.line.insert(a)
	m.begun = m.begun || len(m.line.apps()) >= startUp
	if m.begun {
		m.trigger()
	}
}

func (m *machine) depart() {
	a := heap.Pop(&m.departures).(*app)
	a.state = ended
	m.gone++
	m.changed = true
	m.free = m.free.plus(a.held, a.each)
	m.used[0] = m.used[0].plus(-a.core, a.each)
	m.used[1] = m.used[1].plus(a.core-a.held, a.each)
	if m.planned > 0 {
		m.late = append(m.late, a)
		return
	}
	m.line.remove(a)
	m.trigger()
}

// trigger plans a pass, unless one is planned or nobody is in the line.
func (m *machine) trigger() {
	if m.planned > 0 || len(m.line.apps()) == 0 {
		return
	}
	m.events++
	m.planned = m.events
	m.view = view{m.free, m.arrived}
}

// decide makes the planned pass, and plans the next unless this is the second in vain. That counter is not set back by a pass that
// starts something.
func (m *machine) decide() {
	m.list = m.pass(m, m.list[:0])
	started := false
	for _, g := range m.list {
		started = m.give(g) || started
	}
	for _, a := range m.late {
		m.line.remove(a)
	}
	m.planned, m.late = 0, m.late[:0]
	if !started {
		m.vain++
	}
	if m.vain == 2 {
		m.vain = 0
		return
	}
	m.trigger()
}

// give starts what a pass granted and reports whether that is anything.
func (m *machine) give(g grant) bool {
	a := g.app
	if !g.core && g.elastic == 0 {
		return false
	}
	if g.core {
		a.grow(a.core, m.now)
		m.served++
		m.used[0] = m.used[0].plus(a.core, a.each)
		m.free = m.free.plus(-a.core, a.each)
		heap.Push(&m.departures, a)
	}
	if g.elastic > 0 {
		a.grow(g.elastic, m.now)
		a.missing -= g.elastic
		m.used[1] = m.used[1].plus(g.elastic, a.each)
		m.free = m.free.plus(-g.elastic, a.each)
	}
	m.events++
	a.event = m.events
	heap.Fix(&m.departures, a.index)
	m.changed = true
	if key := m.rank(a); a.missing == 0 || key != a.key {
		m.line.remove(a)
		if a.key = key; a.missing > 0 {
			m.line.insert(a)
		}
	}
	return true
}

// level notes the state of the machine, if that is wanted and it has changed.
func (m *machine) level() {
	if !m.levels || !m.changed {
		return
	}
	m.changed = false
	share := func(r room) (s [dovetail.NumResources]float32) {
		s[dovetail.CPU] = float32(float64(r.cpu) / float64(m.capacity.cpu))
		s[dovetail.Memory] = float32(float64(r.memory) / float64(m.capacity.memory))
		return s
	}
	m.seen = append(m.seen, report.Level{
		At: micros(m.now), Waiting: int32(m.arrived - m.served), Serving: int32(m.served - m.gone),
		Core: share(m.used[0]), Elastic: share(m.used[1]),
	})
}

// departures is a heap of the applications that run, by end, then by when that was planned.
type departures []*app

func (d departures) Len() int { return len(d) }
func (d departures) Less(i, j int) bool {
	return d[i].end < d[j].end || d[i].end == d[j].end && d[i].event < d[j].event
}
func (d departures) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push implements heap.Interface.
func (d *departures) Push(x any) {
	a := x.(*app)
	a.index = len(*d)
	*d = append(*d, a)
}

// Pop implements heap.Interface.
func (d *departures) Pop() any {
	last := len(*d) - 1
	a := (*d)[last]
	*d = (*d)[:last]
	return a
}
