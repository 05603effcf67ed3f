package proc

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Output is kept in segments: files named STREAM.log.OFFSET, where OFFSET counts the bytes written to the stream before. So
// every byte keeps its offset when old segments are dropped, and a reader needs nothing but the names.

// streams are the names of what a replica writes.
var streams = []string{"stdout", "stderr"}

// segment is one file of a stream.
type segment struct {
	start int64 // offset of its first byte
	path  string
}

// segmentPath names the segment of a stream that begins at an offset.
func segmentPath(dir, stream string, start int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s.log.%020d", stream, start))
}

// segments returns the segments of a stream, oldest first.
func segments(dir, stream string) ([]segment, error) {
	entries, err := os.ReadDir(dir) // in order of names, hence of offsets
	if err != nil {
		return nil, err
	}
	var found []segment
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), stream+".log.")
		if !ok {
			continue
		}
		if start, err := strconv.ParseInt(digits, 10, 64); err == nil && start >= 0 {
			found = append(found, segment{start: start, path: filepath.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(found, func(a, b segment) int { return int(min(max(a.start-b.start, -1), 1)) })
	return found, nil
}

// output writes a stream in segments of a limited size and drops the oldest ones. A write never fails for the writer: what
// cannot be stored is dropped, since a full disk must not block the replica.
type output struct {
	mu     sync.Mutex
	dir    string
	stream string
	bytes  int64 // of a segment
	files  int   // kept
	file   *os.File
	start  int64 // of the present segment
	size   int64
	lost   int64 // bytes that could not be stored
}

// newOutput begins a stream at offset 0, or goes on at the end of its last segment.
func newOutput(dir, stream string, bytes int64, files int) (*output, error) {
	o := &output{dir: dir, stream: stream, bytes: bytes, files: files}
	old, err := segments(dir, stream)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 {
		o.start = old[len(old)-1].start
	}
	o.file, o.size, err = openSegment(segmentPath(dir, stream, o.start))
	return o, err
}

// openSegment opens a segment for writing and returns its size.
func openSegment(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// Write stores p, as far as it can; it never returns an error.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		if o.size >= o.bytes && o.rotate() != nil {
			break
		}
		k := min(int64(len(p)), o.bytes-o.size)
		written, err := o.file.Write(p[:k])
		o.size += int64(written)
		p = p[written:]
		if err != nil {
			break
		}
	}
	o.lost += int64(len(p))
	return n, nil
}

// rotate begins a new segment and drops the oldest if there are too many.
func (o *output) rotate() error {
	start := o.start + o.size
	file, size, err := openSegment(segmentPath(o.dir, o.stream, start))
	if err != nil {
		return err
	}
	o.file.Close()
	o.file, o.start, o.size = file, start, size
	o.drop()
	return nil
}

// drop removes the oldest segments if there are too many. What cannot be removed now is tried at the next rotation.
func (o *output) drop() {
	all, _ := segments(o.dir, o.stream)
	for ; len(all) > o.files; all = all[1:] {
		_ = os.Remove(all[0].path)
	}
}

// drain copies what comes out of a pipe until all writers are gone; Write never fails, and a pipe only ends.
func (o *output) drain(pipe *os.File) {
	_, _ = io.Copy(o, struct{ io.Reader }{pipe})
	pipe.Close()
}
