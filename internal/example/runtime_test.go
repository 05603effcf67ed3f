package example

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// rig is a master and its workers in one process and a bubble of virtual time, joined by a network in memory.
type rig struct {
	t      *testing.T
	net    *memoryNet
	master *master
	done   chan struct{} // closed when the master has ended
	result *Result
	err    error
}

// newRig makes a master that is not up yet. It must be called inside a bubble.
func newRig(t *testing.T, s Spec) *rig {
	t.Helper()
	m, err := newMaster(s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, net: newMemoryNet(), master: m, done: make(chan struct{})}
}

// start lets the master serve until its job is done or the context ends.
func (c *rig) start(ctx context.Context) {
	go func() {
		defer close(c.done)
		c.result, c.err = c.master.run(ctx, c.net)
	}()
}

// over reports whether the master has ended.
func (c *rig) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// process is a worker under test.
type process struct {
	name  string
	kill  context.CancelFunc
	ended chan struct{} // closed when it has ended
	err   error
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// work starts a worker; around wraps its job.
func (c *rig) work(name string, around func(job) job) *process {
	ctx, kill := context.WithCancel(c.t.Context())
	p := &process{name: name, kill: kill, ended: make(chan struct{})}
	w := newWorker(name, "master", slog.New(slog.DiscardHandler))
	w.client.Transport = &http.Transport{DialContext: c.net.dial}
	w.build = func(s Spec) (job, error) {
		j, err := newJob(s)
		return around(j), err
	}
	go func() {
		defer close(p.ended)
		p.err = w.run(ctx)
	}()
	return p
}

// post calls the master as somebody else and returns the status; 0 if the master has ended.
func (c *rig) post(path string, q url.Values) int {
	c.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: c.net.dial, DisableKeepAlives: true}}
	resp, err := client.Post("http://master"+path+"?"+q.Encode(), "", nil)
	if err != nil {
		if <-c.done; c.err != nil {
			c.t.Errorf("POST %s: %v, and the master ended with %v", path, err, c.err)
		}
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (c *rig) retire(name string) {
	c.t.Helper()
	if code := c.post("/retire", url.Values{"worker": {name}}); code != http.StatusNoContent && code != 0 {
		c.t.Errorf("retire %s: status %d", name, code)
	}
}

func (c *rig) counters() Counters {
	c.master.mu.Lock()
	defer c.master.mu.Unlock()
	return c.master.pool.count
}

func (c *rig) finished(part int) bool {
	c.master.mu.Lock()
	defer c.master.mu.Unlock()
	return c.master.pool.tasks[part].done
}

// taking makes each task of a job take that long, in virtual time, and counts them.
type taking struct {
	job
	delay   func() time.Duration
	started *atomic.Int64
}

func (j taking) task(round, part int, state []byte) ([]byte, error) {
	j.started.Add(1)
	pass(j.delay())
	return j.job.task(round, part, state)
}

func always(d time.Duration, started *atomic.Int64) func(job) job {
	return func(j job) job { return taking{j, func() time.Duration { return d }, started} }
}

// pass lets virtual time pass.
func pass(d time.Duration) { pause(context.Background(), d) }

// TestJobsSurviveChurn lets workers come, be killed and be retired at random, and demands the right result.
func TestJobsSurviveChurn(t *testing.T) {
	for _, name := range Jobs() {
		t.Run(name, func(t *testing.T) {
			var sum Counters
			for seed := range uint64(4) {
				s := testSpec(t, name, seed)
				synctest.Test(t, func(t *testing.T) { churn(t, s, &sum) })
			}
			if sum.Lost == 0 || sum.Retired == 0 || sum.Requeued == 0 {
				t.Errorf("the test tests little: %+v", sum)
			}
		})
	}
}

func churn(t *testing.T, s Spec, sum *Counters) {
	c := newRig(t, s)
	c.start(t.Context())
	var mu sync.Mutex
	delays := newStream(s.Seed, 77)
	slow := func(j job) job {
		return taking{j, func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(50+delays.below(250)) * time.Millisecond
		}, new(atomic.Int64)}
	}
	r := newStream(s.Seed, 78)
	slots := make([]*process, 4)
	for !c.over() {
		pass(time.Duration(r.below(400)) * time.Millisecond)
		i := r.below(len(slots))
		p := slots[i]
		switch {
		case p == nil || !p.running():
			slots[i] = c.work(fmt.Sprintf("worker.%d", i), slow)
		case r.below(2) == 0:
			p.kill()
			<-p.ended
		default:
			c.retire(p.name)
			p.kill()
			<-p.ended
		}
	}
	if c.err != nil {
		t.Fatalf("seed %d: %v", s.Seed, c.err)
	}
	if !c.result.OK {
		t.Errorf("seed %d: got %s, expected %s after %+v", s.Seed, c.result.Digest, c.result.Expected, c.result.Counters)
	}
	for _, p := range slots {
		if p != nil {
			<-p.ended
		}
	}
	n := c.result.Counters
	sum.Lost, sum.Retired, sum.Requeued = sum.Lost+n.Lost, sum.Retired+n.Retired, sum.Requeued+n.Requeued
}

