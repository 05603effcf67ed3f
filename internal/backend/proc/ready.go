package proc

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// defaultReady is how long a replica may take to become ready.
const defaultReady = 5 * time.Minute

// longestLine is how much of a line a readiness condition looks at, in bytes.
const longestLine = 64 << 10

// probe watches for the readiness of one replica. A nil probe does nothing.
type probe struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// stop ends the probe; after that it reports nothing any more.
func (p *probe) stop() {
	if p != nil {
		p.cancel()
		<-p.done
	}
}

// startProbe waits in the background until the replica is ready, or has not become so in time.
func (b *Backend) startProbe(ctx context.Context, r *replica) *probe {
	ctx, cancel := context.WithCancel(ctx)
	p := &probe{cancel: cancel, done: make(chan struct{})}
	b.work.Go(func() {
		defer close(p.done)
		defer cancel()
		b.awaitReady(ctx, r)
	})
	return p
}

// awaitReady reports a replica ready, or stops it when it has not become so in time. Time in which the replica was frozen does
// not count.
func (b *Backend) awaitReady(ctx context.Context, r *replica) {
	limit := defaultReady
	if r.spec.Ready.Timeout > 0 {
		limit = time.Duration(r.spec.Ready.Timeout)
	}
	left := limit
	if st, ok, _ := readJSON[started](r.path(startedFile)); ok {
		left = max(limit-time.Since(st.At), min(limit, 5*time.Second)) // nobody looked while there was no daemon
	}
	met := make(chan struct{})
	b.work.Go(func() {
		if b.meets(ctx, r) {
			close(met)
		}
	})
	for left > 0 {
		from := time.Now()
		select {
		case <-met:
			b.becameReady(ctx, r)
			return
		case <-ctx.Done():
			return
		case <-time.After(min(left, time.Second)):
		}
		if !r.isFrozen() {
			left -= time.Since(from)
		}
	}
	r.mu.Lock()
	if !r.want.Stop {
		r.want.Stop, r.want.Hook = true, false
		r.want.Why = fmt.Sprintf("not ready after %v: %s", limit, condition(&r.spec))
	}
	r.mu.Unlock()
	wake(r.wake)
}

func (r *replica) isFrozen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.want.Frozen
}

// becameReady puts on record and reports that a replica is ready.
func (b *Backend) becameReady(ctx context.Context, r *replica) {
	if err := os.WriteFile(r.path(readyFile), nil, 0o600); err != nil {
		b.log.Warn("that a replica is ready cannot be put on record", "replica", recordName(r.id), "error", err)
	}
	r.mu.Lock()
	r.ready = true
	r.mu.Unlock()
	b.emit(ctx, dovetail.ReplicasReady{Slot: r.slot(), N: 1, Replica: r.id})
}

// condition says for people what has not come true.
func condition(s *spec) string {
	switch c := s.Ready; {
	case c.TCP != "":
		return fmt.Sprintf("nothing accepts connections on port %s (%s:%d)", c.TCP, s.Host, s.Ports[c.TCP])
	case c.HTTP != "":
		return c.HTTP + " does not answer with 2xx"
	case c.Log != "":
		return fmt.Sprintf("no line of its output matches %q", c.Log)
	default:
		return c.File + " does not exist"
	}
}

// meets waits until the condition is met; false when the context ends before.
func (b *Backend) meets(ctx context.Context, r *replica) bool {
	switch c := r.spec.Ready; {
	case c.TCP != "":
		addr := net.JoinHostPort(r.spec.Host, strconv.Itoa(r.spec.Ports[c.TCP]))
		return retry(ctx, func(ctx context.Context) bool { return accepts(ctx, addr) })
	case c.HTTP != "":
		return retry(ctx, func(ctx context.Context) bool { return answers(ctx, c.HTTP) })
	case c.Log != "":
		return b.prints(ctx, r.id, regexp.MustCompile(c.Log))
	default:
		return retry(ctx, func(context.Context) bool { return exists(c.File) })
	}
}

// retry asks again and again, less and less often, up to once a second.
func retry(ctx context.Context, ask func(context.Context) bool) bool {
	for wait := 10 * time.Millisecond; ; wait = min(wait*3/2, time.Second) {
		if ask(ctx) {
			return true
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

func accepts(ctx context.Context, addr string) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode/100 == 2
}

// prints reads both streams from their beginning until a line matches.
func (b *Backend) prints(ctx context.Context, id dovetail.Replica, want *regexp.Regexp) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan bool, len(streams))
	for _, stream := range streams {
		b.work.Go(func() { found <- b.streamPrints(ctx, id, stream, want) })
	}
	for range streams {
		if <-found {
			return true
		}
	}
	return false
}

func (b *Backend) streamPrints(ctx context.Context, id dovetail.Replica, stream string, want *regexp.Regexp) bool {
	log, err := b.Log(ctx, id, stream, 0, 0, true)
	if err != nil {
		return false
	}
	defer log.Close()
	lines := bufio.NewReaderSize(log, longestLine)
	for inLine := false; ; {
		line, more, err := lines.ReadLine()
		if err != nil {
			return false
		}
		if !inLine && want.Match(line) {
			return true
		}
		inLine = more
	}
}
