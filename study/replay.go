package study

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// History is what a daemon recorded of finished runs, as jobs that can be played again.
type History struct {
	Begin    time.Time        // the earliest submission: times of jobs count from here
	Jobs     []trace.Job      // in order of submission; the ID is the run's number
	Recorded *report.Schedule // what became of them; without levels, which nobody recorded
	Notices  []string         // what people should know: runs that were left out, or did not succeed
}

// Replay makes jobs of finished runs. A run's runtime at full scale follows from the work that it had: the sum over time of the
// replicas it held, over all it could hold (W = T·(C+E), seed 004 §8.2). A run that failed, was cancelled, timed out or was lost
// counts with the work it had until then, because the cluster had that work; a run that never had a replica is left out.
//
// Policies may know of a run what they could know then: what its user expected, else what was predicted for it when it started.
func Replay(finished []dovetail.History) (*History, error) {
	h := &History{Recorded: &report.Schedule{Recorded: true}}
	var idle, unknown, short, unsized, aims int
	runs := slices.Clone(finished)
	slices.SortFunc(runs, func(a, b dovetail.History) int {
		return cmp.Or(a.Status.Submitted.Compare(b.Status.Submitted), cmp.Compare(a.Status.ID, b.Status.ID))
	})
	for i := range runs {
		r := &runs[i]
		t, ok := RuntimeOf(r)
		switch {
		case r.App == nil || r.Status.Ended == nil:
			unknown++
			continue
		case !ok:
			idle++
			continue
		case r.Status.Outcome != dovetail.OutcomeSucceeded:
			short++
		}
		if h.Begin.IsZero() {
			h.Begin = r.Status.Submitted
		}
		h.add(r, t)
		if app := h.Jobs[len(h.Jobs)-1].App; app.Kind != dovetail.Service {
			if (&dovetail.Run{App: app}).Expected() <= 0 {
				unsized++
			}
			if app.Target != nil || app.FinishBy != nil {
				aims++
			}
		}
	}
	if len(h.Jobs) == 0 {
		return nil, dovetail.Errorf(dovetail.Invalid,
			"there is nothing to replay: none of the %s on record in this time had a replica; choose a longer time with --since", count(len(finished)))
	}
	h.notice(idle, "%s left out that ended without ever having a replica")
	h.notice(unknown, "%s left out whose description is not on record")
	h.notice(short, "%s did not succeed, and count with the work that they had until then")
	h.notice(unsized, "of %s nobody knew how long they would take, neither their users nor a prediction: policies that order by size take them for an hour each")
	h.notice(aims, "%s had a target or a deadline: the replay knows no predictions to choose scale-outs by, and chooses as for the first runs of a class")
	return h, nil
}

func (h *History) notice(n int, text string) {
	if n > 0 {
		h.Notices = append(h.Notices, fmt.Sprintf(text, count(n)))
	}
}

// add adds a run that took so long at full scale.
func (h *History) add(r *dovetail.History, runtime time.Duration) {
	s := &r.Status
	j := trace.Job{ID: int64(s.ID), Submit: s.Submitted.Sub(h.Begin), Runtime: runtime, User: s.User, App: r.App}
	by, hint := r.App.FinishBy, foretold(r)
	if by != nil || hint > 0 {
		app := *r.App
		j.App = &app
	}
	if by != nil { // a time of the calendar, which a play begins anew
		then := sim.Epoch().Add(by.Sub(h.Begin))
		j.App.FinishBy = &then
	}
	if hint > 0 {
		j.App.Expected = dovetail.Duration(hint)
	}
	h.Jobs = append(h.Jobs, j)
	core := j.Core()
	ended := report.Job{
		ID: j.ID, Run: s.ID, App: j.App, Class: s.Class, User: s.User, Kind: s.Kind, Core: core, Elastic: j.Full() - core, Runtime: runtime,
		Submit: j.Submit, Start: -1, Finish: s.Ended.Sub(h.Begin), Outcome: s.Outcome,
	}
	if s.Started != nil {
		ended.Start = s.Started.Sub(h.Begin)
	}
	h.Recorded.Jobs = append(h.Recorded.Jobs, ended)
}

// foretold returns how long a run would have taken with all of its replicas by what was predicted when it started; 0 if nothing was, or if its
// user expected something, which counts more. The prediction is for the scale-out that the run began with, and the same work with all replicas takes less.
func foretold(r *dovetail.History) time.Duration {
	p := r.Status.Prediction
	if p == nil || (&dovetail.Run{App: r.App}).Expected() > 0 {
		return 0
	}
	full := r.Status.Core + r.Status.ElasticMax
	began := full - r.App.Components[r.App.Scaled()].Limit() + p.ScaleOut
	return seconds(p.Median * float64(min(began, full)) / float64(full))
}

// Classify gives the jobs of a replay the classes on record: a job of a trace has none but the name of its application.
func (h *History) Classify(s *report.Schedule) {
	classes := make(map[int64]string, len(h.Recorded.Jobs))
	for i := range h.Recorded.Jobs {
		classes[h.Recorded.Jobs[i].ID] = h.Recorded.Jobs[i].Class
	}
	for i := range s.Jobs {
		s.Jobs[i].Class = classes[s.Jobs[i].ID]
	}
}

// RuntimeOf returns how long a finished run would have taken with all of its replicas: the replica time that it had over
// how many it could have. It is false if it had none.
func RuntimeOf(h *dovetail.History) (time.Duration, bool) {
	full := int64(h.Status.Core + h.Status.ElasticMax)
	if h.Status.Ended == nil || full < 1 {
		return 0, false
	}
	held := make(map[dovetail.Slot]dovetail.Placement)
	var work int64 // replica-microseconds
	add := func(p dovetail.Placement, until time.Time) {
		work += max(0, until.Sub(p.At).Microseconds()) * int64(p.N)
	}
	for _, p := range h.Placements {
		add(held[p.Slot], p.At)
		held[p.Slot] = p
	}
	for _, p := range held { // sums of integers do not depend on the order
		add(p, *h.Status.Ended)
	}
	t := time.Duration(work/full) * time.Microsecond
	return t, t > 0
}

// LearnFrom returns what the runs that succeeded teach about runtimes; the latest to end count most.
func LearnFrom(finished []dovetail.History) *Experience {
	x := NewExperience()
	runs := slices.Clone(finished)
	slices.SortStableFunc(runs, func(a, b dovetail.History) int { return compareEnds(&a.Status, &b.Status) })
	for i := range runs {
		r := &runs[i]
		t, ok := RuntimeOf(r)
		if !ok || r.Status.Outcome != dovetail.OutcomeSucceeded {
			continue
		}
		var expected time.Duration
		if r.App != nil {
			expected = (&dovetail.Run{App: r.App}).Expected()
		}
		x.Learn(r.Status.Class, expected, t)
	}
	return x
}

func compareEnds(a, b *dovetail.RunStatus) int {
	if a.Ended == nil || b.Ended == nil {
		return 0
	}
	return a.Ended.Compare(*b.Ended)
}
