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

// Cut yields the jobs of a window. Time begins anew at From, or at the first of these jobs if From is 0; deadlines move with the
// submissions. It is an error when no job is in the window, when that beginning is later than one of the jobs, which are not
// sorted then, and when a deadline leaves the years that descriptions may name.
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
			if by := j.App.FinishBy; by != nil {
				j.App, err = due(&j, by.Add(-zero))
			}
			n++
			if !yield(j, err) || err != nil || n == w.First {
				return
			}
		}
		if n == 0 {
			yield(Job{}, dovetail.Errorf(dovetail.Invalid, "no job was submitted in this window; choose another one"))
		}
	}
}

// due returns a copy of a job's application with another deadline. It fails when descriptions may not name the year.
func due(j *Job, by time.Time) (*dovetail.Application, error) {
	by = by.UTC()
	if !mayName(by) {
		return nil, dovetail.Errorf(dovetail.Invalid, "the deadline of job %d would be out of the years %d to %d, which descriptions may name",
			j.ID, firstYear, lastYear)
	}
	app := *j.App
	app.FinishBy = &by
	return &app, nil
}

// The years in which deadlines may be, as in descriptions of applications.
const firstYear, lastYear = 1970, 9999

func mayName(by time.Time) bool { return firstYear <= by.Year() && by.Year() <= lastYear }

// Factors say how the times of a trace are changed. All of them are positive; 1 changes nothing.
type Factors struct {
	Time    float64 // all times are multiplied by it: what happens is the same, faster or slower
	Load    float64 // times of submission are divided by it: as much work as before, in less time
	Runtime float64 // runtimes, durations of tasks, hints, and how far deadlines are behind submissions are multiplied by it
}

// Scale yields the jobs with other times, rounded to microseconds. A factor that is not positive and finite is an error, and so
// is one that leads to times that cannot be counted, or to a deadline in a year that descriptions may not name.
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
	before := j.Submit
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
	by := j.App.FinishBy
	j.App = app
	if by != nil { // each job has its own: deadlines depend on the submission
		var err error
		if j.App, err = due(j, s.deadline(*by, before, submit)); err != nil {
			return err
		}
	}
	return checkJob(j)
}

// deadline keeps a deadline as far behind its submission as it was, times the factor of runtimes. Durations do not reach from one
// end of the calendar to the other; microseconds do.
func (s *scaler) deadline(by time.Time, before, after time.Duration) time.Time {
	behind := by.UnixMicro() - Epoch().UnixMicro() - before.Microseconds()
	us := math.Round(float64(behind) * s.run)
	const most = 1e18 // beyond all years that may be named, and within int64
	return time.UnixMicro(Epoch().UnixMicro() + after.Microseconds() + int64(max(-most, min(us, most))))
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
