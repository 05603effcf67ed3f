package sched

import "slices"

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

// firstHungry returns a run of the application that is hungry, or nil.
func (a *app) firstHungry() *run {
	if i := slices.IndexFunc(a.hungry, (*run).isHungry); i >= 0 {
		return a.hungry[i]
	}
	return nil
}

// isHungry reports whether any run of the application is hungry.
func (a *app) isHungry() bool { return a.firstHungry() != nil }

// queue is the hungry runs of one application that were not offered anything yet.
type queue struct {
	app  *app
	left []*run
	key  key // of the first that is left
}

// queues is a heap of queues by key; keys do not move during a decision.
type queues []*queue

// sink restores the heap below position i.
func (h queues) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].key.compare(&h[least].key) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// inNeed yields the runs in service that can use more elastic replicas, in order. Of all the applications of which not one more
// replica fits it yields one run, last, to show that it is not satisfied: in a full cluster these are most.
func (d *draft) inNeed(yield func(*run) bool) {
	d.queued = slices.Grow(d.queued[:0], len(d.c.hungry)) // it does not move below: the heap points into it
	h := d.heap[:0]
	var stuck *run
	for _, a := range d.c.hungry {
		if !d.grows(a) {
			if stuck == nil {
				stuck = a.firstHungry()
			}
			continue
		}
		d.rank(a)
		if q := (queue{app: a, left: a.hungry}); d.advance(&q) {
			d.queued = append(d.queued, q)
			h = append(h, &d.queued[len(d.queued)-1])
		}
	}
	d.heap = h
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
	for len(h) > 0 {
		q := h[0]
		more := d.grows(q.app) // others may have taken what it could have used
		if !more {
			stuck = q.left[0]
		} else {
			if !yield(q.left[0]) {
				return
			}
			q.left = q.left[1:]
			more = d.advance(q)
		}
		if !more {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		h.sink(0)
	}
	if stuck != nil {
		yield(stuck)
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
		if d.c.space.Holds(sh, 1, nil) {
			return true
		}
		d.setFull(a, ci)
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
