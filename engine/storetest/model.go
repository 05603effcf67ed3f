package storetest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
	"github.com/dovetail-sched/dovetail/engine"
)

// model is the store that is obviously right: it keeps everything in slices and answers by looking at all of it. Times
// must be whole seconds after epoch for its neighbours, which it finds second by second.
type model struct {
	snapshot   *engine.Snapshot
	dropped    int64
	records    []engine.Record // after dropped
	submitted  map[dovetail.RunID]*dovetail.Run
	runs       map[dovetail.RunID]dovetail.RunStatus
	replicas   []dovetail.ReplicaStatus
	placements []dovetail.Placement
	events     []dovetail.EventRecord
	suspended  []dovetail.RunID
	imported   []dovetail.Past
	away       []dovetail.KnownClass // by class
}

func newModel() *model {
	return &model{submitted: make(map[dovetail.RunID]*dovetail.Run), runs: make(map[dovetail.RunID]dovetail.RunStatus)}
}

func (m *model) append(c engine.Changes) {
	m.records = append(m.records, c.Records...)
	for _, r := range c.Records {
		switch e := r.Event.(type) {
		case dovetail.Suspended:
			m.suspended = append(m.suspended, e.Run)
		case dovetail.Imported:
			m.imported = append(m.imported, e.Runs...)
		case dovetail.Recalled:
			if e.All {
				m.away = nil
			}
			for _, back := range e.Classes {
				m.away = slices.DeleteFunc(m.away, func(k dovetail.KnownClass) bool { return k.Class == back.Class })
			}
		case dovetail.Forgotten:
			m.away = slices.DeleteFunc(m.away, func(k dovetail.KnownClass) bool { return e.Class == "" || k.Class == e.Class })
			for i := range m.away {
				m.away[i], _ = coloc.Without(m.away[i], e.Class)
			}
		}
	}
	for _, k := range c.PutAway {
		m.putAway(k)
	}
	for _, r := range c.Submitted {
		m.submitted[r.ID] = r
	}
	for _, r := range c.Runs {
		m.runs[r.ID] = r
	}
	for _, r := range c.Replicas {
		m.replicas = slices.DeleteFunc(m.replicas, func(old dovetail.ReplicaStatus) bool { return old.Replica == r.Replica })
		m.replicas = append(m.replicas, r)
	}
	m.placements = append(m.placements, c.Placements...)
	m.events = append(m.events, c.Events...)
}

func (m *model) putAway(k dovetail.KnownClass) {
	at, found := slices.BinarySearchFunc(m.away, k, func(a, b dovetail.KnownClass) int { return cmp.Compare(a.Class, b.Class) })
	if found {
		m.away[at] = coloc.Merge(m.away[at], k)
	} else {
		m.away = slices.Insert(m.away, at, k)
	}
}

func (m *model) listAway(class string) []dovetail.KnownClass {
	return slices.DeleteFunc(slices.Clone(m.away), func(k dovetail.KnownClass) bool { return class != "" && k.Class != class })
}

func (m *model) last() int64 { return m.dropped + int64(len(m.records)) }

func (m *model) snap(s engine.Snapshot) {
	m.snapshot = &s
	m.records = m.records[s.Seq-m.dropped:]
	m.dropped = s.Seq
}

// sortedRuns returns all runs, highest ID first.
func (m *model) sortedRuns() []dovetail.RunStatus {
	var all []dovetail.RunStatus
	for _, r := range m.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b dovetail.RunStatus) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

func (m *model) listRuns(f engine.RunFilter) []dovetail.RunStatus {
	var found []dovetail.RunStatus
	for _, r := range m.sortedRuns() {
		if wanted(r, f) {
			found = append(found, r)
		}
	}
	return found[:min(len(found), cmp.Or(f.Limit, 100))]
}

func wanted(r dovetail.RunStatus, f engine.RunFilter) bool {
	if len(f.States) > 0 && !slices.Contains(f.States, r.State) || len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, r.Outcome) {
		return false
	}
	if f.User != "" && r.User != f.User || f.Key != "" && r.Key != f.Key || f.Before != 0 && r.ID >= f.Before {
		return false
	}
	if !f.Since.IsZero() && r.Submitted.Before(f.Since) || !f.Until.IsZero() && !r.Submitted.Before(f.Until) {
		return false
	}
	if f.Name == "" || f.Name == r.Name || f.Name == r.App {
		return true
	}
	prefix, open := strings.CutSuffix(f.Name, "*")
	return open && (strings.HasPrefix(r.Name, prefix) || strings.HasPrefix(r.App, prefix))
}

func (m *model) listReplicas(run dovetail.RunID) []dovetail.ReplicaStatus {
	var found []dovetail.ReplicaStatus
	for _, r := range m.replicas {
		if r.Run == run {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b dovetail.ReplicaStatus) int {
		return cmp.Or(cmp.Compare(a.Replica.Component, b.Replica.Component), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Attempt, b.Attempt))
	})
	return found
}

