package example

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// poolModel drives a pool with arbitrary messages, in any order, and remembers what must come out.
type poolModel struct {
	pool   *pool
	now    time.Time
	first  map[int]string // first result of each task of the round
	asked  map[int64]bool // sessions that were retired
	unique int
}

func (m *poolModel) session(t *rapid.T) int64 {
	return int64(rapid.IntRange(0, int(m.pool.last)).Draw(t, "session"))
}

// task draws a task of this round or of the one before, or one that never was.
func (m *poolModel) task(t *rapid.T) (round, part int) {
	return m.pool.round - rapid.IntRange(0, 1).Draw(t, "roundsAgo"), rapid.IntRange(-1, len(m.pool.tasks)).Draw(t, "part")
}

func (m *poolModel) join(t *rapid.T) {
	m.pool.join(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), m.now)
}

func (m *poolModel) next(t *rapid.T) {
	s := m.session(t)
	v, n := m.pool.next(s, m.now)
	switch {
	case v == verdictTask && m.asked[s]:
		t.Fatalf("session %d was retired and got task %d", s, n)
	case v == verdictTask && m.pool.tasks[n].done:
		t.Fatalf("session %d got task %d, which is done", s, n)
	case v == verdictDone:
		t.Fatalf("session %d is told that the job is done, %d tasks before the end", s, m.pool.left)
	}
}

func (m *poolModel) finish(t *rapid.T) {
	s := m.session(t)
	round, part := m.task(t)
	m.unique++
	result := fmt.Sprint(m.unique)
	_, had := m.first[part]
	counts := round == m.pool.round && part >= 0 && part < len(m.pool.tasks) && !had
	if got := m.pool.finish(s, round, part, []byte(result), m.now); got != counts {
		t.Fatalf("result of task %d of round %d counts: %v, expected %v", part, round, got, counts)
	}
	if counts {
		m.first[part] = result
	}
}

func (m *poolModel) fail(t *rapid.T) {
	round, part := m.task(t)
	m.pool.fail(m.session(t), round, part, errors.New("broken"), m.now)
}

func (m *poolModel) retire(t *rapid.T) {
	for _, s := range m.pool.retire(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")) {
		m.asked[s] = true
	}
}

func (m *poolModel) drop(t *rapid.T) { m.pool.drop(m.session(t)) }

func (m *poolModel) later(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
	m.pool.expire(m.now)
	for s, w := range m.pool.members {
		if m.now.Sub(w.seen) > m.pool.lapse {
			t.Fatalf("session %d was silent since %v and is still a member", s, w.seen)
		}
	}
}

func (m *poolModel) nextRound(t *rapid.T) {
	results := m.pool.results()
	if results == nil {
		t.Skip("the round is not done")
	}
	for part, r := range results {
		if string(r) != m.first[part] {
			t.Fatalf("task %d: result %s, the first one was %s", part, r, m.first[part])
		}
	}
	m.first = make(map[int]string)
	m.pool.start(rapid.IntRange(1, 5).Draw(t, "tasks"))
}

// check is called after every step.
func (m *poolModel) check(t *rapid.T) {
	places := make(map[int]int)
	for _, n := range m.pool.queue {
		places[n]++
	}
	for _, w := range m.pool.members {
		if w.task >= 0 {
			places[w.task]++
		}
	}
	left := 0
	for n := range m.pool.tasks {
		_, finished := m.first[n]
		if m.pool.tasks[n].done != finished {
			t.Fatalf("task %d is done: %v, expected %v", n, m.pool.tasks[n].done, finished)
		}
		if finished {
			continue
		}
		left++
		if places[n] != 1 {
			t.Fatalf("task %d is not done, and in %d places instead of one: queue %v, members %v", n, places[n], m.pool.queue, m.pool.members)
		}
	}
	if m.pool.left != left {
		t.Fatalf("%d tasks are left, the pool says %d", left, m.pool.left)
	}
}

