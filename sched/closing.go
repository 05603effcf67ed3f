package sched

import (
	"math"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// attend puts on the stage who is in service, if nobody waits but those of the window: the end of the line can be foreseen then.
func (d *draft) attend() {
	s := &d.scene
	s.Serving = s.Serving[:0]
	if !d.window.last || !d.c.method.Placed || len(d.c.serving)+len(d.started) > coloc.MostServing {
		return
	}
	for _, runs := range [2][]*run{d.c.serving, d.started} {
		for _, r := range runs {
			if r.ending {
				continue
			}
			x := coloc.Serving{ID: d.c.id(r.kind), Left: d.lasts(r)}
			for node := range d.coreOf(r) {
				x.Nodes = append(x.Nodes, node)
			}
			s.Serving = append(s.Serving, x)
		}
	}
}

// lasts returns for how many seconds a run is still there with what it is granted, at its usual pace: 0 if nobody knows, else one at
// least, and +Inf for a service.
func (d *draft) lasts(r *run) float64 {
	if r.app.spec.Kind == dovetail.Service {
		return math.Inf(1)
	}
	granted := 0
	for ci := range r.comps {
		granted += r.comps[ci].want[core] + r.comps[ci].want[elastic]
	}
	if r.expected <= 0 || granted == 0 {
		return 0
	}
	return max(1, float64(r.load-r.workBy(d.now))/1e6/float64(granted))
}
