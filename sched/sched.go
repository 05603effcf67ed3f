// Package sched answers: what should be done now? It is the core: told what happened, asked what to do.
//
// A Core has no clock, no goroutine, no lock and does no I/O. Apply folds one fact into the state and decides nothing;
// Decide looks at the state and returns a plan, and changes nothing; applying the plan as a Decided event changes the state.
// Two cores that were fed the same events at the same times return the same plans, byte for byte.
//
// Capacity is counted twice. What is granted (want) is set aside for a run by a plan: grants never exceed a node. What is
// occupied (live) was handed to the back-end and has not been reported down. A plan may grant a newcomer what elastic replicas
// still occupy; the core hands its replicas to the back-end only when they are really gone, and when the components they
// depend on are ready. So the journal says exactly what was handed to the back-end, and when.
package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/alloc"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/place"
	"github.com/dovetail-sched/dovetail/policy"
)

// Core is the state of one cluster. It is not safe for concurrent use.
type Core struct {
	cfg    dovetail.Config
	order  policy.Order
	share  alloc.Func[*run]
	now    time.Time      // of the last event
	before time.Time      // of the last event before now
	seq    int64          // of the last plan
	next   dovetail.RunID // lowest ID a new run may have

	space    *place.Space         // by what is granted
	room     []dovetail.Resources // by what is occupied, per node; negative where a node shrank
	nodes    []node
	nodeByID map[string]int
	nodeHint int                  // the node that was looked up last
	loose    dovetail.Resources   // granted to elastic replicas, in all
	looseOn  []dovetail.Resources // … per node
	version  int64                // grows whenever what nodes can hold changes

	scratch  draft                 // the decision in the making
	foreseen foresight             // … what the last one knew, if nothing happened since
	idle     [][]cell              // … memory of runs that have ended: empty
	freed    []dovetail.Resources  // … what it computes capacities in
	surveyed survey                // … and neighbours
	granted  map[dovetail.Slot]int // … and what a plan is checked in
	stale    bool                  // something happened since the last plan that grants may depend on
	settled  time.Time             // when that was applied: until then, and unless stale, sharing capacity again changes nothing
	empty    [2]*place.Space       // the nodes of emptyAt with nothing on them: those that are open, and all; nil: not asked for yet
	emptyAt  int64

	runs      map[dovetail.RunID]*run
	recent    *run // the one that was looked up last; nil: none, or it is gone
	apps      map[*dovetail.Application]*app
	checked   *app                                // of the last application that was checked and is not known
	classes   map[dovetail.Resources]*place.Class // never dropped; there are few
	outlooks  map[string][]*dovetail.Outlook      // by job class; of one class by input size
	learned   []string                            // … those classes, the one first that was learned of longest ago
	serving   []*run                              // starting, running or stopping; by ID
	ordered   []*run                              // … by the order of the policy, if ranks stand still
	orderedAt int                                 // the ranking that ordered belongs to; 0: none
	line      line
	ranking   int // grows whenever ranks computed before are void
	depth     int // backfillDepth, but in tests

	hungry   []*app            // have hungry runs, or had some
	pending  []*run            // want and told may differ
	verdicts []*run            // ended by a fact, not yet by a plan
	limited  []*run            // in service, with a maximum runtime
	byClass  map[string][]*run // in service, by job class; of one class by ID
	aimed    []*run            // in service, with a choice; by ID
	cooling  []*run            // regrow may be in the future
	mute     []*run            // wait without a reason given
	touched  []*run
	gone     []*run // ended since Changed was called
	strained []int  // nodes that may hold more than they should: they shrank, or are drained

	book      *coloc.Book
	method    *coloc.Method  // nil: the policy alone decides
	taught    int64          // grows whenever what the book knows may have changed
	kinds     []*kind        // job classes of the runs that have not ended, by name
	keeps     bool           // it is noted who is granted something where
	picky     int            // runs whose applications say something of their neighbours
	exclusive int            // … that they want none
	barred    map[string]int // … whom they avoid, and how many of them do
}

type node struct {
	dovetail.Node
	class    string // of machine: its label "class", else its capacity
	draining bool
	tenants  []tenant  // the runs that have something there, by ID
	asked    int       // the one that was asked for last
	since    time.Time // the job classes there are what they are, and do what they do
	liked    [memory]liking
	likedAt  int // where the next one goes
}

