package coloc

import (
	"slices"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Merge returns what is known of a class of which something was known before, and something again since: it had been put away, and was learned
// about anew before that came back. Of the row of preferences, and of the evidence, one of both is taken as a whole, so that nothing counts twice: the
// row with more updates, and the evidence of more runs; of equals the later. Evidence, and rows, that were learned before the class was forgotten do not count.
func Merge(before, since dovetail.KnownClass) dovetail.KnownClass {
	if before.Forgotten.After(since.Forgotten) {
		before, since = since, before
	}
	k := since
	if before.Seen.After(k.Seen) {
		k.Seen = before.Seen
	}
	if !since.Forgotten.IsZero() && !before.Seen.After(since.Forgotten) {
		return k
	}
	if before.Updates > since.Updates {
		k.Goodness, k.Updates, k.Preferences = before.Goodness, before.Updates, before.Preferences
	}
	if richer(before.Evidence, since.Evidence) {
		k.Evidence = before.Evidence
	}
	return k
}

// Return recalls classes that had been put away. What was learned of them since stays if it says more, see Merge.
func (b *Book) Return(now time.Time, classes []dovetail.KnownClass) error {
	merged := slices.Clone(classes)
	for i := range merged {
		if since, ok := b.Class(merged[i].Class); ok {
			merged[i] = Merge(merged[i], since)
		}
	}
	return b.Recall(now, merged)
}

// richer reports whether evidence says more than other one: it rests on more runs.
func richer(e, other *dovetail.Evidence) bool {
	switch {
	case e == nil || other == nil:
		return e != nil
	case e.Runs != other.Runs:
		return e.Runs > other.Runs
	}
	return e.Until.After(other.Until)
}

// Without returns what is known of a class without what concerns another one, and whether there was anything.
func Without(k dovetail.KnownClass, other string) (rest dovetail.KnownClass, changed bool) {
	isOther := func(p dovetail.Preference) bool { return p.Class == other }
	if slices.ContainsFunc(k.Preferences, isOther) {
		k.Preferences = slices.DeleteFunc(slices.Clone(k.Preferences), isOther)
		changed = true
	}
	beside := func(r dovetail.Rate) bool { return r.Beside == other }
	if k.Evidence != nil && other != "" && slices.ContainsFunc(k.Evidence.Rates, beside) {
		e := *k.Evidence
		e.Rates = slices.DeleteFunc(slices.Clone(e.Rates), beside)
		k.Evidence = &e
		changed = true
	}
	return k, changed
}
