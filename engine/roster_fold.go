package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// Verb is what a Runner can be asked to do.
type Verb string

// The verbs.
const (
	StartIt  Verb = "start"
	StopIt   Verb = "stop"
	FreezeIt Verb = "freeze"
	ForgetIt Verb = "forget"
)

// Command asks one thing of a Runner about one replica. Doing it twice is doing it once.
type Command struct {
	Verb    Verb
	Replica dovetail.Replica
	On      bool    // stop: with the removal hook; freeze: stand still, else go on
	Launch  *Launch // start only
}

// Do asks it of a Runner.
func (c Command) Do(r Runner) {
	switch c.Verb {
	case StartIt:
		r.Start(*c.Launch)
	case StopIt:
		r.Stop(c.Replica, c.On)
	case FreezeIt:
		r.Freeze(c.Replica, c.On)
	case ForgetIt:
		r.Forget(c.Replica)
	}
}

// String writes "start 1/0.3@7": run, component, index, attempt.
func (c Command) String() string {
	s := fmt.Sprintf("%s %d/%d.%d@%d", c.Verb, c.Replica.Run, c.Replica.Component, c.Replica.Index, c.Replica.Attempt)
	switch {
	case c.Verb == StartIt:
		s += " on " + c.Launch.Node
	case c.Verb == StopIt && c.On:
		s += " with hook"
	case c.Verb == FreezeIt && !c.On:
		s += " off"
	}
	return s
}

// Fold folds an event that the core has accepted, at this time, and returns what follows from it for a Runner. Describe says
// what a run is that the plan starts replicas of, as sched.Core.Describe does.
func (r *Roster) Fold(now time.Time, e dovetail.Event, describe func(dovetail.RunID) *dovetail.Run) []Command {
	switch e := e.(type) {
	case dovetail.ReplicasUp:
		if m := r.find(e.Replica); m != nil {
			m.up, m.upAt, m.host, m.ports = true, now, e.Host, e.Ports
			r.touch(m)
		}
	case dovetail.ReplicasReady:
		if m := r.find(e.Replica); m != nil {
			m.ready, m.readyAt = true, now
			r.touch(m)
		}
	case dovetail.ReplicasDown:
		return r.fell(now, e.Replica, e.Exit, e.Usage)
	case dovetail.Refused:
		return r.fell(now, e.Replica, dovetail.Exit{Code: 126, Why: e.Why}, dovetail.Usage{})
	case dovetail.NodeUp:
		r.nodes[e.Node.Name] = nodeEntry{e.Node, true}
	case dovetail.NodeDown:
		return r.nodeFell(now, e.Node)
	case dovetail.Decided:
		return r.decided(&e.Plan, describe)
	}
	return nil
}

func (r *Roster) fell(now time.Time, id dovetail.Replica, exit dovetail.Exit, usage dovetail.Usage) []Command {
	m := r.find(id)
	if m == nil {
		return nil
	}
	r.drop(now, m, exit, usage)
	return []Command{{Verb: ForgetIt, Replica: id}}
}

// drop takes a replica off the roster. As in the core, a replica that ends in place of one that was asked to is not missed
// until that one is down, too.
func (r *Roster) drop(now time.Time, m *member, exit dovetail.Exit, usage dovetail.Usage) {
	c := r.runs[m.id.Run]
	last := m.status(c.spec)
	last.State, last.Down, last.Exit, last.Usage = "down", &now, &exit, usage
	r.gone = append(r.gone, last)

	q, p := &c.comps[m.id.Component], m.post
	delete(q.members, m.id.Index)
	q.lowest[class(p.elastic)] = min(q.lowest[class(p.elastic)], m.id.Index)
	p.members = slices.DeleteFunc(p.members, func(o *member) bool { return o == m })
	p.told = min(p.told, len(p.members))
	q.prune(p)
	if c.size--; c.size == 0 {
		delete(r.runs, m.id.Run)
	}
}

// prune drops an empty post.
func (q *squad) prune(p *post) {
	if p.told == 0 && len(p.members) == 0 {
		q.cells = slices.DeleteFunc(q.cells, func(o *post) bool { return o == p })
	}
}

// nodeFell drops all that was on a node. What nevertheless still runs there is to stop.
func (r *Roster) nodeFell(now time.Time, name string) []Command {
	n, ok := r.nodes[name]
	if !ok {
		return nil
	}
	n.up = false
	r.nodes[name] = n
	var lost []*member
	for _, m := range r.all {
		if m.post.node == name {
			lost = append(lost, m)
		}
	}
	cmds := make([]Command, 0, len(lost))
	for _, m := range lost {
		r.drop(now, m, dovetail.Exit{Lost: true, Why: "node " + name + " is gone"}, dovetail.Usage{})
		cmds = append(cmds, Command{Verb: StopIt, Replica: m.id})
	}
	return cmds
}

