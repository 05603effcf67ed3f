package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Metrics are the figures of one schedule. Their JSON names are the contract of `dovetail simulate -o json`.
//
// Runs are those that ended, however they did. Turnaround, queueing, slowdown and fairness are over those of them that did their
// work (Job.Done): a run that fails ends early, and would make failures look like good scheduling. What is counted, summed or
// measured over time is over all runs, as the cluster had them. Turnaround is from
// submission to end, queueing from submission to the first replica (to the end for a run that never had one). Slowdown is the
// effective runtime (first replica to end) over the nominal one, so that 1 is as fast as with all replicas and 2 takes twice
// as long; seed 004 §10.2 defines it the other way round, but reads it as we do ("values above one … run slower"). Percentiles
// interpolate linearly (type 7, as NumPy does). Queue lengths and allocation are means over time, from the first submission
// to the last end, or to the last level while runs are unfinished. A figure of nothing is zero.
type Metrics struct {
	Cell
	Runs       int `json:"runs"`       // that ended
	Unfinished int `json:"unfinished"` // that had not, when the schedule did
	Failed     int `json:"failed"`     // of Runs: failed, timed out or lost
	Refused    int `json:"refused"`    // that the cluster could never hold; not of Runs

	MeanTurnaround float64 `json:"meanTurnaroundSeconds"`
	P50Turnaround  float64 `json:"p50TurnaroundSeconds"`
	P90Turnaround  float64 `json:"p90TurnaroundSeconds"`
	P95Turnaround  float64 `json:"p95TurnaroundSeconds"`
	P99Turnaround  float64 `json:"p99TurnaroundSeconds"`
	MaxTurnaround  float64 `json:"maxTurnaroundSeconds"`

	MeanQueue float64 `json:"meanQueueSeconds"`
	P50Queue  float64 `json:"p50QueueSeconds"`
	P95Queue  float64 `json:"p95QueueSeconds"`
	MaxQueue  float64 `json:"maxQueueSeconds"`

	MeanSlowdown float64 `json:"meanSlowdown"`
	P50Slowdown  float64 `json:"p50Slowdown"`
	P95Slowdown  float64 `json:"p95Slowdown"`

	MeanWaiting float64 `json:"meanWaiting"` // runs in the waiting line, over time
	MaxWaiting  int     `json:"maxWaiting"`
	MeanServing float64 `json:"meanServing"`
	MaxServing  int     `json:"maxServing"`

	CPUAllocation      float64 `json:"cpuAllocation"` // share of the capacity that was granted, in [0,1]
	MemoryAllocation   float64 `json:"memoryAllocation"`
	GPUAllocation      float64 `json:"gpuAllocation,omitempty"`
	DiskAllocation     float64 `json:"diskAllocation,omitempty"`
	CPUElasticShare    float64 `json:"cpuElasticShare"` // of what was granted: to elastic replicas, in [0,1]
	MemoryElasticShare float64 `json:"memoryElasticShare"`

	Makespan    float64 `json:"makespanSeconds"` // from the first submission to the last end
	Preemptions int     `json:"preemptions"`     // how often runs lost elastic replicas by a decision: once for a run and an instant, however many
	Reclaims    int     `json:"reclaims"`        // elastic replicas taken back
	Redone      float64 `json:"redoneSeconds"`   // replica time lost to reclaims and failures

	JainKind  float64 `json:"jainKind"` // Jain's index of the mean slowdowns of the groups: 1 is alike, 1/n is one group slowed alone
	JainClass float64 `json:"jainClass"`
	JainUser  float64 `json:"jainUser"`
	Groups    []Group `json:"groups,omitempty"` // by kind, then by class, then by user; each in order of names

	JournalHash string `json:"journalHash,omitempty"`
}

// Group is what became of the runs of one kind, class or user. Times and slowdowns are over those that did their work.
type Group struct {
	By             string  `json:"by"`               // kind, class or user
	Name           string  `json:"name"`             // of a kind: B-E (batch, elastic), B-R (batch, rigid), Int (interactive) or Svc (service)
	Runs           int     `json:"runs"`             // that ended
	Failed         int     `json:"failed,omitempty"` // of Runs: failed, timed out or lost
	MeanTurnaround float64 `json:"meanTurnaroundSeconds"`
	P50Turnaround  float64 `json:"p50TurnaroundSeconds"`
	P95Turnaround  float64 `json:"p95TurnaroundSeconds"`
	MeanQueue      float64 `json:"meanQueueSeconds"`
	P50Queue       float64 `json:"p50QueueSeconds"`
	P95Queue       float64 `json:"p95QueueSeconds"`
	MeanSlowdown   float64 `json:"meanSlowdown"`
}

// The dimensions of groups.
const (
	ByKind  = "kind"
	ByClass = "class"
	ByUser  = "user"
)

