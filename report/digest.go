package report

import (
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Digest is what pictures need of one schedule, in bounded size: its jobs and levels may be forgotten.
type Digest struct {
	Cell
	Kinds []KindDigest // of the kinds that there are, in the order B-E, B-R, Int, Svc
	// Over time: how large a part of the time there were at most so many waiting or serving, or so much was granted.
	Waiting, Serving Distribution
	Allocation       [dovetail.NumResources]Distribution
	Capacity         dovetail.Resources
	Series           []Point
	timeline         *Timeline // of a small schedule with placements
}

// KindDigest holds the distributions over the runs of one kind that ended; times in seconds.
type KindDigest struct {
	Name                        string
	Turnaround, Queue, Slowdown Distribution
}

// Point is the mean state of the cluster during one of the equal stretches of time that a schedule is cut into.
type Point struct {
	At               time.Duration // its beginning
	Waiting, Serving float64
	Core, Elastic    [dovetail.NumResources]float64 // shares of the capacity
}

// Digest condenses a schedule.
func (s *Schedule) Digest() *Digest { return &Digest{Cell: s.Cell, Capacity: s.Capacity} }
