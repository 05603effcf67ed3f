package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// The bounds of a trace.
const (
	MaxReplicas = 100_000   // of one component, as in descriptions of applications
	maxLine     = 256 << 20 // bytes
	peeked      = 64 << 10  // bytes that are looked at to tell the format
	maxReported = 5         // bad lines that are described; the others are counted
)

// Options say how a trace is read.
type Options struct {
	Format  string // the name of one of Formats; empty: by content, and where that leaves a choice, by the file's name
	SkipBad bool   // bad lines are counted and described in the notices instead of being errors
	First   int    // Load keeps only the first so many jobs by submission, and needs memory for no more than twice as many; 0: all
}

// Reader streams the jobs of a trace. It holds one line at a time.
type Reader struct {
	name    string
	options Options
	source  io.Reader
	in      *bufio.Reader
	long    []byte // a line that does not fit into the buffer
	format  Format
	decoder decoder
	lines   int // read so far
	jobs    int
	bad     int
	faults  []string
	last    time.Duration // submission of the last job
	early   int           // jobs that were submitted before the one before them
	ids     map[int64]int // line of each job; nil: not checked
}

// Read returns a reader of a trace, which may be compressed with gzip. The name stands for it in messages, and its ending
// helps to tell the format.
func Read(r io.Reader, name string, o Options) *Reader {
	return &Reader{name: name, options: o, source: r}
}

// Format returns the name of the format, once Jobs has yielded something.
func (r *Reader) Format() string { return r.format.Name }

// Notices returns what people should know about the trace, once Jobs has come to its end.
func (r *Reader) Notices() []string {
	var all []string
	if r.decoder != nil {
		all = r.decoder.notices()
	}
	if r.bad > 0 {
		all = append(all, fmt.Sprintf("%d bad %s skipped", r.bad, were(r.bad, "line")))
		all = append(all, r.faults...)
	}
	if r.bad > len(r.faults) {
		all = append(all, fmt.Sprintf("… and %d more", r.bad-len(r.faults)))
	}
	if r.early > 0 {
		all = append(all, fmt.Sprintf("%d %s submitted before the job on the line before", r.early, were(r.early, "job")))
	}
	return all
}

// were returns the noun for n things, and "was" or "were".
func were(n int, noun string) string {
	if n == 1 {
		return noun + " was"
	}
	return noun + "s were"
}

// Jobs yields the jobs in the order of the trace, once. The first error is the last thing that it yields; a trace without any
// job is one. Errors are dovetail.Invalid and name file, line and field, except those of reading.
func (r *Reader) Jobs() iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		if err := r.open(); err != nil {
			yield(Job{}, err)
			return
		}
		for {
			line, err := r.line()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(Job{}, err)
				return
			}
			j, ok, err := r.job(line)
			if err != nil || ok {
				if !yield(j, err) || err != nil {
					return
				}
			}
		}
		if r.jobs == 0 {
			yield(Job{}, r.none())
		}
	}
}

// none is the error of a trace without jobs.
func (r *Reader) none() error {
	if r.bad > 0 {
		return dovetail.Errorf(dovetail.Invalid, "%s: none of its %d lines is a job of format %s; the first fault is: %s; choose another format",
			r.name, r.lines, r.format.Name, r.faults[0])
	}
	return dovetail.Errorf(dovetail.Invalid, "%s: there are no jobs in its %d lines; expected one a line", r.name, r.lines)
}

// open finds out how the trace is written.
func (r *Reader) open() error {
	r.in = bufio.NewReaderSize(r.source, peeked)
	if magic, err := r.in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(r.in)
		if err != nil {
			return r.failed(err)
		}
		r.in = bufio.NewReaderSize(z, peeked)
	}
	if mark, err := r.in.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" { // as editors of Windows write
		_, _ = r.in.Discard(3)
	}
	var err error
	if r.options.Format != "" {
		r.format, err = formatNamed(r.options.Format)
	} else {
		beginning, failed := r.in.Peek(peeked)
		r.format, err = formatOf(r.name, beginning)
		if err != nil && failed != nil && !errors.Is(failed, io.EOF) {
			err = r.failed(failed)
		}
	}
	if err == nil {
		r.decoder = r.format.start()
	}
	return err
}

// line returns the next line, or io.EOF. It is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, io.EOF) && len(part)+len(r.long) > 0:
			r.lines++
			if len(r.long) == 0 {
				return part, nil
			}
			r.long = append(r.long, part...)
			return r.long, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, r.failed(err)
		case len(r.long) > maxLine:
			return nil, dovetail.Errorf(dovetail.Invalid, "%s:%d: the line has more than %d MiB; is it a trace?", r.name, r.lines+1, maxLine>>20)
		}
		r.long = append(r.long, part...)
	}
}

// failed says after how many lines reading failed, and why.
func (r *Reader) failed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return dovetail.Errorf(dovetail.Invalid, "%s: the compressed file is cut off after %d complete lines; fetch or copy it again", r.name, r.lines)
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || isCorrupt(err) {
		return dovetail.Errorf(dovetail.Invalid, "%s: the compressed file is damaged after %d lines (%v); fetch or copy it again", r.name, r.lines, err)
	}
	return fmt.Errorf("read %s after %d lines: %w", r.name, r.lines, err)
}

// job reads the job of a line, if it holds one.
func (r *Reader) job(line []byte) (Job, bool, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return Job{}, false, nil
	}
	j, ok, err := r.decoder.line(line)
	if err == nil && ok {
		err = r.check(&j)
	}
	switch {
	case err != nil && r.options.SkipBad:
		r.bad++
		if len(r.faults) < maxReported {
			r.faults = append(r.faults, r.at(err).Error())
		}
		return Job{}, false, nil
	case err != nil:
		return Job{}, false, r.at(err)
	case !ok:
		return Job{}, false, nil
	}
	if r.jobs > 0 && j.Submit < r.last {
		r.early++
	}
	r.jobs++
	r.last = j.Submit
	return j, true, nil
}

// check looks at what must hold of the jobs of every format.
func (r *Reader) check(j *Job) error {
	if r.ids != nil {
		if first, twice := r.ids[j.ID]; twice {
			return faultf("id", "%d is the number of the job on line %d already; expected a number of its own", j.ID, first)
		}
		r.ids[j.ID] = r.lines
	}
	return checkJob(j)
}

// at says where an error is.
func (r *Reader) at(err error) error {
	return dovetail.Errorf(dovetail.Invalid, "%s:%d: %v", r.name, r.lines, err)
}