func (r *Roster) decided(p *dovetail.Plan, describe func(dovetail.RunID) *dovetail.Run) []Command {
	var cmds []Command
	var peers []expand.Peer // of the run of the last start: actions come in order of run
	var peersOf dovetail.RunID
	for _, a := range p.Actions {
		switch a := a.(type) {
		case dovetail.StopRun:
			cmds = append(cmds, r.stopRun(a.Run)...)
		case dovetail.RunReplicas:
			for _, cmd := range r.want(&a, p.Seq, describe) {
				if cmd.Verb == StartIt {
					if peersOf != a.Run {
						peersOf, peers = a.Run, r.runs[a.Run].peers()
					}
					cmd.Launch.Peers = peers
				}
				cmds = append(cmds, cmd)
			}
		}
	}
	return cmds
}

// stopRun asks every replica of a run to stop at once, also those whose removal hook runs. Frozen ones go on first, or they
// could not hear the signal.
func (r *Roster) stopRun(id dovetail.RunID) []Command {
	c := r.runs[id]
	if c == nil {
		return nil
	}
	var cmds []Command
	for ci := range c.comps {
		for _, p := range c.comps[ci].cells {
			p.told = 0
			for _, m := range p.members {
				if p.frozen && m.stage == wanted {
					cmds = append(cmds, Command{Verb: FreezeIt, Replica: m.id})
				}
				if m.stage != ending {
					m.stage = ending
					r.touch(m)
					cmds = append(cmds, Command{Verb: StopIt, Replica: m.id})
				}
			}
			p.frozen = false
		}
	}
	return cmds
}

// want makes the replicas of a slot as many as the plan says, and lets them stand still or go on. A replica that is to stop is
// not frozen first: its removal hook must be able to hand over its work.
func (r *Roster) want(a *dovetail.RunReplicas, attempt int64, describe func(dovetail.RunID) *dovetail.Run) []Command {
	c := r.runs[a.Run]
	if c == nil {
		spec := describe(a.Run)
		if spec == nil || a.N == 0 {
			return nil
		}
		c = newCrew(spec)
		r.runs[a.Run] = c
	}
	q := &c.comps[a.Component]
	p := q.post(a.Elastic, a.Node)
	var cmds []Command
	for range a.N - p.told {
		m := c.add(a.Component, p, attempt)
		r.touch(m)
		l := &Launch{Replica: m.id, Elastic: p.elastic, Node: p.node, Run: c.spec}
		cmds = append(cmds, Command{Verb: StartIt, Replica: m.id, Launch: l})
	}
	p.told = a.N
	cmds = append(cmds, r.shrink(p)...)
	if a.Frozen != p.frozen {
		p.frozen = a.Frozen
		for _, m := range p.members {
			if m.stage == wanted {
				cmds = append(cmds, Command{Verb: FreezeIt, Replica: m.id, On: a.Frozen})
			}
		}
	}
	q.prune(p)
	return cmds
}

// shrink asks as many replicas of a post to stop, with the removal hook, as there are more than wanted: highest index first.
func (r *Roster) shrink(p *post) []Command {
	excess := -p.told
	for _, m := range p.members {
		if m.stage == wanted {
			excess++
		}
	}
	var cmds []Command
	for i := len(p.members) - 1; i >= 0 && excess > 0; i-- {
		if m := p.members[i]; m.stage == wanted {
			m.stage = removing
			excess--
			r.touch(m)
			cmds = append(cmds, Command{Verb: StopIt, Replica: m.id, On: true})
		}
	}
	return cmds
}

func newCrew(spec *dovetail.Run) *crew {
	c := &crew{spec: spec, comps: make([]squad, len(spec.App.Components))}
	for ci := range c.comps {
		c.comps[ci].members = make(map[int]*member)
		c.comps[ci].lowest[class(true)] = spec.App.Components[ci].Count
	}
	return c
}

func class(elastic bool) int {
	if elastic {
		return 1
	}
	return 0
}

// post finds, or adds, the post of a class on a node.
func (q *squad) post(elastic bool, node string) *post {
	i, ok := slices.BinarySearchFunc(q.cells, node, func(p *post, node string) int {
		return cmp.Or(cmp.Compare(class(p.elastic), class(elastic)), cmp.Compare(p.node, node))
	})
	if !ok {
		q.cells = slices.Insert(q.cells, i, &post{node: node, elastic: elastic})
	}
	return q.cells[i]
}

// add puts a new replica with the lowest free index on the roster.
func (c *crew) add(component int, p *post, attempt int64) *member {
	q := &c.comps[component]
	index := q.lowest[class(p.elastic)]
	for q.members[index] != nil {
		index++
	}
	q.lowest[class(p.elastic)] = index + 1
	m := &member{id: dovetail.Replica{Run: c.spec.ID, Component: component, Index: index, Attempt: attempt}}
	c.enlist(m, p)
	return m
}

func (c *crew) enlist(m *member, p *post) {
	m.post = p
	c.comps[m.id.Component].members[m.id.Index] = m
	i, _ := slices.BinarySearchFunc(p.members, m.id.Index, func(o *member, index int) int { return cmp.Compare(o.id.Index, index) })
	p.members = slices.Insert(p.members, i, m)
	c.size++
}
