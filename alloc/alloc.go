// Package alloc answers: how is capacity shared between the runs in service and those that wait?
//
// An allocator sees runs in the order of the policy and a Fitter that knows what fits where. It never touches a core
// replica that runs. Rigid, malleable and flexible are seed 004, section 8.2 and figure 2; flexible is its Algorithm 1,
// generalised from one count of units to vectors on nodes. Eager is our own: docs/adr/0008.
package alloc

import (
	"fmt"
	"iter"
	"strings"
)

// Fitter tries what fits. R stands for a run.
type Fitter[R any] interface {
	// Core places all of r's core that is not placed yet in free capacity, or nothing.
	Core(r R) bool
	// CoreBy does as Core, but may take elastic replicas of victim too: as few as possible.
	CoreBy(r, victim R) bool
	// Grow gives r elastic replicas, as many as it can use and as fit. It reports whether r now has all it can use.
	Grow(r R) bool
	// Strip takes all elastic replicas of victim. The function it returns gives back those that still fit where they were;
	// it is nil if there was nothing to take.
	Strip(victim R) (giveBack func())
	// Try calls f and, unless f returns true, undoes what was placed and taken meanwhile.
	Try(f func() bool) bool
}

// Line is the runs an allocator decides on.
type Line[R any] struct {
	Serving iter.Seq[R]           // in service, in order
	Broken  []R                   // in service, but a part of the core died and is to be replaced; in order
	Waiting iter.Seq[R]           // in order
	Victims func(w R) iter.Seq[R] // runs whose elastic replicas may be reclaimed for w's core, last in order first
	Jumps   func(w R) bool        // w need not wait until the runs in service are satisfied (preemption, overdue)
	Idle    func(w R) bool        // there is free capacity of every kind that w's core needs
	Mended  func()                // called when the cores that died are replaced as far as they can be, before anything else; may be nil
	Closed  func()                // called when nothing is reclaimed any more for those that wait, unless they jump; may be nil
	Started func(w R)             // called when w was given its core
	Blocked func(w R) bool        // called when it was not; false ends the walk
}

func (l *Line[R]) closed() {
	if l.Closed != nil {
		l.Closed()
	}
}

// Func shares capacity.
type Func[R any] func(f Fitter[R], l Line[R])

// Named is an allocator and its name.
type Named[R any] struct {
	Name  string
	Share Func[R]
}

// All returns every allocator.
func All[R any]() []Named[R] {
	return []Named[R]{{"rigid", Rigid[R]}, {"malleable", Malleable[R]}, {"flexible", Flexible[R]}, {"eager", Eager[R]}}
}

// Find returns the allocator with this name; the error lists the names there are.
func Find[R any](name string) (Func[R], error) {
	var names []string
	for _, a := range All[R]() {
		if a.Name == name {
			return a.Share, nil
		}
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("unknown allocator %q; expected one of %s", name, strings.Join(names, ", "))
}

// Rigid starts a run when all of its replicas fit at once.
func Rigid[R any](f Fitter[R], l Line[R]) {
	repair(f, l)
	for r := range l.Serving {
		f.Grow(r)
	}
	l.closed()
	var next R
	whole := func() bool { return f.Core(next) && f.Grow(next) }
	for w := range l.Waiting {
		next = w
		if f.Try(whole) {
			l.Started(w)
		} else if !l.Blocked(w) {
			return
		}
	}
}

// Malleable starts a run when its core fits into what the runs before it leave, and gives each in turn all that is left. It
// takes nothing back.
func Malleable[R any](f Fitter[R], l Line[R]) {
	repair(f, l)
	for r := range l.Serving {
		f.Grow(r)
	}
	l.closed()
	for w := range l.Waiting {
		if f.Core(w) {
			l.Started(w)
			f.Grow(w)
		} else if !l.Blocked(w) {
			return
		}
	}
}

// Flexible is Malleable, but as long as the runs in service do not saturate the cluster (all have what they can use, and
// something is free; Algorithm 1, line 19, with ≤) it reclaims elastic replicas for the next run's core.
func Flexible[R any](f Fitter[R], l Line[R]) {
	repair(f, l)
	saturated := false
	for r := range l.Serving {
		if !f.Grow(r) {
			saturated = true
		}
	}
	if saturated {
		l.closed()
	}
	admit(f, l, &saturated)
}

// Eager is Flexible without the condition on saturation: it always reclaims elastic replicas for the next run's core. An elastic
// replica is a loan, so that a core need not wait for one; who gets the loans is for the order to say.
func Eager[R any](f Fitter[R], l Line[R]) {
	repair(f, l)
	for r := range l.Serving {
		f.Grow(r)
	}
	l.Jumps, l.Closed = func(R) bool { return true }, nil
	admit(f, l, new(bool))
}

// admit starts waiting runs: in free capacity, or in that of elastic replicas if they may be reclaimed for it.
func admit[R any](f Fitter[R], l Line[R], saturated *bool) {
	for w := range l.Waiting {
		switch {
		case f.Core(w):
			l.Started(w)
			if !f.Grow(w) {
				*saturated = true
				l.closed()
			}
		case (l.Jumps(w) || !*saturated && l.Idle(w)) && reclaim(f, w, l.Victims(w)):
			l.Started(w)
			*saturated = true
			l.closed()
		case !l.Blocked(w):
			return
		}
	}
}

// repair replaces core replicas that died in runs that go on: nobody else may have what they need. Then it says so.
func repair[R any](f Fitter[R], l Line[R]) {
	for _, r := range l.Broken {
		if !f.Core(r) {
			reclaim(f, r, l.Victims(r))
		}
	}
	if l.Mended != nil {
		l.Mended()
	}
}

// reclaim places w's core in free capacity and that of elastic replicas, taken from the fewest runs that suffice, last in
// order first, and from the last one it needs as few as possible. What is not needed in the end is given back, to the
// first in order first.
func reclaim[R any](f Fitter[R], w R, victims iter.Seq[R]) bool {
	return f.Try(func() bool {
		var giveBack []func()
		for v := range victims {
			if f.CoreBy(w, v) {
				for i := len(giveBack) - 1; i >= 0; i-- {
					giveBack[i]()
				}
				return true
			}
			if back := f.Strip(v); back != nil {
				giveBack = append(giveBack, back)
			}
		}
		return false
	})
}
