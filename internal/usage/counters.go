package usage

import (
	"fmt"
	"math"
	"time"
)

// Counters is what a machine has counted since it was booted, at one moment.
type Counters struct {
	At       time.Time
	Boot     string // names the boot: all counters begin anew with another one
	CPU      CPUTime
	Pressure *Stalls  // nil: the kernel does not say
	Disks    []Device // whole devices only, by name; In and Out are sectors read and written
	Nets     []Device // by name; In and Out are bytes received and sent
}

// CPUTime is processor time of all processors, in ticks.
type CPUTime struct {
	Total uint64
	Idle  uint64 // without Wait
	Wait  uint64 // idle while I/O was under way
}

// Stalls is for how long tasks stood still, in microseconds: the totals of /proc/pressure.
type Stalls struct{ CPU, IO, IOFull, Memory, MemoryFull uint64 }

// Device is a disk or a network interface.
type Device struct {
	Name    string
	In, Out uint64
}

// sector is the unit in which Linux counts what disks move, whatever their own sectors are.
const sector = 512

// Between returns the average rates of the time between two moments, which should be about a period apart. The fault says why there are
// none, the text of what. A device that is new, or gone, counts from the next period on.
func Between(a, b *Counters, period time.Duration) (Rates, Fault, string) {
	elapsed := b.At.Sub(a.At)
	switch {
	case a.Boot != b.Boot:
		return Rates{}, Reset, "the machine was booted again"
	case 2*elapsed < period || elapsed <= 0:
		return Rates{}, Clock, fmt.Sprintf("%v passed in a period of %v", elapsed, period)
	case IsStale(elapsed, period):
		return Rates{}, Stale, fmt.Sprintf("%v passed in a period of %v", elapsed, period)
	}
	r := Rates{Pressure: NoPressure()}
	if fault, what := r.cpu(&a.CPU, &b.CPU); fault != None {
		return Rates{}, fault, what
	}
	if a.Pressure != nil && b.Pressure != nil {
		if what := r.stalls(a.Pressure, b.Pressure, elapsed); what != "" {
			return Rates{}, Reset, what
		}
	}
	read, written, fell := advances(a.Disks, b.Disks)
	if fell != "" {
		return Rates{}, Reset, "disk " + fell
	}
	received, sent, fell := advances(a.Nets, b.Nets)
	if fell != "" {
		return Rates{}, Reset, "network interface " + fell
	}
	seconds := elapsed.Seconds()
	r.Read, r.Written = read*sector/seconds, written*sector/seconds
	r.Received, r.Sent = received/seconds, sent/seconds
	r, fault := r.check()
	if fault != None {
		return Rates{}, fault, "a rate is beyond what a machine can do"
	}
	return r, None, ""
}

// jitter is by how much the counters of idle time may fall, in ticks: the kernel computes them, and proc_stat(5) warns that they do.
const jitter = 300

// cpu sets the shares of processor time.
func (r *Rates) cpu(a, b *CPUTime) (Fault, string) {
	total, ok := advance(a.Total, b.Total)
	if !ok {
		return Reset, "processor time"
	}
	if total == 0 {
		return Stale, "processor time stands still"
	}
	idle, ok := forward(a.Idle, b.Idle)
	wait, fine := forward(a.Wait, b.Wait)
	if !ok || !fine {
		return Reset, "idle processor time"
	}
	r.CPU = 1 - float64(idle+wait)/float64(total)
	if r.CPU < 0 && r.CPU > 1-overshoot {
		r.CPU = 0 // idle time that fell before has come back
	}
	r.IOWait = float64(wait) / float64(total)
	return None, ""
}

// forward returns by how much a counter of idle time has grown; one that fell a little stands still.
func forward(from, to uint64) (uint64, bool) {
	if to < from && from-to <= jitter {
		return 0, true
	}
	return advance(from, to)
}

// stalls sets the pressure; it returns which counter began anew.
func (r *Rates) stalls(a, b *Stalls, elapsed time.Duration) string {
	of := func(from, to uint64) float64 {
		d, ok := advance(from, to)
		if !ok {
			return math.Inf(1)
		}
		return float64(d) / float64(elapsed.Microseconds())
	}
	r.Pressure = Pressure{
		CPU: of(a.CPU, b.CPU), IO: of(a.IO, b.IO), IOFull: of(a.IOFull, b.IOFull),
		Memory: of(a.Memory, b.Memory), MemoryFull: of(a.MemoryFull, b.MemoryFull),
	}
	p := r.Pressure
	if math.IsInf(p.CPU+p.IO+p.IOFull+p.Memory+p.MemoryFull, 1) {
		return "pressure"
	}
	return ""
}

// advances returns by how much the counters of the devices that are in both lists have grown in all. It returns the name of one
// that began anew.
func advances(a, b []Device) (in, out float64, fell string) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Name < b[0].Name:
			a = a[1:]
			continue
		case a[0].Name > b[0].Name:
			b = b[1:]
			continue
		}
		i, ok := advance(a[0].In, b[0].In)
		o, fine := advance(a[0].Out, b[0].Out)
		if !ok || !fine {
			return 0, 0, a[0].Name
		}
		in, out = in+float64(i), out+float64(o)
		a, b = a[1:], b[1:]
	}
	return in, out, ""
}

// advance returns by how much a counter has grown that never falls but by passing the end of its 32 or 64 bits: it was in the upper
// half of them, and has grown by less than half of them. Any other fall is a new beginning: false.
func advance(from, to uint64) (uint64, bool) {
	const half32, half64 = 1 << 31, 1 << 63
	switch {
	case to >= from:
		return to - from, true
	case from >= half64 && to-from < half64: // modulo 1<<64
		return to - from, true
	case from >= half32 && from < 2*half32 && to+2*half32-from < half32:
		return to + 2*half32 - from, true
	}
	return 0, false
}
