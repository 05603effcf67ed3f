package sim

import "cmp"

// kind says what a timer is about. At one instant lower kinds come first.
type kind uint8

const (
	measured kind = iota // a period ends: how nodes were used
	nodeBack
	nodeGone
	started // replicas that were told to start are up
	stopped // replicas that were told to stop are down
	failed  // a replica of a run fails
	completed
)

// timer is something that will happen. Timers at one instant are in order of kind, then number, then insertion.
type timer struct {
	at     int64 // µs since the epoch
	kind   kind
	number int64 // of the run or the node
	seq    int64 // of insertion
	index  int   // in the heap plus one; 0: not in it

	run  *run
	cell *cell
	n    int // replicas
}

func (t *timer) before(o *timer) bool {
	return cmp.Or(cmp.Compare(t.at, o.at), cmp.Compare(t.kind, o.kind), cmp.Compare(t.number, o.number), cmp.Compare(t.seq, o.seq)) < 0
}

// timers is a heap of timers that can be moved and taken out.
type timers struct {
	heap []*timer
	seq  int64
}

// set puts the timer in, or moves it to another time.
func (q *timers) set(t *timer, at int64) {
	q.seq++
	t.at, t.seq = at, q.seq
	if t.index == 0 {
		q.heap = append(q.heap, t)
		t.index = len(q.heap)
		q.up(t.index - 1)
		return
	}
	if i := t.index - 1; !q.up(i) {
		q.down(i)
	}
}

// drop takes the timer out if it is in.
func (q *timers) drop(t *timer) {
	if t.index == 0 {
		return
	}
	i, last := t.index-1, len(q.heap)-1
	q.swap(i, last)
	q.heap[last] = nil
	q.heap = q.heap[:last]
	t.index = 0
	if i < last && !q.up(i) {
		q.down(i)
	}
}

// first returns the next timer, or nil.
func (q *timers) first() *timer {
	if len(q.heap) == 0 {
		return nil
	}
	return q.heap[0]
}

func (q *timers) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].index, q.heap[j].index = i+1, j+1
}

func (q *timers) up(i int) bool {
	moved := false
	for i > 0 && q.heap[i].before(q.heap[(i-1)/2]) {
		q.swap(i, (i-1)/2)
		i, moved = (i-1)/2, true
	}
	return moved
}

func (q *timers) down(i int) {
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(q.heap) && q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}