func TestRetire(t *testing.T) {
	for _, c := range []struct {
		reason   string
		task     time.Duration // how long a task takes
		answers  time.Duration // how long the hook takes, when asked 100 ms after the task began
		requeued int
	}{
		{"the hook waits until the task is done", 400 * time.Millisecond, 300 * time.Millisecond, 0},
		{"a task that takes too long is handed back", time.Minute, retireWithin, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var started atomic.Int64
			cl := newRig(t, testSpec(t, "wordcount", 1))
			cl.start(t.Context())
			p := cl.work("worker.3", always(c.task, &started))
			synctest.Wait()
			pass(100 * time.Millisecond)
			synctest.Wait()
			before, asked := started.Load(), time.Now()
			cl.retire("worker.3")
			if took := time.Since(asked); took != c.answers {
				t.Errorf("%s: the hook answered after %v, expected %v", c.reason, took, c.answers)
			}
			if n := cl.counters(); n.Requeued != c.requeued || n.Retired != 1 || n.Lost != 0 {
				t.Errorf("%s: %+v", c.reason, n)
			}
			if c.requeued == 0 {
				<-p.ended
				if p.err != nil {
					t.Errorf("%s: the worker left with %v", c.reason, p.err)
				}
			}
			if after := started.Load(); after != before {
				t.Errorf("%s: the worker began %d tasks after it was retired", c.reason, after-before)
			}
			other := cl.work("worker.4", always(0, &started))
			<-cl.done
			if cl.err != nil || !cl.result.OK {
				t.Errorf("%s: the master ended with %v, %+v", c.reason, cl.err, cl.result)
			}
			<-other.ended
			p.kill()
			<-p.ended
		})
	}
}

func TestRetireAnswersForAbsentWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := newRig(t, testSpec(t, "wordcount", 1))
		c.start(ctx)
		synctest.Wait()
		for _, x := range []struct {
			reason string
			path   string
			q      url.Values
			want   int
		}{
			{"a worker that is not there has nothing to lose", "/retire", url.Values{"worker": {"worker.9"}}, http.StatusNoContent},
			{"a hook without a name is a mistake", "/retire", nil, http.StatusBadRequest},
			{"so is a worker without one", "/join", nil, http.StatusBadRequest},
			{"and a session that is no number", "/next", url.Values{"session": {"x"}}, http.StatusBadRequest},
		} {
			if got := c.post(x.path, x.q); got != x.want {
				t.Errorf("%s: POST %s gave %d, expected %d", x.reason, x.path, got, x.want)
			}
		}
		stop()
		<-c.done
		if !errors.Is(c.err, context.Canceled) {
			t.Errorf("a master that is interrupted ended with %v", c.err)
		}
	})
}

// TestKilledWorkerIsNoticedAtOnce: its broken connection tells, long before its silence does.
func TestKilledWorkerIsNoticedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Int64
		c := newRig(t, testSpec(t, "wordcount", 1))
		c.start(t.Context())
		victim := c.work("worker.0", always(time.Minute, &started))
		for started.Load() == 0 {
			pass(10 * time.Millisecond)
		}
		victim.kill()
		synctest.Wait()
		if n := c.counters(); n.Lost != 1 || n.Requeued != 1 {
			t.Errorf("a moment after a worker was killed: %+v", n)
		}
		other := c.work("worker.1", always(0, &started))
		<-c.done
		<-other.ended
		<-victim.ended
		if c.err != nil || !c.result.OK {
			t.Errorf("the master ended with %v, %+v", c.err, c.result)
		}
	})
}

// TestFrozenWorkerIsGivenUp: a worker that took a task and stands still, with its connection open, holds up nobody; what
// it brings after it thawed is a duplicate.
func TestFrozenWorkerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRig(t, testSpec(t, "components", 1))
		c.start(t.Context())
		w := newWorker("frozen", "master", slog.New(slog.DiscardHandler))
		w.client.Transport = &http.Transport{DialContext: c.net.dial}
		defer w.client.CloseIdleConnections()
		if err := w.join(t.Context()); err != nil {
			t.Fatal(err)
		}
		var o order
		if err := w.call(t.Context(), missFor, http.MethodPost, "/next", url.Values{}, nil, &o); err != nil || o.Verdict != verdictTask {
			t.Fatalf("next: %+v, %v", o, err)
		}
		data, err := w.job.task(o.Round, o.Part, nil)
		if err != nil {
			t.Fatal(err)
		}
		var started atomic.Int64
		other := c.work("worker.1", always(silentFor/2, &started)) // it still has work when the frozen one is given up
		for !c.finished(o.Part) {
			pass(100 * time.Millisecond)
		}
		q := url.Values{"round": {strconv.Itoa(o.Round)}, "part": {strconv.Itoa(o.Part)}}
		if err := w.call(t.Context(), 0, http.MethodPost, "/result", q, data, nil); err != nil {
			t.Fatalf("late result: %v", err)
		}
		<-c.done
		<-other.ended
		n := c.counters()
		if want := (Counters{Joined: 2, Lost: 1, Tasks: c.master.spec.Parts, Requeued: 1, Duplicates: 1}); c.err != nil || !c.result.OK || n != want {
			t.Errorf("the master ended with %v, %+v, expected %+v", c.err, n, want)
		}
	})
}

