package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/trace"
)

// Present is where a play begins that goes on from a running system.
type Present struct {
	State json.RawMessage // what sched.Core.Snapshot wrote
	Now   time.Time       // not before the last event of the state

	// Runtime says how long a run takes at full scale, in all, of which it has done so much; 0: it never completes. It is asked
	// once for each run that has not ended.
	Runtime func(r *dovetail.Run, done time.Duration) time.Duration

	// Arrivals are submitted from now on, in this order. Submit counts from Now. Their IDs must not be those of runs there are.
	Arrivals []trace.Job

	// About names the runs that matter: the play is over when they have ended. Nil: when all have.
	About []dovetail.RunID
}

// Resume plays on from the present state of a running system until every run has ended or nothing more can happen. Runs in service
// go on from the work that they have done, by the model's share of their runtime. Replicas that are starting start as if told to
// now, those that are stopping are gone at once, and nodes that are down stay down. Runs that never complete, are held or suspended
// hold what they have, and may leave others waiting for ever.
//
// Options.Nodes are added to those of the state, and Options.Config replaces its configuration, unless it is zero; Until counts from
// Now. The schedule begins with the earliest submission of a run there is (Schedule.Epoch); a run there was has its number as ID.
// When the context ends, so does the play, with its error and the schedule so far.
func Resume(ctx context.Context, o Options, from Present) (*report.Schedule, error) {
	core, err := sched.Restore(from.State)
	if err != nil {
		return nil, err
	}
	news, err := present(core, &o)
	if err != nil {
		return nil, err
	}
	var nodes []dovetail.Node
	for _, n := range core.Nodes() {
		nodes = append(nodes, n.Node)
	}
	cluster, err := NewCluster(slices.Concat(nodes, o.Nodes), o.Model, o.Faults, o.Seed, from.Now)
	if err != nil {
		return nil, err
	}
	if err := o.couple(cluster); err != nil {
		return nil, err
	}
	live := core.Live(from.Now)
	start := from.Now
	for i := range live {
		if live[i].Submitted.Before(start) {
			start = live[i].Submitted
		}
	}
	past := from.Now.Sub(start)
	if o.Until > 0 {
		o.Until += past
	}
	arrivals := slices.Clone(from.Arrivals)
	for i := range arrivals {
		arrivals[i].Submit += past
	}
	p := newPlayer(o, core, cluster, start, arrivals)
	p.out.Epoch, p.about = start, from.About
	for _, n := range nodes {
		p.out.Capacity = p.out.Capacity.Plus(n.Capacity)
	}
	for i := range live {
		if err := p.adopt(&live[i], from.Runtime); err != nil {
			return nil, err
		}
	}
	if err := p.turn(ctx, from.Now, news...); err != nil {
		return p.out, err
	}
	if _, err := p.play(ctx); err != nil {
		return p.out, err
	}
	return p.out, nil
}

// present returns what is new about the cluster, and completes the options.
func present(core *sched.Core, o *Options) ([]dovetail.Event, error) {
	var news []dovetail.Event
	switch {
	case o.Config == (dovetail.Config{}):
		o.Config = core.Config()
	case o.Config != core.Config():
		if _, err := sched.New(o.Config); err != nil {
			return nil, err
		}
		news = append(news, dovetail.Configured{Config: o.Config})
	}
	for _, n := range o.Nodes {
		news = append(news, dovetail.NodeUp{Node: n})
	}
	return news, nil
}

// adopt makes a run known that is there already.
func (p *player) adopt(l *sched.Live, runtime func(*dovetail.Run, time.Duration) time.Duration) error {
	j := trace.Job{ID: int64(l.Run.ID), Submit: l.Submitted.Sub(p.start), User: l.Run.User, App: l.Run.App}
	full := int64(j.Full())
	done := time.Duration(l.Work/full) * time.Microsecond
	j.Runtime = max(0, runtime(l.Run, done))
	if err := p.cluster.Adopt(l, &j); err != nil {
		return err
	}
	p.index[l.Run.ID] = len(p.out.Jobs)
	r := report.Job{
		ID: j.ID, Run: l.Run.ID, App: j.App, Class: l.Run.Class, User: j.User, Kind: j.App.Kind, Core: j.Core(),
		Runtime: j.Runtime, Submit: j.Submit, Start: -1, Finish: -1,
	}
	r.Elastic = int(full) - r.Core
	if !l.Started.IsZero() {
		r.Start = l.Started.Sub(p.start)
	}
	if l.State == dovetail.Stopping {
		s, _ := p.core.Status(l.Run.ID)
		r.Outcome = s.Outcome
		p.closing = append(p.closing, l.Run.ID)
	}
	p.out.Jobs = append(p.out.Jobs, r)
	return nil
}

// Adopt makes a run known that is there already, with the replicas that it holds. A job without runtime never completes.
func (c *Cluster) Adopt(l *sched.Live, j *trace.Job) error {
	r := &run{
		id: l.Run.ID, job: j, at: c.now, lostAt: -1, needs: j.Core() - l.Done, frozen: l.Frozen, over: l.State == dovetail.Stopping,
		complete: timer{kind: completed, number: int64(l.Run.ID)}, failure: timer{kind: failed, number: int64(l.Run.ID)},
	}
	if j.Runtime > 0 {
		var err error
		if r.work, r.fine, err = c.toDo(j); err != nil {
			return err
		}
	} else {
		r.endless = true
	}
	if err := c.plan(r); err != nil {
		return err
	}
	c.runs[r.id] = r
	r.done = share(r.work, l.Work, j.Work())
	r.seek()
	for i := range l.Cells {
		if _, ok := c.byName[l.Cells[i].Node]; !ok {
			return fmt.Errorf("run %d has replicas on node %q, which is not there", r.id, l.Cells[i].Node)
		}
		c.occupy(r, &l.Cells[i])
	}
	c.pace(r)
	return nil
}

// share returns whole × part / all, rounded down; whole if the part is all or more.
func share(whole, part, all int64) int64 {
	if part >= all {
		return whole
	}
	high, low := bits.Mul64(uint64(whole), uint64(part))
	q, _ := bits.Div64(high, low, uint64(all))
	return int64(q)
}

// occupy fills a cell with the replicas there are, and says what is due about them: that those which were told to stop are
// down, those not up first; and that those which are up are ready.
func (c *Cluster) occupy(r *run, l *sched.LiveCell) {
	k := r.cell(c, l.Slot)
	k.want = l.Told
	gone := l.Live - l.Told
	early := min(gone, l.Live-l.Up)
	unready := min(gone-early, l.Up-l.Ready)
	ready := gone - early - unready
	for _, d := range []dovetail.ReplicasDown{{N: early}, {N: unready, WasUp: true}, {N: ready, WasUp: true, WasReady: true}} {
		if d.N > 0 {
			d.Slot, d.Exit = l.Slot, dovetail.Exit{Asked: true}
			c.say(d)
		}
	}
	up := l.Up - unready - ready
	c.hold(k, r, up)
	c.work(r, k, up)
	if n := up - (l.Ready - ready); n > 0 && k.ready {
		c.say(dovetail.ReplicasReady{Slot: l.Slot, N: n})
	}
	if n := l.Told - up; n > 0 {
		c.start(r, k, n)
	}
}
