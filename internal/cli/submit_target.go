package cli

import (
	"encoding/json"
	"time"

	"github.com/spf13/pflag"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// goal is what a submission says about when a run is to be done, in place of what the description says.
type goal struct {
	Target     time.Duration // wanted runtime; 0: as described
	Confidence float64       // 0: as described
	FinishBy   time.Time     // zero: as described
}

// goalWords is a goal as it is typed.
type goalWords struct {
	target, finishBy string
	confidence       float64
}

func (w *goalWords) flags(f *pflag.FlagSet) {
	f.StringVar(&w.target, "target", "", "the wanted `runtime`, such as 350s: it gets the fewest replicas that meet it")
	f.Float64Var(&w.confidence, "confidence", defaultConfidence, "with which probability the target is to be met")
	f.StringVar(&w.finishBy, "finish-by", "", "the `time` by which it should be done: 2h (from now), 18:30, or 2026-03-01T18:30:00Z")
}

// read turns words into a goal.
func (w *goalWords) read(f *pflag.FlagSet, now time.Time) (g goal, err error) {
	confident := f.Changed("confidence")
	if confident && !(w.confidence > 0 && w.confidence < 1) {
		return g, usagef("--confidence %v: expected a probability between 0 and 1, such as 0.9", w.confidence)
	}
	if confident {
		g.Confidence = w.confidence
	}
	if f.Changed("target") {
		if g.Target, err = parseTarget(w.target, defaultConfidence, false); err != nil {
			return g, err
		}
		if g.Target == 0 {
			return g, usagef("--target \"\": expected a length of time above 0, such as 350s, 5m or 1h30m")
		}
	}
	if f.Changed("finish-by") {
		g.FinishBy, err = parseFinishBy(w.finishBy, now)
	}
	return g, err
}

// parseFinishBy reads a time to come: how long from now, a time of day, or a date and time.
func parseFinishBy(s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(d), nil
	}
	local := now.Local()
	if t, err := time.ParseInLocation("15:04", s, time.Local); err == nil {
		t = time.Date(local.Year(), local.Month(), local.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
		if !t.After(now) { // that of tomorrow
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		t, err := time.ParseInLocation(layout, s, time.Local)
		if err != nil {
			continue
		}
		if !t.After(now) {
			return t, usagef("--finish-by %s has passed; expected a time to come", s)
		}
		return t, nil
	}
	return time.Time{}, usagef("--finish-by %q: expected how long from now, such as 2h, or a time such as 18:30 or 2026-03-01T18:30:00Z", s)
}

// apply returns the description with the goal in it. A goal that says nothing returns the text as it is.
func (g goal) apply(spec []byte, name string) ([]byte, error) {
	if g == (goal{}) {
		return spec, nil
	}
	app, err := describe.Application(spec, describe.Options{File: name})
	if err != nil {
		return nil, fileError{name, err}
	}
	if g.Target > 0 {
		t := dovetail.Target{Runtime: dovetail.Duration(g.Target)}
		if app.Target != nil {
			t.Confidence = app.Target.Confidence
		}
		app.Target = &t
	}
	if g.Confidence > 0 {
		if app.Target == nil {
			return nil, usagef("--confidence goes with a target, and %s has none; give --target too", name)
		}
		app.Target.Confidence = g.Confidence
	}
	if !g.FinishBy.IsZero() {
		by := g.FinishBy.UTC().Truncate(time.Second)
		app.FinishBy = &by
	}
	return json.Marshal(app)
}
