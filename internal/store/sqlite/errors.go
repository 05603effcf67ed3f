package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/dovetail-sched/dovetail"
)

// explain makes a dovetail.Error of what went wrong while doing something to the file at path: what, why, and what to do. Errors
// that are explained already, and those of an ended context, keep their kind.
func explain(doing, path string, err error) error {
	var known *dovetail.Error
	var failed *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	case errors.As(err, &failed):
		return explainCode(doing, path, failed)
	case errors.Is(err, fs.ErrNotExist):
		return dovetail.Errorf(dovetail.NotFound, "%s: %s does not exist: create it, or name another state directory", doing, path)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return dovetail.Errorf(dovetail.Unavailable, "%s: %s cannot be written: %s", doing, path, adviseWritable)
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return dovetail.Errorf(dovetail.Unavailable, "%s: %s", doing, adviseSpace(path))
	}
	return dovetail.Errorf(dovetail.Internal, "%s: %s: %v", doing, path, err)
}

const adviseWritable = "make it writable for the user that runs dovetail, or name another state directory"

func adviseSpace(path string) string {
	return "no space is left for " + path + ": nothing was changed; free some space, and it will go on"
}

func explainCode(doing, path string, err *sqlite.Error) error {
	switch err.Code() & 0xff {
	case lib.SQLITE_FULL:
		return dovetail.Errorf(dovetail.Unavailable, "%s: %s", doing, adviseSpace(path))
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return dovetail.Errorf(dovetail.Unavailable, "%s: %s or its directory cannot be written: %s", doing, path, adviseWritable)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return dovetail.Errorf(dovetail.Unavailable, "%s: another program holds %s: end it (fuser %s names it)", doing, path, path)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return dovetail.Errorf(dovetail.Internal, "%s: %s is damaged (%v): %s", doing, path, err, adviseRestore)
	case lib.SQLITE_IOERR:
		return dovetail.Errorf(dovetail.Unavailable, "%s: %s cannot be read or written (%v): check the disk and the kernel's log", doing, path, err)
	}
	return dovetail.Errorf(dovetail.Internal, "%s: %s: %v", doing, path, err)
}

const adviseRestore = "restore it from a backup, or start afresh with another state directory; keep the file, other parts of it may be readable"
