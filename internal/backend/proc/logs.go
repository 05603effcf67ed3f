package proc

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Log reads what a replica wrote to a stream, stdout or stderr, living or not. Offsets count the bytes the replica ever wrote to
// the stream; from < 0 counts from the present end, and output that was dropped since is skipped. A limit > 0 bounds the bytes
// read. With follow the reader waits for more until the replica is down or the context ends. An unknown stream is a
// dovetail.Invalid error, a replica that never wrote here a dovetail.NotFound error.
func (b *Backend) Log(ctx context.Context, id dovetail.Replica, stream string, from, limit int64, follow bool) (io.ReadCloser, error) {
	if !slices.Contains(streams, stream) {
		return nil, dovetail.Errorf(dovetail.Invalid, "unknown stream %q; there are stdout and stderr", stream)
	}
	l := &logReader{ctx: ctx, dir: b.logDir(id), stream: stream, follow: follow, left: -1, closed: make(chan struct{})}
	if limit > 0 {
		l.left = limit
	}
	r := b.find(id)
	if r == nil && !exists(l.dir) {
		return nil, dovetail.Errorf(dovetail.NotFound, "there is no output of replica %s; it was never started here, or its output was pruned", recordName(id))
	}
	l.over = make(chan struct{})
	if r != nil {
		l.over = r.over
	} else {
		close(l.over)
	}
	l.offset = from
	if from < 0 {
		end, err := l.end()
		if err != nil {
			return nil, err
		}
		l.offset = max(0, end+from)
	}
	if follow {
		l.wake = make(chan struct{}, 1)
		l.recheck = b.watch.recheck()
		l.watch = func() func() {
			if !exists(l.dir) {
				return nil
			}
			return b.watch.add(l.dir, l.wake)
		}
	}
	return l, nil
}

// logReader reads a stream across its segments.
type logReader struct {
	ctx     context.Context
	dir     string
	stream  string
	follow  bool
	offset  int64
	left    int64 // bytes that may still be read; negative: all
	over    chan struct{}
	wake    chan struct{}
	watch   func() func() // begins to watch; nil while there is nothing to watch
	unwatch func()
	recheck time.Duration

	file  *os.File // segment that is being read
	start int64    // its offset

	mu     sync.Mutex // held while reading
	once   sync.Once
	closed chan struct{}
}

// end returns the offset of the end of the stream.
func (l *logReader) end() (int64, error) {
	all, err := l.segments()
	if err != nil || len(all) == 0 {
		return 0, err
	}
	last := all[len(all)-1]
	if info, err := os.Stat(last.path); err == nil { // else it was dropped meanwhile
		return last.start + info.Size(), nil
	}
	return last.start, nil
}

func (l *logReader) segments() ([]segment, error) {
	all, err := segments(l.dir, l.stream)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was written yet, or it was pruned
	}
	return all, err
}

// Read implements io.Reader.
func (l *logReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return 0, io.EOF
	}
	if l.left > 0 && int64(len(p)) > l.left {
		p = p[:l.left]
	}
	for {
		if l.isClosed() {
			return 0, fs.ErrClosed
		}
		last := l.isOver() // looked at before reading: what was written before the end is not missed
		n, err := l.readSome(p)
		if n > 0 || err != nil {
			l.offset += int64(n)
			if l.left > 0 {
				l.left -= int64(n)
			}
			return n, err
		}
		if !l.follow || last {
			return 0, io.EOF
		}
		if err := l.wait(); err != nil {
			return 0, err
		}
	}
}

// readSome reads what there is at the offset, 0 bytes if there is nothing yet.
func (l *logReader) readSome(p []byte) (int, error) {
	for {
		if l.file != nil {
			n, err := l.file.ReadAt(p, l.offset-l.start)
			if n > 0 {
				return n, nil // an end of file may be there as well, but not the end of the stream
			}
			if err != io.EOF {
				return 0, err
			}
		}
		moved, err := l.move()
		if !moved || err != nil {
			return 0, err
		}
	}
}

// move opens the segment that holds the offset; false if it is the one that is open already, or there is none.
func (l *logReader) move() (bool, error) {
	all, err := l.segments()
	if err != nil || len(all) == 0 {
		return false, err
	}
	at := 0
	for i, s := range all {
		if s.start <= l.offset {
			at = i
		}
	}
	s := all[at]
	if l.file != nil && l.start == s.start {
		return false, nil
	}
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // dropped meanwhile: look again
	}
	if err != nil {
		return false, err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.start = f, s.start
	l.offset = max(l.offset, s.start)
	return true, nil
}

func (l *logReader) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

func (l *logReader) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// untilWatched is how long to wait for the directory of a replica that is only just being started.
const untilWatched = 50 * time.Millisecond

// wait waits until there may be more to read.
func (l *logReader) wait() error {
	recheck := l.recheck
	if l.unwatch == nil {
		if l.unwatch = l.watch(); l.unwatch != nil {
			return nil // something may have come before the watch
		}
		recheck = untilWatched
	}
	select {
	case <-l.wake:
	case <-l.over:
	case <-time.After(recheck):
	case <-l.closed:
		return fs.ErrClosed
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
	return nil
}

// Close ends a Read that waits.
func (l *logReader) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.unwatch != nil {
			l.unwatch()
		}
		if l.file != nil {
			l.file.Close()
		}
	})
	return nil
}

// Prune removes the output of replicas that ended, are forgotten, and wrote nothing since the time given. It returns how many
// replicas lost their output.
func (b *Backend) Prune(olderThan time.Time) (int, error) {
	entries, err := os.ReadDir(b.path("logs"))
	if err != nil {
		return 0, err
	}
	pruned := 0
	var failed error
	for _, e := range entries {
		id, ok := parseRecordName(e.Name())
		if !ok || b.find(id) != nil || exists(b.recordDir(id)) {
			continue
		}
		dir := filepath.Join(b.path("logs"), e.Name())
		if newest(dir).Before(olderThan) {
			err := os.RemoveAll(dir)
			failed = errors.Join(failed, err)
			if err == nil {
				pruned++
			}
		}
	}
	return pruned, failed
}

// newest returns when a file of a directory was last written to.
func newest(dir string) time.Time {
	var t time.Time
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(t) {
			t = info.ModTime()
		}
	}
	return t
}
