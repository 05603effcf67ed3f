package example

import (
	"slices"
	"time"
)

// maxFailures is how many errors of one task the master bears before it gives up.
const maxFailures = 3

// verdict is what a worker that asks for work is told.
type verdict string

const (
	verdictTask    verdict = "task"    // here is a task
	verdictWait    verdict = "wait"    // none now, ask again
	verdictRetired verdict = "retired" // none any more: leave
	verdictDone    verdict = "done"    // the job is done: leave
	verdictUnknown verdict = "unknown" // the master has given this worker up: join again
)

// pool is the master's book: who works on which task of the round. It has no clock, no lock and does no I/O.
//
// A task is waiting (in the queue), held by a worker, or done. It is in the queue at most once; queue and held may overlap
// only for tasks that are done, which are skipped. A worker that is given up may still bring a result: the first result of a
// task counts, whoever brings it.
type pool struct {
	lapse   time.Duration // a worker that was not heard of for longer is given up
	round   int
	tasks   []task
	queue   []int // numbers of waiting tasks, next first
	left    int   // tasks of the round that are not done
	failed  error // a task that failed too often
	over    bool
	members map[int64]*member
	last    int64 // the newest session
	count   Counters
}

type task struct {
	done     bool
	result   []byte
	failures int
}

// member is a worker from its joining on. Successive workers may bear the same name; the session tells them apart.
type member struct {
	name    string
	task    int // -1: none
	retired bool
	seen    time.Time
}

// Counters say what happened to the workers and tasks of a job.
type Counters struct {
	Joined     int `json:"joined"`     // workers that ever joined
	Retired    int `json:"retired"`    // workers that were retired before they left
	Lost       int `json:"lost"`       // workers that left without a word
	Tasks      int `json:"tasks"`      // tasks done
	Requeued   int `json:"requeued"`   // tasks handed back by a worker, or taken from one that was lost
	Duplicates int `json:"duplicates"` // results that came a second time, or too late
}

func newPool(lapse time.Duration) *pool {
	return &pool{lapse: lapse, round: -1, members: make(map[int64]*member)}
}

// start begins the next round, with n tasks. All tasks of the round before must be done.
func (p *pool) start(n int) {
	p.round++
	p.tasks = make([]task, n)
	p.queue = p.queue[:0]
	for i := range n {
		p.queue = append(p.queue, i)
	}
	p.left = n
	for _, m := range p.members {
		m.task = -1 // whoever still works on a task of the past round will bring a duplicate
	}
}

// results returns the results of the round's tasks in their order, or nil while some are not done.
func (p *pool) results() [][]byte {
	if p.left > 0 {
		return nil
	}
	all := make([][]byte, len(p.tasks))
	for i := range p.tasks {
		all[i] = p.tasks[i].result
	}
	return all
}

// join adds a worker and returns its session.
func (p *pool) join(name string, now time.Time) int64 {
	p.last++
	p.members[p.last] = &member{name: name, task: -1, seen: now}
	p.count.Joined++
	return p.last
}

// next gives the worker a task, or says why it gets none. A worker that asks again before it brought a result did not
// get the answer: it is given the same task.
func (p *pool) next(session int64, now time.Time) (verdict, int) {
	if !p.beat(session, now) {
		return verdictUnknown, -1
	}
	m := p.members[session]
	switch {
	case p.over:
		delete(p.members, session)
		return verdictDone, -1
	case m.retired:
		p.handBack(m)
		delete(p.members, session)
		return verdictRetired, -1
	case m.task >= 0 && !p.tasks[m.task].done:
		return verdictTask, m.task
	}
	m.task = -1
	for len(p.queue) > 0 {
		n := p.queue[0]
		p.queue = p.queue[1:]
		if !p.tasks[n].done {
			m.task = n
			return verdictTask, n
		}
	}
	return verdictWait, -1
}

// finish takes a result. It reports whether it counted: the first one for a task of this round does.
func (p *pool) finish(session int64, round, part int, result []byte, now time.Time) bool {
	p.release(session, round, part, now)
	if !p.current(round, part) || p.tasks[part].done {
		p.count.Duplicates++
		return false
	}
	p.tasks[part].done, p.tasks[part].result = true, result
	p.left--
	p.count.Tasks++
	return true
}

// fail takes note that a worker could not do a task: another one may. A task that fails too often fails the job with err.
func (p *pool) fail(session int64, round, part int, err error, now time.Time) {
	held := p.release(session, round, part, now)
	if !p.current(round, part) || p.tasks[part].done {
		return
	}
	if p.tasks[part].failures++; p.tasks[part].failures >= maxFailures {
		p.failed = err
	}
	if held {
		p.requeue(part)
	}
}

// release notes that a worker no longer works on a task, and reports whether it held it.
func (p *pool) release(session int64, round, part int, now time.Time) bool {
	if !p.beat(session, now) {
		return false
	}
	m := p.members[session]
	if round != p.round || m.task != part {
		return false
	}
	m.task = -1
	return true
}

func (p *pool) current(round, part int) bool {
	return round == p.round && part >= 0 && part < len(p.tasks)
}

// beat notes that a worker is alive. It is false for one that has been given up.
func (p *pool) beat(session int64, now time.Time) bool {
	m, ok := p.members[session]
	if ok {
		m.seen = now
	}
	return ok
}

// retire says that the workers of this name get no more tasks, and returns their sessions.
func (p *pool) retire(name string) []int64 {
	var sessions []int64
	for s, m := range p.members {
		if m.name == name {
			if !m.retired {
				m.retired = true
				p.count.Retired++
			}
			sessions = append(sessions, s)
		}
	}
	slices.Sort(sessions)
	return sessions
}

// idle reports whether none of the sessions holds a task that is not done.
func (p *pool) idle(sessions []int64) bool {
	return !slices.ContainsFunc(sessions, func(s int64) bool {
		m := p.members[s]
		return m != nil && m.task >= 0 && !p.tasks[m.task].done
	})
}

// drop gives a worker up: its task goes to somebody else. It is false if that was done before.
func (p *pool) drop(session int64) bool {
	m, ok := p.members[session]
	if !ok {
		return false
	}
	p.handBack(m)
	delete(p.members, session)
	if !m.retired && !p.over {
		p.count.Lost++
	}
	return true
}

// expire gives up the workers that were not heard of for too long, and returns their sessions.
func (p *pool) expire(now time.Time) []int64 {
	var silent []int64
	for s, m := range p.members {
		if now.Sub(m.seen) > p.lapse {
			silent = append(silent, s)
		}
	}
	slices.Sort(silent)
	for _, s := range silent {
		p.drop(s)
	}
	return silent
}

// handBack puts the worker's task, if it has one, in front of the queue: it has waited longest.
func (p *pool) handBack(m *member) {
	if m.task >= 0 && !p.tasks[m.task].done {
		p.requeue(m.task)
	}
	m.task = -1
}

func (p *pool) requeue(part int) {
	p.queue = slices.Insert(p.queue, 0, part)
	p.count.Requeued++
}
