package dovetail

import _ "github.com/dovetail-sched/dovetail/policy" // want "floor 0 (.) must not import policy of floor 1"
