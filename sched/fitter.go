package sched

import (
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// fitter lets an allocator try what fits; it implements alloc.Fitter on a draft.
type fitter struct{ *draft }

// Core places all of r's core that is not placed yet in free capacity, or nothing.
func (f fitter) Core(r *run) bool {
	if !f.mayFit(r) {
		return false
	}
	mark := len(f.steps)
	return f.Try(func() bool {
		for ci := range r.comps {
			n := r.lacks(ci)
			if n <= 0 {
				continue
			}
			touchy := f.c.touchy(r)
			if f.isFull(r.app, ci) && !touchy {
				return false
			}
			spots := f.place(r, ci, n)
			f.note(r, ci, core, spots)
			if n -= count(spots); n > 0 {
				if len(f.steps) == mark && !touchy { // nothing was placed before: not even one fits
					f.setFull(r.app, ci)
				}
				return false
			}
		}
		return true
	})
}

// mayFit gives a newcomer room for its counts, and rules out what cannot fit.
func (f fitter) mayFit(r *run) bool {
	if r.comps == nil {
		if f.lacksRoom(r) {
			return false
		}
		r.outfit()
	}
	return true
}

// lacksRoom reports whether a newcomer cannot fit: by the sum of free capacity, or one component by itself. One whose application varies
// gets its ceiling by it.
func (d *draft) lacksRoom(r *run) bool {
	a, varies := r.app, d.varies(r)
	if !varies && (a.failed == d.round && !d.c.touchy(r) || a.shut == d.c.space.Grown()) || !a.need.Fits(d.c.space.Free()) {
		return true
	}
	if varies {
		d.aim(r)
	}
	for ci := range a.shapes {
		n := d.c.first(r, ci)
		if n > 0 && d.c.order.Backfill && !d.near && d.rules(a.class[ci], n) || !d.c.space.Holds(&a.shapes[ci], n, nil) {
			if !varies {
				a.shut, d.shut = d.c.space.Grown(), len(d.steps)
			}
			return true
		}
	}
	return false
}

// varies reports whether runs of r's application ask for different amounts at their start: the rigid allocator starts a run at its
// ceiling.
func (d *draft) varies(r *run) bool { return r.app.aims && d.c.cfg.Alloc == "rigid" }

// CoreBy does as Core, but may take elastic replicas of victim too: as few as possible, those first whose removal makes room
// for the most core replicas.
func (f fitter) CoreBy(r, victim *run) bool {
	if victim.elastic == 0 {
		return false
	}
	if r.comps == nil {
		r.outfit()
	}
	if !f.enough(r, victim) {
		return false
	}
	if f.c.strict() && clash(r, victim) {
		return f.coreInstead(r, victim)
	}
	ok := f.Try(func() bool {
		for ci := range r.comps {
			n := r.lacks(ci)
			if n > 0 {
				spots := f.place(r, ci, n)
				f.note(r, ci, core, spots)
				n -= count(spots)
			}
			for n > 0 {
				placed := f.evict(r, ci, core, n, victim)
				if placed == 0 {
					return false
				}
				n -= placed
			}
		}
		return true
	})
	if ok {
		f.again = true
		f.forget()
	}
	return ok
}

// coreInstead does as CoreBy for a victim that r must not share a node with: it gives up all of its elastic replicas, and gets those back
// that are not in the way.
func (f fitter) coreInstead(r, victim *run) bool {
	ok := f.Try(func() bool {
		giveBack := f.Strip(victim)
		for ci := range r.comps {
			n := max(0, r.lacks(ci))
			spots := f.place(r, ci, n)
			f.note(r, ci, core, spots)
			if count(spots) < n {
				return false
			}
		}
		giveBack()
		return true
	})
	if ok {
		f.again = true
		f.forget()
	}
	return ok
}

// place takes room for up to n replicas of a component, as the run wants it, and returns where.
func (d *draft) place(r *run, ci, n int) []place.Spot {
	if t := d.taste(r); t != nil {
		return d.c.space.PlaceBy(&r.app.shapes[ci], n, t)
	}
	return d.c.space.Place(&r.app.shapes[ci], n)
}

// enough reports whether each component of what r's core lacks would fit by itself if the elastic replicas of victim were gone.
func (f fitter) enough(r, victim *run) bool {
	extra := f.freed(victim)
	for ci := range r.comps {
		if !f.c.space.Holds(&r.app.shapes[ci], r.lacks(ci), extra) {
			return false
		}
	}
	return true
}

// freed returns what would become free on each node without the elastic replicas of victim. It is valid until the next call.
func (f fitter) freed(victim *run) []dovetail.Resources {
	f.c.freed = append(f.c.freed[:0], make([]dovetail.Resources, len(f.c.nodes))...)
	for vi := range victim.comps {
		each := victim.app.shapes[vi].Each
		for _, k := range victim.comps[vi].cells {
			if k.class == elastic && k.want > 0 {
				f.c.freed[k.node] = f.c.freed[k.node].Plus(each.Times(k.want))
			}
		}
	}
	return f.c.freed
}

// eviction is what taking elastic replicas of one run on one node would make room for.
type eviction struct {
	node, ci, victims, room int
}

// least returns how many replicas must go from a node before so much is free there; if limit are too few, more.
func least(wanted, free, each dovetail.Resources, limit int) int {
	n := 0
	for k := range wanted {
		if lack := wanted[k] - free[k]; wanted[k] > 0 && lack > each[k]*int64(n) {
			if lack > each[k]*int64(limit) {
				return limit + 1
			}
			n = int((lack + each[k] - 1) / each[k])
		}
	}
	return n
}

// better prefers fewer victims for each core replica that then fits, then fewer victims, then the lower node.
func (e eviction) better(o eviction) bool {
	if a, b := e.victims*o.room, o.victims*e.room; a != b {
		return a < b
	}
	if e.victims != o.victims {
		return e.victims < o.victims
	}
	return e.node < o.node
}

// rules reports whether an eviction is better than every one that places so many replicas or more on some node, where so many need at
// least these victims. What is free there serves the first replicas, so that more of them need no fewer victims each, up to rounding.
func (e eviction) rules(victims, room int) bool {
	return (victims-1)*e.room >= e.victims*room && e.room > 0
}

// evict takes elastic replicas of victim on the one node where that pays best, places up to n replicas of a class of r's
// component ci there, and returns how many.
func (f fitter) evict(r *run, ci int, cl class, n int, victim *run) int {
	var best eviction
	sh := &r.app.shapes[ci]
	for vi := range victim.comps {
		for i := range victim.comps[vi].cells {
			k := &victim.comps[vi].cells[i]
			if k.class != elastic || k.want == 0 || !f.admits(r, ci, k.node) {
				continue
			}
			free := f.c.space.Node(k.node).Free
			each := victim.app.shapes[vi].Each
			for room := 0; room < n; { // only numbers that make room for one more
				v := max(1, least(sh.Each.Times(room+1), free, each, k.want))
				if v > k.want || best.rules(v, room+1) && !negative(free) {
					break
				}
				room = sh.Each.Count(free.Plus(each.Times(v)), n)
				if e := (eviction{k.node, vi, v, room}); best.room == 0 || e.better(best) {
					best = e
				}
			}
		}
	}
	if best.room == 0 {
		return f.evictAll(r, ci, cl, n, victim)
	}
	f.shift(victim, best.ci, elastic, best.node, -best.victims)
	f.shift(r, ci, cl, best.node, best.room)
	return best.room
}

// evictAll is for a victim with several elastic components, none of which makes room alone: it takes all of them on the first
// node where that suffices for one replica.
func (f fitter) evictAll(r *run, ci int, cl class, n int, victim *run) int {
	sh := &r.app.shapes[ci]
	freed := make(map[int]dovetail.Resources)
	var nodes []int
	for vi := range victim.comps {
		for _, k := range victim.comps[vi].cells {
			if k.class != elastic || k.want == 0 || !f.admits(r, ci, k.node) {
				continue
			}
			if _, ok := freed[k.node]; !ok {
				nodes = append(nodes, k.node)
			}
			freed[k.node] = freed[k.node].Plus(victim.app.shapes[vi].Each.Times(k.want))
		}
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		room := sh.Each.Count(f.c.space.Node(node).Free.Plus(freed[node]), n)
		if room == 0 {
			continue
		}
		for vi := range victim.comps {
			f.take(victim, vi, elastic, func(i int) bool { return i == node })
		}
		f.shift(r, ci, cl, node, room)
		return room
	}
	return 0
}

// admits reports whether a node takes new replicas of a component at all, room aside.
func (f fitter) admits(r *run, ci, node int) bool {
	return f.c.space.Node(node).Admits(&r.app.shapes[ci]) && !f.c.refuses(r, node)
}

// Grow gives r elastic replicas, as many as it can use and as fit. It reports whether r now has all it can use. A run that
// may not regrow yet gets none, but answers as if it did: its pause must not stop a reclaim for a core.
func (f fitter) Grow(r *run) bool {
	if r.suspended {
		return true
	}
	if !f.now.Before(r.regrow) {
		return f.grow(r)
	}
	satisfied := false
	f.Try(func() bool {
		satisfied = f.grow(r)
		return false
	})
	return satisfied
}

func (f fitter) grow(r *run) bool {
	all := true
	for ci := range r.comps {
		n := r.craves(ci)
		if n <= 0 {
			continue
		}
		if touchy := f.c.touchy(r); touchy || !f.isFull(r.app, ci) {
			spots := f.place(r, ci, n)
			f.note(r, ci, elastic, spots)
			if n -= count(spots); n > 0 && !touchy {
				f.setFull(r.app, ci)
			}
		}
		all = all && n == 0
	}
	return all
}

// Strip takes all elastic replicas of victim. The function it returns gives back those that still fit where they were;
// it is nil if there was nothing to take.
func (f fitter) Strip(victim *run) func() {
	if victim.elastic == 0 {
		return nil
	}
	mark := len(f.steps)
	for ci := range victim.comps {
		f.take(victim, ci, elastic, func(int) bool { return true })
	}
	taken := slices.Clone(f.steps[mark:])
	return func() {
		for _, s := range taken {
			each := victim.app.shapes[s.ci].Each
			if n := each.Count(f.c.space.Node(s.node).Free, -s.delta); n > 0 && !f.c.refuses(victim, s.node) {
				f.shift(victim, s.ci, elastic, s.node, n)
			}
		}
	}
}

// Try calls f and, unless f returns true, undoes what was placed and taken meanwhile.
func (f fitter) Try(try func() bool) bool {
	mark := len(f.steps)
	if try() {
		return true
	}
	f.back(mark)
	return false
}

func count(spots []place.Spot) int {
	n := 0
	for _, s := range spots {
		n += s.N
	}
	return n
}
