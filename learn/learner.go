package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/predict"
)

// How much is learned from, and how much is written down.
const (
	latestRuns    = 200 // of a class: the latest that are learnable
	mostLooked    = 2000
	page          = 250
	mostScaleOuts = 64
	mostSizes     = 12 // input sizes of a class that get a table each: those of the latest runs
	mostBeside    = 16 // neighbour classes of a class: those that most runs had; others are noise
	mostClasses   = 512
	similar       = 0.1 // input sizes that differ by less are one (seed 001, section III-B)
	digits        = 6   // of a runtime in a table
)

// DefaultModel is the model that a daemon learns with.
const DefaultModel = "bayes-cobell"

// Recorder knows finished runs; engine.Reader is one.
type Recorder interface {
	// History returns finished runs, newest end first.
	History(ctx context.Context, f engine.HistoryFilter) ([]dovetail.History, error)
}

// Learner fits models to what was recorded of finished runs. Whoever has the same history and sees the same changes gets the same tables.
// It is not safe for concurrent use.
type Learner struct {
	past      Recorder
	method    predict.Method
	classes   map[string]*class
	told      map[string]hearsay   // evidence that the core has, by class
	forgotten map[string]time.Time // when what was known of a class as a neighbour was forgotten last; "": of all
}

// class is what is remembered of a job class.
type class struct {
	runs      []dovetail.Past              // learnable, in order of their end, the latest
	until     time.Time                    // the last end of a run that was not imported: all before it is known …
	known     map[dovetail.RunID]time.Time // … and these, which ended then or, imported, later
	low, high int                          // scale-outs that the latest application allows; 0: none is known
	sizes     []int64                      // that tables were written for; 0 for any
}

// New returns a learner with a model of predict.Models. An unknown model is an error that lists those there are.
func New(past Recorder, model string) (*Learner, error) {
	m, err := predict.Find(model)
	if err != nil {
		return nil, err
	}
	return &Learner{
		past: past, method: m, classes: make(map[string]*class), told: make(map[string]hearsay), forgotten: make(map[string]time.Time),
	}, nil
}

// After fits a model for every job class of which a run succeeded in these changes, or runs were imported, and returns its tables (Fitted
// events), by class and input size, and after those of a class what its runs say of their neighbours (a Paired event), as Fit does. The changes
// must be on record already, with their read side. An error about one class does not keep the others from being returned.
func (l *Learner) After(ctx context.Context, changes *engine.Changes) ([]dovetail.Event, error) {
	var events []dovetail.Event
	var failed []error
	for i := range changes.Records {
		l.hear(changes.Records[i].At, changes.Records[i].Event)
	}
	news := newsOf(changes)
	for _, name := range slices.Sorted(maps.Keys(news)) {
		if news[name] {
			l.Forget(name)
		}
		fitted, err := l.Fit(ctx, name)
		events = append(events, fitted...)
		failed = append(failed, err)
	}
	return events, errors.Join(failed...)
}

// newsOf returns the classes that there is something to learn about, and of each whether runs were imported, which may have ended at any time.
func newsOf(changes *engine.Changes) map[string]bool {
	var news map[string]bool
	add := func(class string, imported bool) {
		if news == nil {
			news = make(map[string]bool)
		}
		news[class] = news[class] || imported
	}
	for i := range changes.Runs {
		if r := &changes.Runs[i]; r.State == dovetail.Ended && r.Outcome == dovetail.OutcomeSucceeded {
			add(r.Class, false)
		}
	}
	for _, r := range changes.Records {
		if e, ok := r.Event.(dovetail.Imported); ok {
			for i := range e.Runs {
				add(e.Runs[i].Class, true)
			}
		}
	}
	return news
}

// Forget makes the learner read all of a class's history when it is asked for next.
func (l *Learner) Forget(name string) {
	if c := l.classes[name]; c != nil {
		l.classes[name] = &class{sizes: c.sizes}
	}
}

// Remember makes input sizes stand for similar ones, as those that tables of a class were written for before.
func (l *Learner) Remember(name string, sizes []int64) {
	l.classes[name] = &class{sizes: slices.Clone(sizes)}
}

