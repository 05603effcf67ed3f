package store

import (
	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/coloc"
)

// Away is what is known of job classes that were put away, by class.
type Away map[string]dovetail.KnownClass

// Add puts classes away. What is there of one already stays beside what was learned since, as coloc.Merge says.
func (a Away) Add(classes []dovetail.KnownClass) {
	for _, k := range classes {
		if before, ok := a[k.Class]; ok {
			k = coloc.Merge(before, k)
		}
		a[k.Class] = k
	}
}

// Note takes out what an event brings back or forgets. Of the other classes, what was known of them beside one that is forgotten goes, too.
func (a Away) Note(e dovetail.Event) {
	switch e := e.(type) {
	case dovetail.Recalled:
		for i := range e.Classes {
			delete(a, e.Classes[i].Class)
		}
	case dovetail.Forgotten:
		if e.Class == "" {
			clear(a)
			return
		}
		delete(a, e.Class)
		for class, k := range a {
			a[class], _ = coloc.Without(k, e.Class)
		}
	}
}
