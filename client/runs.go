package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dovetail-sched/dovetail"
)

// submission is the body of POST /v1/runs.
type submission struct {
	Spec   string            `json:"spec"`
	Params map[string]string `json:"params,omitempty"`
	Name   string            `json:"name,omitempty"`
	User   string            `json:"user,omitempty"`
	Key    string            `json:"key,omitempty"`
	Hold   bool              `json:"hold,omitempty"`
	Wait   bool              `json:"waitCapacity,omitempty"`
	Input  int64             `json:"inputSize,omitempty"`
}

func (r SubmitRequest) body() (submission, error) {
	if !utf8.Valid(r.Spec) {
		return submission{}, dovetail.Errorf(dovetail.Invalid, "the description is not UTF-8 text; save it as UTF-8")
	}
	return submission{
		Spec: string(r.Spec), Params: r.Params, Name: r.Name, User: r.User, Key: r.Key, Hold: r.Hold, Wait: r.Wait,
		Input: r.InputSize,
	}, nil
}

// Submit asks for a run. It returns when the daemon has put it on record.
func (c *Client) Submit(ctx context.Context, r SubmitRequest) (Submitted, error) {
	body, err := r.body()
	if err != nil {
		return Submitted{}, err
	}
	var s Submitted
	status, err := c.call(ctx, http.MethodPost, "/v1/runs", body, &s)
	s.Created = status == http.StatusCreated
	return s, err
}

// DryRun says what a submission would lead to, and submits nothing.
func (c *Client) DryRun(ctx context.Context, r SubmitRequest) (DryRun, error) {
	body, err := r.body()
	if err != nil {
		return DryRun{}, err
	}
	var d DryRun
	_, err = c.call(ctx, http.MethodPost, "/v1/runs?dryRun=true", body, &d)
	return d, err
}

// Run returns all there is to know about a run.
func (c *Client) Run(ctx context.Context, id string) (RunDetail, error) {
	var d RunDetail
	path, err := runPath(id, "")
	if err != nil {
		return d, err
	}
	err = c.get(ctx, path, nil, &d)
	return d, err
}

// Runs returns one page of the runs that match, newest first.
func (c *Client) Runs(ctx context.Context, q RunQuery) (RunPage, error) {
	v := url.Values{}
	for _, s := range q.States {
		v.Add("state", string(s))
	}
	for _, o := range q.Outcomes {
		v.Add("outcome", string(o))
	}
	set(v, "name", q.Name)
	set(v, "user", q.User)
	set(v, "key", q.Key)
	set(v, "before", q.Before)
	setTime(v, "since", q.Since)
	setTime(v, "until", q.Until)
	setInt(v, "limit", int64(q.Limit))
	var p RunPage
	err := c.get(ctx, "/v1/runs", v, &p)
	return p, err
}

// Cancel ends a run that has not ended yet.
func (c *Client) Cancel(ctx context.Context, id string) error { return c.tell(ctx, id, "/cancel") }

// Hold keeps a queued run from being started.
func (c *Client) Hold(ctx context.Context, id string) error { return c.tell(ctx, id, "/hold") }

// Release lets a held run be started again.
func (c *Client) Release(ctx context.Context, id string) error { return c.tell(ctx, id, "/release") }

// Suspend freezes a run in service: its elastic replicas are given back, its core stands still.
func (c *Client) Suspend(ctx context.Context, id string) error { return c.tell(ctx, id, "/suspend") }

// Resume lets a suspended run go on.
func (c *Client) Resume(ctx context.Context, id string) error { return c.tell(ctx, id, "/resume") }

func (c *Client) tell(ctx context.Context, id, verb string) error {
	path, err := runPath(id, verb)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, http.MethodPost, path, nil, nil)
	return err
}

// Prioritise changes the priority of a run that has not ended; higher is served first.
func (c *Client) Prioritise(ctx context.Context, id string, priority int) error {
	path, err := runPath(id, "")
	if err != nil {
		return err
	}
	body := struct {
		Priority int `json:"priority"`
	}{priority}
	_, err = c.call(ctx, http.MethodPatch, path, body, nil)
	return err
}

// Explain says why a run is where it is, and what would change that.
func (c *Client) Explain(ctx context.Context, id string) (dovetail.Explanation, error) {
	var e dovetail.Explanation
	path, err := runPath(id, "/explain")
	if err != nil {
		return e, err
	}
	err = c.get(ctx, path, nil, &e)
	return e, err
}

