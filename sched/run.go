package sched

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
	"github.com/dovetail-sched/dovetail/policy"
)

// class is core or elastic, as an index.
type class int

const (
	core class = iota
	elastic
	numClasses
)

func classOf(isElastic bool) class {
	if isElastic {
		return elastic
	}
	return core
}

// app is what the core derives from an application, once for all of its runs.
type app struct {
	spec   *dovetail.Application
	shapes []place.Shape
	class  []*place.Class
	after  [][]int // per component, the components that must be ready before
	need   dovetail.Resources
	core   int // replicas, all components
	all    policy.Extent
	ends   bool // a component's exit ends the run
	runs   int  // how many runs refer to it
	scaled int  // the component whose replicas are the scale-out
	aims   bool // its runs have a target

	fitsAt int64 // version of the cluster for which fits holds
	fits   bool  // the core would fit the nodes that are open, if they were empty
	ever   bool  // … all nodes

	shut   int64   // what Space.Grown returned when its core did not fit
	failed int     // the round of a decision in which a run of it was blocked; so is every later one
	full   []int64 // per component, what it returned when not one more replica fitted

	hungry []*run // in service and can use more elastic replicas; and some that no longer can
	gone   int    // how many of those have ended
	ranked int    // the ranking that hungry is sorted by; 0: it is not
	listed bool   // it is in the list of applications with hungry runs
}

func (c *Core) newApp(spec *dovetail.Application) *app {
	n := len(spec.Components)
	a := &app{spec: spec, shapes: make([]place.Shape, n), after: make([][]int, n), full: make([]int64, n), scaled: spec.Scaled(), aims: aims(spec)}
	for i := range spec.Components {
		comp := &spec.Components[i]
		a.shapes[i] = place.Shape{Each: comp.Resources, Nodes: comp.Nodes}
		a.class = append(a.class, c.class(comp.Resources))
		a.need = a.need.Plus(comp.Resources.Times(comp.Count))
		a.core += comp.Count
		a.all = a.all.Plus(comp.Limit(), comp.Resources[dovetail.CPU], comp.Resources[dovetail.Memory])
		a.ends = a.ends || comp.Ends != ""
		for j := range spec.Components {
			if slices.Contains(comp.After, spec.Components[j].Name) {
				a.after[i] = append(a.after[i], j)
			}
		}
	}
	return a
}

// class returns the class of what a replica asks for.
func (c *Core) class(each dovetail.Resources) *place.Class {
	each = place.Classify(each)
	known := c.classes[each]
	if known == nil {
		known = &place.Class{Each: each}
		c.classes[each] = known
	}
	return known
}

// run is the core's picture of a run that has not ended.
type run struct {
	// What a walk along the waiting line reads: it lies together, as the walk is long.
	entry  uint32 // the valid entry of the waiting line
	held   bool
	chosen bool // started in the draft
	ending bool // ended in the draft
	judged bool // why is the reason that the draft gives it
	reason dovetail.ReasonCode

	id        dovetail.RunID
	spec      *dovetail.Run
	app       *app
	priority  int
	submitted time.Time
	waiting   time.Time // since when it waits: submitted, or released
	started   time.Time // first replica handed to the back-end
	ready     time.Time // all of its core was ready for the first time
	ended     time.Time

	state     dovetail.State
	verdict   *dovetail.End // how it is to end, or ends
	suspended bool
	frozen    bool // the back-end was told that it is suspended
	retries   int  // deaths of core replicas survived
	deaths    int  // deaths of elastic replicas in succession
	lastDeath time.Time
	regrow    time.Time // gets no new elastic replica before

	comps    []comp // nil until it is in service
	spare    []comp // empty: those that it had in the draft that started it
	elastic  int    // elastic replicas granted
	live     int    // replicas that occupy a node
	work     int64  // replica-microseconds done
	workedAt time.Time

	expected time.Duration // runtime at full scale: what its user says, else what its outlook does; 0: unknown
	cautious time.Duration // … that is exceeded once in ten times; 0: nobody can tell
	choice   *dovetail.Choice
	forecast *dovetail.Prediction
	done     float64 // share of its work by its outlook: see doneBy
	doneAt   time.Time
	beside   []dovetail.Overlap // who is there now, if it has a choice that is reconsidered
	lost     int                // replicas of the scaled component that the draft takes, net
	machines []string           // classes of the nodes that held a replica, sorted

	rank    key  // the last one computed
	ranked  int  // the ranking it belongs to
	hungry  bool // it is in its application's list of hungry runs
	pending bool // it is in the list of runs to look at when dispatching
	touched bool // it is in the list of changed runs
	shifted bool // it is in a list of runs with steps in the draft
	why     dovetail.ReasonCode

	kind    *kind
	load    int64 // of its kind's: replica-microseconds
	draw    *dovetail.Draw
	passes  int   // how often it was passed over by a draw
	passed  *pass // … the last time; nil: never
	passing int   // … in the draft
}

