package place

import (
	"math"
	"math/bits"

	"github.com/dovetail-sched/dovetail"
)

// Class stands for all shapes that ask for about as much: a node has no more room for one of them than for the class. When many
// shapes are asked for and nothing fits, the class answers for them. Classes are wide, so that few of them are counted again when room
// came about; where many wait, they rule out nearly all that does not fit.
type Class struct {
	Each  dovetail.Resources // at most what a shape of the class asks for, and more than half of that
	known int64              // what Grown returned when room was counted
	room  int
}

// Classify returns what a shape's class asks for: the entries of each, rounded down to powers of two.
func Classify(each dovetail.Resources) dovetail.Resources {
	for k, n := range each {
		if n > 0 {
			each[k] = 1 << (bits.Len64(uint64(n)) - 1)
		}
	}
	return each
}

// Counted reports whether room for the class was counted since more came about.
func (s *Space) Counted(c *Class) bool { return c.known == s.grown }

// Rules reports whether the class rules out that n replicas of one of its shapes fit; if it does not, they may fit or not. It looks
// at the nodes only if more room came about since it did last.
func (s *Space) Rules(c *Class, n int) bool {
	if c.known != s.grown {
		c.known, c.room = s.grown, s.count(&Shape{Each: c.Each}, math.MaxInt)
	}
	return c.room < n
}
