package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/trace"
)

// Cluster is the simulated machines. It does what it is told (Do) and says what comes of it (Next, Due). It is not safe for
// concurrent use.
type Cluster struct {
	epoch  time.Time
	model  Model
	faults Faults
	seed   uint64

	nodes  []node
	byName map[string]int
	runs   map[dovetail.RunID]*run
	active map[dovetail.RunID]*run // those with cells: there may be many more that wait
	timers timers
	now    int64
	events []dovetail.Event      // due at once
	spare  []dovetail.Event      // handed out last
	idle   []*cell               // of runs that are forgotten: to be used again
	held   [2]dovetail.Resources // by core replicas, by elastic ones

	interference Interference // nil: runs do not hold each other up
	contention   *Contention  // nil: they do not share resources
	period       int64        // of Measure, in µs; 0: nobody wants to know
	measured     timer        // the end of the period
	beside       []presence   // reused by slow
	scratch      scratch      // reused by divide

	recentRun  *run // the one that was looked up last; nil: none, or it is gone
	recentNode int
}

type node struct {
	dovetail.Node
	up      bool
	speed   int64 // in hundredths
	rng     *rand.Rand
	fault   timer      // goes, or comes back
	tenants []presence // in order of run; with an Interference or a Contention only

	disk  float64 // what the disk does for those who are at work, relative to what it does for one
	use   gauge   // now
	total gauge   // since the last period ended, up to read
	read  int64
}

// run is a run that was admitted and of which something may still come.
type run struct {
	id    dovetail.RunID
	job   *trace.Job
	cells []*cell

	core    int   // core replicas at work
	needs   int   // core replicas that it cannot do without
	at      int64 // when done was last brought up to date
	work    int64 // to be done, in units of the model
	fine    int64 // by how much those are finer here; with an Interference or a Contention only
	done    int64
	speed   int64 // Σ over replicas at work of their node's speed
	working int   // replicas at work
	frozen  bool
	endless bool    // it never completes
	over    bool    // complete, or told to stop: it makes no progress any more
	slowed  float64 // by neighbours: a time of 1 takes so much; 0 means 1

	phases  []Phase // with a Contention only
	ends    []int64 // of the phases, in units of work
	phase   int     // the one it is in
	slowest float64 // speed that its slowest node allows

	complete timer
	failure  timer
	rng      *rand.Rand // for failures; nil: none
	starts   *rand.Rand // for the jitter of starts
	starting []*timer   // orders to start that are under way, oldest first

	taken  int   // elastic replicas that were reclaimed
	lost   int   // instants at which some were
	lostAt int64 // the last one of them; negative: there is none
	redone int64 // replica-microseconds that were lost with replicas
}

// cell is the replicas of a run in one slot.
type cell struct {
	dovetail.Slot
	node     int
	ready    bool // they report readiness
	want     int  // was told last, but never more than there are, with those that are stopping: as the core counts
	starting int
	up       int
	stopping int
	did      int64 // of the run's done work, what those that are up did; counted only if some of it can be lost
}

// miss notes that replicas are gone. One that ends in place of one that was told to stop is not missed until that one is gone, too:
// the core knows counts, and cannot tell them apart.
func (k *cell) miss() { k.want = min(k.want, k.up+k.starting+k.stopping) }

