package policy

import (
	_ "github.com/dovetail-sched/dovetail"
	_ "github.com/dovetail-sched/dovetail/place" // want "floor 1 (policy) must not import place of floor 1"
	_ "go.yaml.in/yaml/v4"                       // want "floors 0 to 2 use the standard library only"
)