// comp is one component of a run in service.
type comp struct {
	cells []cell
	found int // the cell that was looked for last
	want  [numClasses]int
	up    [numClasses]int
	ready [numClasses]int
	done  [numClasses]int // replicas that ended by themselves and well: not replaced
}

// cell is the replicas of one component and class on one node.
type cell struct {
	node  int
	class class
	want  int // granted
	told  int // what the back-end was told to run
	live  int // handed to the back-end and not reported down; more than told while some are stopping
	up    int
	ready int
	delta int // by how much the draft has changed want; 0 between decisions
}

func (k *cell) empty() bool { return k.want == 0 && k.told == 0 && k.live == 0 }

// find returns where the cell of a class on a node is, or belongs. Cells are in order of class, then node.
func (p *comp) find(cl class, node int) (int, bool) {
	for i := p.found; i < min(p.found+2, len(p.cells)); i++ { // mostly the one that was asked for last, or the next one
		if k := &p.cells[i]; k.node == node && k.class == cl {
			p.found = i
			return i, true
		}
	}
	low, high := 0, len(p.cells)
	for low < high {
		mid := (low + high) / 2
		if k := &p.cells[mid]; k.class < cl || k.class == cl && k.node < node {
			low = mid + 1
		} else {
			high = mid
		}
	}
	p.found = low
	return low, low < len(p.cells) && p.cells[low].class == cl && p.cells[low].node == node
}

// cell finds, or adds, the cell of a class on a node.
func (p *comp) cell(cl class, node int) *cell {
	i, ok := p.find(cl, node)
	if !ok {
		p.cells = slices.Insert(p.cells, i, cell{node: node, class: cl})
	}
	return &p.cells[i]
}

// outfit gives a run that is not in service its counts.
func (r *run) outfit() {
	if r.comps, r.spare = r.spare, nil; r.comps == nil {
		r.comps = make([]comp, len(r.app.shapes))
	}
}

// prune drops empty cells.
func (p *comp) prune() {
	p.cells = slices.DeleteFunc(p.cells, func(k cell) bool { return k.empty() })
}

// tidy drops the cell of a class on a node if it is empty.
func (p *comp) tidy(cl class, node int) {
	if i, ok := p.find(cl, node); ok && p.cells[i].empty() {
		p.cells = slices.Delete(p.cells, i, i+1)
	}
}

// inService reports whether the run holds, or may hold, replicas.
func (r *run) inService() bool { return r.state != dovetail.Queued && r.state != dovetail.Ended }

// serves reports whether the run is in service, or is put into service by the draft.
func (r *run) serves() bool { return r.inService() || r.chosen }

// goesOn reports whether the run is in service and nothing has ended it.
func (r *run) goesOn() bool {
	return (r.state == dovetail.Starting || r.state == dovetail.Running) && r.verdict == nil && !r.ending
}

// lacks returns how many core replicas of component ci are neither granted nor done.
func (r *run) lacks(ci int) int {
	n := r.app.spec.Components[ci].Count
	if r.comps != nil {
		n -= r.comps[ci].want[core] + r.comps[ci].done[core]
	}
	return n
}

// needs returns what the core replicas need that are neither granted nor done.
func (r *run) needs() dovetail.Resources {
	if r.comps == nil {
		return r.app.need
	}
	var need dovetail.Resources
	for ci := range r.comps {
		need = need.Plus(r.app.shapes[ci].Each.Times(max(0, r.lacks(ci))))
	}
	return need
}

// broken reports whether a part of the core is to be replaced.
func (r *run) broken() bool {
	for ci := range r.comps {
		if r.lacks(ci) > 0 {
			return true
		}
	}
	return false
}

// craves returns how many more elastic replicas component ci can use.
func (r *run) craves(ci int) int {
	p := &r.comps[ci]
	return r.mayUse(ci) - p.want[elastic] - p.done[elastic]
}

