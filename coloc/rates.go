package coloc

import "github.com/dovetail-sched/dovetail"

// Rate returns how fast runs of a class progress beside another one; Stranger stands for nobody. 1 with the interval that is expected of
// strangers if nothing is known.
func (b *Book) Rate(id, beside ID) dovetail.Rate {
	name := b.Name(beside)
	if b.has(id) && (name != "" || beside == Stranger) {
		if r, ok := rateOf(b.classes[id].evidence, name); ok {
			return r
		}
	}
	return dovetail.Rate{Beside: name, Rate: 1, Low: 1 - unknownHalf, High: 1 + unknownHalf}
}

// rateOf returns the rate beside a class, "" being alone, and whether there is any evidence of it.
func rateOf(e *dovetail.Evidence, beside string) (dovetail.Rate, bool) {
	if e == nil {
		return dovetail.Rate{}, false
	}
	i, ok := findRate(e.Rates, beside)
	if !ok {
		return dovetail.Rate{}, false
	}
	return e.Rates[i], true
}

// Slowdown returns how many times as long runs take beside a class as alone, and whether there is any evidence of that. Alone they go at
// their usual pace as long as no finished run shows another one. The interval holds at least 90 %: its ends are those of both rates, as if
// they erred in opposite directions.
func Slowdown(e *dovetail.Evidence, beside string) (dovetail.Slowdown, bool) {
	r, ok := rateOf(e, beside)
	if !ok || beside == "" {
		return dovetail.Slowdown{}, false
	}
	alone := dovetail.Rate{Rate: 1, Low: 1, High: 1, Runs: e.Runs}
	if a, ok := rateOf(e, ""); ok && a.Runs > 0 {
		alone = a
	}
	return dovetail.Slowdown{
		Times: alone.Rate / r.Rate, Low: alone.Low / r.High, High: alone.High / r.Low, Runs: r.Runs, Against: alone.Runs, Seconds: r.Seconds,
	}, true
}

// Harms reports whether it is proven that one of two classes takes so many times as long beside the other: the interval of its Slowdown lies
// beyond, or so does that of its rate when compared with its usual pace, for runs that are hardly ever alone show little of how fast they
// are then. Either way it takes dovetail.ProvenRuns runs beside the other class, and as many to compare them with. Nothing is proven of
// Strangers.
func (b *Book) Harms(a, c ID, slowdown float64) bool {
	if slowdown <= 0 || !b.has(a) || !b.has(c) {
		return false
	}
	return b.suffers(a, c, slowdown) || b.suffers(c, a, slowdown)
}

func (b *Book) suffers(a, beside ID, slowdown float64) bool {
	e := b.classes[a].evidence
	s, ok := Slowdown(e, b.classes[beside].name)
	if !ok || s.Runs < dovetail.ProvenRuns {
		return false
	}
	return s.Against >= dovetail.ProvenRuns && s.Low > slowdown || e.Runs >= dovetail.ProvenRuns && 1/b.Rate(a, beside).High > slowdown
}
