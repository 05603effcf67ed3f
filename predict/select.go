package predict

import (
	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/fit"
)

// Few is how many runs a class needs before its outlook is trusted; until then Bootstrap explores (seed 001, section III-B).
const Few = 6

// Select returns the smallest scale-out between low and high with which the target is met with at least this confidence, and with which
// probability; meets is asked for the probability at a scale-out, at most once for each, in rising order. If there is none it returns high, the probability there, and
// false: the most that can be done, and never the scale-out with the highest probability, which may be one that was never tried.
func Select(low, high int, confidence float64, meets func(scaleOut int) float64) (scaleOut int, probability float64, feasible bool) {
	for scaleOut = low; ; scaleOut++ {
		if probability = meets(scaleOut); probability >= confidence {
			return scaleOut, probability, true
		}
		if scaleOut >= high {
			return high, probability, false
		}
	}
}

// Bootstrap returns the scale-out of a run of a class of which fewer than Few have finished: between low and high, for a target in
// seconds, after these runs in the order they ran. The first runs at high, the second half-way down to low, the third half-way on to where the target should lie (the
// public code of Bell's authors); from the fourth on Ernest, fitted to all of them without weights and without a look at overlaps, picks the smallest
// scale-out that meets the target; high if none does, or if runtimes are not numbers. Fewer replicas than were
// ever tried are not taken for faster (our addition: of three noisy runs the form may say that one replica is the fastest).
func Bootstrap(first []dovetail.Stretch, low, high int, target float64) int {
	switch len(first) {
	case 0:
		return high
	case 1:
		return within((low+first[0].ScaleOut)/2, low, high)
	case 2:
		small, large := first[0], first[1]
		if small.ScaleOut > large.ScaleOut {
			small, large = large, small
		}
		if small.Seconds < target {
			return within((low+small.ScaleOut)/2, low, high)
		}
		return within((small.ScaleOut+large.ScaleOut)/2, low, high)
	}
	columns, seconds := make([][]float64, 4), make([]float64, len(first))
	for i, s := range first {
		for j, v := range basis(float64(s.ScaleOut)) {
			columns[j] = append(columns[j], v)
		}
		seconds[i] = s.Seconds
	}
	ernest, err := fit.NNLS(columns, seconds, nil)
	if err != nil {
		return high
	}
	f := form{theta: [4]float64(ernest.X)}
	fewest := first[0].ScaleOut
	for _, s := range first {
		fewest = min(fewest, s.ScaleOut)
	}
	least := f.alone(float64(fewest))
	x, _, _ := Select(low, high, 1, func(x int) float64 {
		seconds := f.alone(float64(x))
		if x < fewest && seconds < least {
			return 0
		}
		return Exactly(seconds).AtMost(target)
	})
	return x
}

func within(x, low, high int) int { return min(max(x, low), high) }