// NewCluster returns a cluster whose nodes are up and empty. The seed is that of all faults.
func NewCluster(nodes []dovetail.Node, m Model, f Faults, seed uint64, epoch time.Time) (*Cluster, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, dovetail.Errorf(dovetail.Invalid, "the cluster has no nodes; expected at least one")
	}
	if m == nil {
		m = Linear{}
	}
	c := &Cluster{
		epoch: epoch, model: m, faults: f, seed: seed,
		byName: make(map[string]int, len(nodes)), runs: make(map[dovetail.RunID]*run), active: make(map[dovetail.RunID]*run),
	}
	slow := stream(seed, forSlowness, 0)
	for i, n := range nodes {
		if _, twice := c.byName[n.Name]; twice || n.Name == "" {
			return nil, dovetail.Errorf(dovetail.Invalid, "nodes: expected a different name for each node, found %q again", n.Name)
		}
		c.byName[n.Name] = i
		c.nodes = append(c.nodes, node{Node: n, up: true, speed: Whole, rng: stream(seed, forNodes, int64(i))})
		if slow.Float64() < f.SlowNodes {
			c.nodes[i].speed = 50
			if f.SlowSpeed > 0 {
				c.nodes[i].speed = int64(f.SlowSpeed)
			}
		}
	}
	for i := range c.nodes {
		if f.NodeMTBF > 0 {
			n := &c.nodes[i]
			n.fault = timer{kind: nodeGone, number: int64(i)}
			c.timers.set(&n.fault, exponential(n.rng, f.NodeMTBF))
		}
	}
	return c, nil
}

// Nodes returns the events that say which nodes there are.
func (c *Cluster) Nodes() []dovetail.Event {
	events := make([]dovetail.Event, len(c.nodes))
	for i := range c.nodes {
		events[i] = dovetail.NodeUp{Node: c.nodes[i].Node}
	}
	return events
}

// Admit makes a job known under the number that its run has. It starts with the first action that names the run.
func (c *Cluster) Admit(id dovetail.RunID, j *trace.Job) error {
	w, fine, err := c.toDo(j)
	if err != nil {
		return err
	}
	r := &run{
		id: id, job: j, work: w, fine: fine, needs: j.Core(), lostAt: -1,
		complete: timer{kind: completed, number: int64(id)}, failure: timer{kind: failed, number: int64(id)},
	}
	if err := c.plan(r); err != nil {
		return err
	}
	c.runs[id] = r
	return nil
}

// Held returns what core and elastic replicas hold now: those that are starting included, those that are stopping not.
func (c *Cluster) Held() (core, elastic dovetail.Resources) { return c.held[0], c.held[1] }

// Taken returns how many elastic replicas were reclaimed from a run so far.
func (c *Cluster) Taken(id dovetail.RunID) int {
	if r := c.runs[id]; r != nil {
		return r.taken
	}
	return 0
}

// Preemptions returns at how many instants elastic replicas were reclaimed from a run so far, however many they were.
func (c *Cluster) Preemptions(id dovetail.RunID) int {
	if r := c.runs[id]; r != nil {
		return r.lost
	}
	return 0
}

// Redone returns the replica time that a run has lost with replicas so far.
func (c *Cluster) Redone(id dovetail.RunID) time.Duration {
	if r := c.runs[id]; r != nil {
		return time.Duration(r.redone) * time.Microsecond
	}
	return 0
}

// Empty reports whether a run holds nothing: it has not started, or is gone.
func (c *Cluster) Empty(id dovetail.RunID) bool {
	r := c.runs[id]
	return r == nil || !r.holds()
}

func (r *run) holds() bool {
	return slices.ContainsFunc(r.cells, func(k *cell) bool { return k.up > 0 || k.starting > 0 || k.stopping > 0 })
}

// Forget drops a run that has ended.
func (c *Cluster) Forget(id dovetail.RunID) {
	if r := c.runs[id]; r != nil {
		c.timers.drop(&r.complete)
		c.timers.drop(&r.failure)
		delete(c.runs, id)
		delete(c.active, id)
		c.recentRun = nil
		if !r.holds() {
			c.idle = append(c.idle, r.cells...)
		}
	}
}

// latest is the last moment that there is, in microseconds since the epoch: a time.Duration cannot be longer. What would happen
// later never does.
const latest = math.MaxInt64 / 1000

// Next returns when something happens next, and false if nothing will without further actions.
func (c *Cluster) Next() (time.Time, bool) {
	if len(c.events) > 0 {
		return c.time(c.now), true
	}
	if t := c.timers.first(); t != nil && t.at <= latest {
		return c.time(t.at), true
	}
	return time.Time{}, false
}

