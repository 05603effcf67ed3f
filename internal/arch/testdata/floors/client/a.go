package client

import _ "github.com/dovetail-sched/dovetail/internal/cli" // want "floor 4 (client) must not import internal/cli of floor 5"
