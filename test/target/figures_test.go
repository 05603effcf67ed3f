package target_test

import (
	"github.com/dovetail-sched/dovetail/report"
)

// played is a trial with what became of it in each arm, in the order of arms().
type played struct {
	trial    trial
	outcomes []outcome
}

// summary is one arm over some trials.
type summary struct {
	runs, met   int
	excess      float64 // by how much runs that were late exceeded the target, on average, as a part of it; 0 if none was
	worst       float64 // of these
	nodeSeconds report.Interval
	took        report.Interval // seconds
	others      float64         // processors
}

func summarise(trials []played, arm int) summary {
	s := summary{runs: len(trials)}
	var nodeSeconds, took []float64
	for i := range trials {
		o := &trials[i].outcomes[arm]
		nodeSeconds, took = append(nodeSeconds, o.nodeSeconds), append(took, o.took)
		s.others += o.others / float64(s.runs)
		if o.met() {
			s.met++
			continue
		}
		late := o.took/target.Seconds() - 1
		s.excess += late
		s.worst = max(s.worst, late)
	}
	if late := s.runs - s.met; late > 0 {
		s.excess /= float64(late)
	}
	s.nodeSeconds, s.took = report.Estimate(nodeSeconds), report.Estimate(took)
	return s
}

// difference is what the first arm changes against another one, trial by trial.
type difference struct {
	only, other int             // trials in which the first arm alone met the target, and in which the other alone did
	nodeSeconds report.Interval // first − other
	took        report.Interval
}

func compare(trials []played, arm int) difference {
	var d difference
	var nodeSeconds, took []float64
	for i := range trials {
		one, other := &trials[i].outcomes[0], &trials[i].outcomes[arm]
		nodeSeconds, took = append(nodeSeconds, one.nodeSeconds-other.nodeSeconds), append(took, one.took-other.took)
		switch {
		case one.met() && !other.met():
			d.only++
		case other.met() && !one.met():
			d.other++
		}
	}
	d.nodeSeconds, d.took = report.Estimate(nodeSeconds), report.Estimate(took)
	return d
}