func (m *model) listEvents(f engine.EventFilter) []dovetail.EventRecord {
	var found []dovetail.EventRecord
	for _, e := range m.events {
		if (f.Run == 0 || e.Run == f.Run) && (len(f.Types) == 0 || slices.Contains(f.Types, e.Type)) && e.Seq > f.After {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b dovetail.EventRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	if f.Tail > 0 {
		found = found[max(0, len(found)-f.Tail):]
	}
	// Whole Seqs while they fit, and the first in any case.
	var page []dovetail.EventRecord
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].Seq == found[0].Seq {
			n++
		}
		if len(page) > 0 && len(page)+n > cmp.Or(f.Limit, 1000) {
			break
		}
		page, found = append(page, found[:n]...), found[n:]
	}
	return page
}

func (m *model) listHistory(f engine.HistoryFilter) []dovetail.History {
	var all []dovetail.History
	for _, r := range m.runs {
		if r.Ended != nil {
			all = append(all, dovetail.History{Status: r})
		}
	}
	for i := range m.imported {
		if f.Replay && !f.Learn {
			break
		}
		p := &m.imported[i]
		all = append(all, dovetail.History{Params: p.Params, Import: p, Status: dovetail.RunStatus{
			ID: dovetail.RunID(-i - 1), Class: p.Class, App: p.App, State: dovetail.Ended, Outcome: p.Outcome, InputSize: p.InputSize, Ended: &p.Ended,
		}})
	}
	all = slices.DeleteFunc(all, func(h dovetail.History) bool {
		r, paged := &h.Status, !f.Until.IsZero()
		return f.Class != "" && f.Class != r.Class || f.App != "" && f.App != r.App || r.Ended.Before(f.Since) ||
			paged && r.Ended.After(f.Until) || paged && r.Ended.Equal(f.Until) && (f.Before == 0 || r.ID >= f.Before)
	})
	slices.SortFunc(all, func(a, b dovetail.History) int {
		return cmp.Or(b.Status.Ended.Compare(*a.Status.Ended), cmp.Compare(b.Status.ID, a.Status.ID))
	})
	all = all[:min(len(all), cmp.Or(f.Limit, 100))]
	for i := range all {
		if all[i].Import == nil {
			m.complete(&all[i], f)
		}
	}
	return all
}

// complete adds to a finished run what the filter asks for.
func (m *model) complete(h *dovetail.History, f engine.HistoryFilter) {
	r := h.Status
	for _, p := range m.placements {
		if p.Run == r.ID {
			h.Placements = append(h.Placements, p)
		}
	}
	if spec := m.submitted[r.ID]; spec != nil {
		h.Params = spec.Params
		if f.Replay || f.Learn {
			h.App = spec.App
		}
	}
	if f.Replay && !f.Learn {
		return
	}
	h.Suspended = slices.Contains(m.suspended, r.ID)
	h.Neighbours = m.neighbours(r)
	if f.Learn {
		return
	}
	for _, replica := range m.listReplicas(r.ID) {
		h.Usage.CPU += replica.Usage.CPU
		h.Usage.MemoryPeak = max(h.Usage.MemoryPeak, replica.Usage.MemoryPeak)
		h.Usage.Read += replica.Usage.Read
		h.Usage.Written += replica.Usage.Written
	}
}

// neighbours asks for every second, node and other run whether both are there, and joins seconds that follow each other.
func (m *model) neighbours(r dovetail.RunStatus) []dovetail.Neighbour {
	var found []dovetail.Neighbour
	for _, node := range m.nodes() {
		mine := m.seconds(r.ID, node)
		for other := range m.others(r.ID) {
			theirs := m.seconds(other, node)
			for sec := 0; sec < len(mine); sec++ {
				from := sec
				for sec < len(mine) && mine[sec] && theirs[sec] {
					sec++
				}
				if sec > from {
					found = append(found, dovetail.Neighbour{Run: other, Class: m.runs[other].Class, Node: node, From: at(from), To: at(sec)})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b dovetail.Neighbour) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Node, b.Node))
	})
	return found
}

func (m *model) nodes() []string {
	var names []string
	for _, p := range m.placements {
		names = append(names, p.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (m *model) others(but dovetail.RunID) map[dovetail.RunID]bool {
	ids := make(map[dovetail.RunID]bool)
	for _, p := range m.placements {
		if p.Run != but {
			ids[p.Run] = true
		}
	}
	return ids
}

// seconds says of each second after epoch whether the run has replicas on the node from that second to the next.
func (m *model) seconds(run dovetail.RunID, node string) []bool {
	horizon := epoch
	for _, r := range m.runs {
		if r.Ended != nil && r.Ended.After(horizon) {
			horizon = *r.Ended
		}
	}
	there := make([]bool, int(horizon.Sub(epoch)/time.Second)+1)
	for sec := range there {
		n := make(map[dovetail.Slot]int)
		for _, p := range m.placements {
			if p.Run == run && p.Node == node && !p.At.After(at(sec)) {
				n[p.Slot] = p.N
			}
		}
		end := m.runs[run].Ended
		for _, count := range n {
			there[sec] = there[sec] || count > 0 && (end == nil || at(sec).Before(*end))
		}
	}
	return there
}
