package example

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	joinFor  = 30 * time.Second       // how long a worker waits for its master to come up
	missFor  = 3 * time.Second        // how long it bears that the master does not answer
	retryIn  = 100 * time.Millisecond // until the next attempt
	patience = 10 * time.Second       // for one answer
)

// errGone says that the master does not know the session, or not the round, any more.
var errGone = errors.New("the master has given this worker up")

// worker does tasks for a master.
type worker struct {
	name   string
	master string // URL
	log    *slog.Logger
	client *http.Client
	build  func(Spec) (job, error)

	session int64
	job     job
	round   int // that state belongs to; -1: none
	state   []byte
	tasks   int
}

func newWorker(name, address string, log *slog.Logger) *worker {
	return &worker{
		name: name, master: "http://" + address, log: log, round: -1, build: newJob,
		client: &http.Client{Transport: &http.Transport{}, Timeout: patience}, // no proxy: the master is near
	}
}

// run works until the master says that there is nothing to do any more. An error means that the master has vanished, or
// never came up.
func (w *worker) run(ctx context.Context) error {
	defer w.client.CloseIdleConnections()
	for {
		if err := w.join(ctx); err != nil {
			return err
		}
		v, err := w.serve(ctx)
		if err != nil {
			return err
		}
		if v != verdictUnknown {
			w.log.Info("leaving", "worker", w.name, "because", string(v), "tasks", w.tasks)
			return nil
		}
	}
}

// serve does tasks under one session.
func (w *worker) serve(ctx context.Context) (verdict, error) {
	alive, stop := context.WithCancel(ctx)
	defer stop()
	go w.alive(alive, w.session)
	for {
		var o order
		if err := w.call(ctx, missFor, http.MethodPost, "/next", url.Values{}, nil, &o); err != nil {
			return "", err
		}
		switch o.Verdict {
		case verdictTask:
			if err := w.do(ctx, o); err != nil {
				return "", err
			}
		case verdictWait:
		default:
			return o.Verdict, nil
		}
	}
}

// do does one task and reports how it went.
func (w *worker) do(ctx context.Context, o order) error {
	q := url.Values{"round": {strconv.Itoa(o.Round)}, "part": {strconv.Itoa(o.Part)}}
	if o.Round != w.round {
		var state []byte
		err := w.call(ctx, missFor, http.MethodGet, "/state", url.Values{"round": q["round"]}, nil, &state)
		if errors.Is(err, errGone) {
			return nil // somebody else has finished the round meanwhile
		}
		if err != nil {
			return err
		}
		w.round, w.state = o.Round, state
	}
	data, err := w.job.task(o.Round, o.Part, w.state)
	if err != nil {
		w.log.Error("task failed", "round", o.Round, "part", o.Part, "error", err)
		q.Set("error", err.Error())
	}
	w.tasks++
	return w.call(ctx, missFor, http.MethodPost, "/result", q, data, nil)
}

// join waits for the master to come up, and joins it.
func (w *worker) join(ctx context.Context) error {
	var reply joined
	if err := w.call(ctx, joinFor, http.MethodPost, "/join", url.Values{"worker": {w.name}}, nil, &reply); err != nil {
		return err
	}
	j, err := w.build(reply.Spec)
	if err != nil {
		return err
	}
	w.session, w.job, w.round = reply.Session, j, -1
	w.log.Info("joined", "worker", w.name, "job", reply.Spec.Job, "session", w.session)
	return nil
}

// alive keeps a request open, so that the master notices when this process dies.
func (w *worker) alive(ctx context.Context, session int64) {
	q := url.Values{"session": {strconv.FormatInt(session, 10)}}
	for ctx.Err() == nil {
		if err := w.once(ctx, http.MethodGet, "/alive", q, nil, nil); err != nil && !pause(ctx, retryIn) {
			return
		}
	}
}

// call makes a request, again and again for some time while the master cannot be reached.
func (w *worker) call(ctx context.Context, patient time.Duration, method, path string, q url.Values, body []byte, reply any) error {
	q.Set("session", strconv.FormatInt(w.session, 10))
	for until := time.Now().Add(patient); ; {
		err := w.once(ctx, method, path, q, body, reply)
		var unreachable *url.Error
		switch {
		case !errors.As(err, &unreachable):
			return err
		case time.Now().After(until) || !pause(ctx, retryIn):
			return fmt.Errorf("the master does not answer: %w", err)
		}
	}
}

// once makes a request. A failure to get an answer is a *url.Error. The reply is a *[]byte, or what JSON is decoded into.
func (w *worker) once(ctx context.Context, method, path string, q url.Values, body []byte, reply any) error {
	req, err := http.NewRequestWithContext(ctx, method, w.master+path+"?"+q.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return &url.Error{Op: method, URL: path, Err: err}
	case resp.StatusCode == http.StatusGone:
		return errGone
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(data))
	case reply == nil:
		return nil
	}
	if raw, ok := reply.(*[]byte); ok {
		*raw = data
		return nil
	}
	return json.Unmarshal(data, reply)
}

// pause waits. It is false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
