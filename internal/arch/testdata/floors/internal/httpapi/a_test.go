package httpapi

import (
	_ "github.com/dovetail-sched/dovetail/client"
	_ "github.com/dovetail-sched/dovetail/internal/store/sqlite" // want "must not import adapter internal/store/sqlite"
	_ "modernc.org/sqlite"                                       // want "may be imported under internal/store/sqlite only"
)
