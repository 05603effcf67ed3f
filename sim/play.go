package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/trace"
)

// Epoch is the beginning of simulated time.
func Epoch() time.Time { return trace.Epoch() }

// Options says how a workload is played.
type Options struct {
	Nodes      []dovetail.Node
	Config     dovetail.Config
	Model      Model                                        // nil: Linear
	Faults     Faults                                       // zero: none
	Seed       uint64                                       // of the faults
	Store      engine.Store                                 // keeps the journal; nil: nothing is kept
	Placements bool                                         // Schedule.Placements is wanted
	Until      time.Duration                                // what has not ended by then is cut off; 0: play to the end
	Validate   bool                                         // check every invariant after every turn: slow, for tests
	Progress   func(submitted, ended int, at time.Duration) // called now and then; may be nil

	Interference Interference // between runs on the same nodes; nil: none
	Contention   *Contention  // of runs on the same nodes for what these have; nil: none
	Measure      bool         // with a Contention: tell the core how nodes were used, every Config.Colocation.Period

	// Over is called when the play is over, with the core as it is then; may be nil.
	Over func(c *sched.Core)

	// After is called after each turn, with what it changed; may be nil. The events that it returns are taken in a further turn
	// at the same instant, after which it is called again. That is how a learner takes part (package learn). With a Store that
	// keeps nothing the changes are the records and the submitted runs alone.
	After func(ctx context.Context, changes *engine.Changes) ([]dovetail.Event, error)
}

// Play plays a workload, sorted by submission, until every run has ended or nothing more can happen. When the context ends, so does
// the play, with its error. Jobs that the cluster could never hold are refused, as the daemon would: Schedule.Refused.
func Play(ctx context.Context, o Options, jobs []trace.Job) (*report.Schedule, error) {
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		return nil, err
	}
	if _, err := sched.New(o.Config); err != nil {
		return nil, err
	}
	cluster, err := NewCluster(o.Nodes, o.Model, o.Faults, o.Seed, Epoch())
	if err != nil {
		return nil, err
	}
	if err := o.couple(cluster); err != nil {
		return nil, err
	}
	p := newPlayer(o, core, cluster, Epoch(), jobs)
	// As the daemon begins: the configuration is recorded, then what the back-end reports, and only then is anything decided.
	p.turner.Hold(true)
	if err := p.turn(ctx, Epoch(), dovetail.Configured{Config: o.Config}); err != nil {
		return nil, err
	}
	if err := p.turn(ctx, Epoch(), cluster.Nodes()...); err != nil {
		return nil, err
	}
	p.turner.Hold(false)
	if err := p.turn(ctx, Epoch()); err != nil {
		return nil, err
	}
	return p.play(ctx)
}

// defaultPeriod is what Colocation.Period stands for if it is 0.
const defaultPeriod = time.Minute

// couple lets the runs of a cluster affect each other as the options say.
func (o *Options) couple(c *Cluster) error {
	c.Interfere(o.Interference)
	if err := c.Contend(o.Contention); err != nil {
		return err
	}
	if o.Measure {
		c.Measure(time.Duration(cmp.Or(o.Config.Colocation.Period, dovetail.Duration(defaultPeriod))))
	}
	return nil
}

// player is one play in progress.
type player struct {
	o       Options
	core    *sched.Core
	cluster *Cluster
	turner  *engine.Turner
	start   time.Time // the workload's times count from here
	jobs    []trace.Job
	next    int              // job to be submitted
	about   []dovetail.RunID // the play is over when these have ended; nil: when all have

	out     *report.Schedule
	index   map[dovetail.RunID]int // into out.Jobs
	closing []dovetail.RunID       // ended, but hold something still
	ended   int
	turns   int
}

func newPlayer(o Options, core *sched.Core, cluster *Cluster, start time.Time, jobs []trace.Job) *player {
	store := o.Store
	if store == nil {
		store = discard{}
	}
	out := &report.Schedule{
		Cell: report.Cell{Policy: o.Config.Policy, Alloc: o.Config.Alloc, Preempt: o.Config.Preempt},
		Jobs: make([]report.Job, 0, len(jobs)),
	}
	for i := range o.Nodes {
		out.Capacity = out.Capacity.Plus(o.Nodes[i].Capacity)
	}
	return &player{
		o: o, core: core, cluster: cluster, turner: engine.NewTurner(core, nil, store), start: start, jobs: jobs,
		out: out, index: make(map[dovetail.RunID]int, len(jobs)),
	}
}