// breaking fails every task the first few times.
type breaking struct {
	job
	times  int
	mu     *sync.Mutex
	failed map[string]int
}

func (j breaking) task(round, part int, state []byte) ([]byte, error) {
	j.mu.Lock()
	key := fmt.Sprint(round, part)
	j.failed[key]++
	n := j.failed[key]
	j.mu.Unlock()
	if n <= j.times {
		return nil, errBroken
	}
	return j.job.task(round, part, state)
}

func TestFailingTasks(t *testing.T) {
	for _, c := range []struct {
		reason string
		times  int
		ok     bool
	}{
		{"a task that fails twice is done by the third attempt", maxFailures - 1, true},
		{"a task that fails again and again fails the job", maxFailures, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			cl := newRig(t, testSpec(t, "kmeans", 1))
			cl.start(t.Context())
			failed := make(map[string]int)
			p := cl.work("worker.0", func(j job) job { return breaking{j, c.times, new(sync.Mutex), failed} })
			<-cl.done
			if ok := cl.err == nil && cl.result.OK; ok != c.ok {
				t.Errorf("%s: the master ended with %v, %+v", c.reason, cl.err, cl.result)
			}
			if <-p.ended; (p.err == nil) != c.ok {
				t.Errorf("%s: the worker ended with %v", c.reason, p.err)
			}
		})
	}
}

// lying returns what another part's task would return.
type lying struct{ job }

func (j lying) task(round, part int, state []byte) ([]byte, error) {
	return j.job.task(round, part/2, state)
}

func TestWrongResultIsNoticed(t *testing.T) {
	for _, name := range []string{"wordcount", "kmeans", "components", "pagerank"} {
		synctest.Test(t, func(t *testing.T) {
			c := newRig(t, testSpec(t, name, 1))
			c.start(t.Context())
			p := c.work("worker.0", func(j job) job { return lying{j} })
			<-c.done
			<-p.ended
			if c.err != nil || c.result.OK {
				t.Errorf("%s: a wrong result passed: %v, %+v", name, c.err, c.result)
			}
		})
	}
}

// TestMasterComesAndGoes: workers wait for a master that is not up yet, for 30 s, and give up one that vanishes.
func TestMasterComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := newRig(t, testSpec(t, "wordcount", 1))
		c.net.down.Store(true)
		var started atomic.Int64
		early := c.work("early", always(time.Hour, &started))
		pass(joinFor - time.Second)
		c.net.down.Store(false)
		c.start(ctx)
		pass(time.Second)
		synctest.Wait()
		if n := c.counters(); n.Joined != 1 || started.Load() != 1 {
			t.Errorf("a worker that came before its master did not join: %+v", n)
		}
		late := c.work("late", always(time.Millisecond, &started))
		for c.counters().Tasks < 2 {
			pass(time.Millisecond)
		}
		stop()
		<-c.done
		vanished := time.Now()
		<-late.ended
		if late.err == nil {
			t.Errorf("the master vanished, and its worker noticed nothing")
		}
		if took := time.Since(vanished); took > missFor+time.Second {
			t.Errorf("a worker noticed after %v that its master had vanished", took)
		}
		<-early.ended
	})
	synctest.Test(t, func(t *testing.T) {
		c := newRig(t, testSpec(t, "wordcount", 1))
		c.net.down.Store(true)
		begun := time.Now()
		p := c.work("worker.0", func(j job) job { return j })
		<-p.ended
		if took := time.Since(begun); p.err == nil || took < joinFor || took > joinFor+time.Second {
			t.Errorf("a worker whose master never came ended after %v with %v", took, p.err)
		}
	})
}

// memoryNet is a network with one address.
type memoryNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	down   atomic.Bool
}

func newMemoryNet() *memoryNet {
	return &memoryNet{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *memoryNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if n.down.Load() {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	select {
	case n.conns <- far:
		return near, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for a connection.
func (n *memoryNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections.
func (n *memoryNet) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr returns the only address.
func (n *memoryNet) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }
