package coloc

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// ID names a job class of which a Book knows something, or that takes part. It is valid as long as the class is held. No answer depends on
// its number, so that a book that was restored answers as before.
type ID int

// Stranger is the class that nothing is known of, and of which nothing is learned.
const Stranger ID = -1

const (
	defaultStep    = 0.01
	defaultClasses = 256
)

// Book is all that is known of job classes as neighbours. It keeps at most Colocation.Classes of them; those longest idle are put away
// first, and none that is held. A class is in the book while it is held or something is known of it. It is not safe for concurrent use.
type Book struct {
	cfg     dovetail.Colocation
	classes []class // by ID
	free    []ID
	ids     map[string]ID
	order   []ID // of the classes in the book, by name
	away    []dovetail.KnownClass
	version int // of all that answers depend on

	// Kept between calls so that they need not be allocated, and empty between them.
	seen, sorted []observation
	ends, at     []int32
	delta        []float64
}

// class is what the book knows of one job class.
type class struct {
	name     string
	rank     int // in order
	held     int
	row      row
	evidence *dovetail.Evidence
	beside   []ID      // for each of evidence.Rates: Stranger if that is alone, or not in the book
	paces    []float64 // … how fast runs progress beside each, by ID, as of the version paced; see Book.paces
	alone    float64   // … and on a node of their own
	paced    int
}

// New returns an empty book.
func New(cfg dovetail.Colocation) *Book { return &Book{cfg: cfg, ids: map[string]ID{}} }

// Configure changes γ, fading and the number of classes kept.
func (b *Book) Configure(cfg dovetail.Colocation) {
	b.cfg = cfg
	b.version++
	b.makeRoom(0)
}

// step returns γ.
func (b *Book) step() float64 {
	if b.cfg.Step > 0 {
		return b.cfg.Step
	}
	return defaultStep
}

// limit returns how many classes are kept.
func (b *Book) limit() int {
	if b.cfg.Classes > 0 {
		return b.cfg.Classes
	}
	return defaultClasses
}

// Hold returns the ID of a class and keeps it from being put away until Release was called as often. It is Stranger if the book is full of
// classes that are held. Who restores a book holds the same classes again; what was Stranger stays it, whether or not there is room by now.
func (b *Book) Hold(class string) ID {
	id := b.enter(class)
	if id != Stranger {
		b.classes[id].held++
	}
	return id
}

// Release lets go of what Hold returned.
func (b *Book) Release(id ID) {
	if id < 0 || int(id) >= len(b.classes) || b.classes[id].held == 0 {
		return
	}
	c := &b.classes[id]
	c.held--
	if c.held > 0 {
		return
	}
	if !c.known() {
		b.leave(id)
	}
	b.makeRoom(0)
}

// Find returns the ID of a class without holding it, or Stranger.
func (b *Book) Find(class string) ID {
	if id, ok := b.ids[class]; ok {
		return id
	}
	return Stranger
}

// Name returns the class that an ID stands for, and nothing for Stranger.
func (b *Book) Name(id ID) string {
	if !b.has(id) {
		return ""
	}
	return b.classes[id].name
}

// has reports whether an ID stands for a class of the book.
func (b *Book) has(id ID) bool {
	return id >= 0 && int(id) < len(b.classes) && b.classes[id].name != ""
}

// known reports whether something is known of the class.
func (c *class) known() bool {
	return c.evidence != nil || !c.row.seen.IsZero() || !c.row.forgotten.IsZero() || c.row.updates > 0 || len(c.row.prefs) > 0
}

// enter returns the ID of a class that is in the book from now on, or Stranger if there is no room.
func (b *Book) enter(name string) ID {
	if name == "" {
		return Stranger
	}
	if id, ok := b.ids[name]; ok {
		return id
	}
	if b.makeRoom(1); len(b.order) >= b.limit() {
		return Stranger
	}
	b.version++
	id := ID(len(b.classes))
	if n := len(b.free); n > 0 {
		id = b.free[n-1]
		b.free = b.free[:n-1]
	} else {
		b.classes = append(b.classes, class{})
	}
	b.classes[id] = class{name: name}
	b.ids[name] = id
	at, _ := slices.BinarySearchFunc(b.order, name, func(o ID, name string) int { return strings.Compare(b.classes[o].name, name) })
	b.order = slices.Insert(b.order, at, id)
	b.link(at, name, id)
	return id
}

// leave takes a class out of the book.
func (b *Book) leave(id ID) {
	b.version++
	name := b.classes[id].name
	at := b.classes[id].rank
	delete(b.ids, name)
	b.order = slices.Delete(b.order, at, at+1)
	b.classes[id] = class{}
	b.free = append(b.free, id)
	b.link(at, name, Stranger)
}

// link tells all rows which ID a class has now, and all classes from a rank on which rank they have.
func (b *Book) link(from int, name string, id ID) {
	for _, o := range b.order {
		c := &b.classes[o]
		if i, ok := c.row.find(name); ok {
			c.row.prefs[i].id = id
			c.row.refresh()
		}
		if c.evidence != nil {
			if i, ok := findRate(c.evidence.Rates, name); ok {
				c.beside[i] = id
			}
		}
	}
	for i := from; i < len(b.order); i++ {
		b.classes[b.order[i]].rank = i
	}
}

// left returns what is left of 1 when what was learned at one time has faded until another.
func (b *Book) left(since, now time.Time) float64 {
	half, d := time.Duration(b.cfg.HalfLife), now.Sub(since)
	if half <= 0 || d <= 0 || since.IsZero() {
		return 1
	}
	return math.Exp2(-float64(d) / float64(half))
}

// makeRoom puts classes away until there is room for so many more, or the rest is held: those longest idle first, of these the first by name.
func (b *Book) makeRoom(more int) {
	surplus := len(b.order) + more - b.limit()
	if surplus <= 0 {
		return
	}
	var idle []ID
	for _, id := range b.order {
		if b.classes[id].held == 0 {
			idle = append(idle, id)
		}
	}
	slices.SortStableFunc(idle, func(x, y ID) int { return b.classes[x].row.seen.Compare(b.classes[y].row.seen) })
	for _, id := range idle[:min(surplus, len(idle))] {
		b.putAway(b.export(id))
	}
}

// putAway hands a class to who stores it; if it is in the book, it leaves.
func (b *Book) putAway(k dovetail.KnownClass) {
	b.away = append(b.away, k)
	if id := b.Find(k.Class); id != Stranger {
		b.leave(id)
	}
}

// PutAway returns the classes that had to make room since it was called last, with what was known of them, in the order in which they went.
func (b *Book) PutAway() []dovetail.KnownClass {
	away := b.away
	b.away = nil
	return away
}
