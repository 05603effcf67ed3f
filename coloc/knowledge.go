package coloc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

const (
	rowFactor    = 2       // a row remembers so many times as many newcomers as classes are kept, those that are not in the book included
	mostClasses  = 10_000  // that are recalled at once
	mostPairs    = 10_000  // that are known of one class
	longestName  = 1024    // bytes
	mostUpdates  = 1e15    //
	mostSeconds  = 1e12    //
	fastest      = 1000.0  // rate
	bestGoodness = 54.5982 // e⁴, rounded up
)

// Known returns all that is known, by class. Recall of it into an empty book with the same settings, and the same classes held, gives a book that
// answers alike to the last bit.
func (b *Book) Known() []dovetail.KnownClass {
	var all []dovetail.KnownClass
	for _, id := range b.order {
		if b.classes[id].known() {
			all = append(all, b.export(id))
		}
	}
	return all
}

// Class returns what is known of one class, and false if that is nothing.
func (b *Book) Class(class string) (dovetail.KnownClass, bool) {
	id := b.Find(class)
	if id == Stranger || !b.classes[id].known() {
		return dovetail.KnownClass{}, false
	}
	return b.export(id), true
}

// export returns what is known of a class as data.
func (b *Book) export(id ID) dovetail.KnownClass {
	c := &b.classes[id]
	k := dovetail.KnownClass{
		Class: c.name, Seen: c.row.seen, Forgotten: c.row.forgotten, Goodness: c.row.goodness, Updates: c.row.updates,
		Evidence: copied(c.evidence),
	}
	for i := range c.row.prefs {
		p := &c.row.prefs[i]
		k.Preferences = append(k.Preferences, dovetail.Preference{Class: p.class, H: p.h, Updates: p.updates, Goodness: p.goodness})
	}
	return k
}

// copied returns evidence of its own.
func copied(e *dovetail.Evidence) *dovetail.Evidence {
	if e == nil {
		return nil
	}
	own := *e
	own.Rates = slices.Clone(e.Rates)
	return &own
}

// Pair replaces the evidence of a class. An error names what is wrong with it; then nothing has changed. If the book is full of classes that are held,
// and this is none of them, nothing changes either: it is a Stranger.
func (b *Book) Pair(now time.Time, e *dovetail.Evidence) error {
	if e.Class == "" {
		return fmt.Errorf("evidence without a class")
	}
	if err := checkEvidence(e.Class, e); err != nil {
		return err
	}
	id := b.enter(e.Class)
	if id == Stranger {
		return nil
	}
	b.version++
	c := &b.classes[id]
	b.touch(now, &c.row)
	b.setEvidence(c, e)
	return nil
}

// setEvidence gives a class evidence, or none.
func (b *Book) setEvidence(c *class, e *dovetail.Evidence) {
	c.evidence, c.beside = copied(e), nil
	if e == nil {
		return
	}
	for i := range e.Rates {
		c.beside = append(c.beside, b.Find(e.Rates[i].Beside))
	}
}

// Recall replaces all that is known of these classes. An error names what is wrong; then nothing has changed. Times later than now count as now. If they are
// more than the book has room for, of them and of the idle ones in the book those seen last stay, and the others are put away.
func (b *Book) Recall(now time.Time, classes []dovetail.KnownClass) error {
	if err := checkClasses(classes); err != nil {
		return err
	}
	b.version++
	recalled := make([]dovetail.KnownClass, len(classes))
	for i := range classes {
		k := own(&classes[i])
		k.Seen, k.Forgotten = notAfter(k.Seen, now), notAfter(k.Forgotten, now)
		recalled[i] = k
	}
	for _, k := range b.admit(recalled) {
		b.set(k)
	}
	return nil
}

// Replace replaces all that is known by these classes: it does as Forget of everything and then Recall. An error names what is wrong; then
// nothing has changed.
func (b *Book) Replace(now time.Time, classes []dovetail.KnownClass) error {
	if err := checkClasses(classes); err != nil {
		return err
	}
	b.Forget(now, "")
	return b.Recall(now, classes)
}

// notAfter returns the earlier one of a time and now; now being zero, the time.
func notAfter(t, now time.Time) time.Time {
	if !now.IsZero() && t.After(now) {
		return now
	}
	return t
}

