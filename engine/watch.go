package engine

import (
	"context"
	"sync"

	"github.com/dovetail-sched/dovetail"
)

// watchBuffer is how many event records a watcher may be behind.
const watchBuffer = 4096

// watchers hands event records to whoever wants them.
type watchers struct {
	mu     sync.Mutex
	closed bool
	all    map[chan dovetail.EventRecord]struct{}
}

// Watch delivers event records from now on, in order, each as soon as it is durable. The channel is closed when the context ends,
// when Run returns, and when the watcher falls behind by more than 4096 records: then it should read the store from the
// last Seq it saw, and watch again.
func (e *Engine) Watch(ctx context.Context) <-chan dovetail.EventRecord {
	c := make(chan dovetail.EventRecord, watchBuffer)
	w := &e.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(c)
		return c
	}
	if w.all == nil {
		w.all = make(map[chan dovetail.EventRecord]struct{})
	}
	w.all[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.remove(c)
	})
	return c
}

func (w *watchers) remove(c chan dovetail.EventRecord) {
	if _, ok := w.all[c]; ok {
		delete(w.all, c)
		close(c)
	}
}

func (w *watchers) publish(events []dovetail.EventRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		if cap(c)-len(c) < len(events) {
			w.remove(c)
			continue
		}
		for _, ev := range events {
			c <- ev
		}
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.all {
		w.remove(c)
	}
}
