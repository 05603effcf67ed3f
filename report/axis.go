package report

import (
	"math"
	"strconv"
	"time"
)

// axis maps values to [0,1], and says where its marks are.
type axis struct {
	label string
	low   float64 // value at 0
	high  float64 // at 1
	log   bool
	marks []mark
}

// mark is a value with a word; without one it is a minor mark.
type mark struct {
	value float64
	word  string
}

// at returns where a value lies; values beyond the ends are drawn there.
func (a *axis) at(v float64) float64 {
	if a.log {
		if v <= a.low {
			return 0
		}
		return min(math.Log(v/a.low)/math.Log(a.high/a.low), 1)
	}
	return min(max((v-a.low)/(a.high-a.low), 0), 1)
}

const (
	mostDecades  = 5   // that a logarithmic axis shows
	linearSpan   = 100 // values of which the largest is more than so many times the least get one
	linearMarks  = 5   // about so many on a linear one
	defaultUpper = 1   // the end of an axis without values, above its beginning
)

// fit returns an axis that shows values from 0, or logarithmically if they span more than two decades.
func fit(label string, values []float64) axis {
	least, most := math.Inf(1), 0.0
	zero := false
	for _, v := range values {
		if v > 0 {
			least = min(least, v)
		} else {
			zero = true
		}
		most = max(most, v)
	}
	if most <= linearSpan*least {
		return linear(label, most)
	}
	top := ceilLog(most)
	bottom := max(floorLog(least), top-mostDecades)
	clipping := zero || least < math.Pow10(bottom)
	return logarithmic(label, bottom, top, clipping).upTo(most)
}

func floorLog(v float64) int { return int(math.Floor(math.Log10(v) + 1e-9)) }
func ceilLog(v float64) int  { return int(math.Ceil(math.Log10(v) - 1e-9)) }

// linear returns an axis from 0 to the first mark that is not less than a value.
func linear(label string, most float64) axis {
	if most <= 0 {
		most = defaultUpper
	}
	step := niceStep(most / linearMarks)
	return exact(label, math.Ceil(most/step-1e-6)*step, linearMarks)
}

// exact returns an axis from 0 to a value, with about so many marks.
func exact(label string, most float64, marks int) axis {
	if most <= 0 {
		most = defaultUpper
	}
	step := niceStep(most / float64(marks))
	a := axis{label: label, high: most}
	for i := 0; float64(i)*step <= most*(1+1e-9); i++ {
		a.marks = append(a.marks, mark{float64(i) * step, trim(float64(i)*step, step)})
	}
	return a
}

// niceStep returns the least of 1, 2 and 5 times a power of ten that is not less than v.
func niceStep(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, n := range [...]float64{1, 2, 5} {
		if n*power >= v*(1-1e-6) {
			return n * power
		}
	}
	return 10 * power
}

// trim writes a mark with as many decimals as the steps between marks need.
func trim(v, step float64) string {
	return number(v, max(-floorLog(step), 0))
}

// logarithmic returns an axis over decades, from 10^bottom; if it clips, smaller values are drawn there, and it says so.
func logarithmic(label string, bottom, top int, clipping bool) axis {
	a := axis{label: label, low: math.Pow10(bottom), high: math.Pow10(top), log: true}
	for d := bottom; d <= top; d++ {
		word := strconv.FormatFloat(math.Pow10(d), 'f', max(-d, 0), 64)
		if d > 5 {
			word = "1e" + strconv.Itoa(d)
		}
		if d == bottom && clipping {
			word = "≤ " + word
		}
		a.marks = append(a.marks, mark{math.Pow10(d), word})
		for n := 2; n < 10 && d < top; n++ {
			a.marks = append(a.marks, mark{float64(n) * math.Pow10(d), ""})
		}
	}
	return a
}

// upTo ends a logarithmic axis at the first mark that is not less than v.
func (a axis) upTo(v float64) axis {
	for i, m := range a.marks {
		if m.value >= v*(1-1e-9) {
			a.marks, a.high = a.marks[:i+1], m.value
			break
		}
	}
	return a
}

// timeAxis returns an axis for times of this span, and the unit in which it counts them.
func timeAxis(span time.Duration, marks int) (axis, time.Duration) {
	unit, name := time.Second, "s"
	switch {
	case span > 3*24*time.Hour:
		unit, name = 24*time.Hour, "days"
	case span > 3*time.Hour:
		unit, name = time.Hour, "h"
	case span > 5*time.Minute:
		unit, name = time.Minute, "min"
	}
	return exact("time, "+name, float64(span)/float64(unit), marks), unit
}
