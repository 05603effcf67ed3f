package policy

import (
	_ "github.com/dovetail-sched/dovetail/place"
	_ "github.com/dovetail-sched/dovetail/sched" // want "floor 1 (policy) must not import sched of floor 2"
	_ "pgregory.net/rapid"
)
