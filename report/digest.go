package report

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Digest is what pictures need of one schedule, in bounded size: its jobs and levels may be forgotten.
type Digest struct {
	Cell
	Capacity dovetail.Resources
	Failed   int // runs that ended, but are in no distribution: they failed, timed out or were lost
	All      KindDigest
	Kinds    []KindDigest // of the kinds that there are, in the order B-E, B-R, Int, Svc

	// Over time: a quantile of p permille is the least number (or share of the capacity) that was not exceeded during p
	// permille of the time.
	Waiting, Serving Distribution
	Allocation       [dovetail.NumResources]Distribution

	Series   []Point       // in order of time; empty if the schedule takes no time
	Nearly   time.Duration // when 99 % of the runs that ended had
	Until    time.Duration // the end of the last of them
	timeline *Timeline     // of a small schedule with placements
}

// KindDigest holds the distributions over the runs of one kind that did their work; times in seconds.
type KindDigest struct {
	Name                        string
	Turnaround, Queue, Slowdown Distribution
}

// Point is the mean state of the cluster during one of the equal stretches of time that a schedule is cut into.
type Point struct {
	At               time.Duration // its beginning
	Waiting, Serving float64
	Core, Elastic    [dovetail.NumResources]float64 // shares of the capacity
}

// seriesColumns is into how many stretches a schedule is cut.
const seriesColumns = 600

// Digest condenses a schedule.
func (s *Schedule) Digest() *Digest {
	d := &Digest{Cell: s.Cell, Capacity: s.Capacity, timeline: s.smallTimeline()}
	names := [...]string{BatchElastic, BatchRigid, Interactive, Service}
	var kinds [len(names)]measured
	all := newMeasured(len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if !j.Ended() {
			continue
		}
		all.add(j)
		for k, name := range names {
			if j.KindName() == name {
				kinds[k].add(j)
			}
		}
	}
	d.Failed = all.failed
	d.All = all.digest("all runs")
	d.Nearly = s.nearly()
	for k, name := range names {
		if len(kinds[k].turnaround) > 0 {
			d.Kinds = append(d.Kinds, kinds[k].digest(name))
		}
	}
	s.digestLevels(d)
	d.Series, d.Until = s.series()
	return d
}

func (a *measured) digest(name string) KindDigest {
	a.sort()
	return KindDigest{
		Name: name, Turnaround: newDistribution(a.turnaround), Queue: newDistribution(a.queue), Slowdown: newDistribution(a.slowdown),
	}
}

// digestLevels fills in the distributions over time.
func (s *Schedule) digestLevels(d *Digest) {
	var lasting []*Level
	var lasts []float64
	s.spans(func(l *Level, t time.Duration) {
		lasting = append(lasting, l)
		lasts = append(lasts, t.Seconds())
	})
	all := make([]weighted, len(lasting))
	over := func(value func(*Level) float64) Distribution {
		if len(lasting) == 0 {
			return Distribution{}
		}
		sum, span := 0.0, 0.0
		for i, l := range lasting {
			all[i] = weighted{value(l), lasts[i]}
			sum += float64(all[i].value * lasts[i])
			span += lasts[i]
		}
		return Distribution{N: len(all), Mean: sum / span, At: spread(all)}
	}
	d.Waiting = over(func(l *Level) float64 { return float64(l.Waiting) })
	d.Serving = over(func(l *Level) float64 { return float64(l.Serving) })
	for k := range d.Allocation {
		if s.Capacity[k] > 0 {
			d.Allocation[k] = over(func(l *Level) float64 { return float64(l.Core[k]) + float64(l.Elastic[k]) })
		}
	}
}

// series cuts the time of the schedule into equal stretches and returns the mean of each.
func (s *Schedule) series() ([]Point, time.Duration) {
	from, to := s.window()
	n := time.Duration(seriesColumns)
	if to-from < n {
		return nil, to
	}
	points := make([]Point, n)
	edge := func(i time.Duration) time.Duration { return from + (to-from)/n*i + (to-from)%n*i/n }
	for i := range points {
		points[i].At = edge(time.Duration(i))
	}
	column := time.Duration(0)
	s.spans(func(l *Level, lasts time.Duration) {
		at := max(from, l.At)
		end := at + lasts
		for at < end {
			for edge(column+1) <= at {
				column++
			}
			upto := min(end, edge(column+1))
			points[column].add(l, (upto-at).Seconds()/(edge(column+1)-edge(column)).Seconds())
			at = upto
		}
	})
	return points, to
}

// nearly returns when 99 % of the runs that ended had.
func (s *Schedule) nearly() time.Duration {
	var ends []time.Duration
	for i := range s.Jobs {
		if s.Jobs[i].Ended() {
			ends = append(ends, s.Jobs[i].Finish)
		}
	}
	if len(ends) == 0 {
		return 0
	}
	slices.Sort(ends)
	return ends[(len(ends)*99+99)/100-1]
}

// add counts a level in, for a part of the stretch.
func (p *Point) add(l *Level, part float64) {
	p.Waiting += float64(part * float64(l.Waiting))
	p.Serving += float64(part * float64(l.Serving))
	for k := range p.Core {
		p.Core[k] += float64(part * float64(l.Core[k]))
		p.Elastic[k] += float64(part * float64(l.Elastic[k]))
	}
}

// Bounds of what a timeline can show.
const (
	timelineRuns       = 60
	timelineNodes      = 12
	timelinePlacements = 2000
)

// Timeline returns the schedule as a timeline, nil if its placements are not known.
func (s *Schedule) Timeline() *Timeline {
	if len(s.Placements) == 0 || len(s.Nodes) == 0 {
		return nil
	}
	t := &Timeline{Title: s.Cell.Setting(), Workload: Workload{Nodes: s.Nodes, Placements: s.Placements}}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		st := dovetail.RunStatus{
			ID: j.Run, Name: dovetail.RunName(j.Class, j.Run), Submitted: s.Epoch.Add(j.Submit), Core: j.Core, ElasticMax: j.Elastic,
			State: dovetail.Queued, Outcome: j.Outcome,
		}
		if j.Start >= 0 {
			started := s.Epoch.Add(j.Start)
			st.Started, st.State = &started, dovetail.Running
		}
		if j.Ended() {
			ended := s.Epoch.Add(j.Finish)
			st.Ended, st.State = &ended, dovetail.Ended
		}
		t.Runs = append(t.Runs, Run{Status: st, App: j.App})
	}
	_, to := s.window()
	t.Until = s.Epoch.Add(to)
	return t
}

// smallTimeline returns the timeline of a schedule small enough for one picture, nil otherwise.
func (s *Schedule) smallTimeline() *Timeline {
	if len(s.Jobs) > timelineRuns || len(s.Nodes) > timelineNodes || len(s.Placements) > timelinePlacements {
		return nil
	}
	return s.Timeline()
}
