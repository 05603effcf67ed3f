package coloc

import (
	"math"
	"slices"
	"strings"
	"time"
)

const (
	bound  = 30   // of preferences, either way: π never becomes 0, and nothing overflows
	traces = 1e-3 // a pair with fewer updates left, when they fade, is forgotten
)

// row is what a running class has learned of newcomers: H(· | class), Ḡ and what they were learned from. Preferences count from that of the
// classes that the row has not met (its rest), which is 0; so these need no memory, and the row is the same whatever constant is added to it. It is
// as of the time that something was learned last, and fades from there.
type row struct {
	seen      time.Time
	forgotten time.Time
	goodness  float64 // Ḡ
	updates   float64 // that Ḡ is of
	prefs     []pref  // by name
	ids       []ID    // of prefs
	places    []int32 // of prefs, by ID: where plus one; 0: not there
	sum       float64 // of e over the prefs that are in the book
	met       int     // … and how many these are
}

// pref is what a row has learned of one newcomer.
type pref struct {
	class    string
	id       ID      // Stranger if it is not in the book: then it has no part in π
	h        float64 // H(class | of the row)
	e        float64 // exp(h)
	updates  float64
	goodness float64 // mean of G
}

// find returns where a newcomer is, or belongs.
func (r *row) find(class string) (int, bool) {
	return slices.BinarySearchFunc(r.prefs, class, func(p pref, class string) int { return strings.Compare(p.class, class) })
}

// index returns where the newcomer with this ID is, or −1.
func (r *row) index(id ID) int {
	if id < 0 || int(id) >= len(r.places) {
		return -1
	}
	return int(r.places[id]) - 1
}

// refresh computes afresh what follows from the preferences, in the order of names, so that equal preferences give equal sums.
func (r *row) refresh() {
	r.sum, r.met = 0, 0
	r.ids = r.ids[:0]
	clear(r.places)
	for i := range r.prefs {
		p := &r.prefs[i]
		p.e = math.Exp(p.h)
		r.ids = append(r.ids, p.id)
		if p.id != Stranger {
			r.sum += p.e
			r.met++
			for int(p.id) >= len(r.places) {
				r.places = append(r.places, 0)
			}
			r.places[p.id] = int32(i) + 1
		}
	}
}

// partition returns Σ exp(H) over the classes of a book with so many of them.
func (r *row) partition(classes int) float64 { return r.sum + float64(classes-r.met) }

// fadeBy lets what was learned fade to this part: preferences shrink towards the rest, and updates count less.
func (r *row) fadeBy(left float64) {
	r.updates *= left
	kept := r.prefs[:0]
	for _, p := range r.prefs {
		p.h *= left
		p.updates *= left
		if p.updates >= traces {
			kept = append(kept, p)
		}
	}
	clear(r.prefs[len(kept):])
	r.prefs = kept
	r.refresh()
}

// add makes room for a newcomer that the row has not met.
func (r *row) add(class string, id ID) {
	i, ok := r.find(class)
	if ok {
		return
	}
	r.prefs = slices.Insert(r.prefs, i, pref{class: class, id: id, e: 1})
	r.refresh()
}

// trim drops the newcomers that are not in the book and were learned of least, first by name, until the row has at most so many.
func (r *row) trim(most int) {
	for len(r.prefs) > most {
		least := -1
		for i := range r.prefs {
			if p := &r.prefs[i]; p.id == Stranger && (least < 0 || p.updates < r.prefs[least].updates) {
				least = i
			}
		}
		if least < 0 {
			return
		}
		r.prefs = slices.Delete(r.prefs, least, least+1)
		r.refresh()
	}
}
