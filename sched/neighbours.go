package sched

import (
	"math"
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// What the settings of neighbours mean when they say nothing, and how far they go.
const (
	defaultWindow = 5
	mostWindow    = 100
	passesPerRun  = 4 // of the window
	mostPasses    = 1_000_000
	leastPeriod   = 100 * time.Millisecond
	mostSlowdown  = 1000
	mostClasses   = 100_000
)

// checkColocation says what is wrong with the settings of neighbours.
func checkColocation(x *dovetail.Colocation) error {
	bad := func(format string, args ...any) error {
		return dovetail.Errorf(dovetail.Invalid, "colocation."+format, args...)
	}
	if x.Choose != "" {
		if _, err := coloc.Find(x.Choose); err != nil {
			return bad("choose: %v", err)
		}
	}
	switch {
	case x.Window < 0 || x.Window > mostWindow:
		return bad("window: is %d; expected 1 to %d runs, or 0 for %d", x.Window, mostWindow, defaultWindow)
	case x.Passes < 0 || x.Passes > mostPasses:
		return bad("passes: is %d; expected 1 to %d, or 0 for %d times the window", x.Passes, mostPasses, passesPerRun)
	case !(x.Step >= 0 && x.Step <= 1):
		return bad("step: is %g; expected a number in (0,1], or 0 for 0.01", x.Step)
	case x.Period < 0 || x.Period > 0 && time.Duration(x.Period) < leastPeriod:
		return bad("period: is %s; expected %s or more, or 0 for 60s", x.Period, leastPeriod)
	case x.Slowdown != 0 && !(x.Slowdown > 1 && x.Slowdown <= mostSlowdown) || math.IsNaN(x.Slowdown):
		return bad("slowdown: is %g; expected more than 1, such as 1.5 for runs that take half as long again, at most %d, or 0 to avoid nobody", x.Slowdown, mostSlowdown)
	case x.HalfLife < 0:
		return bad("halfLife: is %s; must not be negative; 0 means that nothing fades", x.HalfLife)
	case x.Classes < 0 || x.Classes > mostClasses:
		return bad("classes: is %d; expected 1 to %d, or 0 for 256", x.Classes, mostClasses)
	}
	return nil
}

// window returns among how many of the first runs of the line is chosen.
func (c *Core) window() int {
	if n := c.cfg.Colocation.Window; n > 0 {
		return n
	}
	return defaultWindow
}

// patience returns how often a run may be passed over.
func (c *Core) patience() int {
	if n := c.cfg.Colocation.Passes; n > 0 {
		return n
	}
	return passesPerRun * c.window()
}

// colocate switches to other settings of neighbours, which were checked.
func (c *Core) colocate(x dovetail.Colocation) {
	c.method = nil
	if x.Choose != "" {
		m, _ := coloc.Find(x.Choose)
		c.method = &m
	}
	c.taught++
	if c.book == nil {
		c.book = coloc.New(x)
	} else {
		c.book.Configure(x)
	}
	c.keep()
}

// used learns from how nodes were used in a period that ends now (seed 000, section 4). A node teaches something only if the same job
// classes were there during all of the period, up and not frozen, and if what was measured can be true. Nodes that are not known, or
// not in order of their names, are passed over: what is measured badly must not stop anybody. Only an event that no journal can hold, with
// something that is not a number, is refused.
func (c *Core) used(now time.Time, e *dovetail.Used) error {
	for i := range e.Nodes {
		u := &e.Nodes[i]
		for _, x := range [...]float64{u.CPU, u.Wait, u.Disk, u.Net} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return dovetail.Errorf(dovetail.Invalid, "use of node %s: %s", u.Node, coloc.Check(u))
			}
		}
	}
	if e.Period <= 0 {
		return nil
	}
	from, last := now.Add(-time.Duration(e.Period)), ""
	var residents []coloc.Resident
	var shared []coloc.Shared
	for i := range e.Nodes {
		u := &e.Nodes[i]
		number, ok := c.nodeByID[u.Node]
		if !ok || u.Node <= last && i > 0 || coloc.Check(u) != "" {
			continue
		}
		last = u.Node
		n := &c.nodes[number]
		if n.since.After(from) {
			continue
		}
		begin := len(residents)
		if residents = n.residents(residents); len(residents) > begin+1 {
			shared = append(shared, coloc.Shared{Use: u, Residents: residents[begin:]})
		}
	}
	if len(shared) > 0 {
		c.taught++
		c.book.Learn(now, shared)
	}
	return nil
}

// residents appends the classes on a node, in order of their first run; nothing if one of them is not at work.
func (n *node) residents(all []coloc.Resident) []coloc.Resident {
	begin := len(all)
	for i := range n.tenants {
		t := &n.tenants[i]
		k := t.r.kind
		if t.live == 0 || seenBefore(n.tenants[:i], k) {
			continue
		}
		res := coloc.Resident{ID: k.id}
		most := absent
		for j := i; j < len(n.tenants); j++ {
			if o := &n.tenants[j]; o.live > 0 && o.r.kind == k {
				res.Runs++
				most = max(most, o.part(o.r.frozen))
			}
		}
		if most != working {
			return all[:begin]
		}
		all = append(all, res)
	}
	return all
}

// seenBefore reports whether a class has replicas among some tenants.
func seenBefore(tenants []tenant, k *kind) bool {
	for i := range tenants {
		if tenants[i].live > 0 && tenants[i].r.kind == k {
			return true
		}
	}
	return false
}

// paired replaces what finished runs of a class say of its neighbours.
func (c *Core) paired(now time.Time, e *dovetail.Evidence) error {
	if err := c.book.Pair(now, e); err != nil {
		return dovetail.Errorf(dovetail.Invalid, "%v", err)
	}
	c.taught++
	return nil
}

// recalled replaces all that is known of some classes; of those that are back, only what says less. It may replace all that is known of any class.
func (c *Core) recalled(now time.Time, e dovetail.Recalled) error {
	recall := c.book.Recall
	switch {
	case e.All:
		recall = c.book.Replace
	case e.Back:
		recall = c.book.Return
	}
	if err := recall(now, e.Classes); err != nil {
		return dovetail.Errorf(dovetail.Invalid, "%v", err)
	}
	c.taught++
	return nil
}

// Neighbours returns all that is known of job classes as neighbours, by class.
func (c *Core) Neighbours() []dovetail.KnownClass { return c.book.Known() }

// Knows reports whether anything is known of a job class as a neighbour.
func (c *Core) Knows(class string) bool {
	_, ok := c.book.Class(class)
	return ok
}

// Book returns what is known of job classes as neighbours, to ask and not to change.
func (c *Core) Book() *coloc.Book { return c.book }

// PutAway returns the classes that had to make room since it was called last, with what was known of them, in the order in which they
// went. The core knows them no longer.
func (c *Core) PutAway() []dovetail.KnownClass { return c.book.PutAway() }

// Shared returns the nodes on which two or more job classes have replicas now, by name: only from them is anything to be learned.
func (c *Core) Shared() []string {
	var names []string
	for i := range c.nodes {
		var first *kind
		for j := range c.nodes[i].tenants {
			if t := &c.nodes[i].tenants[j]; t.live > 0 {
				if first == nil {
					first = t.r.kind
				} else if t.r.kind != first {
					names = append(names, c.nodes[i].Name)
					break
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
