package httpapi

import (
	_ "github.com/dovetail-sched/dovetail/client" // want "must not import adapter client"
	_ "modernc.org/sqlite"                        // want "may be imported under internal/store/sqlite only"
)
