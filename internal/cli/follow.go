package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/client"
)

// maxFollowed is how many replicas are followed at once: each takes a connection.
const maxFollowed = 64

// retryPause is how long the follower of a log waits before it connects again.
const retryPause = 200 * time.Millisecond

// follower copies the output of a run's replicas, each in a goroutine of its own.
type follower struct {
	e    *environment
	c    *client.Client
	run  string
	o    logsOptions
	ctx  context.Context // of the copying
	stop context.CancelFunc

	copying sync.WaitGroup
	mu      sync.Mutex // guards what follows, and writing
	seen    map[dovetail.Replica]bool
	ended   bool // the run has ended: what breaks now is not tried again
	failed  error
}

func (e *environment) newFollower(ctx context.Context, c *client.Client, run string, o logsOptions) *follower {
	f := &follower{e: e, c: c, run: run, o: o, seen: make(map[dovetail.Replica]bool)}
	f.ctx, f.stop = context.WithCancel(ctx)
	return f
}

// update begins to follow replicas that are new.
func (f *follower) update(d *client.RunDetail) {
	named := f.named(d)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = d.Status.State == dovetail.Ended
	for _, r := range f.o.newest(d) {
		if f.seen[r.Replica] || len(f.seen) > maxFollowed {
			continue
		}
		f.seen[r.Replica] = true
		if len(f.seen) > maxFollowed {
			f.e.say("Only %d replicas are followed at once; name a COMPONENT.INDEX to see another one.", maxFollowed)
			continue
		}
		for _, stream := range f.o.streams() {
			f.copying.Go(func() { f.fail(f.copy(&r, stream, named, true)) })
		}
	}
}

// copyAll copies what there is now, one replica after another.
func (f *follower) copyAll(d *client.RunDetail) error {
	defer f.stop()
	named := f.named(d)
	f.ended = true
	for _, r := range f.o.newest(d) {
		for _, stream := range f.o.streams() {
			if err := f.copy(&r, stream, named, false); err != nil {
				return cause(f.ctx, err)
			}
		}
	}
	return nil
}

// wait waits until everything is copied, or, after an error, until the copying was stopped. It returns what went wrong
// while copying.
func (f *follower) wait(err error) error {
	if err != nil {
		f.stop()
	}
	f.copying.Wait()
	f.stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.failed == nil && f.ctx.Err() == nil {
		f.failed = err
	}
}

// named reports whether lines are to begin with the name of their replica: not if only one can be meant.
func (f *follower) named(d *client.RunDetail) bool {
	if f.o.Component != "" && f.o.Index >= 0 {
		return false
	}
	if d.Run == nil || d.Run.App == nil {
		return true
	}
	most := 0
	for i := range d.Run.App.Components {
		if c := &d.Run.App.Components[i]; f.o.Component == "" || c.Name == f.o.Component {
			most += c.Limit()
		}
	}
	return most > 1
}

// copy copies one stream of a replica. A connection that breaks is made again where it broke.
func (f *follower) copy(r *dovetail.ReplicaStatus, stream string, named, follow bool) error {
	w := &lines{f: f, replica: r, stream: stream, named: named, tail: f.o.Tail, toErr: f.o.Both && stream == "stderr"}
	query := client.LogQuery{Component: r.Component, Index: r.Index, Attempt: r.Attempt, Stream: stream}
	if follow && f.o.Tail >= 0 { // what there is now first, so that its last lines are known
		if err := f.fetch(w, &query); err != nil && dovetail.CodeOf(err) != dovetail.NotFound {
			return err
		}
		if err := w.flushTail(); err != nil {
			return err
		}
	}
	query.Follow = follow
	for {
		err := f.fetch(w, &query)
		var failed writeError
		switch {
		case f.ctx.Err() != nil:
			return errors.Join(w.flushTail(), f.ctx.Err())
		case err == nil || errors.As(err, &failed) || f.over() && dovetail.CodeOf(err) == dovetail.NotFound:
			return errors.Join(err, w.flushTail(), w.flush())
		case f.over():
			return errors.Join(w.flush(), err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

func (f *follower) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// fetch copies from where the query is, and moves it on.
func (f *follower) fetch(w *lines, query *client.LogQuery) error {
	body, err := f.c.Logs(f.ctx, f.run, *query)
	if err != nil {
		return err
	}
	defer body.Close()
	n, err := io.Copy(w, body)
	query.From += n
	return err
}

// writeError is a failure of the standard streams, as opposed to one of the network.
type writeError struct{ error }

func (w writeError) Unwrap() error { return w.error }

// lines writes the output of one replica: line by line if its name is put before each, or if programs read it.
type lines struct {
	f       *follower
	replica *dovetail.ReplicaStatus
	stream  string
	named   bool
	toErr   bool
	tail    int // −1: everything; else the last so many lines are kept until flushTail

	part []byte   // of a line that has not ended
	kept [][]byte // the last lines
}

// Write takes output.
func (l *lines) Write(p []byte) (int, error) {
	if !l.named && l.f.e.format == text && l.tail < 0 {
		return l.put(p)
	}
	l.part = append(l.part, p...)
	for {
		n := bytes.IndexByte(l.part, '\n')
		if n < 0 {
			return len(p), nil
		}
		line := l.part[:n]
		if l.tail >= 0 {
			if l.kept = append(l.kept, bytes.Clone(line)); len(l.kept) > l.tail {
				l.kept = l.kept[1:]
			}
		} else if err := l.line(line); err != nil {
			return 0, err
		}
		l.part = l.part[n+1:]
	}
}

// flushTail writes the lines that were kept; from then on everything is written.
func (l *lines) flushTail() error {
	kept := l.kept
	l.kept, l.tail = nil, -1
	for _, line := range kept {
		if err := l.line(line); err != nil {
			return err
		}
	}
	return nil
}

// flush writes a last line that has no end.
func (l *lines) flush() error {
	if len(l.part) == 0 {
		return nil
	}
	part := l.part
	l.part = nil
	return l.line(part)
}

// line writes one line.
func (l *lines) line(line []byte) error {
	e := l.f.e
	if e.format != text {
		data, err := json.Marshal(struct {
			Replica string `json:"replica"`
			Attempt int64  `json:"attempt"`
			Stream  string `json:"stream"`
			Text    string `json:"text"`
		}{l.replica.Name, l.replica.Attempt, l.stream, string(line)})
		if err != nil {
			return err
		}
		_, err = l.put(append(data, '\n'))
		return err
	}
	head := ""
	if l.named {
		paint := e.paint
		if l.toErr {
			paint = e.errPaint
		}
		head = paint(runStyle(l.replica.Replica.Component), fmt.Sprintf("%-10s |", l.replica.Name)) + " "
	}
	_, err := l.put(append([]byte(head), append(line[:len(line):len(line)], '\n')...))
	return err
}

// put writes bytes to where the stream belongs.
func (l *lines) put(p []byte) (int, error) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	w := l.f.e.out
	if l.toErr {
		w = l.f.e.err
	}
	n, err := w.Write(p)
	if err != nil {
		return n, writeError{err}
	}
	return n, nil
}
