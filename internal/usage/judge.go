package usage

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Signal is by what a machine tells that work stood still for I/O.
type Signal string

// The signals.
const (
	Auto    Signal = "auto"     // PSIFull of machines that say it, else IOWait
	PSI     Signal = "psi"      // share of time in which at least one task waited for I/O
	PSIFull Signal = "psi-full" // share of time in which all tasks that had something to do waited for I/O
	IOWait  Signal = "iowait"   // share of processor time that was idle while I/O was under way (seed 000 §4.2)
)

// ParseSignal returns the signal with this name; the error lists the names there are.
func ParseSignal(s string) (Signal, error) {
	switch signal := Signal(s); signal {
	case Auto, PSI, PSIFull, IOWait:
		return signal, nil
	}
	return "", fmt.Errorf("unknown signal %q; expected %s", s, strings.Join([]string{string(Auto), string(PSI), string(PSIFull), string(IOWait)}, ", "))
}

// Judge turns readings into shares of what machines have, and learns what disks and networks can do. It is not safe for concurrent use.
type Judge struct {
	signal     Signal
	configured Limits
	peaks      map[string]*peaks
}

// NewJudge returns a judge that goes by a signal and by limits; those that are 0 it learns, machine by machine.
func NewJudge(signal Signal, limits Limits) *Judge {
	return &Judge{signal: signal, configured: limits, peaks: make(map[string]*peaks)}
}

// Use returns how a machine was used in a period, without the name of a node, and by which signal that was said, or what is wrong with the
// reading. Limits are learned from it.
func (j *Judge) Use(r *Reading) (dovetail.NodeUse, Signal, Fault) {
	if r.Fault != None {
		return dovetail.NodeUse{}, "", r.Fault
	}
	rates, fault := r.check()
	if fault != None {
		return dovetail.NodeUse{}, "", fault
	}
	signal, wait := j.wait(&rates)
	if math.IsNaN(wait) {
		return dovetail.NodeUse{}, "", Missing
	}
	p := j.peaks[r.Machine]
	if p == nil {
		p = new(peaks)
		j.peaks[r.Machine] = p
	}
	p.note(r)
	l := p.limits(j.configured)
	return dovetail.NodeUse{
		CPU: brief(rates.CPU), Wait: brief(wait),
		Disk: brief(rates.Read/l.Read + rates.Written/l.Write),
		Net:  brief(rates.Received/l.Receive + rates.Sent/l.Send),
	}, signal, None
}

// wait returns how much work stood still for I/O, and by which signal; NaN if the machine does not say.
func (j *Judge) wait(r *Rates) (Signal, float64) {
	switch {
	case j.signal == PSI:
		return PSI, r.Pressure.IO
	case j.signal == PSIFull, j.signal == Auto && !math.IsNaN(r.Pressure.IOFull):
		return PSIFull, r.Pressure.IOFull
	}
	return IOWait, r.IOWait
}

// brief rounds to ten thousandths: no reading is more exact, and the journal keeps them all.
func brief(x float64) float64 { return math.Round(1e4*x) / 1e4 }

// Limits returns what the disks and networks of a machine are thought to be able to do.
func (j *Judge) Limits(machine string) Limits {
	p := j.peaks[machine]
	if p == nil {
		p = new(peaks)
	}
	return p.limits(j.configured)
}

// forgetting is how long a machine is remembered that nothing is heard of.
const forgetting = 30 * 24 * time.Hour

// Tidy forgets machines that are long gone.
func (j *Judge) Tidy(now time.Time) {
	for name, p := range j.peaks {
		if now.Sub(p.at) > forgetting {
			delete(j.peaks, name)
		}
	}
}
