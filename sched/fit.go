package sched

import (
	"fmt"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/place"
)

// asks returns how many replicas of component ci must fit at once for a run to start: its core, or all with the rigid
// allocator.
func (c *Core) asks(a *app, ci int) int {
	if c.cfg.Alloc == "rigid" {
		return a.spec.Components[ci].Limit()
	}
	return a.spec.Components[ci].Count
}

// first returns how many replicas of component ci a run is to get at its start: what its application asks for, or, with the rigid allocator, those up
// to its ceiling if that was chosen.
func (c *Core) first(r *run, ci int) int {
	if c.cfg.Alloc == "rigid" && r.choice != nil {
		return r.app.spec.Components[ci].Count + r.mayUse(ci)
	}
	return c.asks(r.app, ci)
}

// fits reports whether what an application asks for would fit the nodes that are open now, if they were empty. A run that
// does not waits for capacity, and stops no others.
func (c *Core) fits(a *app) bool {
	if a.fitsAt != c.version {
		a.fitsAt, a.fits = c.version, c.missing(a, false) < 0
		a.ever = a.fits || c.missing(a, true) < 0
	}
	return a.fits
}

// vacant returns the nodes with nothing on them: all, or those that are open now.
func (c *Core) vacant(all bool) *place.Space {
	if c.emptyAt != c.version {
		c.emptyAt, c.empty = c.version, [2]*place.Space{}
	}
	i := 0
	if all {
		i = 1
	}
	if c.empty[i] == nil {
		c.empty[i] = c.space.Empty(all)
	}
	return c.empty[i]
}

// missing returns the component of which not enough replicas fit the empty nodes, all or those that are open, or −1.
func (c *Core) missing(a *app, all bool) int {
	empty, failed := c.vacant(all), -1
	if len(a.shapes) == 1 {
		if !empty.Holds(&a.shapes[0], c.asks(a, 0), nil) {
			failed = 0
		}
		return failed
	}
	type stay struct {
		ci   int
		spot place.Spot
	}
	var placed []stay
	put := func(ci, n int) {
		if failed >= 0 {
			return
		}
		spots := empty.Place(&a.shapes[ci], n)
		if count(spots) < n {
			failed = ci
		}
		for _, s := range spots {
			placed = append(placed, stay{ci, s})
		}
	}
	for ci := range a.shapes { // as the allocators do: every core first, and only then what the rigid one wants beside it
		put(ci, a.spec.Components[ci].Count)
	}
	for ci := range a.shapes {
		put(ci, c.asks(a, ci)-a.spec.Components[ci].Count)
	}
	for _, p := range placed {
		empty.Take(p.spot.Node, a.shapes[p.ci].Each, -p.spot.N)
	}
	return failed
}

// Fit checks whether the core of an application would fit the empty cluster with all of its nodes, also those that are down or
// cordoned; with the rigid allocator, all of it. If not, the error is dovetail.Invalid and names the largest shortfall. While no
// node is known, everything fits.
func (c *Core) Fit(spec *dovetail.Application) error {
	a := c.appOf(spec)
	if c.fits(a); len(c.nodes) == 0 || a.ever {
		return nil
	}
	most := c.shortfall(a)
	comp := &spec.Components[most.component]
	return dovetail.Errorf(dovetail.Invalid,
		"component %s needs %d × (%s); %s; lower its count or resources, or add nodes",
		comp.Name, c.asks(a, most.component), comp.Resources, most.text)
}

// appOf returns what is derived from an application. What was derived for a check is kept until the next: the submission follows.
func (c *Core) appOf(spec *dovetail.Application) *app {
	if a := c.apps[spec]; a != nil {
		return a
	}
	if c.checked == nil || c.checked.spec != spec {
		c.checked = c.newApp(spec)
	}
	return c.checked
}

// shortfall is what the empty cluster lacks for a core.
type shortfall struct {
	component int
	share     float64 // of what is asked for
	text      string
}

// shortfall returns what the empty cluster lacks most for an application whose core does not fit it.
func (c *Core) shortfall(a *app) shortfall {
	most := shortfall{component: c.missing(a, true), text: "there is enough in all, but not in large enough pieces on single nodes"}
	var need dovetail.Resources
	for ci := range a.shapes {
		n := c.asks(a, ci)
		need = need.Plus(a.shapes[ci].Each.Times(n))
		if n == 0 {
			continue
		}
		matching, largest, total := c.capacity(&a.shapes[ci])
		if matching == 0 {
			return shortfall{component: ci, text: "no node has the labels that it asks for"}
		}
		each := a.shapes[ci].Each
		most.raise(ci, each, largest, "one replica asks for %s %s and the largest node that it may use has %s: short of %s")
		most.raise(ci, each.Times(n), total, "all of them ask for %s %s and the nodes that they may use have %s in all: short of %s")
	}
	_, _, total := c.capacity(&place.Shape{})
	whole := "the whole core"
	if c.cfg.Alloc == "rigid" {
		whole = "the whole run"
	}
	most.raise(most.component, need, total, whole+" asks for %s %s and the nodes have %s in all: short of %s")
	return most
}

// raise replaces the shortfall by that of need against what there is, if that is a larger one.
func (s *shortfall) raise(component int, need, have dovetail.Resources, text string) {
	k, lack := worst(need, have)
	if share := float64(lack) / float64(max(need[k], 1)); share > s.share {
		*s = shortfall{component, share, fmt.Sprintf(text, dovetail.FormatQuantity(k, need[k]), k,
			dovetail.FormatQuantity(k, have[k]), dovetail.FormatQuantity(k, lack))}
	}
}

// capacity returns how many nodes have the labels that a shape asks for, the most that one of them has of each kind, and what
// all of them have together.
func (c *Core) capacity(sh *place.Shape) (matching int, largest, total dovetail.Resources) {
	for i := range c.space.Len() {
		if n := c.space.Node(i); n.Matches(sh) {
			matching++
			largest, total = largest.Max(n.Capacity), total.Plus(n.Capacity)
		}
	}
	return matching, largest, total
}

// worst returns the kind of which need exceeds have by the largest share, and by how much.
func worst(need, have dovetail.Resources) (dovetail.ResourceKind, int64) {
	var kind dovetail.ResourceKind
	var lack int64
	share := 0.0
	for k := range dovetail.NumResources {
		if d := need[k] - have[k]; d > 0 && float64(d)/float64(need[k]) > share {
			kind, lack, share = k, d, float64(d)/float64(need[k])
		}
	}
	return kind, lack
}
