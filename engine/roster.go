package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// Roster gives identities to what the core only counts: which replicas, by index and attempt, make up the N that the core
// wants of a component on a node. It is a state machine folded from the journal, as the core is: the same records lead to
// the same replicas, so that a restart knows every one by name.
//
// A new replica gets the lowest free index of its class: core replicas those from 0 on, elastic ones those from the
// component's Count on. Elastic replicas that are still being stopped keep their index, so that for a while an index may
// lie beyond the component's maximum. When fewer are wanted, those with the highest index on the node go. The attempt of a
// replica is the number of the plan that asked for it, so that no two replicas ever have the same name.
//
// A Roster is not safe for concurrent use.
type Roster struct {
	runs    map[dovetail.RunID]*crew
	nodes   map[string]nodeEntry
	touched []*member // in order of the first touch
	gone    []dovetail.ReplicaStatus
}

type nodeEntry struct {
	node dovetail.Node
	up   bool
}

// crew is the living replicas of one run.
type crew struct {
	spec  *dovetail.Run
	comps []squad
	size  int // living replicas
}

// squad is the living replicas of one component.
type squad struct {
	members map[int]*member // by index
	cells   []*post         // by class, then node
	lowest  [2]int          // no index below is free; of core replicas, of elastic ones
}

// post is the living replicas of one component and class on one node, with the same counts as the core keeps.
type post struct {
	node    string
	elastic bool
	told    int // how many are wanted
	frozen  bool
	members []*member // by index
}

// stage is how far a replica has been asked to go.
type stage int

const (
	wanted   stage = iota
	removing       // asked to stop, hook first
	ending         // asked to stop at once
)

// member is one living replica: from the plan that asks for it until it is reported down.
type member struct {
	id      dovetail.Replica
	post    *post
	up      bool
	ready   bool
	stage   stage
	upAt    time.Time
	readyAt time.Time
	host    string
	ports   map[string]int
	touched bool
}

// NewRoster returns the roster of an empty cluster.
func NewRoster() *Roster {
	return &Roster{runs: make(map[dovetail.RunID]*crew), nodes: make(map[string]nodeEntry)}
}

// Admit lets only news through: it reports whether a back-end's event says something that is not known yet, and returns it as
// it is to be recorded, in the words of the roster (slot, and what was reported of the replica before). Reports about a
// replica that is not on the roster, of another attempt, or repeated ones, are no news. It changes nothing. Events that are
// about neither replicas nor nodes are news.
func (r *Roster) Admit(e dovetail.Event) (dovetail.Event, bool) {
	switch e := e.(type) {
	case dovetail.ReplicasUp:
		m := r.find(e.Replica)
		if m == nil || m.up {
			return nil, false
		}
		e.Slot, e.N = m.slot(), 1
		return e, true
	case dovetail.ReplicasReady:
		m := r.find(e.Replica)
		if m == nil || m.ready {
			return nil, false
		}
		e.Slot, e.N = m.slot(), 1
		return e, true
	case dovetail.ReplicasDown:
		m := r.find(e.Replica)
		if m == nil {
			return nil, false
		}
		e.Slot, e.N, e.WasUp, e.WasReady = m.slot(), 1, m.up, m.ready
		return e, true
	case dovetail.Refused:
		m := r.find(e.Replica)
		if m == nil {
			return nil, false
		}
		e.Slot, e.N = m.slot(), 1
		if m.up || m.ready { // it did start: its end is not a refusal
			exit := dovetail.Exit{Code: 126, Why: e.Why}
			return dovetail.ReplicasDown{Slot: e.Slot, N: 1, Replica: e.Replica, WasUp: m.up, WasReady: m.ready, Exit: exit}, true
		}
		return e, true
	case dovetail.NodeUp:
		n, ok := r.nodes[e.Node.Name]
		return e, !ok || !n.up || !sameNode(n.node, e.Node)
	case dovetail.NodeDown:
		return e, r.nodes[e.Node].up
	}
	return e, true
}

func sameNode(a, b dovetail.Node) bool {
	return a.Address == b.Address && a.Capacity == b.Capacity && maps.Equal(a.Labels, b.Labels)
}

