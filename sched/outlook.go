package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/predict"
)

// similar is how far two input sizes may be apart to count as the same: 10 % of the larger (seed 001, section III-B).
const similar = 0.1

// mostLearned bounds how many job classes something is known of. Of one more, what was learned longest ago is forgotten: a class with a parameter that is never the
// same again is not learned of twice, and each is in every snapshot.
const mostLearned = 2000

// view is an outlook as a run sees it: its runtimes are so many times as long as the outlook says.
type view struct {
	*dovetail.Outlook
	factor float64
}

// fitted replaces what is known of a job class with inputs of one size.
func (c *Core) fitted(o *dovetail.Outlook, now time.Time) error {
	switch {
	case o.Class == "" || o.InputSize < 0 || o.Runs < 0:
		return dovetail.Errorf(dovetail.Invalid, "outlook: it needs a class, and no negative number of runs or bytes")
	case !predict.Known(o) && len(o.First) == 0 && o.Runs > 0:
		return dovetail.Errorf(dovetail.Invalid, "outlook of %s: it says nothing of its %d runs", o.Class, o.Runs)
	}
	if fault := predict.Check(o); fault != "" {
		return dovetail.Errorf(dovetail.Invalid, "outlook of %s: %s", o.Class, fault)
	}
	c.learn(o.Class, now, func() {
		all := c.outlooks[o.Class]
		i, ok := slices.BinarySearchFunc(all, o.InputSize, func(o *dovetail.Outlook, size int64) int { return cmp.Compare(o.InputSize, size) })
		if ok {
			all[i] = o
		} else {
			all = slices.Insert(all, i, o)
		}
		c.outlooks[o.Class] = all
	})
	c.learned = slices.DeleteFunc(c.learned, func(class string) bool { return class == o.Class })
	if c.learned = append(c.learned, o.Class); len(c.learned) > mostLearned {
		oldest := c.learned[0]
		c.learned = c.learned[1:]
		c.learn(oldest, now, func() { delete(c.outlooks, oldest) })
	}
	return nil
}

// learn lets what is known of a job class change, and draws the consequences for the runs there are: progress up to now was made by what
// was known before, and sizes may be others.
func (c *Core) learn(class string, now time.Time, change func()) {
	for _, r := range c.aimed {
		if r.spec.Class == class {
			c.progress(r, now)
		}
	}
	change()
	c.regroup(map[string]bool{class: true}, now)
	resized := false
	for _, r := range c.runs { //dovetail:anyorder every run by itself
		if r.spec.Class == class {
			resized = c.size(r) || resized
		}
	}
	if resized && c.order.Sized {
		c.rekey(class, now)
	}
}

// size notes the runtime at full scale that is expected of a run, and reports whether it is another one than before. What the user
// says counts more than what the outlook does.
func (c *Core) size(r *run) bool {
	was, cautious := r.expected, r.cautious
	if r.expected, r.cautious = r.spec.Expected(), 0; r.expected <= 0 {
		if v := c.view(r.spec.Class, r.input()); predict.Known(v.Outlook) {
			_, full := r.app.scales()
			t := v.at(full, nil)
			r.expected, r.cautious = duration(t.Quantile(.5)), duration(t.Quantile(cautiously))
		}
	}
	if r.expected != was {
		r.weigh()
	}
	return r.expected != was || r.cautious != cautious
}

// cautiously is the probability with which a runtime is not longer than one that is counted on.
const cautiously = 0.9

// duration returns so many seconds in whole microseconds, at most 100 years and at least one.
func duration(seconds float64) time.Duration {
	const century = 100 * 365.25 * 24 * 3600
	return max(1, time.Duration(min(seconds, century)*1e6)) * time.Microsecond
}

// forecast returns what is expected of a run that starts now with what it is granted, beside those that are in service; nil if nothing
// is known.
func (c *Core) forecast(r *run, now time.Time) *dovetail.Prediction {
	v := c.view(r.spec.Class, r.input())
	if !predict.Known(v.Outlook) {
		return nil
	}
	x := r.scaleOut()
	t := v.at(x, c.overlaps(r, v, v.at(x, nil).Quantile(.5), now, nil))
	return &dovetail.Prediction{
		Model: v.Model, Runs: v.Runs, ScaleOut: x, Low: t.Quantile(1 - cautiously), Median: t.Quantile(.5), High: t.Quantile(cautiously),
	}
}

// view returns what is known of runs of a class with an input of so many bytes (0: unknown): the outlook for this size or the nearest
// similar one; else that of the size with the nearest ratio, with runtimes in proportion to the size; else that of any size. Without a size it is
// that of any size, else the one that learned from most runs. The outlook is nil if there is none.
func (c *Core) view(class string, input int64) view {
	all := c.outlooks[class]
	var best view
	if len(all) == 0 {
		return best
	}
	if input <= 0 || all[len(all)-1].InputSize == 0 {
		best = view{all[0], 1}
		for _, o := range all {
			if best.InputSize > 0 && o.Runs > best.Runs {
				best.Outlook = o
			}
		}
		return best
	}
	nearest := math.Inf(1)
	for _, o := range all {
		if o.InputSize > 0 {
			ratio := float64(input) / float64(o.InputSize)
			if far := math.Abs(math.Log(ratio)); far < nearest {
				nearest, best = far, view{o, ratio}
			}
		}
	}
	if r := best.factor; min(r, 1/r) >= 1-similar {
		best.factor = 1
	}
	return best
}

// Outlook returns what is known of the runtimes of a job class with an input of so many bytes (0: unknown), or nil. If only other
// sizes are known, it is the one for the nearest with runtimes in proportion to the size; its InputSize is then the one that was asked for. It must not be
// changed.
func (c *Core) Outlook(class string, input int64) *dovetail.Outlook {
	v := c.view(class, input)
	if v.Outlook == nil || v.factor == 1 {
		return v.Outlook
	}
	o := *v.Outlook
	o.InputSize = input
	o.First = slices.Clone(o.First)
	for i := range o.First {
		o.First[i].Seconds *= v.factor
	}
	scaled := func(rows [][]float64) [][]float64 {
		all := make([][]float64, len(rows))
		for i, row := range rows {
			all[i] = make([]float64, len(row))
			for l, y := range row {
				all[i][l] = y * v.factor
			}
		}
		return all
	}
	o.Alone = scaled(o.Alone)
	o.Beside = slices.Clone(o.Beside)
	for i := range o.Beside {
		o.Beside[i].Seconds = scaled(o.Beside[i].Seconds)
	}
	return &o
}

// Outlooks returns all that is known of runtimes, by class and input size.
func (c *Core) Outlooks() []*dovetail.Outlook {
	var all []*dovetail.Outlook
	for _, known := range c.outlooks { //dovetail:anyorder sorted below
		all = append(all, known...)
	}
	slices.SortFunc(all, func(a, b *dovetail.Outlook) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.InputSize, b.InputSize))
	})
	return all
}
