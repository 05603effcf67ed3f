package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dovetail-sched/dovetail/internal/store/sqlite"
)

// A daemon that is killed between the fork and the exec of a child leaves the lock to the child for a moment, and one that
// was just told to end has it until it has ended. Its successor must not take either for another daemon.
func TestLockWaitsForAnOwnerThatGoes(t *testing.T) {
	dead := exec.CommandContext(t.Context(), "true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for owner, pid := range map[string]int{"dead, with a child": dead.Process.Pid, "about to end": os.Getpid()} {
		dir := t.TempDir()
		held, err := os.Create(filepath.Join(dir, "dovetail.lock"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := held.WriteString(strconv.Itoa(pid) + "\n2026-01-02T03:04:05Z\n"); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) { // who waits does so in virtual time, however slow the machine
			time.AfterFunc(50*time.Millisecond, func() { held.Close() })
			release, err := sqlite.Lock(dir)
			if err != nil {
				t.Fatalf("the owner is %s, and lets go: %v", owner, err)
			}
			release()
		})
	}
}
