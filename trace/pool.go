package trace

import (
	"math"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// maxPooled bounds how many applications are kept for jobs to come.
const maxPooled = 1 << 14

// alike is an application of one component, whose replicas are all alike: what most traces know of a job.
type alike struct {
	name       string
	core, full int // replicas
	each       dovetail.Resources
	expected   time.Duration // hint; 0: none
}

// pool makes applications. Equal ones are made once, and so are equal components: a trace has tens of thousands of jobs.
type pool struct {
	apps       map[alike]*dovetail.Application
	components map[alike][]dovetail.Component // of applications without name and hint
}

func newPool() pool {
	return pool{map[alike]*dovetail.Application{}, map[alike][]dovetail.Component{}}
}

// of returns the application of this kind.
func (p *pool) of(a *alike) *dovetail.Application {
	if app, ok := p.apps[*a]; ok {
		return app
	}
	part := alike{core: a.core, full: a.full, each: a.each}
	components, ok := p.components[part]
	if !ok {
		components = []dovetail.Component{{Name: "worker", Image: "simulated", Resources: a.each, Count: a.core, Max: a.full}}
		keep(p.components, part, components)
	}
	app := &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: a.name, Kind: dovetail.Batch, Expected: dovetail.Duration(a.expected), Components: components,
	}
	keep(p.apps, *a, app)
	return app
}

// keep remembers a value, and forgets all others when there are too many.
func keep[K comparable, V any](m map[K]V, key K, value V) {
	if len(m) >= maxPooled {
		clear(m)
	}
	m[key] = value
}

// checkJob checks that what a job is and takes in all can be counted: replica-microseconds, and the quantities of all replicas.
func checkJob(j *Job) error {
	full := int64(j.Full())
	if j.Runtime.Microseconds() > math.MaxInt64/full {
		return faultf("runtime", "%d replicas for %v are more work than can be counted; expected less of either", full, j.Runtime)
	}
	var total dovetail.Resources
	for i := range j.App.Components {
		c := &j.App.Components[i]
		for k, each := range c.Resources {
			if each > (math.MaxInt64-total[k])/int64(c.Limit()) {
				return faultf(dovetail.ResourceKind(k).String(), "%d replicas with %s each are more than can be counted; expected less of either",
					c.Limit(), c.Resources)
			}
			total[k] += each * int64(c.Limit())
		}
	}
	return nil
}