// New returns the core of an empty cluster. A configuration that names an unknown policy, allocator or placement is a
// dovetail.Invalid error.
func New(cfg dovetail.Config) (*Core, error) {
	c := &Core{
		next:     1,
		depth:    backfillDepth,
		nodeByID: make(map[string]int),
		runs:     make(map[dovetail.RunID]*run),
		apps:     make(map[*dovetail.Application]*app),
		classes:  make(map[dovetail.Resources]*place.Class),
		outlooks: make(map[string][]*dovetail.Outlook),
		byClass:  make(map[string][]*run),
		granted:  make(map[dovetail.Slot]int),
		barred:   make(map[string]int),
	}
	if err := c.configure(cfg, time.Time{}); err != nil {
		return nil, err
	}
	return c, nil
}

// configure switches to another configuration.
func (c *Core) configure(cfg dovetail.Config, now time.Time) error {
	order, err := policy.Find(cfg.Policy)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "policy: %v", err)
	}
	share, err := alloc.Find[*run](cfg.Alloc)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "alloc: %v", err)
	}
	spots, err := place.Find(cfg.Place)
	if err != nil {
		return dovetail.Errorf(dovetail.Invalid, "place: %v", err)
	}
	if cfg.Reclaim != "any" && cfg.Reclaim != "lower" {
		return dovetail.Errorf(dovetail.Invalid, "reclaim: unknown rule %q; expected any or lower", cfg.Reclaim)
	}
	if cfg.MaxWait < 0 || cfg.Regrow < 0 || cfg.Replan < 0 {
		return dovetail.Errorf(dovetail.Invalid, "maxWait, regrow and replan: must not be negative")
	}
	if cfg.Replan > 0 && time.Duration(cfg.Replan) < time.Second {
		return dovetail.Errorf(dovetail.Invalid, "replan: is %s; expected 1s or more, as each period may cost a turn, or 0 for %s", cfg.Replan, replan)
	}
	if err := checkColocation(&cfg.Colocation); err != nil {
		return err
	}
	c.cfg, c.order, c.share = cfg, order, share
	c.colocate(cfg.Colocation)
	c.version++ // what fits depends on the order of nodes
	if c.space == nil {
		c.space = place.NewSpace(spots)
	} else {
		c.space.SetOrder(spots)
	}
	c.rerank(now)
	return nil
}

// Config returns the configuration in force.
func (c *Core) Config() dovetail.Config { return c.cfg }

// Seq returns the number of the last plan applied.
func (c *Core) Seq() int64 { return c.seq }

// Next returns the lowest ID that a new run may have.
func (c *Core) Next() dovetail.RunID { return c.next }

// Waiting returns how many runs wait.
func (c *Core) Waiting() int { return c.line.n }

// Status returns the status of a run that has not ended.
func (c *Core) Status(id dovetail.RunID) (dovetail.RunStatus, bool) {
	r, ok := c.runs[id]
	if !ok {
		return dovetail.RunStatus{}, false
	}
	return r.status(), true
}

// Describe returns the submission of a run that has not ended, or nil.
func (c *Core) Describe(id dovetail.RunID) *dovetail.Run {
	if r := c.runs[id]; r != nil {
		return r.spec
	}
	return nil
}

// Changed returns the status of every run that changed since the last call, by ID, including those that ended: of these the
// core keeps nothing afterwards.
func (c *Core) Changed() []dovetail.RunStatus {
	var changed []dovetail.RunStatus
	for _, r := range c.gone {
		changed = append(changed, r.status())
	}
	for _, r := range c.touched {
		if r.state != dovetail.Ended {
			changed = append(changed, r.status())
		}
	}
	c.Forget()
	slices.SortFunc(changed, func(a, b dovetail.RunStatus) int { return cmp.Compare(a.ID, b.ID) })
	return changed
}

// Forget empties the list of changes, for those who do not want to know them.
func (c *Core) Forget() {
	for _, r := range c.touched {
		r.touched = false
	}
	clear(c.gone)
	c.touched, c.gone = c.touched[:0], c.gone[:0]
}

func (c *Core) touch(r *run) {
	if !r.touched {
		r.touched = true
		c.touched = append(c.touched, r)
	}
}

// InService returns how many runs are in service.
func (c *Core) InService() int { return len(c.serving) }

// Serving returns the runs that are in service (starting, running or stopping), in order of ID.
func (c *Core) Serving() []dovetail.RunID {
	ids := make([]dovetail.RunID, len(c.serving))
	for i, r := range c.serving {
		ids[i] = r.id
	}
	return ids
}

