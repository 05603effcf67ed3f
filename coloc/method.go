package coloc

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Candidate is a run that could start now.
type Candidate struct {
	ID     ID
	Weight float64 // by how often it was passed over: positive; 1 if never
	// Nodes has the classes on each of the nodes that its core would get, the best ones for it: a class once for each of its runs, none on
	// an empty node.
	Nodes [][]ID

	At      []int   // the numbers of these nodes; only Scene.Serving gives them a meaning
	Seconds float64 // that it would take at the usual pace; 0: not known
}

// Share is an amount of a class.
type Share struct {
	ID     ID
	Amount float64
}

// Scene is what a choice is made in.
type Scene struct {
	Now    time.Time   // up to which what was learned has faded; zero: it is as of when it was learned
	Held   []Share     // nodes held by the runs in service, by class; a node counts for each run on it
	Work   []Share     // left to do, waiting and in service, by class: node-seconds at the usual pace
	Window []Candidate // in the order of the line; at least one

	// Serving is the runs in service if nobody waits but those of the window: the end of the line. Else it is empty.
	Serving []Serving

	// Edition, if it is not 0, is another one whenever Work or the book is not what it was: then neither is compared.
	Edition int64

	wants  wants
	prices prices
}

// Method is a way to use what is known.
type Method struct {
	Name   string
	Placed bool // Weigh looks at the nodes of the candidates; otherwise they may be left out
	// Weigh writes the probability of each run in the window to be the next one; they sum to 1.
	Weigh func(b *Book, s *Scene, p []float64)
	// Score returns how much a newcomer of a class is wanted on a node with these runs, in [0,1]; 0.5 for an empty node, or if nothing is
	// known. nil: all nodes are alike.
	Score func(b *Book, s *Scene, newcomer ID, residents []ID) float64
}

// Methods returns every method, by name.
func Methods() []Method {
	return []Method{
		{Name: "bandit", Weigh: weighBandit, Score: scoreBandit},
		{Name: "greedy", Weigh: weighGreedy, Score: scoreBandit},
		{Name: "price", Placed: true, Weigh: weighPrice, Score: scorePrice},
		{Name: "random", Weigh: weighRandom},
	}
}

// Find returns the method with this name; the error lists the names there are.
func Find(name string) (Method, error) {
	var names []string
	for _, m := range Methods() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Method{}, fmt.Errorf("unknown way to choose neighbours %q; expected one of %s", name, strings.Join(names, ", "))
}

// merged returns shares by class name, Strangers first, one for each class: sums over them do not depend on who came first. It may return
// the shares themselves.
func (b *Book) merged(shares []Share) []Share {
	if b.areMerged(shares) {
		return shares
	}
	sorted := slices.Clone(shares)
	for i := range sorted {
		if !b.has(sorted[i].ID) {
			sorted[i].ID = Stranger
		}
	}
	slices.SortStableFunc(sorted, func(x, y Share) int { return b.rank(x.ID) - b.rank(y.ID) })
	merged := sorted[:0]
	for _, s := range sorted {
		if n := len(merged); n > 0 && merged[n-1].ID == s.ID {
			merged[n-1].Amount += s.Amount
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

func (b *Book) areMerged(shares []Share) bool {
	last := b.rank(Stranger) - 1
	for _, s := range shares {
		if s.ID != Stranger && !b.has(s.ID) || b.rank(s.ID) <= last {
			return false
		}
		last = b.rank(s.ID)
	}
	return true
}

// rank returns where a class of the book is by name, and −1 for Stranger.
func (b *Book) rank(id ID) int {
	if id == Stranger {
		return -1
	}
	return b.classes[id].rank
}

// surely writes probability 1 for one run of the window.
func surely(p []float64, pick int) {
	clear(p)
	p[pick] = 1
}
