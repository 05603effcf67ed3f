package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// rosterVersion is the version of the format that Snapshot writes. RestoreRoster reads it and all before it.
const rosterVersion = 1

type (
	rosterState struct {
		Version int           `json:"version"`
		Nodes   []nodeState   `json:"nodes,omitempty"`
		Posts   []postState   `json:"posts,omitempty"`
		Members []memberState `json:"replicas,omitempty"`
	}
	nodeState struct {
		dovetail.Node
		Down bool `json:"down,omitempty"`
	}
	postState struct {
		dovetail.Slot
		Told   int  `json:"told,omitempty"`
		Frozen bool `json:"frozen,omitempty"`
	}
	memberState struct {
		dovetail.Replica
		Post    int            `json:"post"` // index into Posts
		Up      bool           `json:"up,omitempty"`
		Ready   bool           `json:"ready,omitempty"`
		Stage   stage          `json:"stage,omitempty"`
		UpAt    time.Time      `json:"upAt,omitzero"`
		ReadyAt time.Time      `json:"readyAt,omitzero"`
		Host    string         `json:"host,omitempty"`
		Ports   map[string]int `json:"ports,omitempty"`
	}
)

// Snapshot writes the state; its format carries a version. Equal states give equal bytes.
func (r *Roster) Snapshot() (json.RawMessage, error) {
	s := rosterState{Version: rosterVersion}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		s.Nodes = append(s.Nodes, nodeState{r.nodes[name].node, !r.nodes[name].up})
	}
	for _, id := range r.order() {
		c := r.runs[id]
		for ci := range c.comps {
			for _, p := range c.comps[ci].cells {
				slot := dovetail.Slot{Run: id, Component: ci, Elastic: p.elastic, Node: p.node}
				s.Posts = append(s.Posts, postState{slot, p.told, p.frozen})
				for _, m := range p.members {
					s.Members = append(s.Members, memberState{
						m.id, len(s.Posts) - 1, m.up, m.ready, m.stage, m.upAt, m.readyAt, m.host, m.ports,
					})
				}
			}
		}
	}
	return json.Marshal(s)
}

// RestoreRoster returns the roster that Snapshot wrote. Describe says what its runs are, as sched.Core.Describe does.
func RestoreRoster(data json.RawMessage, describe func(dovetail.RunID) *dovetail.Run) (*Roster, error) {
	var s rosterState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("snapshot of the roster: %w", err)
	}
	if s.Version < 1 || s.Version > rosterVersion {
		return nil, fmt.Errorf("snapshot of the roster has version %d; this program reads 1 to %d", s.Version, rosterVersion)
	}
	r := NewRoster()
	for _, n := range s.Nodes {
		r.nodes[n.Name] = nodeEntry{n.Node, !n.Down}
	}
	posts := make([]*post, len(s.Posts))
	for i, p := range s.Posts {
		c := r.runs[p.Run]
		if c == nil {
			spec := describe(p.Run)
			if spec == nil {
				return nil, fmt.Errorf("snapshot of the roster: it has replicas of run %d, which the core does not know", p.Run)
			}
			c = newCrew(spec)
			r.runs[p.Run] = c
		}
		if p.Component < 0 || p.Component >= len(c.comps) || p.Told < 0 {
			return nil, fmt.Errorf("snapshot of the roster: run %d has no component %d, or %d replicas of it are wanted", p.Run, p.Component, p.Told)
		}
		posts[i] = c.comps[p.Component].post(p.Elastic, p.Node)
		posts[i].told, posts[i].frozen = p.Told, p.Frozen
	}
	for _, m := range s.Members {
		if err := r.reenlist(m, s.Posts, posts); err != nil {
			return nil, fmt.Errorf("snapshot of the roster: %w", err)
		}
	}
	return r, nil
}

// reenlist brings one replica back.
func (r *Roster) reenlist(s memberState, slots []postState, posts []*post) error {
	if s.Post < 0 || s.Post >= len(posts) || slots[s.Post].Run != s.Run || slots[s.Post].Component != s.Component {
		return fmt.Errorf("replica %+v is in slot %d, which is not one of its component", s.Replica, s.Post)
	}
	c := r.runs[s.Run]
	if s.Index < 0 || c.comps[s.Component].members[s.Index] != nil {
		return fmt.Errorf("replica %+v: its index is negative or taken", s.Replica)
	}
	if s.Stage < wanted || s.Stage > ending {
		return fmt.Errorf("replica %+v: unknown stage %d", s.Replica, s.Stage)
	}
	c.enlist(&member{
		id: s.Replica, up: s.Up, ready: s.Ready, stage: s.Stage, upAt: s.UpAt, readyAt: s.ReadyAt, host: s.Host, ports: s.Ports,
	}, posts[s.Post])
	return nil
}

