// Package crash_test answers: does anything get lost when the daemon is killed at any moment?
//
// TestCrash runs the real daemon (this test binary, started again) on a state directory with the real store and the real
// local back-end. The daemon kills itself with SIGKILL at a seeded point before or after a write of the journal or an action
// of the back-end, and is started again on the same directory, while a workload of short elastic runs goes on. In the end
// every run must have ended once and as expected, no replica may have been started twice or be left over, and the journal
// must replay to the state that the daemon had.
//
//	go test ./test/crash -run '^TestCrash$' -v -args -kills=1000 -seed=7
package crash_test

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	isShim := len(os.Args) > 1 && os.Args[1] == shimArg
	if isShim || os.Getenv(envAt) != "" {
		os.Exit(daemonMain(os.Args[1:]))
	}
	flag.Parse()
	os.Exit(m.Run())
}