// The names of kinds in reports, as in the figures of seed 004.
const (
	BatchElastic = "B-E"
	BatchRigid   = "B-R"
	Interactive  = "Int"
	Service      = "Svc"
)

// maxGroups bounds the groups of one dimension: those with fewest runs are put together under others.
const (
	maxGroups = 100
	others    = "(others)"
)

// KindName returns the name of a job's kind in reports.
func (j *Job) KindName() string {
	switch {
	case j.Kind == dovetail.Interactive:
		return Interactive
	case j.Kind == dovetail.Service:
		return Service
	case j.Elastic > 0:
		return BatchElastic
	}
	return BatchRigid
}

// Ended reports whether the job ended within the schedule.
func (j *Job) Ended() bool { return j.Finish >= 0 }

// Failed reports whether the job ended without having done its work: it failed, timed out or was lost.
func (j *Job) Failed() bool {
	return j.Ended() &&
		(j.Outcome == dovetail.OutcomeFailed || j.Outcome == dovetail.OutcomeTimedOut || j.Outcome == dovetail.OutcomeLost)
}

// Done reports whether the job ended and did its work. One that was cancelled counts: that is how a service ends.
func (j *Job) Done() bool { return j.Ended() && !j.Failed() }

// Turnaround returns the time from submission to end, of a job that ended.
func (j *Job) Turnaround() time.Duration { return j.Finish - j.Submit }

// Queueing returns the time from submission to the first replica; of a job that ended without one, to its end.
func (j *Job) Queueing() time.Duration {
	if j.Start < 0 {
		return j.Finish - j.Submit
	}
	return j.Start - j.Submit
}

// Slowdown returns the effective runtime over the nominal one, and whether there are both.
func (j *Job) Slowdown() (ratio float64, ok bool) {
	if j.Start < 0 || j.Finish < 0 || j.Runtime <= 0 {
		return 0, false
	}
	return float64(j.Finish-j.Start) / float64(j.Runtime), true
}

// Metrics computes the figures of a schedule in O(n log n) time, n being its jobs and levels.
func (s *Schedule) Metrics() Metrics {
	m := Metrics{Cell: s.Cell, JournalHash: s.Hash, Refused: len(s.Refused)}
	all := newMeasured(len(s.Jobs))
	var redone time.Duration
	for i := range s.Jobs {
		j := &s.Jobs[i]
		m.Reclaims += j.Taken
		m.Preemptions += j.Preemptions
		redone += j.Redone
		if !j.Ended() {
			m.Unfinished++
			continue
		}
		all.add(j)
	}
	m.Redone = redone.Seconds()
	all.sort()
	m.Runs, m.Failed = all.runs, all.failed
	m.MeanTurnaround, m.MeanQueue, m.MeanSlowdown = mean(all.turnaround), mean(all.queue), mean(all.slowdown)
	m.P50Turnaround, m.P90Turnaround = quantile(all.turnaround, 500), quantile(all.turnaround, 900)
	m.P95Turnaround, m.P99Turnaround = quantile(all.turnaround, 950), quantile(all.turnaround, 990)
	m.MaxTurnaround = quantile(all.turnaround, 1000)
	m.P50Queue, m.P95Queue, m.MaxQueue = quantile(all.queue, 500), quantile(all.queue, 950), quantile(all.queue, 1000)
	m.P50Slowdown, m.P95Slowdown = quantile(all.slowdown, 500), quantile(all.slowdown, 950)
	s.overTime(&m)
	kinds, classes, users := s.groups(ByKind), s.groups(ByClass), s.groups(ByUser)
	m.JainKind, m.JainClass, m.JainUser = jain(kinds), jain(classes), jain(users)
	m.Groups = slices.Concat(kinds, classes, users)
	return m
}

// window returns the time that figures over time are about.
func (s *Schedule) window() (from, to time.Duration) {
	if len(s.Jobs) == 0 {
		return 0, 0
	}
	from = s.Jobs[0].Submit
	unfinished := false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		from = min(from, j.Submit)
		to = max(to, j.Finish)
		unfinished = unfinished || !j.Ended()
	}
	if n := len(s.Levels); unfinished && n > 0 {
		to = max(to, s.Levels[n-1].At)
	}
	return from, max(from, to)
}

// spans calls f for each level that lasts, with how long it does within the window.
func (s *Schedule) spans(f func(l *Level, lasts time.Duration)) {
	from, to := s.window()
	for i := range s.Levels {
		end := to
		if i+1 < len(s.Levels) {
			end = min(end, s.Levels[i+1].At)
		}
		if lasts := end - max(from, s.Levels[i].At); lasts > 0 {
			f(&s.Levels[i], lasts)
		}
	}
}

