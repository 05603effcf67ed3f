package predict

import (
	"math"

	"github.com/dovetail-sched/dovetail"
)

// overdue is how much longer than it has run already a run is taken to run at least, if its model holds that it should have ended.
const overdue = 1.05

// Lasting returns the total runtime that a run which still runs after so many seconds does not exceed with probability p: the quantile at F +
// p(1−F), with F the probability that it had ended by now; at least 1.05 × elapsed if it certainly should have. (The iteration of seed 001 would say that a run that
// is overdue has ended.)
func Lasting(d Distribution, elapsed, p float64) float64 {
	if gone := d.AtMost(elapsed); gone < 1 {
		if q := gone + float64(p*(1-gone)); q < 1 {
			if total := d.Quantile(q); total > elapsed {
				return total
			}
		}
	}
	return float64(overdue * elapsed)
}

// EndsWithin returns the probability that a run that still runs after elapsed seconds ends in so many more: the conditional probability
// (F(elapsed+more) − F(elapsed)) / (1 − F(elapsed)). A run that certainly should have ended is taken to run 1.05 times as long as it has.
func (t Table) EndsWithin(elapsed, more float64) float64 {
	const hopeless = 1e-9
	if more <= 0 {
		return 0
	}
	gone := t.AtMost(elapsed)
	if 1-gone < hopeless {
		return Exactly(overdue * elapsed).AtMost(elapsed + more)
	}
	return (t.AtMost(elapsed+more) - gone) / (1 - gone)
}

// Overlapping returns for how many of the next target seconds a run K goes on, and its total runtime, if a newcomer J runs beside it
// from now on until its target: Algorithm 1 of seed 001 in closed form. Alone K takes f0 seconds in all, of which elapsed are gone; while J is beside it K takes 1+alpha times
// as long. J is taken to run for the whole of its target.
//
// The total is the fixed point of r = f0·(1 + alpha·clamp(r−elapsed, 0, target)/r). The seed returns total/target; what it means is
// overlap/target, which lies in [0,1]. A K that should have ended (f0 ≤ elapsed) has total f0 and no overlap: see Lasting.
func Overlapping(f0, alpha, elapsed, target float64) (overlap, total float64) {
	if f0 <= elapsed {
		return 0, f0
	}
	total = (f0 + math.Sqrt(float64(f0*f0)+float64(4*f0*alpha*target))) / 2
	if total < elapsed+target {
		a := float64(f0 * (1 + alpha))
		total = (a + math.Sqrt(max(0, float64(a*a)-float64(4*f0*alpha*elapsed)))) / 2
	}
	return min(max(total-elapsed, 0), target), total
}

// Ratio returns which share of the target seconds of a newcomer, from now on, a run of this outlook goes on beside it. The run has so many
// replicas of its scaled component, has run for elapsed seconds, and slows down by what the outlook says of the newcomer's class. One that nothing is known of goes
// on: 1.
func Ratio(o *dovetail.Outlook, factor, scaleOut, elapsed float64, class string, target float64) float64 {
	if !Known(o) || target <= 0 {
		return 1
	}
	alone := Lookup(o, scaleOut, nil).Scaled(factor)
	beside := Lookup(o, scaleOut, []dovetail.Overlap{{Class: class, Ratio: 1}}).Scaled(factor)
	alpha := beside.Quantile(.5)/alone.Quantile(.5) - 1
	overlap, _ := Overlapping(Lasting(alone, elapsed, .5), max(0, alpha), elapsed, target)
	return overlap / target
}
