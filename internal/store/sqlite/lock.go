package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dovetail-sched/dovetail"
)

const lockFile = "dovetail.lock"

// Lock makes this process the only one that may use the state directory, until release is called or the process ends. If
// another process has it, the error is a dovetail.Conflict that names that process.
//
// The kernel holds the lock (flock), not the file: a file that a dead process left behind does not hinder. Go opens files
// close-on-exec, so that children share the lock only between fork and exec. When the owner is killed in just that moment the
// child holds the lock a little longer: if the owner is dead, Lock waits for that. An owner that was just told to end, or
// killed, needs a moment as well: Lock waits for that, too, if not as long. The file is never removed, because a process
// that waits to open it and one that creates it anew would lock two different files.
func Lock(dir string) (release func(), err error) {
	path := filepath.Join(dir, lockFile)
	doing := "locking the state directory"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, explain(doing, dir, err)
	}
	if err != nil {
		return nil, explain(doing, path, err)
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, inUse(dir, f)
		}
		return nil, explain(doing, path, err)
	}
	entry := fmt.Sprintf("%d\n%s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAt(f, entry)); err != nil {
		f.Close()
		return nil, explain(doing, path, err)
	}
	return func() { f.Close() }, nil
}

// How long a child of a dead owner is waited for, and an owner that lives but may be about to end.
const (
	lockWait  = 2 * time.Second
	ownerWait = time.Second
)

// flock takes the lock, or fails with EWOULDBLOCK when another process keeps it.
func flock(f *os.File) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		patience := ownerWait
		if ownerDied(f) {
			patience = lockWait
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(began) > patience {
			return err
		}
	}
}

// ownerDied reports whether the file names a process that does not exist.
func ownerDied(f *os.File) bool {
	pid, _ := owner(f)
	n, err := strconv.Atoi(pid)
	return err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

// owner reads who took the lock last, and when. It is empty while the one who has it has not written it yet.
func owner(f *os.File) (pid, since string) {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 256))
	pid, since, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	return pid, strings.TrimSpace(since)
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// inUse names the process that holds the lock. Its entry may be missing: it writes it just after it took the lock.
func inUse(dir string, f *os.File) error {
	pid, since := owner(f)
	if pid == "" {
		return dovetail.Errorf(dovetail.Conflict,
			"state directory %s is in use by another process: end it, or use another state directory (--state-dir)", dir)
	}
	return dovetail.Errorf(dovetail.Conflict,
		"state directory %s is in use by process %s, started %s: end it (kill %s), or use another state directory (--state-dir)",
		dir, pid, since, pid)
}