// play takes turns until nothing more can happen.
func (p *player) play(ctx context.Context) (*report.Schedule, error) {
	for {
		now, ok := p.upcoming()
		if !ok || p.over() || p.o.Until > 0 && now.Sub(p.start) > p.o.Until {
			break
		}
		if p.turns++; p.turns%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if p.o.Progress != nil {
				p.o.Progress(p.next, p.ended, now.Sub(p.start))
			}
		}
		if err := p.instant(ctx, now); err != nil {
			return nil, err
		}
	}
	for _, id := range p.closing {
		p.close(id, p.turner.Now())
	}
	if d, ok := p.o.Store.(*Digest); ok {
		p.out.Hash = d.Sum()
	}
	if p.o.Over != nil {
		p.o.Over(p.core)
	}
	return p.out, nil
}

// over reports whether every run has ended, and the core was told of its last replica; or those have ended that are all the play
// is about.
func (p *player) over() bool {
	if p.about == nil {
		return p.next == len(p.jobs) && len(p.index) == 0 && len(p.cluster.events) == 0
	}
	for len(p.about) > 0 {
		if _, open := p.index[p.about[0]]; open || p.about[0] >= p.core.Next() {
			return false
		}
		p.about = p.about[1:]
	}
	return true
}

// upcoming returns when the next turn is due, and false if none ever is.
func (p *player) upcoming() (time.Time, bool) {
	at, ok := p.cluster.Next()
	if p.next < len(p.jobs) {
		if t := p.start.Add(p.jobs[p.next].Submit); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if wake := p.core.Wake(); !wake.IsZero() {
		wake = wake.Add(time.Microsecond - 1).Truncate(time.Microsecond) // settings may have nanoseconds; the clock has not
		if !ok || wake.Before(at) {
			at, ok = wake, true
		}
	}
	return at, ok
}

// instant takes one turn with what is due at a time: what the machines report, or else what is submitted.
func (p *player) instant(ctx context.Context, now time.Time) error {
	wake := p.core.Wake()
	events := p.cluster.Due(now)
	p.settle(now)
	if len(events) == 0 {
		var err error
		if events, err = p.submissions(now); err != nil {
			return err
		}
	}
	if !wake.IsZero() && !now.Before(wake) {
		events = append(events, dovetail.Tick{})
	}
	if len(events) == 0 {
		return nil
	}
	return p.turn(ctx, now, events...)
}

// settle closes the runs that have ended and hold nothing any more.
func (p *player) settle(now time.Time) {
	p.closing = slices.DeleteFunc(p.closing, func(id dovetail.RunID) bool {
		if !p.cluster.Empty(id) {
			return false
		}
		p.close(id, now)
		return true
	})
}

// submissions returns the events of the jobs that are submitted at this time.
func (p *player) submissions(now time.Time) ([]dovetail.Event, error) {
	var events []dovetail.Event
	for id := p.core.Next(); p.next < len(p.jobs) && !p.start.Add(p.jobs[p.next].Submit).After(now); p.next++ {
		j := &p.jobs[p.next]
		if err := p.core.Fit(j.App); err != nil {
			p.out.Refused = append(p.out.Refused, report.Refusal{ID: j.ID, Why: err.Error()})
			continue
		}
		if err := p.admit(id, j); err != nil {
			return nil, err
		}
		events = append(events, dovetail.Submitted{Run: j.Run(id)})
		id++
	}
	return events, nil
}

// admit makes a job known to the machines and to the report.
func (p *player) admit(id dovetail.RunID, j *trace.Job) error {
	if err := p.cluster.Admit(id, j); err != nil {
		return err
	}
	p.index[id] = len(p.out.Jobs)
	core := j.Core()
	p.out.Jobs = append(p.out.Jobs, report.Job{
		ID: j.ID, Class: j.App.Name, User: j.User, Kind: j.App.Kind, Core: core, Elastic: j.Full() - core,
		Runtime: j.Runtime, Submit: j.Submit, Start: -1, Finish: -1,
	})
	return nil
}

// turn takes one turn and does what it decided.
func (p *player) turn(ctx context.Context, now time.Time, events ...dovetail.Event) error {
	res, err := p.turner.Turn(ctx, now, events...)
	if err != nil {
		return fmt.Errorf("turn at %s: %w", now.Sub(p.start), err)
	}
	for i, refused := range res.Refused {
		if refused != nil {
			what := "its own plan"
			if i < len(events) {
				what = dovetail.EventType(events[i])
			}
			return fmt.Errorf("turn at %s: the core refuses %s: %w", now.Sub(p.start), what, refused)
		}
	}
	for _, a := range res.Plan.Actions {
		p.cluster.Do(now, a)
		if a, ok := a.(dovetail.RunReplicas); ok {
			p.note(a, now)
		}
	}
	for i := range res.Plan.Ends {
		e := &res.Plan.Ends[i]
		p.out.Jobs[p.index[e.Run]].Outcome = e.Outcome
		if p.cluster.Empty(e.Run) {
			p.close(e.Run, now)
		} else {
			p.closing = append(p.closing, e.Run)
		}
	}
	p.level(now)
	if p.o.Validate {
		if broken := p.turner.Validate(); len(broken) > 0 {
			return fmt.Errorf("after the turn at %s: %d invariants are broken, first %s", now.Sub(p.start), len(broken), broken[0])
		}
	}
	if p.o.After == nil || len(res.Changes.Records) == 0 {
		return nil
	}
	return p.afterwards(ctx, now, res.Changes)
}

// afterwards takes a turn with what follows from one at the same instant by Options.After.
func (p *player) afterwards(ctx context.Context, now time.Time, changes engine.Changes) error {
	events, err := p.o.After(ctx, &changes)
	if err != nil {
		return fmt.Errorf("after the turn at %s: %w", now.Sub(p.start), err)
	}
	if len(events) == 0 {
		return nil
	}
	return p.turn(ctx, now, events...)
}

// note remembers when a run started, and where it has replicas.
func (p *player) note(a dovetail.RunReplicas, now time.Time) {
	if r := &p.out.Jobs[p.index[a.Run]]; r.Start < 0 && a.N > 0 {
		r.Start = now.Sub(p.start)
	}
	if p.o.Placements {
		p.out.Placements = append(p.out.Placements, dovetail.Placement{At: now, Slot: a.Slot, N: a.N})
	}
}

// close notes that a run has ended and holds nothing any more.
func (p *player) close(id dovetail.RunID, now time.Time) {
	r := &p.out.Jobs[p.index[id]]
	r.Finish, r.Redone = now.Sub(p.start), p.cluster.Redone(id)
	r.Preemptions, r.Taken = p.cluster.Preemptions(id), p.cluster.Taken(id)
	p.ended++
	p.cluster.Forget(id)
	delete(p.index, id)
}

// level notes the state of the cluster if it changed. Of several turns at one instant the last one counts.
func (p *player) level(now time.Time) {
	l := report.Level{At: now.Sub(p.start), Waiting: int32(p.core.Waiting()), Serving: int32(p.core.InService())}
	core, elastic := p.cluster.Held()
	for k := range l.Core {
		if room := float64(p.out.Capacity[k]); room > 0 {
			l.Core[k], l.Elastic[k] = float32(float64(core[k])/room), float32(float64(elastic[k])/room)
		}
	}
	n := len(p.out.Levels)
	if n > 0 && p.out.Levels[n-1].At == l.At {
		n--
		p.out.Levels = p.out.Levels[:n]
	}
	if n > 0 {
		if last := p.out.Levels[n-1]; last.Waiting == l.Waiting && last.Serving == l.Serving && last.Core == l.Core && last.Elastic == l.Elastic {
			return
		}
	}
	p.out.Levels = append(p.out.Levels, l)
}
