package engine

import (
	_ "github.com/dovetail-sched/dovetail/internal/store/mem" // want "floor 3 (engine) must not import internal/store/mem of floor 4"
	_ "github.com/dovetail-sched/dovetail/report"             // want "floor 3 (engine) must not import report of floor 3"
	_ "github.com/dovetail-sched/dovetail/sched"
)