// Logs returns the output of one replica. With Follow it goes on until the replica ends or the context does. The caller
// closes the reader.
func (c *Client) Logs(ctx context.Context, id string, q LogQuery) (io.ReadCloser, error) {
	path, err := runPath(id, "/logs")
	if err != nil {
		return nil, err
	}
	v := url.Values{}
	set(v, "component", q.Component)
	set(v, "stream", q.Stream)
	setInt(v, "index", int64(q.Index))
	setInt(v, "attempt", q.Attempt)
	setInt(v, "offset", q.From)
	setInt(v, "limit", q.Limit)
	if q.Follow {
		v.Set("follow", "true")
	}
	if len(v) > 0 {
		path += "?" + v.Encode()
	}
	resp, err := c.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// History returns finished runs, newest end first.
func (c *Client) History(ctx context.Context, q HistoryQuery) ([]dovetail.History, error) {
	v := url.Values{}
	set(v, "class", q.Class)
	set(v, "app", q.App)
	setTime(v, "since", q.Since)
	setTime(v, "until", q.Until)
	setInt(v, "before", int64(q.Before))
	setInt(v, "limit", int64(q.Limit))
	if q.Replay {
		v.Set("replay", "true")
	}
	if q.Learn {
		v.Set("learn", "true")
	}
	var answer struct {
		History []dovetail.History `json:"history"`
	}
	err := c.get(ctx, "/v1/history", v, &answer)
	return answer.History, err
}

// AllHistory returns finished runs, newest end first, however many there are: it asks for page after page. After each one it calls
// progress with how many runs there are so far; it may be nil. The limit is ignored.
func (c *Client) AllHistory(ctx context.Context, q HistoryQuery, progress func(runs int)) ([]dovetail.History, error) {
	var all []dovetail.History
	for q.Limit = MaxHistory; ; {
		page, err := c.History(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if progress != nil {
			progress(len(all))
		}
		if len(page) < q.Limit {
			return all, nil
		}
		last := &page[len(page)-1].Status
		q.Until, q.Before = *last.Ended, last.ID
	}
}

// WhatIf says who would start when if something else were done from now on. Nothing is changed.
func (c *Client) WhatIf(ctx context.Context, r WhatIfRequest) (dovetail.WhatIf, error) {
	body := whatIf{Config: (*wholeConfig)(r.Config), Nodes: r.Nodes}
	if r.Submit != nil {
		s, err := r.Submit.body()
		if err != nil {
			return dovetail.WhatIf{}, err
		}
		body.Submit = &s
	}
	var answer dovetail.WhatIf
	_, err := c.call(ctx, http.MethodPost, "/v1/whatif", body, &answer)
	return answer, err
}

// whatIf is the body of POST /v1/whatif.
type whatIf struct {
	Config *wholeConfig    `json:"config,omitempty"`
	Nodes  []dovetail.Node `json:"nodes,omitempty"`
	Submit *submission     `json:"submit,omitempty"`
}

// wholeConfig is a dovetail.Config of which no member is left out: what is stays as it is in force.
type wholeConfig struct {
	Policy           string            `json:"policy"`
	Alloc            string            `json:"alloc"`
	Reclaim          string            `json:"reclaim"`
	Preempt          bool              `json:"preempt"`
	InteractiveFirst bool              `json:"interactiveFirst"`
	MaxWait          dovetail.Duration `json:"maxWait"`
	Regrow           dovetail.Duration `json:"regrow"`
	Replan           dovetail.Duration `json:"replan"`
	Place            string            `json:"place"`

	Colocation dovetail.Colocation `json:"colocation"`
}

// runPath returns the path of a run, given by number or name, or of something below it.
func runPath(id, below string) (string, error) {
	segment, err := segment("run", id)
	return "/v1/runs/" + segment + below, err
}

// segment makes a name part of a path. Names that a path cannot hold are refused.
func segment(what, name string) (string, error) {
	if name == "" || name == "." || name == ".." {
		return "", dovetail.Errorf(dovetail.Invalid, "%q is not the name of a %s", name, what)
	}
	return url.PathEscape(name), nil
}

func set(v url.Values, key, value string) {
	if value != "" {
		v.Set(key, value)
	}
}

func setInt(v url.Values, key string, n int64) {
	if n != 0 {
		v.Set(key, strconv.FormatInt(n, 10))
	}
}

func setTime(v url.Values, key string, t time.Time) {
	if !t.IsZero() {
		v.Set(key, t.UTC().Format(time.RFC3339Nano))
	}
}