// Fit fits a model to the latest 200 learnable runs of a job class and returns its tables (Fitted events), one for each input size in the
// history: sizes within 10 % are one, and of many sizes the latest 12 count. If there are several, or runs of unknown size, a further table
// is of no size in particular. Without a learnable run it returns nothing.
//
// If runs of the class had neighbours, a Paired event follows, unless it would say what is on record already: what the runs that ended since the
// class was forgotten last (Forgotten) say of them. Evidence from elsewhere (Recalled) that rests on twice as many runs stays.
//
// A class is learned about from its first run on: as long as it has fewer than predict.Few, Outlook.First tells which these were.
func (l *Learner) Fit(ctx context.Context, name string) ([]dovetail.Event, error) {
	c, err := l.read(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", name, err)
	}
	if len(c.runs) == 0 {
		return nil, nil
	}
	samples, neighbours := frequent(Samples(c.runs))
	model, err := l.method.Fit(samples, predict.Options{})
	if err != nil {
		return nil, fmt.Errorf("learn from %d runs of %s: %w", len(samples), name, err)
	}
	scaleOuts := c.scaleOuts()
	var classes []string
	for _, n := range neighbours {
		classes = append(classes, n.Class)
	}
	var events []dovetail.Event
	for _, size := range c.group() {
		o := dovetail.Outlook{Class: name, InputSize: size, Model: l.method.Name, Runs: len(samples), ScaleOuts: scaleOuts}
		o.Levels, o.Alone, o.Beside = predict.Tabulate(model, scaleOuts, float64(size), classes)
		shorten(o.Alone)
		for i := range o.Beside {
			o.Beside[i].Runs, o.Beside[i].Mean = neighbours[i].Runs, rounded(neighbours[i].total/float64(len(samples)))
			shorten(o.Beside[i].Seconds)
		}
		if len(c.runs) < predict.Few {
			o.First = c.first(size)
		}
		events = append(events, dovetail.Fitted{Outlook: o})
	}
	if e := l.evidence(name, model, c.runs); e != nil && l.news(e) {
		events = append(events, dovetail.Paired{Evidence: *e})
	}
	return events, nil
}

