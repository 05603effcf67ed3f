// Package trace answers: what was submitted when, and how long did it take?
//
// A Job is one application of a workload, whatever file or generator it came from. Readers stream jobs out of the formats
// people have, generators draw them from published distributions, and both give the simulator the same thing.
package trace

import (
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Job is one application of a workload. All times are whole microseconds.
type Job struct {
	ID      int64         // as the source numbers it; unique within a workload
	Submit  time.Duration // since the beginning of the trace, not negative
	Runtime time.Duration // with all of its replicas, positive (T of seed 004 §8.2); App.Expected is what policies may know of it
	User    string
	Tasks   []time.Duration // of a task trace: how long each task takes; nil otherwise
	App     *dovetail.Application
}

// Epoch is the date on which every trace begins: a deadline (Application.FinishBy) is a calendar time, and lies as far behind
// Epoch as it does behind the beginning of the trace. Simulated time begins then too.
func Epoch() time.Time { return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Core returns how many replicas the job cannot do without.
func (j *Job) Core() int {
	n := 0
	for i := range j.App.Components {
		n += j.App.Components[i].Count
	}
	return n
}

// Full returns how many replicas the job can use, core and elastic.
func (j *Job) Full() int {
	n := 0
	for i := range j.App.Components {
		n += j.App.Components[i].Limit()
	}
	return n
}

// Work returns the job's work in replica-microseconds: Runtime × all of its replicas (W = T·(C+E), seed 004 §8.2).
func (j *Job) Work() int64 { return j.Runtime.Microseconds() * int64(j.Full()) }

// Run returns the job as a submission with this number.
func (j *Job) Run(id dovetail.RunID) *dovetail.Run {
	return &dovetail.Run{ID: id, Name: dovetail.RunName(j.App.Name, id), Class: j.App.Name, User: j.User, App: j.App, Input: j.App.InputSize}
}
