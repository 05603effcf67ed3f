// Command dovetail answers everything: one program is the daemon, its client, and the shim of each replica.
package main

import (
	"os"

	"github.com/dovetail-sched/dovetail/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], nil)) }
