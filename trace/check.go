package trace

import (
	"math"

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
