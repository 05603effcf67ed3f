package sched

import (
	"cmp"
	"slices"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// stay is a run on a node.
type stay struct {
	run  dovetail.RunID
	node int
}

// neighbours checks draws, who may be beside whom, and what is kept of that.
func (a *audit) neighbours() {
	c := a.c
	for _, r := range c.gone {
		a.require(r.draw == nil || r.draw.Closed != "", 50, "run %d has ended and its draw is open", r.id)
	}
	for _, r := range c.serving {
		a.require(r.draw == nil || r.draw.Run == r.id && r.draw.Closed == "", 50, "run %d is in service and its draw is %+v", r.id, r.draw)
	}
	stays := a.stays()
	held := make(map[*kind]int)
	found := 0
	for i := range c.nodes {
		n := &c.nodes[i]
		a.require(slices.IsSortedFunc(n.tenants, func(x, y tenant) int { return cmp.Compare(x.r.id, y.r.id) }), 9, "node %s: its runs are not in order", n.Name)
		for j := range n.tenants {
			t := &n.tenants[j]
			found++
			a.require(*t == tenant{t.r, stays[stay{t.r.id, i}].want, stays[stay{t.r.id, i}].live, stays[stay{t.r.id, i}].up}, 9,
				"node %s: run %d has %+v, counted %+v", n.Name, t.r.id, stays[stay{t.r.id, i}], *t)
			if t.want > 0 {
				held[t.r.kind]++
			}
			for k := range j {
				o := &n.tenants[k]
				a.require(!clash(t.r, o.r) || t.want*o.want == 0, 52, "node %s is granted to runs %d and %d", n.Name, o.r.id, t.r.id)
				a.require(!clash(t.r, o.r) || t.live*o.live == 0, 52, "node %s is occupied by runs %d and %d", n.Name, o.r.id, t.r.id)
			}
		}
	}
	a.require(found == len(stays), 9, "runs are on %d nodes in all, counted %d", len(stays), found)
	a.kinds(held)
}

// stays counts what runs have on nodes.
func (a *audit) stays() map[stay]tenant {
	stays := make(map[stay]tenant)
	for _, r := range a.c.serving {
		for ci := range r.comps {
			for _, k := range r.comps[ci].cells {
				at := stay{r.id, k.node}
				t := stays[at]
				if a.c.keeps {
					t.want += k.want
				}
				t.live += k.live
				t.up += k.up
				if t.want+t.live > 0 {
					stays[at] = t
				}
			}
		}
	}
	return stays
}

// kinds checks what is kept of job classes.
func (a *audit) kinds(held map[*kind]int) {
	c := a.c
	count := make(map[*kind]kind)
	fussy, exclusive, barred := 0, 0, make(map[string]int)
	for id, r := range c.runs { //dovetail:anyorder sums of integers
		k := count[r.kind]
		k.runs++
		k.load += r.load
		k.done += r.workBy(c.now)
		if r.inService() {
			k.serving++
		}
		count[r.kind] = k
		a.require(r.kind.name == r.spec.Class, 9, "run %d of %s is filed under %s", id, r.spec.Class, r.kind.name)
		a.require(r.passing == 0, 9, "run %d is passed over by a draw that was not made", id)
		if x := r.app.spec.Colocation; picky(r.app.spec) {
			fussy++
			if x.Exclusive {
				exclusive++
			}
			for _, name := range x.Avoid {
				barred[name]++
			}
		}
	}
	a.require(len(count) == len(c.kinds), 9, "runs are of %d classes, counted %d", len(count), len(c.kinds))
	for i, k := range c.kinds {
		a.require(i == 0 || c.kinds[i-1].name < k.name, 9, "class %s is not in order", k.name)
		n := count[k]
		a.require(k.runs == n.runs && k.serving == n.serving && k.load == n.load && k.doneBy(c.now) == n.done, 9,
			"class %s: %d runs, %d of them in service, work %d, done %d, counted %+v", k.name, n.runs, n.serving, n.load, n.done, *k)
		a.require(!c.keeps || k.nodes == held[k], 9, "class %s holds %d nodes, counted %d", k.name, held[k], k.nodes)
		a.require(k.serving == 0 || k.id == coloc.Stranger || c.book.Name(k.id) == k.name, 9, "class %s is not %q in the book", k.name, c.book.Name(k.id))
	}
	a.require(fussy == c.picky && exclusive == c.exclusive && len(barred) == len(c.barred), 9,
		"%d runs say something of their neighbours, %d want none, %d names are avoided, counted %d, %d, %d",
		fussy, exclusive, len(barred), c.picky, c.exclusive, len(c.barred))
	for name, n := range barred { //dovetail:anyorder every name by itself
		a.require(c.barred[name] == n, 9, "%d runs avoid %s, counted %d", n, name, c.barred[name])
	}
}
