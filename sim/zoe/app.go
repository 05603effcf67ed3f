package zoe

import (
	"math/bits"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// room is an amount of cpu (millicores) and memory (bytes).
type room struct{ cpu, memory int64 }

// count returns how many components of this size fit, at most limit.
func (r room) count(each room, limit int) int {
	return int(min(int64(limit), r.cpu/each.cpu, r.memory/each.memory))
}

// plus returns the room with n components of this size more, or less if n is negative.
func (r room) plus(n int, each room) room {
	return room{r.cpu + int64(n)*each.cpu, r.memory + int64(n)*each.memory}
}

// area is cpu × memory: one number for both, by which Zoe's flexible pass sees whether it got on.
type area struct{ high, low uint64 }

func (r room) area() area {
	high, low := bits.Mul64(uint64(r.cpu), uint64(r.memory))
	return area{high, low}
}

func (a area) below(b area) bool { return a.high < b.high || a.high == b.high && a.low < b.low }

// state of an application.
type state uint8

const (
	waiting state = iota
	running       // has its core
	ended
)

// app is an application and what became of it. Times are µs.
type app struct {
	job    *trace.Job
	number int // of its arrival
	core   int
	full   int // core and elastic components
	each   room
	submit int64
	work   int64 // component-µs

	state   state
	missing int     // elastic components that do not run
	key     float64 // its place in the line, lowest first
	start   int64
	held    int   // components that run
	done    int64 // component-µs, up to last
	last    int64 // when held last changed
	end     int64 // planned
	event   int64 // number of the planned departure
	index   int   // among the departures
}

// newApp reads a job. What Zoe's simulator does not know is refused, so that no comparison is made with something else.
func newApp(j *trace.Job) (app, error) {
	refuse := func(format string, args ...any) (app, error) {
		return app{}, dovetail.Errorf(dovetail.Invalid, "zoe: job %d: "+format, append([]any{j.ID}, args...)...)
	}
	if j.App == nil || len(j.App.Components) != 1 {
		return refuse("expected one component, since Zoe's simulator knows only replicas that are all alike; " +
			"leave out --compat zoe for applications of several components")
	}
	c := &j.App.Components[0]
	for k, n := range c.Resources {
		switch kind := dovetail.ResourceKind(k); kind {
		case dovetail.CPU, dovetail.Memory:
			if n <= 0 {
				return refuse("a replica asks for no %s; expected some, since Zoe's simulator multiplies cpu by memory", kind)
			}
		default:
			if n != 0 {
				return refuse("a replica asks for %s; Zoe's simulator knows cpu and memory only", kind)
			}
		}
	}
	switch work := float64(j.Runtime.Microseconds()) * float64(c.Limit()); {
	case len(c.Nodes) > 0:
		return refuse("it asks for nodes with certain labels; Zoe's simulator has one machine without any")
	case c.Count < 1:
		return refuse("it has no core; expected at least one core replica")
	case j.Submit < 0:
		return refuse("it is submitted at %s; expected a time that is not negative", j.Submit)
	case j.Runtime.Microseconds() < 1:
		return refuse("it runs for %s; expected at least a microsecond", j.Runtime)
	case work >= 1<<62:
		return refuse("%d replicas for %s are more work than can be counted", c.Limit(), j.Runtime)
	}
	return app{
		job: j, core: c.Count, full: c.Limit(), missing: c.Elastic(),
		each:   room{c.Resources[dovetail.CPU], c.Resources[dovetail.Memory]},
		submit: j.Submit.Microseconds(), work: j.Work(),
	}, nil
}

// grow adds n components at a time and plans the end anew. Progress is brought up to date here and nowhere else, so that between
// two changes the order sees that of the last.
func (a *app) grow(n int, now int64) {
	if a.state == waiting {
		a.state, a.start, a.last = running, now, now
	}
	a.done += (now - a.last) * int64(a.held)
	a.last = now
	a.held += n
	left := max(a.work-a.done, 0) // an end is rounded to the nearest µs, so done may be a little too much
	a.end = now + (left+int64(a.held)/2)/int64(a.held)
}
