package zoe

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/trace"
)

// reference is the program as its rules read: a list of events that is searched for the first, a queue that is copied and sorted for
// each snapshot, components that are taken back and placed again in every step of a pass. It shares progress and keys with the
// model, which the oracles and TestRules check, and nothing else.
type reference struct {
	free   room
	rank   rank
	alloc  string
	events []event
	n      int
	queue  []*app // in order of arrival
	begun  bool
	passes bool // one is planned
	vain   int
}

type event struct {
	at   int64
	n    int // of insertion
	app  *app
	kind string
	view []*app
	free room
}

func (r *reference) insert(e event) {
	r.n++
	e.n = r.n
	r.events = append(r.events, e)
}

func (r *reference) play(apps []app) {
	for i := range apps {
		r.insert(event{at: apps[i].submit, kind: "arrival", app: &apps[i]})
	}
	for len(r.events) > 0 {
		first := slices.MinFunc(r.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
		r.events = slices.DeleteFunc(r.events, func(e event) bool { return e.n == first.n })
		switch a := first.app; first.kind {
		case "arrival":
			r.queue = append(r.queue, a)
			r.begun = r.begun || len(r.queue) == 4
			if r.begun {
				r.trigger(first.at)
			}
		case "departure":
			a.state = ended
			r.leave(a)
			r.free = r.free.plus(a.held, a.each)
			r.trigger(first.at)
		default:
			r.pass(first)
		}
	}
}

func (r *reference) leave(a *app) {
	r.queue = slices.DeleteFunc(r.queue, func(b *app) bool { return b == a })
}

func (r *reference) trigger(now int64) {
	if r.passes || len(r.queue) == 0 {
		return
	}
	r.passes = true
	view := slices.Clone(r.queue)
	slices.SortStableFunc(view, func(a, b *app) int { return cmp.Compare(r.rank(a), r.rank(b)) })
	r.insert(event{at: now, kind: "pass", view: view, free: r.free})
}

func (r *reference) pass(e event) {
	r.passes = false
	started := false
	for _, g := range r.grants(e) {
		a := g.app
		if g.core {
			r.free = r.free.plus(-a.core, a.each)
			a.grow(a.core, e.at)
		}
		if g.elastic > 0 {
			r.free = r.free.plus(-g.elastic, a.each)
			a.grow(g.elastic, e.at)
			a.missing -= g.elastic
		}
		if !g.core && g.elastic == 0 {
			continue
		}
		started = true
		r.events = slices.DeleteFunc(r.events, func(e event) bool { return e.app == a })
		r.insert(event{at: a.end, kind: "departure", app: a})
		if a.missing == 0 {
			r.leave(a)
		}
	}
	if !started {
		r.vain++
	}
	if r.vain == 2 {
		r.vain = 0
		return
	}
	r.trigger(e.at)
}

func (r *reference) grants(e event) []grant {
	free, first := e.free, e.view[0]
	switch {
	case r.alloc == "flexible":
		return walk(e)
	case first.state == ended:
		return nil
	case r.alloc == "rigid":
		if free.count(first.each, first.full) == first.full {
			return []grant{{app: first, core: true, elastic: first.full - first.core}}
		}
		return nil
	}
	core := first.state == waiting
	if core {
		if free.count(first.each, first.core) < first.core {
			return nil
		}
		free = free.plus(-first.core, first.each)
	}
	return []grant{{app: first, core: core, elastic: free.count(first.each, first.missing)}}
}

// walk is rule 18, letter by letter.
func walk(e event) []grant {
	free := e.free
	best := float64(free.cpu) * float64(free.memory)
	var list []grant
	for _, a := range e.view {
		remembered := slices.Clone(list)
		for i := range list {
			free = free.plus(list[i].elastic, list[i].app.each)
			list[i].elastic = 0
		}
		switch {
		case a.state == waiting && free.count(a.each, a.core) == a.core:
			free = free.plus(-a.core, a.each)
			list = append(list, grant{app: a, core: true})
		case a.state == running:
			list = append(list, grant{app: a})
		}
		for i := range list {
			list[i].elastic = free.count(list[i].app.each, list[i].app.missing)
			free = free.plus(-list[i].elastic, list[i].app.each)
		}
		now := float64(free.cpu) * float64(free.memory)
		if now >= best {
			return remembered
		}
		best = now
	}
	return list
}

// workload draws small applications that often arrive, end and tie at one time. Some do not fit the machine of 16 units.
func workload(t *rapid.T) []trace.Job {
	var jobs []trace.Job
	for i := range rapid.IntRange(0, 25).Draw(t, "jobs") {
		core := rapid.IntRange(1, 5).Draw(t, "core")
		each := dovetail.Resources{
			dovetail.CPU:    500 * rapid.Int64Range(1, 4).Draw(t, "cpu"),
			dovetail.Memory: gib / 2 * rapid.Int64Range(1, 4).Draw(t, "memory"),
		}
		jobs = append(jobs, trace.Job{
			ID:      int64(i + 1),
			Submit:  time.Duration(rapid.IntRange(0, 12).Draw(t, "submit")) * time.Second,
			Runtime: time.Duration(rapid.IntRange(1, 6).Draw(t, "runtime")) * time.Second,
			App: &dovetail.Application{Name: "a", Components: []dovetail.Component{{
				Name: "w", Count: core, Max: core + rapid.IntRange(0, 8).Draw(t, "elastic"), Resources: each,
			}}},
		})
	}
	return jobs
}

// TestReference: under every policy and allocator the model does what the literal program does, and what any schedule must.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := append(workload(t), request{1, 0, 1, 20, 1}.job(100)) // one fits at least
		for _, alloc := range Allocs() {
			for _, policy := range Policies() {
				o := Options{Policy: policy, Alloc: alloc, Capacity: units(16), Levels: true}
				s, err := Run(t.Context(), o, jobs)
				if err != nil {
					t.Fatalf("%s, %s: %v", policy, alloc, err)
				}
				compareWithReference(t, o, jobs, s)
				sound(t, s)
			}
		}
	})
}

func compareWithReference(t *rapid.T, o Options, jobs []trace.Job, s *report.Schedule) {
	apps, _, err := load(o, jobs)
	if err != nil {
		t.Fatal(err)
	}
	rank, err := findRank(o.Policy)
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{free: capacity(o), rank: rank, alloc: o.Alloc}
	r.play(apps)
	m := &machine{apps: apps}
	if diff := gocmp.Diff(m.schedule(o).Jobs, s.Jobs); diff != "" {
		t.Fatalf("%s, %s: -reference +model:\n%s", o.Policy, o.Alloc, diff)
	}
}

// sound checks what holds of any schedule of this machine.
func sound(t *rapid.T, s *report.Schedule) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Start < 0 { // there are fewer than four, or it was given up: TestRules
			continue
		}
		longest := time.Duration(math.Ceil(float64(j.Runtime) * float64(j.Core+j.Elastic) / float64(j.Core)))
		if took := j.Finish - j.Start; j.Start < j.Submit || took < j.Runtime-time.Microsecond || took > longest+time.Microsecond {
			t.Fatalf("job %d takes %s, expected between %s and %s from its start, not before its submission: %+v", j.ID, took, j.Runtime, longest, j)
		}
	}
	for _, l := range s.Levels {
		for k := range l.Core {
			if used := l.Core[k] + l.Elastic[k]; used < 0 || used > 1+1e-6 || l.Waiting < 0 || l.Serving < 0 {
				t.Fatalf("more than there is: %+v", l)
			}
		}
	}
}