// overTime fills in the figures that are means over time. Products are rounded before they are added (the conversions say so
// to the compiler), so that machines with a fused instruction give the same bytes.
func (s *Schedule) overTime(m *Metrics) {
	from, to := s.window()
	var last time.Duration
	for i := range s.Jobs {
		last = max(last, s.Jobs[i].Finish)
	}
	m.Makespan = max(last-from, 0).Seconds()
	var waiting, serving float64
	var core, elastic [dovetail.NumResources]float64
	s.spans(func(l *Level, lasts time.Duration) {
		t := lasts.Seconds()
		m.MaxWaiting, m.MaxServing = max(m.MaxWaiting, int(l.Waiting)), max(m.MaxServing, int(l.Serving))
		waiting += float64(t * float64(l.Waiting))
		serving += float64(t * float64(l.Serving))
		for k := range core {
			core[k] += float64(t * float64(l.Core[k]))
			elastic[k] += float64(t * float64(l.Elastic[k]))
		}
	})
	span := (to - from).Seconds()
	m.MeanWaiting, m.MeanServing = ratio(waiting, span), ratio(serving, span)
	share := func(k dovetail.ResourceKind) float64 { return ratio(core[k]+elastic[k], span) }
	m.CPUAllocation, m.MemoryAllocation = share(dovetail.CPU), share(dovetail.Memory)
	m.GPUAllocation, m.DiskAllocation = share(dovetail.GPU), share(dovetail.Disk)
	m.CPUElasticShare = ratio(elastic[dovetail.CPU], core[dovetail.CPU]+elastic[dovetail.CPU])
	m.MemoryElasticShare = ratio(elastic[dovetail.Memory], core[dovetail.Memory]+elastic[dovetail.Memory])
}

// ratio returns a/b, 0 if there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// groups computes the figures of each group of one dimension, in order of names.
func (s *Schedule) groups(by string) []Group {
	members := make(map[string][]*Job)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Ended() {
			members[j.group(by)] = append(members[j.group(by)], j)
		}
	}
	names := foldSmall(members)
	all := make([]Group, 0, len(names))
	for _, name := range names {
		g := newMeasured(len(members[name]))
		for _, j := range members[name] {
			g.add(j)
		}
		all = append(all, g.group(by, name))
	}
	return all
}

// foldSmall puts the smallest groups together until there are at most maxGroups, and returns the names of groups, in order.
func foldSmall[T any](members map[string][]T) []string {
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(members[b]), len(members[a])), cmp.Compare(a, b))
	})
	if len(names) > maxGroups {
		var rest []T
		for _, name := range names[maxGroups-1:] {
			rest = append(rest, members[name]...)
			delete(members, name)
		}
		names = append(names[:maxGroups-1], others)
		members[others] = append(members[others], rest...) // there may be one of that name
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (j *Job) group(by string) string {
	switch by {
	case ByClass:
		return j.Class
	case ByUser:
		return j.User
	case ByKind:
		return j.KindName()
	}
	return ""
}

// jain returns Jain's fairness index of the groups' mean slowdowns, (Σx)²/(n·Σx²) (Jain, Chiu and Hawe, DEC-TR-301, 1984);
// 0 if there is no group with one.
func jain(groups []Group) float64 {
	var sum, squares float64
	n := 0
	for i := range groups {
		if x := groups[i].MeanSlowdown; x > 0 {
			sum += x
			squares += float64(x * x)
			n++
		}
	}
	return ratio(sum*sum, float64(n)*squares)
}

// measured counts runs that ended, and holds what is measured of those that did their work, in seconds.
type measured struct {
	runs, failed                int
	turnaround, queue, slowdown []float64
}

func newMeasured(n int) *measured {
	return &measured{turnaround: make([]float64, 0, n), queue: make([]float64, 0, n), slowdown: make([]float64, 0, n)}
}

// add counts in a job that ended.
func (a *measured) add(j *Job) {
	a.runs++
	if j.Failed() {
		a.failed++
		return
	}
	a.turnaround = append(a.turnaround, j.Turnaround().Seconds())
	a.queue = append(a.queue, j.Queueing().Seconds())
	if x, ok := j.Slowdown(); ok {
		a.slowdown = append(a.slowdown, x)
	}
}

// sort makes sums and percentiles independent of the order of runs.
func (a *measured) sort() {
	slices.Sort(a.turnaround)
	slices.Sort(a.queue)
	slices.Sort(a.slowdown)
}

func (a *measured) group(by, name string) Group {
	a.sort()
	return Group{
		By: by, Name: name, Runs: a.runs, Failed: a.failed,
		MeanTurnaround: mean(a.turnaround), P50Turnaround: quantile(a.turnaround, 500), P95Turnaround: quantile(a.turnaround, 950),
		MeanQueue: mean(a.queue), P50Queue: quantile(a.queue, 500), P95Queue: quantile(a.queue, 950),
		MeanSlowdown: mean(a.slowdown),
	}
}
