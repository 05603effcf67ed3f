package study

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/learn"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sched"
	"github.com/dovetail-sched/dovetail/sim"
)

// colocationPlay is a queue that is played once, through the scheduler.
type colocationPlay struct {
	world    *contended
	queue    []int // kinds
	nodes    int
	window   int
	seed     uint64
	choose   string // name of a coloc.Method; empty: as they come
	slowdown float64
	known    []dovetail.KnownClass // before
	past     []dovetail.Past       // finished runs, before
	learns   bool                  // from finished runs
}

// colocationOutcome is what became of it.
type colocationOutcome struct {
	minutes    float64 // until the last job was done
	turnaround float64 // minutes, mean
	begun      float64 // minutes until the last job began
	uses       []clusterUse
	known      []dovetail.KnownClass // afterwards
	past       []dovetail.Past       // the runs of the play
	beside     map[[2]string]float64 // node-seconds of runs of a kind beside one of another kind
}

// clusterUse is the mean use of all nodes in a period.
type clusterUse struct {
	At   float64 `json:"at"` // minutes, the end of the period
	CPU  float64 `json:"cpu"`
	Wait float64 `json:"wait"`
	Disk float64 `json:"disk"`
	Net  float64 `json:"net"`
}

// colocationModel is the model of runtimes of the learner: one that knows nothing of neighbours, so that what is said of these comes from the runs alone, with a
// prior of 1 (models.md 5.4).
const colocationModel = "ernest"

// run plays the queue: measured, learned, chosen and placed by the same code as in the daemon.
func (p *colocationPlay) run(ctx context.Context, store Memory) (*colocationOutcome, error) {
	out := &colocationOutcome{}
	o := sim.Options{
		Nodes: contendedNodes(p.nodes), Config: dovetail.DefaultConfig(), Contention: p.world.contention(), Measure: true, Placements: true, Store: store,
		Over: func(c *sched.Core) { out.known = c.Neighbours() },
	}
	o.Config.Policy, o.Config.Alloc = "fifo", "rigid"
	o.Config.Colocation = dovetail.Colocation{
		Choose: p.choose, Window: p.window, Period: dovetail.Duration(usePeriod), Seed: p.seed, Slowdown: p.slowdown,
	}
	var learner *learn.Learner
	if p.learns {
		var err error
		if learner, err = learn.New(store, colocationModel); err != nil {
			return nil, err
		}
	}
	before := p.before()
	o.After = func(ctx context.Context, c *engine.Changes) ([]dovetail.Event, error) {
		for _, r := range c.Records {
			if u, ok := r.Event.(dovetail.Used); ok {
				out.uses = append(out.uses, p.total(r.At, &u))
			}
		}
		if before != nil {
			first := before
			before = nil
			return first, nil
		}
		if learner == nil {
			return nil, nil
		}
		return learner.After(ctx, c)
	}
	jobs := p.world.jobs(p.queue, p.seed)
	schedule, err := sim.Play(ctx, o, jobs)
	if err != nil {
		return nil, err
	}
	if len(schedule.Jobs) != len(jobs) {
		return nil, fmt.Errorf("%d of %d jobs did not fit: %v", len(schedule.Refused), len(jobs), schedule.Refused)
	}
	for i := range schedule.Jobs {
		j := &schedule.Jobs[i]
		if j.Outcome != dovetail.OutcomeSucceeded {
			return nil, fmt.Errorf("job %d: %q", j.ID, j.Outcome)
		}
		out.minutes, out.begun = max(out.minutes, j.Finish.Minutes()), max(out.begun, j.Start.Minutes())
		out.turnaround += j.Finish.Minutes() / float64(len(jobs))
	}
	out.beside = met(schedule)
	if p.learns {
		if out.past, err = p.finished(ctx, store); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// before returns the events that say what was learned and seen earlier.
func (p *colocationPlay) before() []dovetail.Event {
	var events []dovetail.Event
	if p.known != nil {
		events = append(events, dovetail.Recalled{Classes: p.known})
	}
	if p.past != nil {
		events = append(events, dovetail.Imported{Runs: p.past})
	}
	return events
}

// total returns the mean over all nodes; those that were not used are not told of.
func (p *colocationPlay) total(at time.Time, u *dovetail.Used) clusterUse {
	t := clusterUse{At: at.Sub(sim.Epoch()).Minutes()}
	n := float64(p.nodes)
	for i := range u.Nodes {
		t.CPU += u.Nodes[i].CPU / n
		t.Wait += u.Nodes[i].Wait / n
		t.Disk += u.Nodes[i].Disk / n
		t.Net += u.Nodes[i].Net / n
	}
	return t
}

// finished returns the runs of the play as a learner sees them, as if they were those of an earlier day.
func (p *colocationPlay) finished(ctx context.Context, store Memory) ([]dovetail.Past, error) {
	var all []dovetail.Past
	for _, k := range p.world.kinds {
		history, err := store.History(ctx, engine.HistoryFilter{Class: k.name, Limit: len(p.queue), Learn: true})
		if err != nil {
			return nil, err
		}
		for i := range history {
			past := learn.PastOf(&history[i])
			past.Ended = past.Ended.Add(-24 * time.Hour)
			all = append(all, past)
		}
	}
	return all, nil
}

// met returns for how many node-seconds runs of one class were beside runs of another one, or the same.
func met(s *report.Schedule) map[[2]string]float64 {
	at := make(map[string][]int) // jobs by node
	for _, p := range s.Placements {
		if i := int(p.Run) - 1; p.N > 0 {
			at[p.Node] = append(at[p.Node], i)
		}
	}
	beside := make(map[[2]string]float64)
	for _, node := range slices.Sorted(maps.Keys(at)) {
		for n, i := range at[node] {
			for _, k := range at[node][:n] {
				a, b := &s.Jobs[i], &s.Jobs[k]
				if both := min(a.Finish, b.Finish) - max(a.Start, b.Start); both > 0 {
					beside[[2]string{min(a.Class, b.Class), max(a.Class, b.Class)}] += both.Seconds()
				}
			}
		}
	}
	return beside
}
