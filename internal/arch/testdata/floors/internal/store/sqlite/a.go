package sqlite

import (
	_ "C" // want "cgo is not used here"

	_ "github.com/dovetail-sched/dovetail/engine"
	_ "github.com/dovetail-sched/dovetail/internal/backend/proc" // want "must not import adapter internal/backend/proc"
	_ "github.com/dovetail-sched/dovetail/internal/store"
	_ "github.com/mattn/go-sqlite3" // want "is not in the table"
	_ "modernc.org/sqlite"
	_ "modernc.org/sqlite/lib"
)
