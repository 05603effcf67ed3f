package sched

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Live is a run that has not ended, as one needs to know it who takes the machines' part from here on: a simulation of what
// comes next.
type Live struct {
	Run       *dovetail.Run
	State     dovetail.State
	Held      bool // it waits, and does not start before it is released
	Suspended bool
	Frozen    bool // the back-end was told that it is suspended
	Submitted time.Time
	Started   time.Time  // first replica handed to the back-end; zero: not yet
	Work      int64      // replica-microseconds done by the time that was asked for
	Done      int        // core replicas that ended by themselves and well, and are not replaced
	Cells     []LiveCell // in order of component, class and node; none while it waits
}

// LiveCell is the replicas in one slot that the back-end was handed: Live of them, of which it is to keep Told. Of the others it
// has not reported yet that they are down.
type LiveCell struct {
	dovetail.Slot
	Told  int
	Live  int
	Up    int // of Live
	Ready int // of Up
}

// Live returns every run that has not ended, by ID, with its work as of now.
func (c *Core) Live(now time.Time) []Live {
	all := make([]Live, 0, len(c.runs))
	for _, r := range c.runs { //dovetail:anyorder sorted below
		all = append(all, c.live(r, now))
	}
	slices.SortFunc(all, func(a, b Live) int { return int(a.Run.ID - b.Run.ID) })
	return all
}

func (c *Core) live(r *run, now time.Time) Live {
	l := Live{
		Run: r.spec, State: r.state, Held: r.held, Suspended: r.suspended, Frozen: r.frozen,
		Submitted: r.submitted, Started: r.started, Work: r.workBy(now),
	}
	for ci := range r.comps {
		l.Done += r.comps[ci].done[core]
		for i := range r.comps[ci].cells {
			if k := &r.comps[ci].cells[i]; k.told > 0 || k.live > 0 {
				l.Cells = append(l.Cells, LiveCell{Slot: c.slot(r, ci, k), Told: k.told, Live: k.live, Up: k.up, Ready: k.ready})
			}
		}
	}
	return l
}
