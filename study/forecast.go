package study

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// Forecast says how the present state of a system is played on: many times, each time with other runtimes and arrivals, drawn from
// experience. Two forecasts with the same seed draw the same runtimes for the same runs, and the same arrivals.
type Forecast struct {
	State   json.RawMessage // what sched.Core.Snapshot wrote
	Now     time.Time
	Past    *Experience
	Config  dovetail.Config // zero: that of the state
	Nodes   []dovetail.Node // added
	Submit  *dovetail.Run   // submitted now, with the next ID; nil: nothing is
	Recent  []Arrival       // what was submitted within Span and has ended; later arrivals are like these and the runs there are
	Span    time.Duration   // until now; 0: nothing is submitted later
	Plays   int
	Workers int // plays at once; 0: as many as Go runs threads
	Seed    uint64

	arrivals []Arrival // within Span, in order
	core     *sched.Core
}

// Arrival is a run that was submitted of late.
type Arrival struct {
	At  time.Time
	Run *dovetail.Run
}

// Future is what became of the runs that waited, play by play.
type Future struct {
	Now   time.Time
	Plays int           // that came to their end
	Cut   bool          // not one did before time was up: the figures are of a part of one play
	Basis string        // for people
	Runs  []WaitingRun  // by ID
	plays []int         // their numbers
	Took  time.Duration // of the computer
}

// WaitingRun is when a waiting run starts and finishes, counted from now: a value for each play in the order of their numbers;
// negative where it never does.
type WaitingRun struct {
	Run    *dovetail.Run
	Start  []time.Duration
	Finish []time.Duration
}

// noTime marks what does not happen.
const noTime = time.Duration(-1)

// The bounds of plays.
const (
	horizon  = 365 * 24 * time.Hour // what has not happened by then never does
	maxLater = 1000                 // later arrivals
)

// Play plays until all plays are done or the context ends, and returns what there is by then: something of the first play in any
// case. An error is one of the state or of
// the alternative, never that time was up.
func (f *Forecast) Play(ctx context.Context) (*Future, error) {
	begun := time.Now()
	u, about, err := f.survey()
	if err != nil {
		return nil, err
	}
	plays := make([]*report.Schedule, max(1, f.Plays))
	failed := make([]error, len(plays))
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(len(plays), cmp.Or(f.Workers, runtime.GOMAXPROCS(0))) {
		work.Go(func() {
			for k := next.Add(1) - 1; int(k) < len(plays) && (k == 0 || ctx.Err() == nil); k = next.Add(1) - 1 {
				plays[k], failed[k] = f.play(ctx, uint64(k), about)
			}
		})
	}
	work.Wait()
	var whole []*report.Schedule
	var furthest *report.Schedule
	for k, err := range failed {
		switch {
		case err == nil && plays[k] != nil:
			whole, u.plays = append(whole, plays[k]), append(u.plays, k)
		case err != nil && !errors.Is(err, context.Cause(ctx)) && !errors.Is(err, ctx.Err()):
			return nil, err
		case err != nil && furthest == nil:
			furthest = plays[k]
		}
	}
	if u.Plays = len(whole); u.Plays == 0 && furthest != nil {
		u.Cut, whole = true, append(whole, furthest)
	}
	u.collect(whole)
	u.Took = time.Since(begun)
	return u, nil
}

// survey looks at the state: who waits, which of these may start, and what is known of runtimes.
func (f *Forecast) survey() (*Future, []dovetail.RunID, error) {
	core, err := sched.Restore(f.State)
	if err != nil {
		return nil, nil, err
	}
	f.core = core
	l := f.luck(0)
	u, about := &Future{Now: f.Now}, []dovetail.RunID{}
	var sources [numSources]int
	f.arrivals = slices.Clone(f.Recent)
	for _, r := range core.Live(f.Now) {
		if !r.Submitted.Before(f.Now.Add(-f.Span)) {
			f.arrivals = append(f.arrivals, Arrival{r.Submitted, r.Run})
		}
		s := l.source(r.Run)
		if r.State != dovetail.Stopping {
			sources[s]++
		}
		if r.State != dovetail.Queued {
			continue
		}
		u.Runs = append(u.Runs, WaitingRun{Run: r.Run})
		if !r.Held && s != endless {
			about = append(about, r.Run.ID)
		}
	}
	if f.Submit != nil {
		news := *f.Submit
		news.ID = core.Next()
		if news.Name == "" {
			news.Name = dovetail.RunName(news.App.Name, news.ID)
		}
		f.Submit = &news
		sources[l.source(&news)]++
		u.Runs = append(u.Runs, WaitingRun{Run: &news})
		about = append(about, news.ID)
	}
	slices.SortStableFunc(f.arrivals, func(a, b Arrival) int { return a.At.Compare(b.At) })
	u.Basis = basis(sources)
	if f.Span > 0 && len(f.arrivals) > 0 {
		u.Basis += fmt.Sprintf("; later arrivals are like the %s of the last %s", count(len(f.arrivals)), f.Span.Round(time.Second))
	} else {
		u.Basis += "; nothing else is submitted"
	}
	return u, about, nil
}

