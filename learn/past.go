package learn

import (
	"maps"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// PastOf returns a finished run as predictions learn from it. The history must have been asked for with HistoryFilter.Learn: it needs
// the application and the neighbours.
//
// Its runtime counts from the time that all of its core was ready (of runs from before that was recorded: from the first replica handed
// over) to its end, and so do scale-out and overlaps. While a run is being ended its replicas go one by one; that counts as if they had
// stayed, see ending.
func PastOf(h *dovetail.History) dovetail.Past {
	if h.Import != nil {
		return *h.Import
	}
	s := &h.Status
	p := dovetail.Past{
		Class: s.Class, App: s.App, Params: h.Params, Run: s.ID, Outcome: s.Outcome, Preempted: h.Suspended || s.Retries > 0,
		InputSize: s.InputSize, NodeClasses: s.NodeClasses,
	}
	if s.Ended == nil {
		return p
	}
	p.Ended = *s.Ended
	from := s.Ready
	if from == nil {
		from = s.Started
	}
	if from == nil || !from.Before(p.Ended) {
		return p
	}
	p.Runtime = p.Ended.Sub(*from).Seconds()
	p.ScaleOut, p.Stretches = scaleOut(h, *from, p.Ended)
	p.Overlaps = overlaps(h, *from, p.Ended)
	return p
}

// scaleOut returns the replicas of the scaled component between two times, core and elastic: averaged over time, and over time if
// their number changed.
func scaleOut(h *dovetail.History, from, to time.Time) (mean float64, over []dovetail.Stretch) {
	component := -1 // every one, of a run whose application is not known
	if h.App != nil && len(h.App.Components) > 0 {
		component = h.App.Scaled()
	}
	stop := ending(h, from, to)
	total, at := 0, from
	now := make(map[dovetail.Slot]int)
	whole := to.Sub(from).Seconds()
	stretch := func(until time.Time) {
		if !until.After(at) {
			return
		}
		seconds := until.Sub(at).Seconds()
		mean += float64(total) * (seconds / whole)
		if n := len(over); n > 0 && over[n-1].ScaleOut == total {
			over[n-1].Seconds += seconds
		} else {
			over = append(over, dovetail.Stretch{ScaleOut: total, Seconds: seconds})
		}
		at = until
	}
	for _, p := range h.Placements {
		if component >= 0 && p.Component != component || !p.At.Before(stop) {
			continue
		}
		stretch(p.At)
		total += p.N - now[p.Slot]
		now[p.Slot] = p.N
	}
	stretch(to)
	if len(over) == 1 {
		return float64(total), nil
	}
	return mean, over
}

// ending returns when the work of a run was done: from then on its replicas only go. In a run that a component ends (Component.Ends)
// that is when the last core replica of one such component has gone for good; in others when the first core replica of the scaled component has. It
// is no later than to.
func ending(h *dovetail.History, from, to time.Time) time.Time {
	if h.App == nil {
		return to
	}
	last := to
	byItself := slices.ContainsFunc(h.App.Components, func(c dovetail.Component) bool { return c.Ends != "" })
	for i := range h.App.Components {
		c := &h.App.Components[i]
		least := 1 // with fewer core replicas it is going
		switch {
		case c.Count == 0 || byItself && c.Ends == "" || !byItself && i != h.App.Scaled():
			continue
		case !byItself:
			least = c.Count
		}
		if at := gone(h.Placements, i, least); at.After(from) && at.Before(last) {
			last = at
		}
	}
	return last
}

// gone returns since when a component has fewer core replicas than least, for good; the zero time if it has not.
func gone(placements []dovetail.Placement, component, least int) time.Time {
	now := make(map[dovetail.Slot]int)
	total := 0
	var since time.Time
	for _, p := range placements {
		if p.Component != component || p.Elastic {
			continue
		}
		before := total
		total += p.N - now[p.Slot]
		now[p.Slot] = p.N
		switch {
		case total >= least:
			since = time.Time{}
		case before >= least:
			since = p.At
		}
	}
	return since
}

// overlaps returns for what share of the time between two times runs of other classes, and further ones of its own, were beside a run:
// the sum over its nodes of the time that both were there, over the sum of the time that it was there; by class, summed over runs.
func overlaps(h *dovetail.History, from, to time.Time) []dovetail.Overlap {
	beside := make(map[string]float64)
	for i := range h.Neighbours {
		n := &h.Neighbours[i]
		if both := earlier(n.To, to).Sub(later(n.From, from)); both > 0 {
			beside[n.Class] += both.Seconds()
		}
	}
	own := presence(h.Placements, from, to)
	var all []dovetail.Overlap
	for _, class := range slices.Sorted(maps.Keys(beside)) {
		if own > 0 {
			all = append(all, dovetail.Overlap{Class: class, Ratio: beside[class] / own})
		}
	}
	return all
}

// presence returns the seconds between two times that a run was on its nodes, summed over them.
func presence(placements []dovetail.Placement, from, to time.Time) float64 {
	type stay struct {
		since    time.Time
		replicas int
	}
	slots := make(map[dovetail.Slot]int)
	nodes := make(map[string]*stay)
	sum := 0.0
	leave := func(s *stay, at time.Time) {
		if d := earlier(at, to).Sub(later(s.since, from)); d > 0 {
			sum += d.Seconds()
		}
	}
	var names []string
	for _, p := range placements {
		s := nodes[p.Node]
		if s == nil {
			s = new(stay)
			nodes[p.Node] = s
			names = append(names, p.Node)
		}
		was := s.replicas
		s.replicas += p.N - slots[p.Slot]
		slots[p.Slot] = p.N
		switch {
		case was == 0 && s.replicas > 0:
			s.since = p.At
		case was > 0 && s.replicas == 0:
			leave(s, p.At)
		}
	}
	for _, name := range names {
		if s := nodes[name]; s.replicas > 0 {
			leave(s, to)
		}
	}
	return sum
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Learnable reports whether a run is learned from: it succeeded, nothing interrupted it, and its runtime and scale-out are known.
func Learnable(p *dovetail.Past) bool {
	return p.Outcome == dovetail.OutcomeSucceeded && !p.Preempted && p.Runtime > 0 && p.ScaleOut >= 1
}

// Samples returns what a model is fitted to: the learnable ones of the runs, in their order. A run whose scale-out varied comes with its
// steps.
func Samples(past []dovetail.Past) []predict.Sample {
	var all []predict.Sample
	for i := range past {
		p := &past[i]
		if !Learnable(p) {
			continue
		}
		s := predict.Sample{ScaleOut: p.ScaleOut, Runtime: p.Runtime, Input: float64(p.InputSize), Overlaps: p.Overlaps}
		if p.Varied() {
			for _, st := range p.Stretches {
				s.Steps = append(s.Steps, predict.Step{ScaleOut: float64(st.ScaleOut), Seconds: st.Seconds})
			}
		}
		all = append(all, s)
	}
	return all
}

// Check returns what is wrong with a run that is to be imported, or nil: a dovetail.Invalid error.
func Check(p *dovetail.Past) error {
	wrong := ""
	switch {
	case p.Class == "" || p.App == "":
		wrong = "it has no job class or no application; name them with --class or --app"
	case p.Run != 0:
		wrong = "it has the number of a run; what is imported has none"
	case !slices.Contains(outcomes(), p.Outcome):
		wrong = "its outcome is none of succeeded, failed, cancelled, timedout and lost"
	case p.Ended.Year() < 1970 || p.Ended.Year() > 9999:
		wrong = "it does not say when it ended"
	case !(p.Runtime >= 0 && p.Runtime <= longest) || !(p.ScaleOut >= 0 && p.ScaleOut <= mostReplicas):
		wrong = "its runtime in seconds or its scale-out is out of bounds"
	case p.Outcome == dovetail.OutcomeSucceeded && (p.Runtime <= 0 || p.ScaleOut < 1):
		wrong = "it succeeded without a runtime, or with a scale-out of less than 1"
	case p.InputSize < 0:
		wrong = "its input size is negative"
	case slices.ContainsFunc(p.Overlaps, func(o dovetail.Overlap) bool { return o.Class == "" || !(o.Ratio >= 0 && o.Ratio <= mostReplicas) }):
		wrong = "an overlap has no class, or is not a number from 0 on"
	case !rising(p.Overlaps):
		wrong = "its overlaps are not in order of class, each class once"
	case slices.ContainsFunc(p.Stretches, func(s dovetail.Stretch) bool { return s.ScaleOut < 0 || !(s.Seconds > 0 && s.Seconds <= longest) }):
		wrong = "a stretch has a negative scale-out, or no time"
	}
	if wrong == "" {
		return nil
	}
	return dovetail.Errorf(dovetail.Invalid, "a run of %q cannot be imported: %s", clip(p.Class), wrong)
}

// rising reports whether overlaps are in order of class, each class once.
func rising(all []dovetail.Overlap) bool {
	for i := 1; i < len(all); i++ {
		if all[i].Class <= all[i-1].Class {
			return false
		}
	}
	return true
}
