package coloc

import (
	"maps"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// Away is what is known of job classes that had to make room in a Book, by class. Stores keep it.
type Away map[string]dovetail.KnownClass

// Add puts classes away. What is there of one already stays beside what was learned since, as Merge says.
func (a Away) Add(classes []dovetail.KnownClass) {
	for _, k := range classes {
		if before, ok := a[k.Class]; ok {
			k = Merge(before, k)
		}
		a[k.Class] = k
	}
}

// Note takes out what an event brings back or forgets. Of the other classes, what was known of them beside one that is forgotten goes, too.
func (a Away) Note(e dovetail.Event) {
	switch e := e.(type) {
	case dovetail.Recalled:
		if e.All {
			clear(a)
		}
		for i := range e.Classes {
			delete(a, e.Classes[i].Class)
		}
	case dovetail.Forgotten:
		if e.Class == "" {
			clear(a)
			return
		}
		delete(a, e.Class)
		for class, k := range a { //dovetail:anyorder each by itself
			a[class], _ = Without(k, e.Class)
		}
	}
}

// Classes returns what there is, by class.
func (a Away) Classes() []dovetail.KnownClass {
	var all []dovetail.KnownClass
	for _, class := range slices.Sorted(maps.Keys(a)) {
		all = append(all, a[class])
	}
	return all
}
