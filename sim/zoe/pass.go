package zoe

import (
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// grant is what a pass gives to one application.
type grant struct {
	app     *app
	core    bool // its whole core
	elastic int
	before  int // elastic components at the step before, in case the pass takes a step back
}

// pass appends what the applications of the view get to a list, in order.
type pass func(m *machine, list []grant) []grant

// Allocs returns the names of all allocators: Zoe's "no prefix", "e" and "h".
func Allocs() []string { return []string{"rigid", "malleable", "flexible"} }

func findPass(name string) (pass, error) {
	switch name {
	case "rigid":
		return rigid, nil
	case "malleable":
		return malleable, nil
	case "flexible":
		return flexible, nil
	}
	return nil, dovetail.Errorf(dovetail.Invalid, "zoe: unknown allocator %q; expected one of %s", name, strings.Join(Allocs(), ", "))
}

// first returns the first application of the view.
func (m *machine) first() *app {
	for _, a := range m.line.apps() {
		if a.number < m.view.arrived {
			return a
		}
	}
	return nil
}

// rigid looks at the first application only: all of it starts, or nothing.
func rigid(m *machine, list []grant) []grant {
	if a := m.first(); a.state == waiting && m.view.free.count(a.each, a.full) == a.full {
		list = append(list, grant{app: a, core: true, elastic: a.missing})
	}
	return list
}

// malleable looks at the first application only: its core starts if all of it fits, then as many elastic components as fit. A
// running one that misses some and gets none blocks all behind it.
func malleable(m *machine, list []grant) []grant {
	a, free := m.first(), m.view.free
	if a.state == ended {
		return list
	}
	core := a.state == waiting
	if core {
		if free.count(a.each, a.core) < a.core {
			return list
		}
		free = free.plus(-a.core, a.each)
	}
	return append(list, grant{app: a, core: core, elastic: free.count(a.each, a.missing)})
}

// flexible walks the view. At each step the elastic components that it has granted so far are taken back, the core of the next
// application is placed, and the elastic components are dealt out again in order. The walk ends at the first step after which
// free cpu × free memory is not less than before; that step is undone. It skips nobody.
func flexible(m *machine, list []grant) []grant {
	bare := m.view.free // without the cores of the list
	left := bare.area()
	for _, a := range m.line.apps() {
		if a.number >= m.view.arrived {
			continue
		}
		core := a.state == waiting
		if a.state == ended || core && bare.count(a.each, a.core) < a.core {
			return list
		}
		free := bare
		if core {
			free = free.plus(-a.core, a.each)
		}
		bare = free
		list = append(list, grant{app: a, core: core})
		for i := range list {
			g := &list[i]
			g.before, g.elastic = g.elastic, free.count(g.app.each, g.app.missing)
			free = free.plus(-g.elastic, g.app.each)
		}
		if !free.area().below(left) {
			list = list[:len(list)-1]
			for i := range list {
				list[i].elastic = list[i].before
			}
			return list
		}
		left = free.area()
	}
	return list
}
