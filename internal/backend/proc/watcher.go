package proc

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watcher wakes those who wait for a change in a directory. It is a help only: whoever waits also looks by himself now and
// then (see recheck), so a machine without inotify, or with its watches used up, is slower but not wrong.
type watcher struct {
	mu    sync.Mutex
	file  *os.File // nil: no inotify here
	fd    int      // of file
	dirs  map[string]*watched
	byNum map[int32]*watched
}

// watched is a directory that somebody watches.
type watched struct {
	num   int32
	wakes []chan struct{}
}

// watchedEvents: a file was renamed into the directory, a file open for writing was closed (a lock released), data written.
const watchedEvents = unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_MODIFY

func newWatcher() *watcher {
	w := &watcher{dirs: make(map[string]*watched), byNum: make(map[int32]*watched)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		w.file, w.fd = os.NewFile(uintptr(fd), "inotify"), fd
	}
	return w
}

// recheck returns how long to wait at most before looking again.
func (w *watcher) recheck() time.Duration {
	if w.file == nil {
		return time.Second
	}
	return 5 * time.Second
}

// add wakes the channel, which must have room for one message, when something changes in dir; until cancel is called.
func (w *watcher) add(dir string, wake chan struct{}) (cancel func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return func() {}
	}
	d := w.dirs[dir]
	if d == nil {
		num, err := unix.InotifyAddWatch(w.fd, dir, watchedEvents)
		if err != nil {
			return func() {}
		}
		d = &watched{num: int32(num)}
		w.dirs[dir], w.byNum[d.num] = d, d
	}
	d.wakes = append(d.wakes, wake)
	return func() { w.drop(dir, wake) }
}

func (w *watcher) drop(dir string, wake chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dirs[dir]
	if d == nil {
		return
	}
	for i, c := range d.wakes {
		if c == wake {
			d.wakes = append(d.wakes[:i:i], d.wakes[i+1:]...)
			break
		}
	}
	if len(d.wakes) == 0 {
		_, _ = unix.InotifyRmWatch(w.fd, uint32(d.num)) // fails if the directory is gone
		delete(w.dirs, dir)
		delete(w.byNum, d.num)
	}
}

// serve hands events on until close is called.
func (w *watcher) serve() {
	if w.file == nil {
		return
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		w.mu.Lock()
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			num := int32(binary.NativeEndian.Uint32(b))
			length := int(binary.NativeEndian.Uint32(b[12:]))
			mask := binary.NativeEndian.Uint32(b[4:])
			name := bytes.TrimRight(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00")
			b = b[unix.SizeofInotifyEvent+length:]
			switch {
			case mask&unix.IN_Q_OVERFLOW != 0:
				for _, d := range w.byNum {
					d.wake()
				}
			case !temporary(name):
				w.byNum[num].wake()
			}
		}
		w.mu.Unlock()
	}
}

// temporary reports whether a file is one that writeJSON will rename.
func temporary(name []byte) bool { return bytes.Contains(name, []byte(".tmp")) }

func (d *watched) wake() {
	if d == nil {
		return
	}
	for _, c := range d.wakes {
		wake(c)
	}
}

// wake leaves one message in a channel that has room for one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *watcher) close() {
	if w.file != nil {
		w.file.Close()
	}
}
