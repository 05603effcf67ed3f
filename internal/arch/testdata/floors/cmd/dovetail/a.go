package main

import (
	_ "github.com/dovetail-sched/dovetail/internal/arch" // want "floor 5 (cmd/dovetail) must not import internal/arch of floor 5"
	_ "github.com/dovetail-sched/dovetail/internal/cli"
)
