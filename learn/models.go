package learn

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/predict"
)

// Models says what predictions of an application rest on, class by class in order, or of one job class if that is named: which of its
// newest runs were learned from, how well the model predicts each of them from the others (LeaveOneOut), and what neighbours do to it.
// Outlooks are what the core knows; those of other applications do not matter. Predicting runs from the others is about done by until (the zero
// time: whenever it is): each class has the same share of the time, and predicts fewer runs if it is short. Of what neither outlooks nor the history
// know it is a dovetail.NotFound error.
func Models(ctx context.Context, past Recorder, outlooks []*dovetail.Outlook, app, class string, until time.Time) ([]dovetail.ClassModel, error) {
	names, err := classesOf(ctx, past, outlooks, app, class)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, dovetail.Errorf(dovetail.NotFound, "no run of %s has finished, and none was imported; `dovetail history` lists finished runs",
			cmp.Or(class, app))
	}
	var all []dovetail.ClassModel
	for i, name := range names {
		runs, err := pastOf(ctx, past, engine.HistoryFilter{Class: name})
		if err != nil {
			return nil, err
		}
		var mine []*dovetail.Outlook
		for _, o := range outlooks {
			if o.Class == name {
				mine = append(mine, o)
			}
		}
		share := until
		if !until.IsZero() {
			now := time.Now()
			share = now.Add(until.Sub(now) / time.Duration(len(names)-i))
		}
		m, err := modelOf(ctx, runs, mine, share)
		if err != nil {
			return nil, err
		}
		m.Class, m.App = name, dovetail.AppOf(name)
		if len(runs) > 0 {
			m.App = runs[0].App
		}
		all = append(all, m)
	}
	return all, nil
}

// classesOf returns the job classes of an application that anything is known of, in order.
func classesOf(ctx context.Context, past Recorder, outlooks []*dovetail.Outlook, app, class string) ([]string, error) {
	seen := make(map[string]bool)
	for _, o := range outlooks {
		if o.Class == class || class == "" && dovetail.AppOf(o.Class) == app {
			seen[o.Class] = true
		}
	}
	filter := engine.HistoryFilter{App: app}
	if class != "" {
		filter = engine.HistoryFilter{Class: class}
	}
	runs, err := pastOf(ctx, past, filter)
	for i := range runs {
		seen[runs[i].Class] = true
	}
	return slices.Sorted(maps.Keys(seen)), err
}

// pastOf returns the newest finished runs that match, newest first, at most mostLooked.
func pastOf(ctx context.Context, past Recorder, f engine.HistoryFilter) ([]dovetail.Past, error) {
	var all []dovetail.Past
	for f.Limit, f.Learn = page, true; len(all) < mostLooked; {
		found, err := past.History(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", cmp.Or(f.Class, f.App), err)
		}
		for i := range found {
			all = append(all, PastOf(&found[i]))
		}
		if len(found) < page {
			break
		}
		last := &found[len(found)-1].Status
		f.Until, f.Before = *last.Ended, last.ID
	}
	return all, nil
}

// modelOf says what is known of one class: by its runs, newest first, and its outlooks.
func modelOf(ctx context.Context, runs []dovetail.Past, outlooks []*dovetail.Outlook, until time.Time) (dovetail.ClassModel, error) {
	m := dovetail.ClassModel{LeftOut: []dovetail.LeftOut{}, Neighbours: []dovetail.SlowedDown{}}
	left := make(map[string]int)
	var learnable []dovetail.Past
	for i := range runs {
		why := whyNot(&runs[i])
		if why == "" && len(learnable) == latestRuns {
			why = "older"
		}
		if why != "" {
			left[why]++
			continue
		}
		learnable = append(learnable, runs[i])
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		m.LeftOut = append(m.LeftOut, dovetail.LeftOut{Why: why, Runs: left[why]})
	}
	var main *dovetail.Outlook // that learned from most
	for _, o := range outlooks {
		if main == nil || o.Runs > main.Runs {
			main = o
		}
		if o.InputSize > 0 {
			m.InputSizes = append(m.InputSizes, o.InputSize)
		}
	}
	if main != nil {
		m.Model, m.Runs, m.Neighbours = main.Model, main.Runs, append(m.Neighbours, slowdowns(main)...)
	}
	m.Why = why(main, len(learnable))
	method, err := predict.Find(cmp.Or(m.Model, DefaultModel))
	if err != nil {
		return m, err
	}
	slices.Reverse(learnable) // in order of their end, as the learner has them
	samples, _ := frequent(Samples(learnable))
	m.Score, err = LeaveOneOut(ctx, method, samples, predict.Options{}, until)
	return m, err
}

// whyNot says in a word why a run is not learned from; "" if it is.
func whyNot(p *dovetail.Past) string {
	switch {
	case p.Outcome != dovetail.OutcomeSucceeded:
		return string(p.Outcome)
	case p.Preempted:
		return "preempted"
	case !Learnable(p):
		return "incomplete"
	}
	return ""
}

// why says why a class has the model that it has.
func why(o *dovetail.Outlook, learnable int) string {
	switch {
	case o == nil && learnable > 0:
		return "nothing is learned yet: that takes a moment after a run has ended"
	case o == nil:
		return "there is no run to learn from"
	case o.Runs < predict.Few:
		return fmt.Sprintf("with fewer than %d runs it serves for sizes and expected starts; runs with a target try scale-outs out", predict.Few)
	case len(o.Beside) > 0:
		return "it is the model of this daemon: it knows what neighbours do, and how sure it is"
	}
	return "it is the model of this daemon: it knows how sure it is; no run had a neighbour yet"
}

// slowdowns says what each neighbour does to a class, at the middle one of its scale-outs.
func slowdowns(o *dovetail.Outlook) []dovetail.SlowedDown {
	if !predict.Known(o) {
		return nil
	}
	x := o.ScaleOuts[len(o.ScaleOuts)/2]
	alone := predict.Runtime(o, float64(x), nil).Quantile(.5)
	var all []dovetail.SlowedDown
	for i := range o.Beside {
		b := &o.Beside[i]
		beside := predict.Runtime(o, float64(x), []dovetail.Overlap{{Class: b.Class, Ratio: 1}}).Quantile(.5)
		all = append(all, dovetail.SlowedDown{Class: b.Class, Runs: b.Runs, ScaleOut: x, Slowdown: beside / alone})
	}
	slices.SortFunc(all, func(a, b dovetail.SlowedDown) int { return cmp.Compare(a.Class, b.Class) })
	return all
}
