package engine

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"weak"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// applications lets runs share applications with equal content: a hundred thousand queued runs of one application cost one
// description. It does not keep alive what no run refers to any more. Any number of goroutines may use it.
type applications struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]weak.Pointer[dovetail.Application]
	sweep int // size at which dead entries are dropped
}

func newApplications() *applications {
	return &applications{byKey: make(map[[sha256.Size]byte]weak.Pointer[dovetail.Application]), sweep: 64}
}

// intern returns the application that stands for all with the same content. It may be the argument itself.
func (a *applications) intern(app *dovetail.Application) *dovetail.Application {
	data, err := json.Marshal(app)
	if err != nil {
		return app // not shared, but as good
	}
	key := sha256.Sum256(data)
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.byKey[key].Value(); known != nil {
		return known
	}
	if len(a.byKey) >= a.sweep {
		for k, p := range a.byKey {
			if p.Value() == nil {
				delete(a.byKey, k)
			}
		}
		a.sweep = max(64, 2*len(a.byKey))
	}
	a.byKey[key] = weak.Make(app)
	return app
}

// seedDepth bounds how many run numbers seed looks at.
const seedDepth = 1 << 24

// seed makes the applications of a restored core known.
func (a *applications) seed(c *sched.Core) {
	left := c.Waiting() + len(c.Serving())
	var last *dovetail.Application
	for id, n := c.Next()-1, 0; id > 0 && left > 0 && n < seedDepth; id, n = id-1, n+1 {
		if r := c.Describe(id); r != nil {
			left--
			if r.App != last { // runs of one application often come in a row
				last = r.App
				a.intern(last)
			}
		}
	}
}