// Due returns what has happened by a time, in order. The slice is valid until the call after the next.
func (c *Cluster) Due(now time.Time) []dovetail.Event {
	c.now = c.micros(now)
	for t := c.timers.first(); t != nil && t.at <= c.now; t = c.timers.first() {
		c.timers.drop(t)
		c.fire(t)
	}
	due := c.events
	c.events, c.spare = c.spare[:0], due
	return due
}

func (c *Cluster) time(us int64) time.Time { return c.epoch.Add(time.Duration(us) * time.Microsecond) }

func (c *Cluster) micros(t time.Time) int64 { return t.Sub(c.epoch).Microseconds() }

func (c *Cluster) say(e dovetail.Event) { c.events = append(c.events, e) }

func (c *Cluster) fire(t *timer) {
	switch t.kind {
	case nodeGone, nodeBack:
		c.nodeFault(int(t.number))
	case started:
		t.run.starting = slices.DeleteFunc(t.run.starting, func(o *timer) bool { return o == t })
		c.accrue(t.run)
		c.rise(t.run, t.cell, t.n)
		c.pace(t.run)
	case stopped:
		t.cell.stopping -= t.n
		t.cell.miss()
		c.say(dovetail.ReplicasDown{Slot: t.cell.Slot, N: t.n, WasUp: true, WasReady: t.cell.ready, Exit: dovetail.Exit{Asked: true}})
	case failed:
		c.fail(t.run)
	case completed:
		if !c.progress(t.run) {
			c.finish(t.run)
		}
	case measured:
		c.report()
	}
}

// Do brings about what the action asks for, as engine.Backend says. Actions about runs that are gone are done already.
func (c *Cluster) Do(now time.Time, a dovetail.Action) {
	c.now = c.micros(now)
	switch a := a.(type) {
	case dovetail.RunReplicas:
		r := c.run(a.Run)
		if r == nil || r.over {
			return
		}
		c.accrue(r)
		r.frozen = a.Frozen
		c.scale(r, r.cell(c, a.Slot), a.N)
		c.pace(r)
	case dovetail.StopRun:
		if r := c.runs[a.Run]; r != nil {
			c.accrue(r)
			r.over = true
			for _, k := range r.cells {
				c.scale(r, k, 0)
			}
			c.pace(r)
		}
	default:
		panic(fmt.Sprintf("sim: action %T is not known", a))
	}
}

// run returns a run that is not forgotten, or nil. Mostly it is the one that was asked for last.
func (c *Cluster) run(id dovetail.RunID) *run {
	if c.recentRun == nil || c.recentRun.id != id {
		c.recentRun = c.runs[id]
	}
	return c.recentRun
}

// node returns the number of a node. Mostly it is the one that was asked for last, or the next one.
func (c *Cluster) node(name string) int {
	for i := c.recentNode; i < min(c.recentNode+2, len(c.nodes)); i++ {
		if c.nodes[i].Name == name {
			c.recentNode = i
			return i
		}
	}
	c.recentNode = c.byName[name]
	return c.recentNode
}

// compare says where a cell is in the order of component, class and node.
func (k *cell) compare(component int, elastic bool, node int) int {
	switch {
	case k.Component != component:
		return k.Component - component
	case k.Elastic != elastic:
		return compareBool(k.Elastic, elastic)
	}
	return k.node - node
}