// admit puts away what the book has no room for when these classes are recalled, and returns those of them that stay, by name.
func (b *Book) admit(recalled []dovetail.KnownClass) (stay []*dovetail.KnownClass) {
	room := b.limit()
	var idle []dovetail.KnownClass
	for _, id := range b.order {
		c := &b.classes[id]
		at, again := slices.BinarySearchFunc(recalled, c.name, func(k dovetail.KnownClass, name string) int { return strings.Compare(k.Class, name) })
		switch {
		case c.held > 0:
			room--
			if again {
				stay = append(stay, &recalled[at])
			}
		case !again:
			idle = append(idle, b.export(id))
		}
	}
	for i := range recalled {
		if id := b.Find(recalled[i].Class); id == Stranger || b.classes[id].held == 0 {
			idle = append(idle, recalled[i])
			stay = append(stay, &recalled[i])
		}
	}
	slices.SortFunc(idle, func(x, y dovetail.KnownClass) int {
		return cmp.Or(x.Seen.Compare(y.Seen), strings.Compare(x.Class, y.Class))
	})
	surplus := max(0, len(idle)-max(0, room))
	for _, k := range idle[:surplus] {
		b.putAway(k)
	}
	gone := func(k *dovetail.KnownClass) bool {
		return slices.ContainsFunc(idle[:surplus], func(o dovetail.KnownClass) bool { return o.Class == k.Class })
	}
	stay = slices.DeleteFunc(stay, gone)
	return stay
}

// set replaces what is known of a class, for which there is room.
func (b *Book) set(k *dovetail.KnownClass) {
	id := b.enter(k.Class)
	c := &b.classes[id]
	c.row = row{seen: k.Seen, forgotten: k.Forgotten, goodness: k.Goodness, updates: k.Updates}
	for _, p := range k.Preferences {
		c.row.prefs = append(c.row.prefs, pref{class: p.Class, id: b.Find(p.Class), h: p.H, updates: p.Updates, goodness: p.Goodness})
	}
	c.row.refresh()
	c.row.trim(rowFactor * b.limit())
	b.setEvidence(c, k.Evidence)
	if c.held == 0 && !c.known() {
		b.leave(id)
	}
}

// own returns a copy of what is known of a class.
func own(k *dovetail.KnownClass) dovetail.KnownClass {
	c := *k
	c.Preferences = slices.Clone(k.Preferences)
	c.Evidence = copied(k.Evidence)
	return c
}

// Forget drops what is known of a class and of others beside it; "" means all. It is known from then on when that was, so that nothing is
// learned again of runs that ended before.
func (b *Book) Forget(now time.Time, class string) {
	b.version++
	if class == "" {
		for _, id := range b.order {
			c := &b.classes[id]
			c.row, c.evidence, c.beside = row{seen: now, forgotten: now}, nil, nil
		}
		return
	}
	for _, id := range b.order {
		c := &b.classes[id]
		if i, ok := c.row.find(class); ok {
			c.row.prefs = slices.Delete(c.row.prefs, i, i+1)
			c.row.refresh()
		}
		if c.evidence == nil {
			continue
		}
		if i, ok := findRate(c.evidence.Rates, class); ok {
			c.evidence.Rates = slices.Delete(c.evidence.Rates, i, i+1)
			c.beside = slices.Delete(c.beside, i, i+1)
		}
	}
	if id := b.enter(class); id != Stranger {
		c := &b.classes[id]
		c.row, c.evidence, c.beside = row{seen: now, forgotten: now}, nil, nil
	}
}

// checkClasses returns what is wrong with knowledge.
func checkClasses(classes []dovetail.KnownClass) error {
	if len(classes) > mostClasses {
		return fmt.Errorf("%d classes; at most %d can be recalled at once", len(classes), mostClasses)
	}
	for i := range classes {
		k := &classes[i]
		if i > 0 && classes[i-1].Class >= k.Class {
			return fmt.Errorf("class %q after %q: classes must be sorted by name, each once", k.Class, classes[i-1].Class)
		}
		if err := checkClass(k); err != nil {
			return err
		}
	}
	return nil
}

