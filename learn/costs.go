package learn

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// Costs says who ran beside a finished run, for how long, and by how much longer it took for that, by what is known now of its class; by class of
// the neighbours. The history must have been asked for with HistoryFilter.Learn: it needs the neighbours. Further runs of its own class count as
// neighbours.
//
// In t seconds beside a class by which it takes s times as long (coloc.Slowdown) a run does what takes t/s seconds alone: it lost t·(1 − 1/s). The
// interval is that of s. If the times beside all neighbours add up to more than the run's there were several at once, and t is its part of that,
// as it is when evidence is made.
func Costs(h *dovetail.History, known func(class string) (dovetail.KnownClass, bool)) []dovetail.Cost {
	p := PastOf(h)
	if !(p.Runtime > 0) || !sane(p.Overlaps) {
		return nil
	}
	var evidence *dovetail.Evidence
	if k, ok := known(p.Class); ok {
		evidence = k.Evidence
	}
	whole := 0.0
	for _, o := range p.Overlaps {
		whole += o.Ratio
	}
	var all []dovetail.Cost
	for _, o := range p.Overlaps {
		if o.Ratio == 0 {
			continue
		}
		c := dovetail.Cost{Class: o.Class, Seconds: o.Ratio * p.Runtime}
		for i := range h.Neighbours {
			n := &h.Neighbours[i]
			if n.Class == o.Class && n.To.After(p.Ended.Add(-time.Duration(p.Runtime*1e9))) && !slices.Contains(c.Runs, n.Run) {
				c.Runs = append(c.Runs, n.Run)
			}
		}
		slices.Sort(c.Runs)
		if s, ok := coloc.Slowdown(evidence, o.Class); ok {
			t := c.Seconds / max(whole, 1)
			c.Known, c.Lost, c.Low, c.High = true, t*(1-1/s.Times), t*(1-1/s.Low), t*(1-1/s.High)
		}
		all = append(all, c)
	}
	return all
}