// isHungry reports whether the run could use more elastic replicas than it is granted.
func (r *run) isHungry() bool {
	if !r.goesOn() && !r.chosen || r.suspended {
		return false
	}
	for ci := range r.comps {
		if r.craves(ci) > 0 {
			return true
		}
	}
	return false
}

// isReady reports whether all core replicas of component ci are ready, or done.
func (r *run) isReady(ci int) bool {
	p, c := &r.comps[ci], &r.app.spec.Components[ci]
	n := p.up[core]
	if c.Ready != nil {
		n = p.ready[core]
	}
	return n+p.done[core] >= c.Count
}

// allReady reports whether the whole core is ready.
func (r *run) allReady() bool {
	for ci := range r.comps {
		if !r.isReady(ci) {
			return false
		}
	}
	return true
}

// workBy returns the work done by a time: time × replicas that are up (seed 004 §8.2).
func (r *run) workBy(now time.Time) int64 {
	up := 0
	for ci := range r.comps {
		up += r.comps[ci].up[core] + r.comps[ci].up[elastic]
	}
	return r.work + max(0, now.Sub(r.workedAt).Microseconds())*int64(up)
}

// accrue adds the work done so far, before the number of replicas changes.
func (c *Core) accrue(r *run, now time.Time) {
	r.work, r.workedAt = r.workBy(now), now
	if r.choice != nil {
		c.progress(r, now)
	}
}

// job is what policies may know of the run.
func (r *run) job(now time.Time) policy.Job {
	j := policy.Job{
		Submitted: r.submitted, Expected: r.expected, Cautious: r.cautious, All: r.app.all, Missing: r.app.all, Deadline: r.deadline(),
	}
	if !r.serves() || r.app.all.Replicas == 0 || j.Expected <= 0 {
		return j
	}
	j.Done = min(1, float64(r.workBy(now))/(float64(j.Expected.Microseconds())*float64(r.app.all.Replicas)))
	j.Missing = policy.Extent{}
	for ci := range r.comps {
		c := &r.app.spec.Components[ci]
		missing := c.Count + r.mayUse(ci) - r.comps[ci].want[core] - r.comps[ci].want[elastic]
		j.Missing = j.Missing.Plus(missing, c.Resources[dovetail.CPU], c.Resources[dovetail.Memory])
	}
	return j
}

// input returns how many bytes the run reads; 0: unknown.
func (r *run) input() int64 {
	if r.spec.Input > 0 {
		return r.spec.Input
	}
	return r.app.spec.InputSize
}

func (r *run) deadline() time.Time {
	switch a := r.app.spec; {
	case a.FinishBy != nil:
		return *a.FinishBy
	case a.Target != nil:
		return r.submitted.Add(time.Duration(a.Target.Runtime))
	}
	return time.Time{}
}

// status is what others see of the run.
func (r *run) status() dovetail.RunStatus {
	s := dovetail.RunStatus{
		ID: r.id, Name: r.spec.Name, Class: r.spec.Class, App: r.app.spec.Name, Kind: r.app.spec.Kind,
		User: r.spec.User, Key: r.spec.Key, Digest: r.spec.Digest, Priority: r.priority,
		State: r.state, Held: r.held, Suspended: r.suspended, Reason: r.reason, Submitted: r.submitted,
		Core: r.app.core, Elastic: r.elastic, ElasticMax: r.app.all.Replicas - r.app.core, Retries: r.retries,
	}
	s.InputSize, s.NodeClasses, s.Prediction, s.Choice = r.input(), r.machines, r.forecast, r.choice
	s.Draw = r.draw
	if r.state == dovetail.Queued {
		s.Passes = r.passes
	}
	if t := r.ready; !t.IsZero() {
		s.Ready = &t
	}
	if r.verdict != nil && (r.state == dovetail.Stopping || r.state == dovetail.Ended) {
		s.Outcome, s.Why = r.verdict.Outcome, r.verdict.Why
	}
	if t := r.started; !t.IsZero() {
		s.Started = &t
	}
	if t := r.ended; !t.IsZero() {
		s.Ended = &t
	}
	for ci := range r.comps {
		s.CoreUp += r.comps[ci].up[core]
		s.ElasticUp += r.comps[ci].up[elastic]
	}
	return s
}
