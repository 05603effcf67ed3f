package sched

import (
	"fmt"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// picky reports whether an application says anything of its neighbours.
func picky(a *dovetail.Application) bool {
	x := a.Colocation
	return x != nil && (x.Exclusive || len(x.Avoid)+len(x.Prefer) > 0)
}

// bar notes what one more run says of its neighbours that must be, or one fewer.
func (c *Core) bar(x *dovetail.Affinity, delta int) {
	if x.Exclusive {
		c.exclusive += delta
	}
	for _, name := range x.Avoid {
		if c.barred[name] += delta; c.barred[name] == 0 {
			delete(c.barred, name)
		}
	}
}

// strict reports whether anybody wants no neighbours, or not all.
func (c *Core) strict() bool { return c.exclusive > 0 || len(c.barred) > 0 }

// touchy reports whether it depends on the run, and not only on its application, where its replicas may go.
func (c *Core) touchy(r *run) bool {
	if !c.strict() {
		return false
	}
	if x := r.app.spec.Colocation; x != nil && (x.Exclusive || len(x.Avoid) > 0) {
		return true
	}
	return c.barred[r.app.spec.Name] > 0 || c.barred[r.spec.Class] > 0
}

// named reports whether a list of applications and job classes names the run.
func (r *run) named(names []string) bool {
	return len(names) > 0 && (slices.Contains(names, r.app.spec.Name) || slices.Contains(names, r.spec.Class))
}

func (r *run) alone() bool { return r.app.spec.Colocation != nil && r.app.spec.Colocation.Exclusive }

func (r *run) avoids(o *run) bool {
	return r.app.spec.Colocation != nil && o.named(r.app.spec.Colocation.Avoid)
}

func (r *run) prefers(o *run) bool {
	return r.app.spec.Colocation != nil && o.named(r.app.spec.Colocation.Prefer)
}

// clash reports whether two runs must not be on one node.
func clash(r, o *run) bool {
	return r != o && (r.alone() || o.alone() || r.avoids(o) || o.avoids(r))
}

// rival returns a run that is granted something on a node and must not be there with r, or nil.
func (c *Core) rival(r *run, node int) *run {
	for i := range c.nodes[node].tenants {
		if t := &c.nodes[node].tenants[i]; t.want > 0 && clash(r, t.r) {
			return t.r
		}
	}
	return nil
}

// refuses reports whether a run must not get replicas on a node because of who is there.
func (c *Core) refuses(r *run, node int) bool { return c.strict() && c.rival(r, node) != nil }

// refusal returns who says why a node is not for a run because of those that are there; nil if nobody does.
func (c *Core) refusal(r *run) func(node int) string {
	if !c.strict() {
		return nil
	}
	return func(node int) string {
		o := c.rival(r, node)
		switch {
		case o == nil:
			return ""
		case o.alone():
			return fmt.Sprintf("held by run %d, which wants no neighbours", o.id)
		case r.alone():
			return "not empty, and it wants no neighbours"
		case r.avoids(o):
			return "beside " + o.spec.Class + ", which it avoids"
		}
		return "beside " + o.spec.Class + ", which avoids it"
	}
}

// lingers reports whether replicas of a run that must not be with r are still on a node.
func (c *Core) lingers(r *run, node int) bool {
	for i := range c.nodes[node].tenants {
		if t := &c.nodes[node].tenants[i]; t.live > 0 && clash(r, t.r) {
			return true
		}
	}
	return false
}
