package usage

import (
	"math"
	"time"
)

// Rates is how a machine was used on average over some time. Shares are in [0,1], the others in bytes a second.
type Rates struct {
	CPU      float64 // share of processor time that was neither idle nor waiting for I/O; time that a hypervisor took away counts as work
	IOWait   float64 // share of processor time that was idle while I/O of some task was under way
	Pressure Pressure
	Read     float64 // from disks
	Written  float64 // to disks
	Received float64 // by network interfaces
	Sent     float64
}

// Pressure is the share of time in which tasks stood still for want of a resource: at least one (some), or all that were not idle (full). NaN:
// nobody says. See Documentation/accounting/psi.rst of Linux.
type Pressure struct {
	CPU        float64 // some; the kernel has no full of a whole machine
	IO         float64 // some
	IOFull     float64
	Memory     float64 // some
	MemoryFull float64
}

// NoPressure is that of a machine that does not say.
func NoPressure() Pressure {
	n := math.NaN()
	return Pressure{n, n, n, n, n}
}

// Reading is what a source says of a machine, as of a period.
type Reading struct {
	Machine string
	Rates
	To     time.Time     // when the time ended that the rates are of
	Over   time.Duration // how long that was
	Fault  Fault         // why there are no rates; None if there are
	Detail string        // of the fault, for people
}

// Fault says why a machine is left out of a period.
type Fault string

// The faults, in the order in which they are looked for.
const (
	None      Fault = ""
	Unknown   Fault = "unknown"   // the source has no such machine
	Beginning Fault = "beginning" // there is nothing to compare with yet
	Missing   Fault = "missing"   // the source does not say all that is needed
	Clock     Fault = "clock"     // the clock was set, or stood still
	Stale     Fault = "stale"     // the reading is older, or of a longer time, than one and a half periods
	Reset     Fault = "reset"     // a counter began anew
	Range     Fault = "range"     // no number, negative, or more than there can be
)

// Faults returns all faults but None.
func Faults() []Fault { return []Fault{Unknown, Beginning, Missing, Clock, Stale, Reset, Range} }

// patience is after how many periods a reading is too old.
const patience = 1.5

// IsStale reports whether a reading of so long ago, or of so long a time, says nothing of a period any more.
func IsStale(age, period time.Duration) bool { return float64(age) > patience*float64(period) }

// Bounds of what a machine can do.
const (
	overshoot = 1.05 // a share that is more than 1 by rounding alone; it counts as 1
	most      = 1e13 // bytes a second
)

// share returns a share of something as one in [0,1]; false if it is none.
func share(x float64) (float64, bool) {
	if !(x >= 0 && x <= overshoot) { // not NaN either
		return 0, false
	}
	return min(x, 1), true
}

// check returns the rates with shares in [0,1], and Range if something cannot be. Pressure that is unknown stays so.
func (r Rates) check() (Rates, Fault) {
	ok := true
	bound := func(x *float64) {
		v, fine := share(*x)
		*x, ok = v, ok && fine
	}
	bound(&r.CPU)
	bound(&r.IOWait)
	for _, p := range []*float64{&r.Pressure.CPU, &r.Pressure.IO, &r.Pressure.IOFull, &r.Pressure.Memory, &r.Pressure.MemoryFull} {
		if !math.IsNaN(*p) {
			bound(p)
		}
	}
	for _, x := range []float64{r.Read, r.Written, r.Received, r.Sent} {
		ok = ok && x >= 0 && x <= most
	}
	if !ok {
		return Rates{}, Range
	}
	return r, None
}
