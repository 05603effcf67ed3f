package describe

import (
	"fmt"
	"slices"
	"strings"
)

// order checks `after`: known components, each once, and no circle.
func (v *validator) order() {
	if v.isLost("components.name") {
		return
	}
	number := make(map[string]int, len(v.app.Components))
	var names []string
	for i := range v.app.Components {
		name := v.app.Components[i].Name
		if _, twice := number[name]; !twice && name != "" {
			number[name] = i
			names = append(names, name)
		}
	}
	after := make([][]int, len(v.app.Components))
	for i := range v.app.Components {
		c := &v.app.Components[i]
		for j, name := range c.After {
			field := fmt.Sprintf("%s.after[%d]", componentField(i), j)
			n, ok := number[name]
			switch {
			case !ok:
				if v.full() {
					v.more++
					continue
				}
				v.wrong(field, "unknown component %q%s", clip(name), didYouMean(clip(name), names))
				v.misspelt = append(v.misspelt, misspelt{i, j})
			case n == i:
				v.wrong(field, "%s cannot come after itself", name)
			case slices.Contains(after[i], n):
				v.wrong(field, "%s is listed twice", name)
			default:
				after[i] = append(after[i], n)
			}
		}
	}
	if cycle := findCycle(after); cycle != nil {
		names := make([]string, 0, len(cycle)+1)
		for _, n := range append(cycle, cycle[0]) {
			names = append(names, v.app.Components[n].Name)
		}
		v.wrong(componentField(cycle[0])+".after", "the start order is a circle, so that none of these could start: %s",
			strings.Join(names, " after "))
	}
}

// findCycle returns the nodes of a cycle in a graph, given as lists of successors, or nil. The cycle is the first that a
// depth-first search meets.
func findCycle(next [][]int) []int {
	const (
		fresh = iota
		open
		done
	)
	state := make([]int, len(next))
	var path []int
	var visit func(n int) []int
	visit = func(n int) []int {
		state[n] = open
		path = append(path, n)
		for _, m := range next[n] {
			if state[m] == open {
				return path[slices.Index(path, m):]
			}
			if state[m] == fresh {
				if cycle := visit(m); cycle != nil {
					return cycle
				}
			}
		}
		state[n] = done
		path = path[:len(path)-1]
		return nil
	}
	for n := range next {
		if state[n] == fresh {
			if cycle := visit(n); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}
