// Package report answers: what did a schedule look like, and how good was it?
//
// It turns what the read side remembers of runs (Workload: their statuses and placements) into figures and a timeline that people
// can look at; and what a simulator, a peer model or a recorded history hands over (Schedule) into figures with intervals over
// seeds, differences, tables, pictures and one page. A schedule may be large: Metrics and Digest keep of it what reports need, and
// the rest may be forgotten. Same input, same bytes.
package report

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Run is a run as a report sees it. App may be nil; then each of its replicas counts alike.
type Run struct {
	Status dovetail.RunStatus
	App    *dovetail.Application
}

// Workload is what a report is made of.
type Workload struct {
	Nodes      []dovetail.Node      // in the order in which they are shown
	Runs       []Run                // in the order in which they are shown
	Placements []dovetail.Placement // of these runs, in order of time for each slot
	Until      time.Time            // what has not ended by then is cut off there; zero: the last thing that happened
}

// Summary holds the figures by which schedules are compared.
type Summary struct {
	Runs       int           `json:"runs"`       // that ended
	Turnaround time.Duration `json:"turnaround"` // mean, from submission to end
	Queueing   time.Duration `json:"queueing"`   // mean, from submission to the start of the first replica
	Longest    time.Duration `json:"longest"`    // longest turnaround
	Makespan   time.Duration `json:"makespan"`   // from the first submission to the last end
	Allocation float64       `json:"allocation"` // share of the scarcest resource that was granted during the makespan, in [0,1]
	Elastic    float64       `json:"elastic"`    // share of that which went to elastic replicas, in [0,1]
}

// Summary computes the figures of a workload.
func (w *Workload) Summary() Summary {
	from, until := w.span()
	s := Summary{Makespan: until.Sub(from)}
	var turnaround, queueing time.Duration
	for i := range w.Runs {
		st := &w.Runs[i].Status
		if st.Ended == nil {
			continue
		}
		s.Runs++
		all := st.Ended.Sub(st.Submitted)
		turnaround += all
		s.Longest = max(s.Longest, all)
		queueing += waited(st, *st.Ended)
	}
	if s.Runs > 0 {
		s.Turnaround = turnaround / time.Duration(s.Runs)
		s.Queueing = queueing / time.Duration(s.Runs)
	}
	var core, elastic float64
	for _, st := range w.stays() {
		area := st.share * st.to.Sub(st.from).Seconds()
		if st.elastic {
			elastic += area
		} else {
			core += area
		}
	}
	if room := s.Makespan.Seconds() * float64(len(w.Nodes)); room > 0 {
		s.Allocation = (core + elastic) / room
	}
	if core+elastic > 0 {
		s.Elastic = elastic / (core + elastic)
	}
	return s
}

// waited returns how long a run has waited for its start, at a time.
func waited(st *dovetail.RunStatus, now time.Time) time.Duration {
	if st.Started != nil {
		now = *st.Started
	}
	return max(now.Sub(st.Submitted), 0)
}

// span returns the first submission and the end of the picture.
func (w *Workload) span() (from, until time.Time) {
	until = w.Until
	latest := func(t time.Time) {
		if w.Until.IsZero() && t.After(until) {
			until = t
		}
	}
	for i := range w.Runs {
		st := &w.Runs[i].Status
		if from.IsZero() || st.Submitted.Before(from) {
			from = st.Submitted
		}
		latest(st.Submitted)
		if st.Ended != nil {
			latest(*st.Ended)
		}
	}
	for i := range w.Placements {
		latest(w.Placements[i].At)
	}
	if from.IsZero() {
		from = until
	}
	if until.Before(from) {
		until = from
	}
	return from, until
}

// stay is the time that one replica spends on a node.
type stay struct {
	run       int // index into Workload.Runs
	component int
	elastic   bool
	node      int // index into Workload.Nodes
	from, to  time.Time
	share     float64 // of the node's capacity
	at        float64 // where it is drawn, in shares of the node from the bottom
}

// stays tells the replicas behind the counts apart: those that came last leave first.
func (w *Workload) stays() []stay {
	_, until := w.span()
	run, node := w.indices()
	kind := w.scarcest()
	open := make(map[dovetail.Slot][]time.Time)
	var order []dovetail.Slot
	var all []stay
	finish := func(s dovetail.Slot, n int, at time.Time) {
		since := open[s]
		for ; len(since) > n; since = since[:len(since)-1] {
			from, to := since[len(since)-1], earlier(at, until)
			if to.After(from) {
				all = append(all, stay{
					run: run[s.Run], component: s.Component, elastic: s.Elastic, node: node[s.Node],
					from: from, to: to, share: w.share(run[s.Run], s.Component, node[s.Node], kind),
				})
			}
		}
		open[s] = since
	}
	for _, p := range w.Placements {
		_, known := run[p.Run]
		if _, there := node[p.Node]; !known || !there {
			continue
		}
		since, seen := open[p.Slot]
		if !seen {
			order = append(order, p.Slot)
		}
		for len(since) < p.N {
			since = append(since, p.At)
		}
		open[p.Slot] = since
		finish(p.Slot, p.N, p.At)
	}
	for _, s := range order {
		end := until
		if e := w.Runs[run[s.Run]].Status.Ended; e != nil {
			end = *e
		}
		finish(s, 0, end)
	}
	slices.SortStableFunc(all, inOrder)
	return all
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (w *Workload) indices() (run map[dovetail.RunID]int, node map[string]int) {
	run, node = make(map[dovetail.RunID]int), make(map[string]int)
	for i := range w.Runs {
		run[w.Runs[i].Status.ID] = i
	}
	for i := range w.Nodes {
		node[w.Nodes[i].Name] = i
	}
	return run, node
}

// scarcest returns the kind of resource of which the runs could use the largest share of the cluster.
func (w *Workload) scarcest() dovetail.ResourceKind {
	var wanted, there dovetail.Resources
	for i := range w.Nodes {
		there = there.Plus(w.Nodes[i].Capacity)
	}
	for i := range w.Runs {
		if app := w.Runs[i].App; app != nil {
			for c := range app.Components {
				wanted = wanted.Plus(app.Components[c].Resources.Times(app.Components[c].Limit()))
			}
		}
	}
	best, most := dovetail.CPU, 0.0
	for k := range dovetail.NumResources {
		if there[k] <= 0 {
			continue
		}
		if s := float64(wanted[k]) / float64(there[k]); s > most {
			best, most = k, s
		}
	}
	return best
}

// unknownShare is drawn for a replica of which nobody knows what it needs.
const unknownShare = 0.125

func (w *Workload) share(run, component, node int, kind dovetail.ResourceKind) float64 {
	app, room := w.Runs[run].App, w.Nodes[node].Capacity[kind]
	if app == nil || component >= len(app.Components) || room <= 0 {
		return unknownShare
	}
	return float64(app.Components[component].Resources[kind]) / float64(room)
}
