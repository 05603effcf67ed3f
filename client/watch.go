package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Bounds of an event stream; what is longer is a protocol error.
const (
	maxLine = 16 << 20 // bytes of a line
	maxID   = 256      // bytes of an id
)

// Watch calls f for every event record that matches: first for those that are past (see EventQuery.Tail), then for each
// as it happens, in order and each once. When the connection breaks it connects again and goes on where it was. It
// returns when f does with an error (that error), when the context ends (its error), or when the daemon cannot be
// reached the first time or refuses the request.
func (c *Client) Watch(ctx context.Context, q EventQuery, f func(dovetail.EventRecord) error) error {
	w := watch{client: c, query: q, deliver: f}
	pause := c.pause
	for {
		before := w.last
		err := w.once(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case w.stopped != nil:
			return w.stopped
		case err != nil && (!w.connected || dovetail.CodeOf(err) != dovetail.Unavailable):
			return err
		}
		if w.last != before {
			pause = c.pause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, 32*c.pause)
		}
	}
}

// watch is one call of Watch; it lives through several connections.
type watch struct {
	client    *Client
	query     EventQuery
	deliver   func(dovetail.EventRecord) error
	last      string // id of the last message: where to go on
	connected bool   // a connection was made before
	stopped   error  // what deliver returned
}

// once makes one connection and reads it to its end.
func (w *watch) once(ctx context.Context) error {
	path := "/v1/watch"
	if v := w.query.values(); len(v) > 0 {
		path += "?" + v.Encode()
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if w.last != "" {
		header.Set("Last-Event-ID", w.last)
	}
	resp, err := w.client.send(ctx, http.MethodGet, path, nil, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	w.connected = true
	return messages(resp.Body, func(id, data string) error {
		if len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return dovetail.Errorf(dovetail.Internal, "the daemon sent the event id %.80q, which cannot be sent back; is it a Dovetail daemon?", id)
		}
		if id != "" {
			w.last = id
		}
		if data == "" {
			return nil
		}
		var r dovetail.EventRecord
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			return dovetail.Errorf(dovetail.Internal,
				"the daemon sent an event that cannot be read (%v); is it of another version?", err)
		}
		w.stopped = w.deliver(r)
		return w.stopped
	})
}

// messages splits a stream of server-sent events (WHATWG HTML, §9.2) and calls f for each message until f fails. The end
// of the stream, orderly or not, is no error.
func messages(stream io.Reader, f func(id, data string) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var id string
	var data []string
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if err := f(id, strings.Join(data, "\n")); err != nil {
				return err
			}
			id, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "data":
			data = append(data, value)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return dovetail.Errorf(dovetail.Internal, "the daemon sent an event of more than %d bytes", maxLine)
	}
	return nil
}
