package storetest

import (
	_ "github.com/dovetail-sched/dovetail/engine"
	_ "pgregory.net/rapid"
)
