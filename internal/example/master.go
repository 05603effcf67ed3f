package example

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	silentFor    = 10 * time.Second       // a worker that was not heard of for longer is given up; one that dies is noticed at once
	holdFor      = time.Second            // how long a request waits for something to happen
	lingerFor    = 10 * time.Second       // how long the master of a done job waits for its workers to take note
	retireWithin = 5 * time.Second        // how long a worker that is to be removed may still work on its task
	watchEvery   = 250 * time.Millisecond // between looks for silent workers
	sayEvery     = time.Second            // between lines that say how far the job is
	maxResult    = 64 << 20               // bytes
)

// master serves a job's tasks over HTTP.
type master struct {
	spec    Spec
	job     job
	log     *slog.Logger
	mu      sync.Mutex
	pool    *pool
	state   []byte        // of the round
	changed chan struct{} // closed and replaced whenever the pool changes
}

// joined answers a worker that joins.
type joined struct {
	Session int64 `json:"session"`
	Spec    Spec  `json:"spec"`
}

// order answers a worker that asks for work.
type order struct {
	Verdict verdict `json:"verdict"`
	Round   int     `json:"round"`
	Part    int     `json:"part"`
}

func newMaster(spec Spec, log *slog.Logger) (*master, error) {
	j, err := newJob(spec)
	if err != nil {
		return nil, err
	}
	return &master{spec: spec, job: j, log: log, pool: newPool(silentFor), changed: make(chan struct{})}, nil
}

// run serves the job until it is done and the workers know it, and returns the checked result.
func (m *master) run(ctx context.Context, l net.Listener) (*Result, error) {
	start := time.Now()
	server := &http.Server{Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second}
	defer func() { _ = server.Close() }() // what it still does is of no use
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(fmt.Errorf("serve: %w", <-served)) }()
	go m.watch(ctx)

	m.log.Info("serving", "job", m.spec.Job, "address", l.Addr().String(), "parts", m.spec.Parts)
	if err := m.work(ctx); err != nil {
		return nil, err
	}
	m.update(func() { m.pool.over = true })
	result := &Result{Spec: m.spec, Digest: m.job.digest(), Expected: m.job.expected()}
	result.OK = result.Digest == result.Expected
	bye, stop := context.WithTimeout(ctx, lingerFor)
	defer stop()
	m.until(bye, func() bool { return len(m.pool.members) == 0 })
	result.Seconds = time.Since(start).Seconds()
	m.update(func() { result.Counters = m.pool.count })
	return result, nil
}

// work goes through the rounds.
func (m *master) work(ctx context.Context) error {
	for n := 0; ; n++ {
		tasks, state := m.job.round(n)
		if tasks == 0 {
			return nil
		}
		m.update(func() {
			m.pool.start(tasks)
			m.state = state
		})
		var results [][]byte
		var failed error
		if !m.until(ctx, func() bool {
			results, failed = m.pool.results(), m.pool.failed
			return results != nil || failed != nil
		}) {
			return context.Cause(ctx)
		}
		if failed != nil {
			return failed
		}
		if err := m.job.reduce(n, results); err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		m.log.Info("round done", "round", n, "tasks", tasks)
	}
}

// update changes the pool and wakes everybody who waits for a change.
func (m *master) update(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	close(m.changed)
	m.changed = make(chan struct{})
}

// until waits for a condition on the pool. It is false if the context ended first.
func (m *master) until(ctx context.Context, holds func() bool) bool {
	for {
		m.mu.Lock()
		ok, changed := holds(), m.changed
		m.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// watch gives up silent workers and says how far the job is.
func (m *master) watch(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	last, said := -1, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			m.update(func() {
				for _, s := range m.pool.expire(now) {
					m.log.Info("worker lost: it is silent", "session", s)
				}
				if m.pool.count.Tasks != last && now.Sub(said) > sayEvery {
					last, said = m.pool.count.Tasks, now
					m.log.Info("progress", "round", m.pool.round, "left", m.pool.left, "tasks", last, "workers", len(m.pool.members))
				}
			})
		}
	}
}

func (m *master) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /join", m.join)
	mux.HandleFunc("POST /next", m.next)
	mux.HandleFunc("POST /result", m.result)
	mux.HandleFunc("GET /alive", m.alive)
	mux.HandleFunc("GET /state", m.roundState)
	mux.HandleFunc("POST /retire", m.retire)
	mux.HandleFunc("GET /{$}", m.status)
	return mux
}

