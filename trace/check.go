package trace

import (
	"math"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// maxKept bounds how many applications are kept for jobs to come.
const maxKept = 1 << 14

// keep remembers a value, and forgets all others when there are too many.
func keep[K comparable, V any](m map[K]V, key K, value V) {
	if len(m) >= maxKept {
		clear(m)
	}
	m[key] = value
}

// checkAfter checks that every component can start once those that it is after have.
func checkAfter(app *dovetail.Application) error {
	started := make(map[string]bool, len(app.Components))
	for more := true; more; {
		more = false
		for i := range app.Components {
			c := &app.Components[i]
			waits := slices.ContainsFunc(c.After, func(name string) bool { return !started[name] })
			if !waits && !started[c.Name] {
				started[c.Name], more = true, true
			}
		}
	}
	for i := range app.Components {
		if c := &app.Components[i]; !started[c.Name] {
			return faultf("app.components", "%q can never start after %q; expected names of components that need not wait for it in turn", c.Name, c.After)
		}
	}
	return nil
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
