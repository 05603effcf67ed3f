package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// page is how many records a feed reads from the store at once.
const page = 1000

// mark is a place in a feed: after the n-th record of those at position seq of the journal that the feed's filter
// selects. A position may have many records: a decision says something about many runs.
type mark struct {
	seq int64
	n   int
}

// whole as mark.n means after all records of the position.
const whole = math.MaxInt

// next returns the mark after a record at position seq.
func (m mark) next(seq int64) mark {
	if seq == m.seq {
		return mark{seq, m.n + 1}
	}
	return mark{seq, 1}
}

// String writes the mark as an event id.
func (m mark) String() string {
	if m.n == whole {
		return strconv.FormatInt(m.seq, 10)
	}
	return fmt.Sprintf("%d.%d", m.seq, m.n)
}

// parseMark reads what String wrote.
func parseMark(s string) (mark, bool) {
	seq, n, inside := strings.Cut(s, ".")
	m := mark{n: whole}
	var err error
	if m.seq, err = strconv.ParseInt(seq, 10, 64); err != nil || m.seq < 0 {
		return mark{}, false
	}
	if inside {
		if m.n, err = strconv.Atoi(n); err != nil || m.n < 0 {
			return mark{}, false
		}
	}
	return m, true
}

// feed is one stream of event records: what is past comes from the store, what happens from the engine.
type feed struct {
	*server
	filter engine.EventFilter
	at     mark // the records up to here were sent
	w      http.ResponseWriter
}

// run sends records until the context ends, the client has gone, or the engine has stopped. The engine closes a
// subscription when it stops, but also when this reader is too slow for it. Then the store has what it missed; so the
// engine counts as stopped only when a second subscription in a row ends with nothing new.
func (f *feed) run(ctx context.Context) error {
	for idle := 0; idle < 2; {
		before := f.at
		if err := f.once(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		if idle++; f.at != before {
			idle = 0
		}
	}
	return nil
}

// once subscribes first and reads the store afterwards, so that no record falls in between; what comes twice is behind
// the mark. It returns when the engine closes the subscription.
func (f *feed) once(ctx context.Context) error {
	sub, cancel := context.WithCancel(ctx)
	defer cancel()
	live := f.engine.Watch(sub)
	if err := f.past(ctx); err != nil {
		return err
	}
	stored := f.at.seq
	beat := time.NewTicker(f.heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err := f.send([]byte(":\n\n")); err != nil {
				return err
			}
		case r, open := <-live:
			if !open {
				return nil
			}
			if r.Seq <= stored || !f.selects(r) { // the store had it, or nobody asked for it
				continue
			}
			if err := f.record(r); err != nil {
				return err
			}
		}
	}
}

// past sends the records that the store has, and leaves the mark at its end. It closes with a message without data, so
// that a client that is cut off before anything happens goes on from here.
func (f *feed) past(ctx context.Context) error {
	if err := f.startAtTail(ctx); err != nil {
		return err
	}
	limit := page
	for {
		q := f.filter
		q.After, q.Limit = f.at.seq, limit
		skip := 0
		if f.at.n != whole { // read the position again, and skip what was sent of it
			q.After, skip = f.at.seq-1, f.at.n
		}
		records, err := f.reader.Events(ctx, q)
		if err != nil {
			return fmt.Errorf("read events after %d: %w", q.After, err)
		}
		before := f.at
		for _, r := range records {
			if r.Seq == before.seq && skip > 0 {
				skip--
				continue
			}
			if err := f.record(r); err != nil {
				return err
			}
		}
		if len(records) < limit {
			return f.send(fmt.Appendf(nil, "retry: 1000\nid: %s\n\n", f.at))
		}
		if f.at == before {
			limit *= 2 // one position fills the page
		}
	}
}

// startAtTail sets the mark before the last records that were asked for, or at the end of the store if none were (-1).
func (f *feed) startAtTail(ctx context.Context) error {
	n := f.filter.Tail
	if n == 0 {
		return nil
	}
	f.filter.Tail = 0
	q := engine.EventFilter{Tail: 1}
	if n > 0 {
		q = f.filter
		q.Tail, q.Limit = n, n
	}
	last, err := f.reader.Events(ctx, q)
	if err != nil {
		return fmt.Errorf("read the last events: %w", err)
	}
	switch {
	case len(last) == 0:
		return nil
	case n < 0:
		f.at = mark{seq: last[0].Seq, n: whole}
		return nil
	}
	first := last[0].Seq
	all, err := f.countAt(ctx, first)
	if err != nil {
		return err
	}
	wanted := 0
	for wanted < len(last) && last[wanted].Seq == first {
		wanted++
	}
	f.at = mark{seq: first, n: max(all-wanted, 0)}
	return nil
}

// countAt returns how many records the filter selects at a position.
func (f *feed) countAt(ctx context.Context, seq int64) (int, error) {
	for limit := page; ; limit *= 2 {
		q := f.filter
		q.After, q.Limit = seq-1, limit
		records, err := f.reader.Events(ctx, q)
		if err != nil {
			return 0, fmt.Errorf("read events at %d: %w", seq, err)
		}
		n := 0
		for n < len(records) && records[n].Seq == seq {
			n++
		}
		if n < len(records) || len(records) < limit {
			return n, nil
		}
	}
}

func (f *feed) selects(r dovetail.EventRecord) bool {
	return (f.filter.Run == 0 || r.Run == f.filter.Run) &&
		(len(f.filter.Types) == 0 || slices.Contains(f.filter.Types, r.Type))
}

// record sends a record and moves the mark behind it.
func (f *feed) record(r dovetail.EventRecord) error {
	f.at = f.at.next(r.Seq)
	return f.write(r)
}

func (f *feed) write(r dovetail.EventRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode event %d: %w", r.Seq, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\ndata: ", f.at)
	b.Write(data)
	b.WriteString("\n\n")
	return f.send(b.Bytes())
}

func (f *feed) send(message []byte) error {
	conn := http.NewResponseController(f.w)
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // not all writers can
	if _, err := f.w.Write(message); err != nil {
		return errors.Join(errGone, err)
	}
	if err := conn.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errors.Join(errGone, err)
	}
	return nil
}

// errGone says that the client takes nothing any more.
var errGone = errors.New("the client has gone")
