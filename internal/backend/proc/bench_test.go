package proc

import (
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// BenchmarkReplica measures a whole life: start, up, exit, down.
func BenchmarkReplica(b *testing.B) {
	d := openDaemon(b, b.TempDir(), "dovetail-test")
	var r dovetail.Replica
	for b.Loop() {
		r = d.start(shell("exit 0"))
		d.down(b, r)
		d.Forget(r)
	}
}