// TestPoolLosesNothing: whatever workers do, every task that is not done is in exactly one place; and one good worker
// then brings the round to its end.
func TestPoolLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &poolModel{
			pool: newPool(2 * time.Second), now: time.Unix(0, 0),
			first: make(map[int]string), asked: make(map[int64]bool),
		}
		m.pool.start(3)
		t.Repeat(map[string]func(*rapid.T){
			"join": m.join, "next": m.next, "finish": m.finish, "fail": m.fail, "retire": m.retire, "drop": m.drop,
			"later": m.later, "nextRound": m.nextRound, "": m.check,
		})
		for _, s := range slices.Sorted(maps.Keys(m.pool.members)) {
			m.pool.drop(s)
		}
		good := m.pool.join("good", m.now)
		for range m.pool.left {
			v, n := m.pool.next(good, m.now)
			if v != verdictTask || !m.pool.finish(good, m.pool.round, n, []byte("x"), m.now) {
				t.Fatalf("a good worker is told %s, with %d tasks left", v, m.pool.left)
			}
		}
		if m.pool.results() == nil {
			t.Fatalf("%d tasks are left after a good worker did all that it was given", m.pool.left)
		}
	})
}

func TestPoolAnswers(t *testing.T) {
	start := time.Unix(0, 0)
	for _, c := range []struct {
		reason string
		do     func(p *pool, a, b int64) (got any)
		want   any
	}{
		{"a worker that did not get the answer is given the same task again",
			func(p *pool, a, _ int64) any { p.next(a, start); _, n := p.next(a, start); return n }, 0},
		{"a task that was handed back goes first",
			func(p *pool, a, b int64) any { p.next(a, start); p.drop(a); _, n := p.next(b, start); return n }, 0},
		{"a worker that holds a task is not idle",
			func(p *pool, a, _ int64) any { p.next(a, start); return p.idle([]int64{a}) }, false},
		{"nor after it was told to retire",
			func(p *pool, a, _ int64) any { p.next(a, start); return p.idle(p.retire("a")) }, false},
		{"a worker whose task was done by another is idle",
			func(p *pool, a, b int64) any {
				p.next(a, start)
				p.finish(b, 0, 0, nil, start)
				return p.idle([]int64{a})
			}, true},
		{"a worker that has lapsed is idle: its task is in other hands",
			func(p *pool, a, _ int64) any {
				p.next(a, start)
				p.expire(start.Add(time.Minute))
				return p.idle([]int64{a})
			}, true},
		{"a worker of the same name that joins later is not retired",
			func(p *pool, _, _ int64) any {
				p.retire("a")
				v, _ := p.next(p.join("a", start), start)
				return v
			}, verdictTask},
		{"a worker that was given up is told so",
			func(p *pool, a, _ int64) any { p.drop(a); v, _ := p.next(a, start); return v }, verdictUnknown},
		{"a late result of one that was given up counts if it is the first",
			func(p *pool, a, _ int64) any { p.next(a, start); p.drop(a); return p.finish(a, 0, 0, nil, start) }, true},
		{"and does not count otherwise",
			func(p *pool, a, b int64) any {
				p.next(a, start)
				p.drop(a)
				p.next(b, start)
				p.finish(b, 0, 0, nil, start)
				return p.finish(a, 0, 0, nil, start)
			}, false},
		{"a result of the round before does not count",
			func(p *pool, a, _ int64) any {
				p.finish(a, 0, 0, nil, start)
				p.finish(a, 0, 1, nil, start)
				p.start(1)
				return p.finish(a, 0, 0, nil, start)
			}, false},
		{"two failures of a task are borne",
			func(p *pool, a, _ int64) any { return failTask(p, a, 2) }, error(nil)},
		{"the third fails the job",
			func(p *pool, a, _ int64) any { return failTask(p, a, 3) }, errBroken},
		{"workers of a done job are sent away",
			func(p *pool, a, _ int64) any { p.over = true; v, _ := p.next(a, start); return v }, verdictDone},
	} {
		p := newPool(time.Second)
		p.start(2)
		a, b := p.join("a", start), p.join("b", start)
		if got := c.do(p, a, b); got != c.want {
			t.Errorf("%s: got %v, expected %v", c.reason, got, c.want)
		}
	}
}

var errBroken = errors.New("broken")

func failTask(p *pool, session int64, times int) any {
	for range times {
		_, n := p.next(session, time.Unix(0, 0))
		p.fail(session, 0, n, errBroken, time.Unix(0, 0))
	}
	return p.failed
}
