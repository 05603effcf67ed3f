package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// epoch is when everything in these tests happens.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fake is an engine, a reader and logs in memory. Its core is a real one; its only node is too small for any run, so that
// runs stay queued until they are cancelled.
type fake struct {
	mu       sync.Mutex
	core     *sched.Core
	runs     []*dovetail.Run // by ID, from 1
	status   []dovetail.RunStatus
	replicas []dovetail.ReplicaStatus
	events   []dovetail.EventRecord
	history  []dovetail.History
	away     []dovetail.KnownClass
	watchers map[chan dovetail.EventRecord]context.Context
	health   engine.Health
	fail     error // what every call answers
	explode  bool  // Inspect panics
	stopped  bool  // Watch ends at once
	hang     bool  // Tell answers only when its context ends
	// undecided leaves deciding out, which a benchmark of the API does not want to measure.
	undecided bool
	told      []dovetail.Event
	logs      map[string]*tape
}

func newFake(t testing.TB) *fake {
	t.Helper()
	core, err := sched.New(dovetail.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{core: core, watchers: map[chan dovetail.EventRecord]context.Context{}, health: engine.Health{Ready: true}, logs: map[string]*tape{}}
	node := dovetail.Node{Name: "n1", Capacity: dovetail.Resources{dovetail.CPU: 100, dovetail.Memory: 8 << 30}}
	if err := f.core.Apply(epoch, dovetail.NodeUp{Node: node}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fake) Submit(_ context.Context, s engine.Submission) (dovetail.RunStatus, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return dovetail.RunStatus{}, false, f.fail
	}
	for _, r := range f.status {
		if s.Key == "" || r.Key != s.Key {
			continue
		}
		if r.Digest != s.Digest {
			return dovetail.RunStatus{}, false, dovetail.Errorf(dovetail.Conflict, "key %q was used for another submission", s.Key)
		}
		return r, false, nil
	}
	run := &dovetail.Run{
		ID: dovetail.RunID(len(f.runs) + 1), Name: s.Name, Class: s.App.Name, User: s.User, Key: s.Key, Digest: s.Digest,
		Params: s.Params, App: s.App, Hold: s.Hold, Wait: s.Wait, Input: s.Input,
	}
	run.Name = cmp.Or(run.Name, fmt.Sprintf("%s-%d", run.Class, run.ID))
	e := dovetail.Submitted{Run: run}
	if err := f.core.Apply(epoch, e); err != nil {
		return dovetail.RunStatus{}, false, err
	}
	f.runs = append(f.runs, run)
	f.status = append(f.status, dovetail.RunStatus{})
	if err := f.fold(e, run.ID); err != nil {
		return dovetail.RunStatus{}, false, err
	}
	return f.status[run.ID-1], true, nil
}

// fold lets the core decide, takes over what it changed, and tells the watchers of the event.
func (f *fake) fold(e dovetail.Event, run dovetail.RunID) error {
	if plan := f.decide(); !plan.Empty() {
		if err := f.core.Apply(epoch, dovetail.Decided{Plan: plan}); err != nil {
			return err
		}
	}
	for _, s := range f.core.Changed() {
		f.status[s.ID-1] = s
	}
	f.publish(dovetail.EventRecord{Seq: int64(len(f.events) + 1), At: epoch, Type: dovetail.EventType(e), Run: run, Text: "it happened"})
	return nil
}

func (f *fake) decide() dovetail.Plan {
	if f.undecided {
		return dovetail.Plan{}
	}
	return f.core.Decide(epoch)
}

func (f *fake) publish(r dovetail.EventRecord) {
	f.events = append(f.events, r)
	for ch, ctx := range f.watchers {
		select {
		case <-ctx.Done():
			f.unwatch(ch)
		case ch <- r:
		default: // it fell behind
			f.unwatch(ch)
		}
	}
}

func (f *fake) unwatch(ch chan dovetail.EventRecord) {
	if _, ok := f.watchers[ch]; ok {
		delete(f.watchers, ch)
		close(ch)
	}
}

func (f *fake) DryRun(_ context.Context, s engine.Submission) (dovetail.Plan, dovetail.Explanation, error) {
	plan := dovetail.Plan{At: epoch, Seq: 1, Actions: dovetail.Actions{
		dovetail.RunReplicas{Slot: dovetail.Slot{Run: 1, Node: "n1"}, N: s.App.Components[0].Count},
	}}
	return plan, dovetail.Explanation{Run: 1, State: dovetail.Starting, Text: "it starts at once"}, f.fail
}

func (f *fake) Tell(ctx context.Context, e dovetail.Event) error {
	if f.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	if err := f.core.Apply(epoch, e); err != nil {
		return err
	}
	f.told = append(f.told, e)
	return f.fold(e, dovetail.RunOf(e))
}

func (f *fake) Inspect(_ context.Context, look func(c *sched.Core, now time.Time)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.explode {
		panic("secret: the core is on fire")
	}
	if f.fail != nil {
		return f.fail
	}
	look(f.core, epoch)
	return nil
}

func (f *fake) Watch(ctx context.Context) <-chan dovetail.EventRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan dovetail.EventRecord, 16)
	if f.stopped {
		close(ch)
		return ch
	}
	f.watchers[ch] = ctx //nolint:fatcontext // each watcher has its own
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.unwatch(ch)
	})
	return ch
}

func (f *fake) Health() engine.Health { return f.health }

func (f *fake) Stats() engine.Stats {
	turns := engine.Histogram{Bounds: []float64{0.001, 0.01}, Counts: []int64{1, 2, 3}, Sum: 1.5}
	return engine.Stats{Turns: 7, Append: turns, Batch: turns}
}

