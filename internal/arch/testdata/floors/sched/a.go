package sched

import (
	_ "github.com/dovetail-sched/dovetail/engine" // want "floor 2 (sched) must not import engine of floor 3"
	_ "github.com/dovetail-sched/dovetail/policy"
	_ "pgregory.net/rapid" // want "is for tests only"
)
