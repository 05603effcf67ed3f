package trace

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// stream returns the random numbers that a workload uses for one purpose. Each purpose has its own, so that a change to one
// of them leaves the others alone.
func stream(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// point is one point of a distribution: a share p of all values is at most Value.
type point struct{ P, Value float64 }

// quantile returns the value below which a share u of all values is. Between two points the logarithm of the value grows
// with u: values are positive and range over orders of magnitude.
func quantile(table []point, u float64) float64 {
	i := 1
	for i < len(table)-1 && table[i].P < u {
		i++
	}
	low, high := table[i-1], table[i]
	part := (u - low.P) / (high.P - low.P)
	return low.Value * math.Exp(float64(part*math.Log(high.Value/low.Value)))
}

// normalCDF is the distribution function of the standard normal distribution.
func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// positiveNormal draws from a normal distribution, again while the outcome is not positive.
func positiveNormal(rng *rand.Rand, mean, deviation float64) float64 {
	for {
		if v := mean + float64(deviation*rng.NormFloat64()); v > 0 {
			return v
		}
	}
}

// micros returns seconds as a duration of whole microseconds.
func micros(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

// millis returns seconds as a duration of whole milliseconds, at least one. Coarser than need be, so that the last bit of a
// logarithm, in which kinds of processors differ, does not show.
func millis(seconds float64) time.Duration {
	return max(1, time.Duration(math.Round(seconds*1e3))) * time.Millisecond
}

// shape is what a generator draws of an application, and what most traces know of one: one component, all of its replicas
// alike.
type shape struct {
	name       string
	kind       dovetail.Kind
	core, full int // replicas
	each       dovetail.Resources
	runtime    time.Duration // with all replicas; the application's hint too, 0: none
}

// apps makes applications of shapes. Equal shapes share one application, and equal components one slice: a workload has
// tens of thousands of them.
type apps struct {
	known      map[shape]*dovetail.Application
	components map[shape][]dovetail.Component
}

func newApps() apps {
	return apps{known: map[shape]*dovetail.Application{}, components: map[shape][]dovetail.Component{}}
}

// of returns the application of a shape.
func (a *apps) of(s *shape) *dovetail.Application {
	if app, ok := a.known[*s]; ok {
		return app
	}
	part := shape{core: s.core, full: s.full, each: s.each}
	components, ok := a.components[part]
	if !ok {
		components = []dovetail.Component{{Name: "worker", Image: "simulated", Count: s.core, Max: s.full, Resources: s.each}}
		keep(a.components, part, components)
	}
	app := &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: s.name, Kind: s.kind, Expected: dovetail.Duration(s.runtime), Components: components,
	}
	keep(a.known, *s, app)
	return app
}