// locked runs fn while nobody else uses the fake.
func (f *fake) locked(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

func (f *fake) Run(_ context.Context, id dovetail.RunID) (dovetail.RunStatus, *dovetail.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id < 1 || int(id) > len(f.runs) {
		return dovetail.RunStatus{}, nil, dovetail.Errorf(dovetail.NotFound, "there is no run %d", id)
	}
	return f.status[id-1], f.runs[id-1], nil
}

func (f *fake) Runs(_ context.Context, q engine.RunFilter) ([]dovetail.RunStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []dovetail.RunStatus
	for _, r := range slices.Backward(f.status) {
		prefix, wild := strings.CutSuffix(q.Name, "*")
		named := q.Name == "" || r.Name == q.Name || r.App == q.Name || (wild && strings.HasPrefix(r.Name, prefix))
		if named && (len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
			(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, r.Outcome)) &&
			(q.User == "" || r.User == q.User) && (q.Key == "" || r.Key == q.Key) &&
			(q.Before == 0 || r.ID < q.Before) && !r.Submitted.Before(q.Since) &&
			(q.Until.IsZero() || r.Submitted.Before(q.Until)) && len(found) < q.Limit {
			found = append(found, r)
		}
	}
	return found, f.fail
}

func (f *fake) Replicas(_ context.Context, id dovetail.RunID) ([]dovetail.ReplicaStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []dovetail.ReplicaStatus
	for _, r := range f.replicas {
		if r.Run == id {
			found = append(found, r)
		}
	}
	return found, nil
}

func (f *fake) Events(_ context.Context, q engine.EventFilter) ([]dovetail.EventRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []dovetail.EventRecord
	for _, r := range f.events {
		if r.Seq > q.After && (q.Run == 0 || r.Run == q.Run) && (len(q.Types) == 0 || slices.Contains(q.Types, r.Type)) {
			found = append(found, r)
		}
	}
	if q.Tail > 0 && len(found) > q.Tail {
		found = found[len(found)-q.Tail:]
	}
	return found[:min(len(found), cmp.Or(q.Limit, 1000))], f.fail
}

func (f *fake) History(_ context.Context, q engine.HistoryFilter) ([]dovetail.History, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []dovetail.History
	for _, h := range f.history {
		next := q.Until.IsZero() || h.Status.Ended.Before(q.Until) || h.Status.Ended.Equal(q.Until) && h.Status.ID < q.Before
		if h.Status.Ended != nil && h.Status.Ended.Before(q.Since) {
			continue
		}
		if (q.App == "" || h.Status.App == q.App) && (q.Class == "" || h.Status.Class == q.Class) && next {
			found = append(found, h)
		}
	}
	return found[:min(len(found), cmp.Or(q.Limit, 100))], nil
}

func (f *fake) PutAway(_ context.Context, classes ...string) ([]dovetail.KnownClass, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []dovetail.KnownClass
	for _, k := range f.away {
		if len(classes) == 0 || slices.Contains(classes, k.Class) {
			found = append(found, k)
		}
	}
	return found, f.fail
}

func (f *fake) Log(ctx context.Context, r dovetail.Replica, stream string, from, limit int64, follow bool) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.logs[fmt.Sprintf("%d.%d.%d/%s", r.Component, r.Index, r.Attempt, stream)]
	if !ok {
		return nil, dovetail.Errorf(dovetail.NotFound, "replica %d.%d wrote no %s", r.Component, r.Index, stream)
	}
	return l.reader(ctx, from, limit, follow), nil
}

// tape is a log that may grow.
type tape struct {
	mu   sync.Mutex
	data []byte
	done bool
	more chan struct{} // closed, and replaced, when the log grows or ends
}

func newTape(text string) *tape { return &tape{data: []byte(text), more: make(chan struct{})} }

func (l *tape) write(text string, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data, l.done = append(l.data, text...), done
	close(l.more)
	l.more = make(chan struct{})
}

func (l *tape) reader(ctx context.Context, from, limit int64, follow bool) io.ReadCloser {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !follow {
		data := l.data[min(from, int64(len(l.data))):]
		if limit > 0 {
			data = data[:min(limit, int64(len(data)))]
		}
		return io.NopCloser(bytes.NewReader(data))
	}
	return io.NopCloser(&follower{ctx: ctx, tape: l, at: from})
}

type follower struct {
	ctx  context.Context
	tape *tape
	at   int64
}

func (f *follower) Read(p []byte) (int, error) {
	for {
		f.tape.mu.Lock()
		data, done, more := f.tape.data[f.at:], f.tape.done, f.tape.more
		f.tape.mu.Unlock()
		switch {
		case len(data) > 0:
			n := copy(p, data)
			f.at += int64(n)
			return n, nil
		case done:
			return 0, io.EOF
		}
		select {
		case <-f.ctx.Done():
			return 0, f.ctx.Err()
		case <-more:
		}
	}
}

// wordcount is a small valid description.
const wordcount = `apiVersion: dovetail/v1
name: wordcount
params:
  input: {type: string, default: small}
components:
  - name: master
    command: [wordcount, master, --input, "${params.input}"]
    count: 1
    resources: {cpu: 500m, memory: 256Mi}
    ports: {rpc: 7000, ui: {port: 8000, url: "http://${replica.address}:${port.ui}/"}}
    ends: run
  - name: worker
    after: [master]
    command: [wordcount, worker]
    count: 1
    max: 8
    resources: {cpu: 500m, memory: 512Mi}
`

// envelope wraps a description into a JSON body, with more members as JSON.
func envelope(t testing.TB, more string) string {
	t.Helper()
	text, err := json.Marshal(wordcount)
	if err != nil {
		t.Fatal(err)
	}
	return `{"spec": ` + string(text) + more + `}`
}
