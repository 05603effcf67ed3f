package zoe

import (
	"cmp"
	"slices"
)

// line is the one queue, in order of key and arrival: applications that wait, and running ones that miss elastic components. An
// application that leaves is mostly near the front, so that side is moved when it is the shorter one.
type line struct {
	all   []*app
	first int // before it nothing is left
}

func (l *line) apps() []*app { return l.all[l.first:] }

func (l *line) find(a *app) (int, bool) {
	return slices.BinarySearchFunc(l.apps(), a, func(x, y *app) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.number, y.number))
	})
}

func (l *line) insert(a *app) {
	i, _ := l.find(a)
	if q := l.apps(); l.first > 0 && i < len(q)/2 {
		l.first--
		copy(l.all[l.first:], q[:i])
		l.all[l.first+i] = a
		return
	}
	l.all = slices.Insert(l.all, l.first+i, a)
}

// remove takes an application out, if it is in the line.
func (l *line) remove(a *app) {
	i, ok := l.find(a)
	if !ok {
		return
	}
	if q := l.apps(); i < len(q)/2 {
		copy(q[1:], q[:i])
		l.first++
		return
	}
	l.all = slices.Delete(l.all, l.first+i, l.first+i+1)
}