// Missing returns, after a restart, the nodes and the replicas that should be there and were not reported: nodes that are
// gone, and replicas that were up once and of which the Runner has lost the record.
func (r *Roster) Missing(nodes map[string]bool, replicas map[dovetail.Replica]bool) []dovetail.Event {
	var events []dovetail.Event
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		if r.nodes[name].up && !nodes[name] {
			events = append(events, dovetail.NodeDown{Node: name})
		}
	}
	for _, m := range r.all {
		if (m.up || m.ready) && !replicas[m.id] && nodes[m.post.node] {
			events = append(events, dovetail.ReplicasDown{
				Slot: m.slot(), N: 1, Replica: m.id, Exit: dovetail.Exit{Lost: true, Why: "there is no record of it after a restart"},
			})
		}
	}
	return events
}

// Again returns, after a restart, everything that a Runner may not have heard of, because a crash fell between the record and
// the action: replicas to start that it did not report, those to stop, and those to stand still.
func (r *Roster) Again(replicas map[dovetail.Replica]bool) []Command {
	var cmds []Command
	for c, m := range r.all {
		if m.stage == wanted && !replicas[m.id] {
			l := &Launch{Replica: m.id, Elastic: m.post.elastic, Node: m.post.node, Run: c.spec, Peers: c.peers()}
			cmds = append(cmds, Command{Verb: StartIt, Replica: m.id, Launch: l})
		}
		switch {
		case m.stage == ending:
			cmds = append(cmds, Command{Verb: FreezeIt, Replica: m.id}, Command{Verb: StopIt, Replica: m.id})
		case m.stage == removing:
			cmds = append(cmds, Command{Verb: StopIt, Replica: m.id, On: true})
		case m.post.frozen:
			cmds = append(cmds, Command{Verb: FreezeIt, Replica: m.id, On: true})
		case replicas[m.id]:
			cmds = append(cmds, Command{Verb: FreezeIt, Replica: m.id, On: false})
		}
	}
	return cmds
}

// Validate returns every broken invariant of the roster and of its agreement with the core.
func (r *Roster) Validate(c *sched.Core) []sched.Violation {
	var found []sched.Violation
	require := func(ok bool, number int, format string, args ...any) {
		if !ok {
			found = append(found, sched.Violation{Number: number, Text: fmt.Sprintf(format, args...)})
		}
	}
	for _, id := range r.order() {
		w := r.runs[id]
		size := 0
		for ci := range w.comps {
			size += len(w.comps[ci].members)
			for _, p := range w.comps[ci].cells {
				slot := dovetail.Slot{Run: id, Component: ci, Elastic: p.elastic, Node: p.node}
				require(c.Occupied(slot) == len(p.members), 20, "%+v: %d replicas on the roster, %d in the core", slot, len(p.members), c.Occupied(slot))
				stay := 0
				for _, m := range p.members {
					if m.stage == wanted {
						stay++
					}
					core := m.id.Index < w.spec.App.Components[ci].Count
					require(core != p.elastic, 22, "%+v: index %d is of the other class", slot, m.id.Index)
					require(m.id.Attempt <= c.Seq(), 23, "%+v: replica %d is of plan %d, after the last one, %d", slot, m.id.Index, m.id.Attempt, c.Seq())
				}
				require(stay <= p.told && p.told <= len(p.members), 24, "%+v: %d replicas stay, %d are wanted, %d live", slot, stay, p.told, len(p.members))
			}
		}
		require(size == w.size && size > 0, 22, "run %d: %d replicas by index, %d in all", id, size, w.size)
	}
	for _, d := range c.Desired() {
		n, told := 0, 0
		if p := r.look(d.Slot); p != nil {
			n, told = len(p.members), p.told
		}
		require(n == c.Occupied(d.Slot), 20, "%+v: %d replicas on the roster, %d in the core", d.Slot, n, c.Occupied(d.Slot))
		require(told == d.N, 21, "%+v: the core wants %d replicas, the roster %d", d.Slot, d.N, told)
	}
	return found
}

// look returns the post of a slot, or nil.
func (r *Roster) look(s dovetail.Slot) *post {
	c := r.runs[s.Run]
	if c == nil || s.Component < 0 || s.Component >= len(c.comps) {
		return nil
	}
	for _, p := range c.comps[s.Component].cells {
		if p.elastic == s.Elastic && p.node == s.Node {
			return p
		}
	}
	return nil
}
