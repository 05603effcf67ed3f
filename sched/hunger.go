package sched

import (
	"container/heap"
	"slices"
)

// The runs in service that can use more elastic replicas are kept by application: if not one more replica of an application
// fits, none of its runs has to be looked at.

// trim drops leading runs that are no longer hungry and reports whether any run is left.
func (a *app) trim() bool {
	for len(a.hungry) > 0 && !a.hungry[0].isHungry() {
		a.hungry[0].hungry = false
		a.hungry = a.hungry[1:]
	}
	return len(a.hungry) > 0
}

// sated notes that a run in the list has ended, and drops those that have when they are many.
func (a *app) sated() {
	if a.gone++; 2*a.gone > len(a.hungry)+16 {
		a.gone = 0
		a.hungry = slices.DeleteFunc(a.hungry, func(r *run) bool { return !r.ended.IsZero() })
	}
}

// isHungry reports whether any run of the application is hungry.
func (a *app) isHungry() bool { return slices.ContainsFunc(a.hungry, (*run).isHungry) }

// queue is the hungry runs of one application that were not offered anything yet.
type queue struct {
	app  *app
	left []*run
	key  key // of the first that is left
}

// queues is a heap of queues by key; keys do not move during a decision.
type queues []*queue

func (h queues) Len() int           { return len(h) }
func (h queues) Less(i, j int) bool { return h[i].key.compare(&h[j].key) < 0 }
func (h queues) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *queues) Push(x any)        { *h = append(*h, x.(*queue)) }
func (h *queues) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// inNeed yields the runs in service that can use more elastic replicas, in order. Of an application of which not one more
// replica fits it yields one run, to show that it is not satisfied.
func (d *draft) inNeed(yield func(*run) bool) {
	var h queues
	for _, a := range d.c.hungry {
		q := &queue{app: a, left: a.hungry}
		if d.grows(a) {
			d.rank(a)
		}
		if d.advance(q) {
			h = append(h, q)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		q := h[0]
		if !yield(q.left[0]) {
			return
		}
		q.left = q.left[1:]
		if d.grows(q.app) && d.advance(q) {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
}

// advance moves a queue to its first hungry run and reports whether there is one.
func (d *draft) advance(q *queue) bool {
	for len(q.left) > 0 && !q.left[0].isHungry() {
		q.left = q.left[1:]
	}
	if len(q.left) == 0 {
		return false
	}
	q.key = d.c.key(q.left[0], d.now)
	return true
}

// grows reports whether one more elastic replica of an application fits somewhere.
func (d *draft) grows(a *app) bool {
	for ci := range a.shapes {
		sh := &a.shapes[ci]
		if a.spec.Components[ci].Elastic() == 0 || d.isFull(a, ci) {
			continue
		}
		if d.c.space.Best(sh) >= 0 {
			return true
		}
		d.setFull(a, ci, true)
	}
	return false
}

// rank sorts an application's hungry runs, unless they are sorted and their ranks stand still.
func (d *draft) rank(a *app) {
	if a.ranked == d.c.ranking && !d.c.order.Moves && !d.c.order.Shrinks {
		return
	}
	d.sort(a.hungry)
	a.ranked = d.c.ranking
}