// cell finds, or adds, the cell of a slot.
func (r *run) cell(c *Cluster, s dovetail.Slot) *cell {
	node := c.node(s.Node)
	i, ok := len(r.cells), false
	if i > 0 && r.cells[i-1].compare(s.Component, s.Elastic, node) >= 0 { // when a run starts, each is new and the last
		i, ok = slices.BinarySearchFunc(r.cells, s, func(k *cell, s dovetail.Slot) int { return k.compare(s.Component, s.Elastic, node) })
	}
	if !ok {
		if len(c.idle) == 0 {
			slab := make([]cell, 64)
			for i := range slab {
				c.idle = append(c.idle, &slab[i])
			}
		}
		k := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		*k = cell{Slot: s, node: node, ready: r.job.App.Components[s.Component].Ready != nil}
		r.cells = slices.Insert(r.cells, i, k)
		c.active[r.id] = r
	}
	return r.cells[i]
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// scale starts or stops replicas in a slot until n are wanted.
func (c *Cluster) scale(r *run, k *cell, n int) {
	if !r.over && k.Elastic && n < k.want {
		r.taken += k.want - n
		if r.lostAt != c.now {
			r.lost, r.lostAt = r.lost+1, c.now
		}
	}
	if more := n - k.want; more > 0 {
		c.start(r, k, more)
	}
	k.want = n
	if more := k.up + k.starting - n; more > 0 {
		c.stop(r, k, more)
	}
}

func (c *Cluster) start(r *run, k *cell, n int) {
	c.hold(k, r, n)
	k.starting += n
	delay := c.faults.StartDelay.Microseconds()
	if c.faults.StartJitter > 0 {
		if r.starts == nil {
			r.starts = stream(c.seed, forStarts, int64(r.id))
		}
		delay += exponential(r.starts, c.faults.StartJitter)
	}
	if delay == 0 {
		c.rise(r, k, n)
		return
	}
	t := &timer{kind: started, number: int64(r.id), run: r, cell: k, n: n}
	r.starting = append(r.starting, t)
	c.timers.set(t, c.now+delay)
}

// rise lets replicas that were starting be up. The caller accrues before and paces afterwards.
func (c *Cluster) rise(r *run, k *cell, n int) {
	k.starting -= n
	c.work(r, k, n)
	c.say(dovetail.ReplicasUp{Slot: k.Slot, N: n})
	if k.ready {
		c.say(dovetail.ReplicasReady{Slot: k.Slot, N: n})
	}
}

// work changes how many replicas of a cell are at work.
func (c *Cluster) work(r *run, k *cell, n int) {
	k.up += n
	r.working += n
	r.speed += int64(n) * c.nodes[k.node].speed
	if !k.Elastic {
		r.core += n
	}
	if c.coupled() {
		c.nodes[k.node].welcome(r, n, r.job.App.Components[k.Component].Resources)
		c.meter()
	}
}

// hold notes what the replicas of a cell take, or give back.
func (c *Cluster) hold(k *cell, r *run, n int) {
	class := 0
	if k.Elastic {
		class = 1
	}
	c.held[class] = c.held[class].Plus(r.job.App.Components[k.Component].Resources.Times(n))
}

// stop stops n replicas of a cell: those first that are not up yet, latest order first.
func (c *Cluster) stop(r *run, k *cell, n int) {
	for i := len(r.starting) - 1; i >= 0 && n > 0; i-- {
		t := r.starting[i]
		if t.cell != k {
			continue
		}
		m := min(n, t.n)
		n -= m
		k.starting -= m
		c.hold(k, r, -m)
		if t.n -= m; t.n == 0 {
			c.timers.drop(t)
			r.starting = append(r.starting[:i], r.starting[i+1:]...)
		}
		c.say(dovetail.ReplicasDown{Slot: k.Slot, N: m, Exit: dovetail.Exit{Asked: true}})
	}
	if n == 0 {
		return
	}
	c.forfeit(r, k, n)
	c.work(r, k, -n)
	c.hold(k, r, -n)
	if delay := c.faults.StopDelay.Microseconds(); delay > 0 {
		k.stopping += n
		c.timers.set(&timer{kind: stopped, number: int64(r.id), run: r, cell: k, n: n}, c.now+delay)
		return
	}
	c.say(dovetail.ReplicasDown{Slot: k.Slot, N: n, WasUp: true, WasReady: k.ready, Exit: dovetail.Exit{Asked: true}})
}

// accrue brings the work done up to date, before the rate changes.
func (c *Cluster) accrue(r *run) {
	if rate := c.rate(r); rate > 0 {
		done := rate * (c.now - r.at)
		r.done += done
		if c.faults.Redo > 0 {
			for _, k := range r.cells {
				k.did += share(done, int64(k.up)*c.nodes[k.node].speed, r.speed)
			}
		}
	}
	r.at = c.now
}

// forfeit takes from a run what is lost of the work of n replicas of a cell, before they are gone.
func (c *Cluster) forfeit(r *run, k *cell, n int) {
	if c.faults.Redo == 0 || r.over || n == 0 || k.did == 0 {
		return
	}
	did := share(k.did, int64(n), int64(k.up))
	k.did -= did
	lost := int64(c.faults.Redo * float64(did))
	r.done -= lost
	r.seek()
	r.redone += share(r.job.Work(), lost, r.work)
}

// rate returns a run's speed: nothing while a part of its core is missing.
func (c *Cluster) rate(r *run) int64 {
	if r.endless || !r.works() {
		return 0
	}
	rate := c.model.Rate(r.job, r.speed)
	if c.coupled() {
		return r.hindered(rate)
	}
	return rate
}

// works reports whether the run makes progress, if it is to make any.
func (r *run) works() bool { return !r.over && !r.frozen && r.core >= r.needs && r.speed > 0 }

// pace sets when the run completes, and when one of its replicas fails, at the rate it has now. If runs hold each other up, so it
// does for its neighbours.
func (c *Cluster) pace(r *run) {
	if c.coupled() {
		c.disturb(r)
	}
	c.foresee(r)
	if c.faults.ReplicaMTBF <= 0 {
		return
	}
	if r.over || r.working == 0 {
		c.timers.drop(&r.failure)
		return
	}
	if r.rng == nil {
		r.rng = stream(c.seed, forFailures, int64(r.id))
		r.failure.run = r
	}
	// The exponential distribution has no memory, so that the time may be drawn anew whenever the number of replicas changes.
	c.timers.set(&r.failure, c.now+exponential(r.rng, max(c.faults.ReplicaMTBF/time.Duration(r.working), time.Microsecond)))
}

// foresee sets when the run completes, or its phase does, at the rate it has now.
func (c *Cluster) foresee(r *run) {
	if rate := c.rate(r); rate > 0 {
		r.complete.run = r
		c.timers.set(&r.complete, c.now+duration(r.next()-r.done, rate))
	} else {
		c.timers.drop(&r.complete)
	}
}

// fail lets one replica of the run that is at work die, each with the same probability.
func (c *Cluster) fail(r *run) {
	i := r.rng.IntN(r.working)
	for _, k := range r.cells {
		if i -= k.up; i < 0 {
			c.lose(r, k, 1)
			c.say(dovetail.ReplicasDown{Slot: k.Slot, N: 1, WasUp: true, WasReady: k.ready, Exit: dovetail.Exit{Code: 1, Why: "simulated failure"}})
			return
		}
	}
}

// lose takes replicas that are at work off a cell: nobody asked for it.
func (c *Cluster) lose(r *run, k *cell, n int) {
	c.accrue(r)
	c.forfeit(r, k, n)
	c.work(r, k, -n)
	c.hold(k, r, -n)
	k.miss()
	c.pace(r)
}

// finish lets every replica that is at work end well: the run has done its work.
func (c *Cluster) finish(r *run) {
	c.accrue(r)
	r.over = true
	for _, k := range r.cells {
		if n := k.up; n > 0 {
			c.work(r, k, -n)
			c.hold(k, r, -n)
			k.miss()
			c.say(dovetail.ReplicasDown{Slot: k.Slot, N: n, WasUp: true, WasReady: k.ready})
		}
	}
	c.pace(r)
}
