package trace

import (
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// Load reads a whole trace from a file, or from standard input if the path is "-". The jobs are sorted by their time of
// submission. It fails as Reader.Jobs does, and when two jobs that it keeps have the same number.
func Load(ctx context.Context, path string, o Options) (*Workload, error) {
	in, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	name := path
	if path == "-" {
		name = "standard input"
	}
	r := Read(in, name, o)
	r.ids = map[int64]int{}
	w, read := &Workload{Name: filepath.Base(name)}, 0
	for j, err := range r.Jobs() {
		if err != nil {
			return nil, err
		}
		w.Jobs = append(w.Jobs, j)
		read++
		if o.First > 0 && len(w.Jobs) == 2*o.First {
			w.keep(o.First, r)
		}
	}
	w.Format, w.Notices = r.Format(), r.Notices()
	if o.First > 0 && read > o.First {
		w.keep(o.First, r)
		w.Notices = append(w.Notices, fmt.Sprintf("of its %d jobs only the first %d are taken", read, o.First))
	}
	if r.early > 0 {
		w.sort()
		w.Notices = append(w.Notices, "the jobs were sorted by their time of submission")
	}
	return w, nil
}

func (w *Workload) sort() {
	slices.SortStableFunc(w.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
}

// keep keeps the first n jobs, and forgets the numbers of the others too.
func (w *Workload) keep(n int, r *Reader) {
	w.sort()
	for _, j := range w.Jobs[n:] {
		delete(r.ids, j.ID)
	}
	clear(w.Jobs[n:])
	w.Jobs = w.Jobs[:n]
}

// Open opens the file of a trace, or standard input if the path is "-". Reading fails with the context's cause when it ends,
// even while a pipe or a terminal has nothing to read.
func Open(ctx context.Context, path string) (io.ReadCloser, error) {
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, dovetail.Errorf(dovetail.Invalid, "cannot read the trace: %v; check the path, or use - for standard input", err)
		}
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot read the trace: %v", err)
	}
	if info.IsDir() {
		f.Close()
		return nil, dovetail.Errorf(dovetail.Invalid, "cannot read the trace: %s is a directory; give one of its files", path)
	}
	return &source{ctx: ctx, file: f, waits: !info.Mode().IsRegular()}, nil
}

// source is a file whose reading ends with a context.
type source struct {
	ctx   context.Context
	file  *os.File
	waits bool        // reading may take for ever: it is done by a goroutine
	asked chan int    // how many bytes it is to read
	got   chan result // what it read
}

type result struct {
	data []byte
	err  error
}

// Read reads as the file does.
func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if !s.waits {
		return s.file.Read(p)
	}
	if s.asked == nil {
		s.asked, s.got = make(chan int, 1), make(chan result, 1)
		go serve(s.file, s.asked, s.got)
	}
	s.asked <- len(p)
	select {
	case r := <-s.got:
		return copy(p, r.data), r.err
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	}
}

// serve reads from a file whatever is asked for. After the context has ended it may hang in its last read until the program
// ends: there is no way to wake it up.
func serve(f io.Reader, asked <-chan int, got chan<- result) {
	var buf []byte
	for n := range asked {
		buf = slices.Grow(buf[:0], n)
		k, err := f.Read(buf[:n])
		got <- result{buf[:k], err}
	}
}

// Close ends reading.
func (s *source) Close() error {
	if s.asked != nil {
		close(s.asked)
	}
	return s.file.Close()
}

// isCorrupt reports whether compressed data makes no sense.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