// luck returns what is drawn in a play. Plays may ask at the same time: what is known is not changed any more.
func (f *Forecast) luck(play uint64) luck { return luck{f.Past, f.Seed, play, f.core.Outlook} }

// play plays once.
func (f *Forecast) play(ctx context.Context, k uint64, about []dovetail.RunID) (*report.Schedule, error) {
	l := f.luck(k)
	p := sim.Present{State: f.State, Now: f.Now, Runtime: l.Runtime, About: about}
	if r := f.Submit; r != nil {
		p.Arrivals = append(p.Arrivals, l.job(r, r.ID, 0))
	}
	p.Arrivals = append(p.Arrivals, f.later(l)...)
	s, err := sim.Resume(ctx, sim.Options{Config: f.Config, Nodes: f.Nodes, Until: horizon - 1}, p)
	if err == nil && f.Submit != nil && len(s.Refused) > 0 && s.Refused[0].ID == int64(f.Submit.ID) {
		return nil, dovetail.Errorf(dovetail.Invalid, "%s", s.Refused[0].Why)
	}
	return s, err
}

// Later arrivals have numbers from here on, which no run has yet.
const firstLater = 1 << 60

// later draws what is submitted after now: what was of late, from a random point on and round again.
func (f *Forecast) later(l luck) []trace.Job {
	if len(f.arrivals) == 0 || f.Span <= 0 {
		return nil
	}
	from := f.Now.Add(-time.Duration(l.stream(math.MaxUint64).Int64N(int64(f.Span)))).Truncate(time.Microsecond)
	i, _ := slices.BinarySearchFunc(f.arrivals, from, func(a Arrival, t time.Time) int { return a.At.Compare(t) })
	jobs := make([]trace.Job, 0, maxLater)
	for round := time.Duration(0); len(jobs) < maxLater; i++ {
		if i == len(f.arrivals) {
			i, round = 0, round+f.Span
		}
		at := f.arrivals[i].At.Sub(from) + round
		if at > horizon {
			break
		}
		jobs = append(jobs, l.job(f.arrivals[i].Run, firstLater+dovetail.RunID(len(jobs)), max(0, at)))
	}
	return jobs
}

// job returns a run as it is submitted in this play.
func (l luck) job(r *dovetail.Run, id dovetail.RunID, at time.Duration) trace.Job {
	news := *r
	news.ID = id
	// A run that does not end by itself is cut off by the end of the play: nothing happens so late.
	return trace.Job{ID: int64(id), Submit: at, Runtime: cmp.Or(l.Runtime(&news, 0), horizon), User: r.User, App: r.App}
}

// collect gathers what became of the runs that waited.
func (u *Future) collect(plays []*report.Schedule) {
	byID := make(map[int64]*WaitingRun, len(u.Runs))
	for i := range u.Runs {
		byID[int64(u.Runs[i].Run.ID)] = &u.Runs[i]
	}
	for _, s := range plays {
		past := u.Now.Sub(s.Epoch)
		after := func(t time.Duration) time.Duration {
			if t < 0 {
				return noTime
			}
			return max(0, t-past)
		}
		for i := range s.Jobs {
			w := byID[s.Jobs[i].ID]
			if w == nil {
				continue
			}
			start, finish := after(s.Jobs[i].Start), after(s.Jobs[i].Finish)
			if start != noTime || !u.Cut { // what a part of a play did not come to see may happen yet
				w.Start = append(w.Start, start)
			}
			if finish != noTime || !u.Cut {
				w.Finish = append(w.Finish, finish)
			}
		}
	}
}

// Expect returns percentiles over plays of one of a run's times.
func (u *Future) Expect(times []time.Duration) dovetail.Expectation {
	x := dovetail.Expectation{Plays: u.Plays, Basis: u.Basis}
	for _, t := range times {
		if t == noTime {
			x.Never++
		}
	}
	at := func(p float64) *time.Time {
		d, ok := percentile(times, p)
		if !ok {
			return nil
		}
		t := u.Now.Add(d)
		return &t
	}
	x.Median = at(0.5)
	if n := float64(len(times)); n > 1 {
		x.Confidence = min(confidence, (n-1)/(n+1))
		x.Earliest, x.Latest = at((1-confidence)/2), at((1+confidence)/2)
	}
	return x
}

// confidence is the share of further plays that an interval is to hold. From the lowest to the highest of n plays it is
// (n−1)/(n+1), so that fewer than 9 are too few for it.
const confidence = 0.8

// percentile interpolates between the values at (n+1)·p (type 6: so many of further values are expected below it). It is false if
// there are no values, or if what it asks for never happens.
func percentile(times []time.Duration, p float64) (time.Duration, bool) {
	sorted := slices.Clone(times)
	slices.SortFunc(sorted, func(a, b time.Duration) int { return cmp.Compare(uint64(a), uint64(b)) }) // what never happens is last
	n := len(sorted)
	if n == 0 {
		return 0, false
	}
	at := min(max(float64(n+1)*p-1, 0), float64(n-1))
	low := int(at)
	high := min(low+1, n-1)
	if at == float64(low) {
		high = low
	}
	if sorted[high] == noTime {
		return 0, false
	}
	return (sorted[low] + time.Duration((at-float64(low))*float64(sorted[high]-sorted[low]))).Truncate(time.Microsecond), true
}
