package coloc

import (
	"time"

	"github.com/dovetail-sched/dovetail"
)

// ID names a job class of which a Book knows something, or that takes part. It is valid as long as the class is held.
type ID int

// Stranger is the class that nothing is known of, and of which nothing is learned.
const Stranger ID = -1

// Book is all that is known of job classes as neighbours. It keeps at most Colocation.Classes of them; those longest idle are put away
// first, and none that is held. It is not safe for concurrent use.
type Book struct {
	cfg dovetail.Colocation
}

// New returns an empty book.
func New(cfg dovetail.Colocation) *Book { return &Book{cfg: cfg} }

// Configure changes γ, fading and the number of classes kept.
func (b *Book) Configure(cfg dovetail.Colocation) { b.cfg = cfg }

// Hold returns the ID of a class and keeps it from being put away until Release was called as often. It is Stranger if the book is full of
// classes that are held.
func (b *Book) Hold(class string) ID { return Stranger }

// Release lets go of what Hold returned.
func (b *Book) Release(id ID) {}

// Find returns the ID of a class without holding it, or Stranger.
func (b *Book) Find(class string) ID { return Stranger }

// Name returns the class that an ID stands for.
func (b *Book) Name(id ID) string { return "" }

// Resident is a class on a node, and how many runs of it are there.
type Resident struct {
	ID   ID
	Runs int
}

// Learn updates the preferences of every ordered pair of distinct classes on one node, by how it was used over a period that ended now
// (seed 000, equations 1 to 3). It is nothing if fewer than two distinct classes are there, or the node was idle.
func (b *Book) Learn(now time.Time, u *dovetail.NodeUse, residents []Resident) {}

// Pair replaces the evidence of a class. An error names what is wrong with it; then nothing has changed.
func (b *Book) Pair(now time.Time, e *dovetail.Evidence) error { return nil }

// Recall replaces all that is known of these classes. An error names what is wrong; then nothing has changed.
func (b *Book) Recall(now time.Time, classes []dovetail.KnownClass) error { return nil }

// Forget drops what is known of a class and of others beside it; "" means all.
func (b *Book) Forget(now time.Time, class string) {}

// Known returns all that is known, by class.
func (b *Book) Known() []dovetail.KnownClass { return nil }

// Class returns what is known of one class, and false if that is nothing.
func (b *Book) Class(class string) (dovetail.KnownClass, bool) { return dovetail.KnownClass{}, false }

// PutAway returns the classes that had to make room since it was called last, with what was known of them, in the order in which they went.
func (b *Book) PutAway() []dovetail.KnownClass { return nil }

// Likes returns π(newcomer | running): the probability with which runs of one class want the other for their next neighbour, among all
// classes that the book holds (seed 000 §4.3).
func (b *Book) Likes(newcomer, running ID) float64 { return 0 }

// Rate returns how fast runs of a class progress beside another one; Stranger stands for nobody. 1 with the interval that is expected of
// strangers if nothing is known.
func (b *Book) Rate(id, beside ID) dovetail.Rate { return dovetail.Rate{Rate: 1} }

// Harms reports whether it is proven that one of two classes takes so many times as long beside the other: the interval of its rate lies
// beyond.
func (b *Book) Harms(a, c ID, slowdown float64) bool { return false }
