package trace

import (
	"iter"
	"math"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Each yields jobs as readers do.
func Each(jobs []Job) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for i := range jobs {
			if !yield(jobs[i], nil) {
				return
			}
		}
	}
}

// Window says which jobs of a trace are wanted.
type Window struct {
	From  time.Duration // submitted at this time or later
	To    time.Duration // submitted before this time; 0: no end
	First int           // so many of them; 0: all
}

// Cut yields the jobs of a window. Time begins anew at From, or at the first of these jobs if From is 0. It is an error when no
// job is in the window, and when that beginning is later than one of the jobs, which are not sorted then.
func Cut(jobs iter.Seq2[Job, error], w Window) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		n, zero := 0, w.From
		for j, err := range jobs {
			if err != nil {
				yield(j, err)
				return
			}
			if j.Submit < w.From || w.To > 0 && j.Submit >= w.To {
				continue
			}
			if n == 0 && w.From == 0 {
				zero = j.Submit
			}
			if j.Submit < zero {
				yield(Job{}, dovetail.Errorf(dovetail.Invalid, "job %d was submitted before the first job of the window; sort the trace first", j.ID))
				return
			}
			j.Submit -= zero
			n++
			if !yield(j, nil) || n == w.First {
				return
			}
		}
		if n == 0 {
			yield(Job{}, dovetail.Errorf(dovetail.Invalid, "no job was submitted in this window; choose another one"))
		}
	}
}

// Factors say how the times of a trace are changed. All of them are positive; 1 changes nothing.
type Factors struct {
	Time    float64 // all times are multiplied by it: what happens is the same, faster or slower
	Load    float64 // times of submission are divided by it: as much work as before, in less time
	Runtime float64 // runtimes, durations of tasks and hints are multiplied by it
}

// Scale yields the jobs with other times, rounded to microseconds. A factor that is not positive and finite is an error, and so
// is one that leads to times that cannot be counted.
func Scale(jobs iter.Seq2[Job, error], f Factors) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for _, k := range []float64{f.Time, f.Load, f.Runtime} {
			if !(k > 0) || math.IsInf(k, 0) {
				yield(Job{}, dovetail.Errorf(dovetail.Invalid, "cannot scale by %v; expected a positive number, such as 0.5", k))
				return
			}
		}
		s := scaler{submit: f.Time / f.Load, run: f.Time * f.Runtime, apps: map[*dovetail.Application]*dovetail.Application{}}
		for j, err := range jobs {
			if err == nil {
				err = s.scale(&j)
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// scaler multiplies the times of jobs.
type scaler struct {
	submit, run float64
	apps        map[*dovetail.Application]*dovetail.Application // before and after
}

func (s *scaler) scale(j *Job) error {
	submit, fits := times(j.Submit, s.submit)
	runtime, also := times(j.Runtime, s.run)
	if !fits || !also {
		return dovetail.Errorf(dovetail.Invalid, "job %d would be submitted or end after more than 100 years; choose smaller factors", j.ID)
	}
	j.Submit, j.Runtime = submit, max(runtime, time.Microsecond)
	if j.Tasks != nil {
		tasks := make([]time.Duration, len(j.Tasks))
		for i, d := range j.Tasks {
			if tasks[i], fits = times(d, s.run); !fits {
				return dovetail.Errorf(dovetail.Invalid, "a task of job %d would take more than 100 years; choose a smaller factor", j.ID)
			}
			tasks[i] = max(tasks[i], time.Microsecond)
		}
		j.Tasks = tasks
	}
	app, ok := s.apps[j.App]
	if !ok {
		scaled := *j.App
		scaled.Size *= s.run
		scaled.Expected = hint(scaled.Expected, s.run)
		scaled.MaxRuntime = hint(scaled.MaxRuntime, s.run)
		if t := scaled.Target; t != nil {
			scaled.Target = &dovetail.Target{Runtime: hint(t.Runtime, s.run), Confidence: t.Confidence}
		}
		app = &scaled
		keep(s.apps, j.App, app)
	}
	j.App = app
	return checkJob(j)
}

// times multiplies a time, rounds it to microseconds, and reports whether it is one that a trace may have.
func times(d time.Duration, k float64) (time.Duration, bool) {
	us := math.Round(float64(d.Microseconds()) * k)
	if us > float64(longest.Microseconds()) {
		return 0, false
	}
	return time.Duration(us) * time.Microsecond, true
}

// hint multiplies what an application says of its runtime. What it does not say stays unsaid.
func hint(d dovetail.Duration, k float64) dovetail.Duration {
	if d == 0 {
		return 0
	}
	scaled, fits := times(time.Duration(d), k)
	if !fits {
		scaled = longest
	}
	return dovetail.Duration(max(scaled, time.Microsecond))
}

// Expect yields the jobs with their runtime as the hint that policies get. It is for traces that have none: without it
// policies that order by size know no sizes.
func Expect(jobs iter.Seq2[Job, error]) iter.Seq2[Job, error] {
	type known struct {
		app     *dovetail.Application
		runtime time.Duration
	}
	apps := map[known]*dovetail.Application{}
	return func(yield func(Job, error) bool) {
		for j, err := range jobs {
			if err == nil && time.Duration(j.App.Expected) != j.Runtime {
				app, ok := apps[known{j.App, j.Runtime}]
				if !ok {
					told := *j.App
					told.Expected = dovetail.Duration(j.Runtime)
					app = &told
					keep(apps, known{j.App, j.Runtime}, app)
				}
				j.App = app
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}