// read returns a class with what has ended since it was read last.
func (l *Learner) read(ctx context.Context, name string) (*class, error) {
	c := l.classes[name]
	if c == nil {
		if len(l.classes)%mostClasses == mostClasses-1 { // what is remembered of the others can be read again
			for other := range l.classes {
				l.Forget(other)
			}
		}
		c = new(class)
	}
	f := engine.HistoryFilter{Class: name, Since: c.until, Limit: page, Learn: true}
	var news []dovetail.History // newest first
	learnable := 0
	for looked := 0; looked < mostLooked && learnable < latestRuns; looked += page {
		found, err := l.past.History(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range found {
			h := &found[i]
			if _, known := c.known[h.Status.ID]; known {
				continue
			}
			if p := PastOf(h); Learnable(&p) {
				learnable++
			}
			news = append(news, *h)
		}
		if len(found) < page {
			break
		}
		last := &found[len(found)-1].Status
		f.Until, f.Before = *last.Ended, last.ID
	}
	c.add(news)
	l.classes[name] = c
	return c, nil
}

// add takes in runs that ended since the class was read last, newest first.
func (c *class) add(news []dovetail.History) {
	for i := range slices.Backward(news) {
		h := &news[i]
		if c.known == nil {
			c.known = make(map[dovetail.RunID]time.Time)
		}
		c.known[h.Status.ID] = *h.Status.Ended
		if h.Import == nil && h.Status.Ended.After(c.until) {
			c.until = *h.Status.Ended
			maps.DeleteFunc(c.known, func(_ dovetail.RunID, at time.Time) bool { return at.Before(c.until) })
		}
		if h.App != nil && len(h.App.Components) > 0 {
			scaled := &h.App.Components[h.App.Scaled()]
			c.low = max(1, scaled.Count)
			c.high = max(c.low, scaled.Limit())
		}
		if p := PastOf(h); Learnable(&p) {
			c.runs = append(c.runs, p)
		}
	}
	c.runs = slices.Clone(c.runs[max(0, len(c.runs)-latestRuns):])
}

// neighbour is a class that ran beside some of the runs.
type neighbour struct {
	Class string
	Runs  int
	total float64 // of their overlaps
}

// frequent returns the samples with the neighbours that most of them had, at most mostBeside, and which those are, in order of class.
func frequent(samples []predict.Sample) ([]predict.Sample, []neighbour) {
	met := make(map[string]*neighbour)
	for i := range samples {
		for _, o := range samples[i].Overlaps {
			if met[o.Class] == nil {
				met[o.Class] = &neighbour{Class: o.Class}
			}
			met[o.Class].Runs++
			met[o.Class].total += o.Ratio
		}
	}
	var all []neighbour
	for _, name := range slices.Sorted(maps.Keys(met)) {
		all = append(all, *met[name])
	}
	if len(all) <= mostBeside {
		return samples, all
	}
	slices.SortStableFunc(all, func(a, b neighbour) int { return cmp.Compare(b.Runs, a.Runs) })
	all = all[:mostBeside]
	slices.SortFunc(all, func(a, b neighbour) int { return cmp.Compare(a.Class, b.Class) })
	rare := func(o dovetail.Overlap) bool {
		return !slices.ContainsFunc(all, func(n neighbour) bool { return n.Class == o.Class })
	}
	for i := range samples {
		samples[i].Overlaps = slices.DeleteFunc(slices.Clone(samples[i].Overlaps), rare)
	}
	return samples, all
}

// scaleOuts returns those that tables are written for, rising: all that the application allows, or at most 64 of them, evenly spaced in
// ln. If no application is known, they go from 1 to four times what was seen.
func (c *class) scaleOuts() []int {
	low, high := c.low, c.high
	if low == 0 {
		seen := 1.0
		for i := range c.runs {
			seen = max(seen, c.runs[i].ScaleOut)
		}
		low, high = 1, int(math.Ceil(4*seen))
	}
	var all []int
	if high-low < mostScaleOuts {
		for x := low; x <= high; x++ {
			all = append(all, x)
		}
		return all
	}
	step := math.Log(float64(high)/float64(low)) / (mostScaleOuts - 1)
	for i := range mostScaleOuts {
		x := min(high, int(math.Round(float64(low)*math.Exp(float64(step*float64(i))))))
		if len(all) == 0 || x > all[len(all)-1] {
			all = append(all, x)
		}
	}
	return all
}

// group returns the input sizes that tables are written for, rising, and remembers them: a size once chosen stands for all that are similar.
func (c *class) group() []int64 {
	var used []int64
	unknown := false
	for i := range slices.Backward(c.runs) {
		size := c.runs[i].InputSize
		if size <= 0 {
			unknown = true
			continue
		}
		if at := nearest(c.sizes, size); at >= 0 {
			size = c.sizes[at]
		} else {
			c.sizes = append(c.sizes, size)
		}
		if !slices.Contains(used, size) && len(used) < mostSizes {
			used = append(used, size)
		}
	}
	if len(used) != 1 || unknown || slices.Contains(c.sizes, 0) {
		used = append(used, 0)
		if !slices.Contains(c.sizes, 0) {
			c.sizes = append(c.sizes, 0)
		}
	}
	slices.Sort(used)
	return used
}

// nearest returns the index of the size that is similar to this one, and most so; -1 if none is.
func nearest(sizes []int64, size int64) int {
	best, least := -1, math.Inf(1)
	for i, s := range sizes {
		if far := math.Abs(math.Log(float64(s) / float64(size))); Similar(s, size) && far < least {
			best, least = i, far
		}
	}
	return best
}

// Similar reports whether two input sizes in bytes count as one: neither is unknown, and the smaller is at most 10 % less than the
// larger.
func Similar(a, b int64) bool {
	return a > 0 && b > 0 && float64(min(a, b)) >= (1-similar)*float64(max(a, b))
}

// first returns the runs with an input of this size (0: any), in order.
func (c *class) first(size int64) []dovetail.Stretch {
	var all []dovetail.Stretch
	for i := range c.runs {
		p := &c.runs[i]
		if size == 0 || p.InputSize <= 0 || Similar(p.InputSize, size) {
			all = append(all, dovetail.Stretch{ScaleOut: int(math.Round(p.ScaleOut)), Seconds: p.Runtime})
		}
	}
	return all
}

// shorten rounds runtimes to as many digits as are worth to be written down. What rises or is larger stays so.
func shorten(rows [][]float64) {
	for _, row := range rows {
		for i := range row {
			row[i] = rounded(row[i])
		}
	}
}

func rounded(v float64) float64 { return short(v, digits) }

// short returns a figure with so many digits.
func short(v float64, digits int) float64 {
	if s, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64); err == nil {
		return s
	}
	return v
}