// checkClass returns what is wrong with what is known of a class.
func checkClass(k *dovetail.KnownClass) error {
	if k.Class == "" || len(k.Class) > longestName {
		return fmt.Errorf("class %.40q: the name has %d bytes; expected 1 to %d", k.Class, len(k.Class), longestName)
	}
	if err := checkMean(k.Class, "", k.Goodness, k.Updates); err != nil {
		return err
	}
	if len(k.Preferences) > mostPairs {
		return fmt.Errorf("class %q: preferences: %d; at most %d", k.Class, len(k.Preferences), mostPairs)
	}
	for i := range k.Preferences {
		p := &k.Preferences[i]
		where := fmt.Sprintf("preferences[%d].", i)
		switch {
		case p.Class == "" || len(p.Class) > longestName:
			return fmt.Errorf("class %q: %sclass: the name has %d bytes; expected 1 to %d", k.Class, where, len(p.Class), longestName)
		case i > 0 && k.Preferences[i-1].Class >= p.Class:
			return fmt.Errorf("class %q: %sclass: %q after %q: they must be sorted, each once", k.Class, where, p.Class, k.Preferences[i-1].Class)
		case !(math.Abs(p.H) <= bound):
			return fmt.Errorf("class %q: %sh: %g; expected a number from %d to %d", k.Class, where, p.H, -bound, bound)
		}
		if err := checkMean(k.Class, where, p.Goodness, p.Updates); err != nil {
			return err
		}
	}
	if k.Evidence == nil {
		return nil
	}
	return checkEvidence(k.Class, k.Evidence)
}

// checkMean returns what is wrong with a mean of G and what it is the mean of.
func checkMean(class, where string, goodness, updates float64) error {
	switch {
	case !(updates >= 0 && updates <= mostUpdates):
		return fmt.Errorf("class %q: %supdates: %g; expected a number from 0 to %g", class, where, updates, mostUpdates)
	case !(goodness >= 0 && goodness <= bestGoodness):
		return fmt.Errorf("class %q: %sgoodness: %g; expected a number from 0 to %g", class, where, goodness, bestGoodness)
	}
	return nil
}

// checkEvidence returns what is wrong with the evidence of a class.
func checkEvidence(class string, e *dovetail.Evidence) error {
	switch {
	case e.Class != class:
		return fmt.Errorf("class %q: evidence.class: %q; expected the same", class, e.Class)
	case len(e.Class) > longestName:
		return fmt.Errorf("class %.40q: the name has %d bytes; expected 1 to %d", class, len(class), longestName)
	case e.Runs < 0:
		return fmt.Errorf("class %q: evidence.runs: %d; expected 0 or more", class, e.Runs)
	case len(e.Rates) > mostPairs:
		return fmt.Errorf("class %q: evidence.rates: %d; at most %d", class, len(e.Rates), mostPairs)
	}
	for i := range e.Rates {
		r := &e.Rates[i]
		where := fmt.Sprintf("class %q: evidence.rates[%d]", class, i)
		switch {
		case len(r.Beside) > longestName:
			return fmt.Errorf("%s.beside: the name has %d bytes; at most %d", where, len(r.Beside), longestName)
		case i > 0 && e.Rates[i-1].Beside >= r.Beside:
			return fmt.Errorf("%s.beside: %q after %q: they must be sorted, each once", where, r.Beside, e.Rates[i-1].Beside)
		case !(r.Rate > 0 && r.Rate <= fastest):
			return fmt.Errorf("%s.rate: %g; expected a number above 0, at most %g", where, r.Rate, fastest)
		case !(r.Low > 0 && r.Low <= r.Rate):
			return fmt.Errorf("%s.low: %g; expected a number above 0, at most the rate, %g", where, r.Low, r.Rate)
		case !(r.High >= r.Rate && r.High <= fastest):
			return fmt.Errorf("%s.high: %g; expected at least the rate, %g, at most %g", where, r.High, r.Rate, fastest)
		case r.Runs < 0:
			return fmt.Errorf("%s.runs: %d; expected 0 or more", where, r.Runs)
		case !(r.Seconds >= 0 && r.Seconds <= mostSeconds):
			return fmt.Errorf("%s.seconds: %g; expected a number from 0 to %g", where, r.Seconds, mostSeconds)
		}
	}
	return nil
}

// findRate returns where the rate beside a class is.
func findRate(rates []dovetail.Rate, beside string) (int, bool) {
	return slices.BinarySearchFunc(rates, beside, func(r dovetail.Rate, beside string) int { return strings.Compare(r.Beside, beside) })
}
