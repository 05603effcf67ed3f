package engine_test

import (
	_ "github.com/dovetail-sched/dovetail/engine"
	_ "github.com/dovetail-sched/dovetail/engine/storetest"
	_ "github.com/dovetail-sched/dovetail/internal/store/mem"
	_ "github.com/dovetail-sched/dovetail/internal/store/sqlite" // want "floor 3 (engine) must not import internal/store/sqlite of floor 4"
)