func (m *master) join(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("worker")
	if name == "" {
		http.Error(w, "say who joins: ?worker=NAME", http.StatusBadRequest)
		return
	}
	reply := joined{Spec: m.spec}
	m.update(func() { reply.Session = m.pool.join(name, time.Now()) })
	m.log.Info("worker joined", "worker", name, "session", reply.Session)
	writeJSON(w, reply)
}

// next answers with a task as soon as there is one, or with a reason why there is none.
func (m *master) next(w http.ResponseWriter, r *http.Request) {
	session, ok := number(w, r, "session")
	if !ok {
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), holdFor)
	defer stop()
	reply := order{Verdict: verdictWait}
	m.until(ctx, func() bool {
		reply.Verdict, reply.Part = m.pool.next(int64(session), time.Now())
		reply.Round = m.pool.round
		return reply.Verdict != verdictWait
	})
	if reply.Verdict == verdictRetired || reply.Verdict == verdictDone {
		m.update(func() {}) // it has left the pool
	}
	writeJSON(w, reply)
}

// result takes what a worker computed, or why it could not.
func (m *master) result(w http.ResponseWriter, r *http.Request) {
	session, ok1 := number(w, r, "session")
	round, ok2 := number(w, r, "round")
	part, ok3 := number(w, r, "part")
	if !ok1 || !ok2 || !ok3 {
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxResult))
	if err != nil {
		http.Error(w, "read result: "+err.Error(), http.StatusBadRequest)
		return
	}
	failure := r.URL.Query().Get("error")
	m.update(func() {
		if failure != "" {
			m.pool.fail(int64(session), round, part, fmt.Errorf("task %d of round %d failed %d times: %s", part, round, maxFailures, failure), time.Now())
		} else {
			m.pool.finish(int64(session), round, part, data, time.Now())
		}
	})
	w.WriteHeader(http.StatusNoContent)
}

// alive is asked again and again by every worker. It takes its time to answer: if the connection breaks meanwhile, the
// worker is gone.
func (m *master) alive(w http.ResponseWriter, r *http.Request) {
	session, ok := number(w, r, "session")
	if !ok {
		return
	}
	beat := func() (known bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.pool.beat(int64(session), time.Now())
	}
	known := beat()
	t := time.NewTimer(holdFor)
	defer t.Stop()
	select {
	case <-r.Context().Done():
		m.update(func() { known = m.pool.drop(int64(session)) })
		if known {
			m.log.Info("worker lost: its connection broke", "session", session)
		}
		return
	case <-t.C:
	}
	if !known || !beat() {
		w.WriteHeader(http.StatusGone)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// roundState returns what the tasks of a round need to know.
func (m *master) roundState(w http.ResponseWriter, r *http.Request) {
	round, ok := number(w, r, "round")
	if !ok {
		return
	}
	m.mu.Lock()
	current, state := m.pool.round, m.state
	m.mu.Unlock()
	if round != current {
		http.Error(w, fmt.Sprintf("round %d is over", round), http.StatusGone)
		return
	}
	_, _ = w.Write(state) // the worker notices
}

// retire answers when the worker holds no task and will get none. What it does not finish in time goes to somebody else.
func (m *master) retire(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("worker")
	if name == "" {
		http.Error(w, "say who is to be retired: ?worker=NAME", http.StatusBadRequest)
		return
	}
	var sessions []int64
	m.update(func() { sessions = m.pool.retire(name) })
	ctx, stop := context.WithTimeout(r.Context(), retireWithin)
	defer stop()
	if !m.until(ctx, func() bool { return m.pool.idle(sessions) }) {
		m.update(func() {
			for _, s := range sessions {
				m.pool.drop(s)
			}
		})
	}
	m.log.Info("worker retired", "worker", name, "sessions", len(sessions))
	w.WriteHeader(http.StatusNoContent)
}

// status shows how far the job is.
func (m *master) status(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	reply := map[string]any{"spec": m.spec, "round": m.pool.round, "left": m.pool.left, "workers": len(m.pool.members), "counters": m.pool.count}
	m.mu.Unlock()
	writeJSON(w, reply)
}

// number reads a numeric parameter of the query, or answers that there is none.
func number(w http.ResponseWriter, r *http.Request, name string) (int, bool) {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		http.Error(w, fmt.Sprintf("parameter %s: expected a number", name), http.StatusBadRequest)
		return 0, false
	}
	return n, true
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a worker that is gone is noticed elsewhere
}
