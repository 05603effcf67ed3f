package cli

import (
	_ "github.com/dovetail-sched/dovetail/internal/backend/proc"
	_ "github.com/dovetail-sched/dovetail/internal/backend/proc/deep" // want "which is on no floor"
	_ "github.com/spf13/cobra/doc"
)
