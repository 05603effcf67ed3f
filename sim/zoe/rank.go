package zoe

import (
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// rank is a key of the line: lowest first, ties by arrival. It depends on the application alone and on no clock.
type rank func(a *app) float64

type policy struct {
	name string
	rank rank
}

// policies are those of Zoe's simulator under our names; PSJF is sjf. The products are written in its order, which decides ties.
func policies() []policy {
	return []policy{
		{"fifo", func(*app) float64 { return 0 }},
		{"sjf", (*app).runtime},
		{"sjf-2d", func(a *app) float64 { return a.runtime() * float64(a.full) }},
		{"sjf-3d", func(a *app) float64 { return a.runtime() * a.volume(a.full) }},
		{"srpt", (*app).remaining},
		{"srpt-2d", func(a *app) float64 { return a.remaining() * float64(a.full) }},
		{"srpt-3d", func(a *app) float64 { return a.remaining() * a.volume(a.full) }},
		{"srpt-2d1", func(a *app) float64 { return a.remaining() * float64(a.full) }},
		{"srpt-3d1", func(a *app) float64 { return a.remaining() * a.volume(a.full) }},
		{"srpt-2d2", func(a *app) float64 { return a.remaining() * float64(a.lacks()) }},
		{"srpt-3d2", func(a *app) float64 { return a.remaining() * a.volume(a.lacks()) }},
		{"hrrn", (*app).response},
		{"hrrn-2d", func(a *app) float64 { return a.response() * float64(a.full) }},
		{"hrrn-3d", func(a *app) float64 { return a.response() * float64(a.full) * a.memory() * a.cpu() }},
	}
}

// Policies returns the names of all policies.
func Policies() []string {
	var names []string
	for _, p := range policies() {
		names = append(names, p.name)
	}
	return names
}

func findRank(name string) (rank, error) {
	for _, p := range policies() {
		if p.name == name {
			return p.rank, nil
		}
	}
	return nil, dovetail.Errorf(dovetail.Invalid, "zoe: unknown policy %q; expected one of %s", name, strings.Join(Policies(), ", "))
}

// runtime returns T in seconds.
func (a *app) runtime() float64 { return float64(a.job.Runtime.Microseconds()) / 1e6 }

// remaining returns (1 − p)·T in seconds, with the progress p of when components were last added.
func (a *app) remaining() float64 { return (1 - float64(a.done)/float64(a.work)) * a.runtime() }

// response returns what Zoe's simulator takes for the response ratio: 1 + wait/T with now = 0. Lowest first, it serves the latest
// and shortest application; negative as it mostly is, a size that multiplies it lets big ones go first.
func (a *app) response() float64 { return 1 - float64(a.submit)/1e6/a.runtime() }

// lacks returns how many components do not run yet.
func (a *app) lacks() int { return a.full - a.held }

// volume returns n·memory·cpu in GiB × cores.
func (a *app) volume(n int) float64 { return float64(n) * a.memory() * a.cpu() }

func (a *app) memory() float64 { return float64(a.each.memory) / (1 << 30) }
func (a *app) cpu() float64    { return float64(a.each.cpu) / 1000 }