// Stray returns what to ask of a Runner that reports about a replica that is not on the roster: to stop it while it runs, and to
// forget it when it has ended.
func (r *Roster) Stray(e dovetail.Event) []Command {
	id, lives := replicaOf(e)
	if id == (dovetail.Replica{}) || r.find(id) != nil {
		return nil
	}
	if lives {
		return []Command{{Verb: StopIt, Replica: id}}
	}
	return []Command{{Verb: ForgetIt, Replica: id}}
}

// replicaOf returns the replica that an event is about, if it is about one, and whether the event says that it lives.
func replicaOf(e dovetail.Event) (id dovetail.Replica, lives bool) {
	switch e := e.(type) {
	case dovetail.ReplicasUp:
		return e.Replica, true
	case dovetail.ReplicasReady:
		return e.Replica, true
	case dovetail.ReplicasDown:
		return e.Replica, false
	case dovetail.Refused:
		return e.Replica, false
	}
	return dovetail.Replica{}, false
}

// find returns the living replica with this name, or nil.
func (r *Roster) find(id dovetail.Replica) *member {
	c := r.runs[id.Run]
	if c == nil || id.Component < 0 || id.Component >= len(c.comps) {
		return nil
	}
	m := c.comps[id.Component].members[id.Index]
	if m == nil || m.id != id {
		return nil
	}
	return m
}

func (m *member) slot() dovetail.Slot {
	return dovetail.Slot{Run: m.id.Run, Component: m.id.Component, Elastic: m.post.elastic, Node: m.post.node}
}

// touch notes that others should hear of the replica.
func (r *Roster) touch(m *member) {
	if !m.touched {
		m.touched = true
		r.touched = append(r.touched, m)
	}
}

// Changed returns the status of every replica that changed since the last call, those that ended first.
func (r *Roster) Changed() []dovetail.ReplicaStatus {
	changed := r.gone
	for _, m := range r.touched {
		m.touched = false
		if c := r.runs[m.id.Run]; c != nil && r.find(m.id) == m {
			changed = append(changed, m.status(c.spec))
		}
	}
	clear(r.touched)
	r.touched, r.gone = r.touched[:0], nil
	return changed
}

// status is what others see of a living replica.
func (m *member) status(spec *dovetail.Run) dovetail.ReplicaStatus {
	s := dovetail.ReplicaStatus{
		Replica: m.id, Name: nameOf(spec, m.id), Component: spec.App.Components[m.id.Component].Name,
		Elastic: m.post.elastic, Node: m.post.node, Host: m.host, Ports: m.ports, State: "starting",
		Up: timeOrNil(m.upAt), Ready: timeOrNil(m.readyAt),
	}
	switch {
	case m.stage != wanted:
		s.State = "stopping"
	case m.ready:
		s.State = "ready"
	case m.up:
		s.State = "up"
	}
	return s
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// peers returns the replicas of a run that are up, in order of component and index.
func (c *crew) peers() []expand.Peer {
	var peers []expand.Peer
	for ci := range c.comps {
		first := len(peers)
		for _, p := range c.comps[ci].cells {
			for _, m := range p.members {
				if m.up {
					peers = append(peers, expand.Peer{
						Component: c.spec.App.Components[ci].Name, Index: m.id.Index, Node: p.node, Host: m.host, Ports: m.ports,
					})
				}
			}
		}
		slices.SortFunc(peers[first:], func(a, b expand.Peer) int { return cmp.Compare(a.Index, b.Index) })
	}
	return peers
}

// order returns the runs that have living replicas, by ID.
func (r *Roster) order() []dovetail.RunID { return slices.Sorted(maps.Keys(r.runs)) }

// all yields every living replica, by run, component, class, node and index.
func (r *Roster) all(yield func(*crew, *member) bool) {
	for _, id := range r.order() {
		c := r.runs[id]
		for ci := range c.comps {
			for _, p := range c.comps[ci].cells {
				for _, m := range p.members {
					if !yield(c, m) {
						return
					}
				}
			}
		}
	}
}
