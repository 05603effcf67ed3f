package proc

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errLocked says that a living shim, or the daemon, holds the lock of a record.
var errLocked = errors.New("the record is locked")

// takeLock locks a record until the returned file is closed or the process dies; errLocked if somebody else has it.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole); err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, errLocked
		}
		return nil, err
	}
	return f, nil
}

// lockHeld reports whether somebody holds the lock of a record, without ever being in the way of who wants to take it.
func lockHeld(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &whole)
	return err == nil && whole.Type != unix.F_UNLCK
}

// signLock writes into a lock who holds it.
func signLock(lock *os.File, id identity) error {
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt(data, 0)
	return err
}

// lockHolder returns the shim that signed the lock last; false if none did yet.
func lockHolder(dir string) (identity, bool) {
	id, ok, err := readJSON[identity](filepath.Join(dir, lockFile))
	return id, ok && err == nil
}