// Desired returns everything that the back-end was told to run and has not been told otherwise, in order of run,
// component, class and node: what to tell it again after a restart. Runs that are stopping are not in it.
func (c *Core) Desired() []dovetail.RunReplicas {
	var all []dovetail.RunReplicas
	for _, r := range c.serving {
		if r.state == dovetail.Stopping {
			continue
		}
		for ci := range r.comps {
			for i := range r.comps[ci].cells {
				if k := &r.comps[ci].cells[i]; k.told > 0 || k.live > 0 {
					all = append(all, dovetail.RunReplicas{Slot: c.slot(r, ci, k), N: k.told, Frozen: r.frozen})
				}
			}
		}
	}
	return all
}

func (c *Core) slot(r *run, ci int, k *cell) dovetail.Slot {
	return dovetail.Slot{Run: r.id, Component: ci, Elastic: k.class == elastic, Node: c.nodes[k.node].Name}
}

// Occupied returns how many replicas in this slot the back-end was handed and has not reported down.
func (c *Core) Occupied(s dovetail.Slot) int {
	r, k := c.find(s)
	if r == nil || k == nil {
		return 0
	}
	return k.live
}

// run returns a run that has not ended, or nil. Mostly it is the one that was asked for last.
func (c *Core) run(id dovetail.RunID) *run {
	if c.recent == nil || c.recent.id != id {
		c.recent = c.runs[id]
	}
	return c.recent
}

// find returns the run and the cell that a slot means; the cell is nil if there is none.
func (c *Core) find(s dovetail.Slot) (*run, *cell) {
	r := c.run(s.Run)
	if r == nil || s.Component < 0 || s.Component >= len(r.comps) {
		return r, nil
	}
	n, ok := c.nodeNumber(s.Node)
	if !ok {
		return r, nil
	}
	p := &r.comps[s.Component]
	if i, ok := p.find(classOf(s.Elastic), n); ok {
		return r, &p.cells[i]
	}
	return r, nil
}

// nodeNumber returns the number of a node. Mostly it is the one that was asked for last, or the next one.
func (c *Core) nodeNumber(name string) (int, bool) {
	for i := c.nodeHint; i < min(c.nodeHint+2, len(c.nodes)); i++ {
		if c.nodes[i].Name == name {
			c.nodeHint = i
			return i, true
		}
	}
	i, ok := c.nodeByID[name]
	if ok {
		c.nodeHint = i
	}
	return i, ok
}

// Nodes returns the status of every node, by name.
func (c *Core) Nodes() []dovetail.NodeStatus {
	all := make([]dovetail.NodeStatus, len(c.nodes))
	for i := range c.nodes {
		n := c.space.Node(i)
		all[i] = dovetail.NodeStatus{
			Node: c.nodes[i].Node, Up: n.Up, Cordoned: n.Cordoned, Draining: c.nodes[i].draining,
			Granted: n.Capacity.Minus(n.Free), Occupied: n.Capacity.Minus(c.room[i]), Replicas: n.Replicas,
		}
	}
	slices.SortFunc(all, func(a, b dovetail.NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Wake returns when the core wants to be asked again although nothing happened, or the zero time. It lies after the last
// event.
func (c *Core) Wake() time.Time {
	var wake time.Time
	sooner := func(t time.Time) {
		if t.After(c.now) && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	c.limited = slices.DeleteFunc(c.limited, func(r *run) bool { return !r.goesOn() })
	for _, r := range c.limited {
		if !r.started.IsZero() {
			sooner(r.limit())
		}
	}
	c.cooling = slices.DeleteFunc(c.cooling, func(r *run) bool { return !r.goesOn() || !r.regrow.After(c.now) })
	for _, r := range c.cooling {
		sooner(r.regrow)
	}
	next := c.nextPeriod(c.now)
	if slices.ContainsFunc(c.aimed, func(r *run) bool { return c.reconsiders(r, next) }) {
		sooner(next)
	}
	if bound := time.Duration(c.cfg.MaxWait); bound > 0 {
		first, _ := slices.BinarySearchFunc(c.line.arrivals, c.now.Add(-bound), func(a arrival, t time.Time) int {
			return a.since.Compare(t)
		})
		for i := first; i < len(c.line.arrivals); i++ {
			if a := &c.line.arrivals[i]; a.valid() && !a.r.held && a.since.Add(bound).After(c.now) {
				sooner(a.since.Add(bound))
				break
			}
		}
	}
	return wake
}

func (r *run) limit() time.Time {
	return r.started.Add(time.Duration(r.app.spec.MaxRuntime))
}
