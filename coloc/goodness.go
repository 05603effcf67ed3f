package coloc

import (
	"fmt"
	"math"

	"github.com/dovetail-sched/dovetail"
)

const (
	slack    = 1.05 // shares up to this are read as 1: counters and clocks are not read at the same instant
	multiple = 10   // of what a disk or a network is said to be able to do, beyond which a reading is an error, and not a maximum that was set too low
	idle     = 0.05 // at most so much of the processors at work, and so much waiting: a node on which nothing happens (prototype of seed 000)
)

// Goodness returns G of seed 000, equation 1, for a node as it was used over a period: f(u_cpu + (h_disk + h_net) l(u_wait)) with f(x) = exp(1 + x),
// l(x) = exp(−5x) and h(r, w) = tanh(r/rmax + w/wmax). It is in [1, e⁴) for what Check finds nothing wrong with; CPU and Wait beyond 1 count as 1.
func Goodness(u *dovetail.NodeUse) float64 {
	cpu, wait := min(u.CPU, 1), min(u.Wait, 1)
	io := math.Tanh(u.Disk) + math.Tanh(u.Net)
	return math.Exp(1 + cpu + float64(io*math.Exp(-5*wait)))
}

// Check says what is wrong with a measurement, and nothing if it can be learned from. Shares are in [0, 1], with 5 % of slack: per cent, or
// processors that are counted one by one, are not taken for shares.
func Check(u *dovetail.NodeUse) string {
	for _, f := range [...]struct {
		name  string
		value float64
		most  float64
	}{{"cpu", u.CPU, slack}, {"wait", u.Wait, slack}, {"disk", u.Disk, multiple}, {"net", u.Net, multiple}} {
		switch {
		case math.IsNaN(f.value) || math.IsInf(f.value, 0):
			return fmt.Sprintf("%s is %g: not a number", f.name, f.value)
		case f.value < 0:
			return fmt.Sprintf("%s is %g: below 0", f.name, f.value)
		case f.value > f.most:
			return fmt.Sprintf("%s is %g: beyond %g (a share of what the node has, not per cent)", f.name, f.value, f.most)
		}
	}
	return ""
}

// isIdle reports whether nothing happens on a node, so that there is nothing to learn.
func isIdle(u *dovetail.NodeUse) bool { return u.CPU <= idle && u.Wait <= idle }
