package store

import (
	_ "github.com/dovetail-sched/dovetail/engine"
	_ "github.com/dovetail-sched/dovetail/internal/store/sqlite" // want "must not import adapter internal/store/sqlite"
)
