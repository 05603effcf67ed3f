package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// RunInput names a run.
type RunInput struct {
	ID string `path:"id" maxLength:"128" doc:"Number or name of the run; of several with one name the one that has not ended, else the newest"`
}

// runsInput selects runs.
type runsInput struct {
	Raw
	State   []dovetail.State   `query:"state,explode" enum:"queued,starting,running,stopping,ended" doc:"Any of these states"`
	Outcome []dovetail.Outcome `query:"outcome,explode" enum:"succeeded,failed,cancelled,timedout,lost" doc:"Any of these outcomes"`
	Name    string             `query:"name" doc:"Of the run or the application; a trailing * matches any ending"`
	User    string             `query:"user" doc:"On whose behalf"`
	Key     string             `query:"key" doc:"Idempotency key"`
	Since   time.Time          `query:"since" doc:"Submitted at or after"`
	Until   time.Time          `query:"until" doc:"Submitted before"`
	Before  int64              `query:"before" minimum:"1" doc:"Only runs with a lower number: the member next of the page before"`
	Limit   int                `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Runs a page"`
}

// runsOutput is one page of runs.
type runsOutput struct {
	Link string `header:"Link" doc:"The next page"`
	Body runsBody
}

type runsBody struct {
	Runs []dovetail.RunStatus `json:"runs" nullable:"false" doc:"Newest first"`
	Next string               `json:"next,omitempty" doc:"The parameter before of the next page; absent on the last one"`
}

// runOutput is all there is to know about one run.
type runOutput struct{ Body runBody }

type runBody struct {
	Status   dovetail.RunStatus       `json:"status"`
	Run      *dovetail.Run            `json:"run"`
	Replicas []dovetail.ReplicaStatus `json:"replicas" nullable:"false" doc:"All it ever had, by component, index and attempt"`
	URLs     map[string]string        `json:"urls,omitempty" doc:"Of replicas that are up, such as notebook.0.ui"`
}

// statusOutput is the status of a run after a change.
type statusOutput struct{ Body dovetail.RunStatus }

// priorityInput changes a run.
type priorityInput struct {
	Raw
	RunInput
}

type priorityBody struct {
	Priority *int `json:"priority"`
}

type explainOutput struct{ Body dovetail.Explanation }

// historyInput selects finished runs.
type historyInput struct {
	Class  string    `query:"class" doc:"Job class, exactly"`
	App    string    `query:"app" doc:"Name of the application, exactly"`
	Since  time.Time `query:"since" doc:"Ended at or after"`
	Until  time.Time `query:"until" doc:"Ended before; with the parameter before, also those that ended at this time and have a lower number: the next page"`
	Before int64     `query:"before" doc:"Number of the last run of the page before, which ended at the time until; negative if it was imported"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Replay bool      `query:"replay" doc:"What a replay needs: runs that were not imported, with the applications, and without usage and neighbours, which take long to find"`
	Learn  bool      `query:"learn" doc:"What predictions need: with the applications and the neighbours, and without usage"`
}

type historyOutput struct{ Body historyBody }

type historyBody struct {
	History []dovetail.History `json:"history" nullable:"false" doc:"Newest end first"`
}

func (s *server) registerRuns(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "submit", Method: http.MethodPost, Path: "/v1/runs", Summary: "Submit a run", Tags: []string{"runs"},
		Description: "The answer is sent when the run is on record. The same submission with the same idempotency key returns the first run with status 200; another one with that key is a conflict.",
		Responses:   submitResponses(api.OpenAPI().Components.Schemas),
	}, s.submit)
	describeBody(api.OpenAPI().Paths["/v1/runs"].Post, submitRequest(api.OpenAPI().Components.Schemas))

	huma.Register(api, operation(http.MethodGet, "/v1/runs", "list-runs", "List runs", "runs"), s.listRuns)
	huma.Register(api, operation(http.MethodGet, "/v1/runs/{id}", "get-run", "Show a run", "runs"), s.getRun)
	huma.Register(api, operation(http.MethodPatch, "/v1/runs/{id}", "prioritise", "Change the priority of a run", "runs"), s.prioritise)
	describeBody(api.OpenAPI().Paths["/v1/runs/{id}"].Patch, priorityRequest())
	huma.Register(api, operation(http.MethodGet, "/v1/runs/{id}/explain", "explain", "Say why a run is where it is", "runs"), s.explain)
	op := operation(http.MethodGet, "/v1/runs/{id}/neighbours", "company", "Say who ran beside a run, and what that cost it", "runs")
	op.Description = "Of a run that has ended, by what is known of its class now. Of one that goes on: who is there now."
	huma.Register(api, op, s.company)
	huma.Register(api, operation(http.MethodGet, "/v1/history", "history", "List finished runs with scale-out, neighbours and usage", "runs"), s.history)

	verbs := []struct {
		name, summary string
		event         func(dovetail.RunID) dovetail.Event
	}{
		{"cancel", "End a run that has not ended yet", func(id dovetail.RunID) dovetail.Event { return dovetail.Cancelled{Run: id} }},
		{"hold", "Keep a queued run from being started", func(id dovetail.RunID) dovetail.Event { return dovetail.Held{Run: id} }},
		{"release", "Let a held run be started again", func(id dovetail.RunID) dovetail.Event { return dovetail.Released{Run: id} }},
		{"suspend", "Let a run in service stand still", func(id dovetail.RunID) dovetail.Event { return dovetail.Suspended{Run: id} }},
		{"resume", "Let a suspended run go on", func(id dovetail.RunID) dovetail.Event { return dovetail.Resumed{Run: id} }},
	}
	for _, v := range verbs {
		op := operation(http.MethodPost, "/v1/runs/{id}/"+v.name, v.name, v.summary, "runs")
		huma.Register(api, op, func(ctx context.Context, in *RunInput) (*statusOutput, error) {
			return s.tellRun(ctx, in.ID, v.event)
		})
	}
}

func (s *server) listRuns(ctx context.Context, in *runsInput) (*runsOutput, error) {
	runs, err := s.reader.Runs(ctx, engine.RunFilter{
		States: in.State, Outcomes: in.Outcome, Name: in.Name, User: in.User, Key: in.Key,
		Since: in.Since, Until: in.Until, Before: dovetail.RunID(in.Before), Limit: in.Limit,
	})
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	out := &runsOutput{Body: runsBody{Runs: filled(runs)}}
	if n := len(runs); n == in.Limit && runs[n-1].ID > 1 {
		out.Body.Next = strconv.FormatInt(int64(runs[n-1].ID), 10)
		q := in.request.URL.Query()
		q.Set("before", out.Body.Next)
		next := url.URL{Path: "/v1/runs", RawQuery: q.Encode()}
		out.Link = fmt.Sprintf("<%s>; rel=\"next\"", next.String())
	}
	return out, nil
}

func (s *server) getRun(ctx context.Context, in *RunInput) (*runOutput, error) {
	id, err := s.find(ctx, in.ID)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	status, run, err := s.reader.Run(ctx, id)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	replicas, err := s.reader.Replicas(ctx, id)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	s.measureLiving(ctx, replicas)
	return &runOutput{Body: runBody{Status: status, Run: run, Replicas: filled(replicas), URLs: urls(run, replicas)}}, nil
}

// measureLiving fills in what replicas that live consumed so far.
func (s *server) measureLiving(ctx context.Context, replicas []dovetail.ReplicaStatus) {
	if s.meter == nil {
		return
	}
	for i := range replicas {
		if r := &replicas[i]; r.Up != nil && r.Down == nil && ctx.Err() == nil {
			r.Usage, _ = s.meter.Usage(r.Replica)
		}
	}
}

// tellRun puts an event about a run on record and returns the run's status after it.
func (s *server) tellRun(ctx context.Context, name string, event func(dovetail.RunID) dovetail.Event) (*statusOutput, error) {
	id, err := s.find(ctx, name)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	told := s.engine.Tell(ctx, event(id))
	if told != nil && dovetail.CodeOf(told) != dovetail.NotFound {
		return nil, s.failure(ctx, told)
	}
	status, _, err := s.reader.Run(ctx, id)
	switch {
	case err == nil && told != nil && status.State == dovetail.Ended:
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.Conflict, "run %d has ended (%s); nothing can be changed", id, status.Outcome))
	case told != nil:
		return nil, s.failure(ctx, told)
	case err != nil:
		return nil, s.failure(ctx, err)
	}
	return &statusOutput{Body: status}, nil
}

func (s *server) prioritise(ctx context.Context, in *priorityInput) (*statusOutput, error) {
	var b priorityBody
	if err := s.jsonBody(in.Raw, &b); err != nil {
		return nil, s.failure(ctx, err)
	}
	if b.Priority == nil {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.Invalid, `nothing to change; expected {"priority": NUMBER}`))
	}
	return s.tellRun(ctx, in.ID, func(id dovetail.RunID) dovetail.Event {
		return dovetail.Reprioritised{Run: id, Priority: *b.Priority}
	})
}

func (s *server) explain(ctx context.Context, in *RunInput) (*explainOutput, error) {
	id, err := s.find(ctx, in.ID)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	var why dovetail.Explanation
	var alive bool
	err = s.engine.Inspect(ctx, func(c *sched.Core, now time.Time) { why, alive = c.Explain(id, now) })
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	if alive {
		why.ExpectedStart = s.expect(ctx, &why)
		return &explainOutput{Body: why}, nil
	}
	status, _, err := s.reader.Run(ctx, id)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	return &explainOutput{Body: epitaph(status)}, nil
}

// expect returns when a run will start that waits. An explanation without that is better than none.
func (s *server) expect(ctx context.Context, why *dovetail.Explanation) *dovetail.Expectation {
	if s.forecasts == nil || why.State != dovetail.Queued || why.Code == dovetail.OnHold {
		return nil
	}
	x, err := s.forecasts.Expect(ctx, why.Run)
	if err != nil {
		s.log.WarnContext(ctx, "cannot tell when a run will start", "run", why.Run, "error", err)
		return nil
	}
	return x
}

// epitaph explains a run that the core no longer knows.
func epitaph(r dovetail.RunStatus) dovetail.Explanation {
	text := fmt.Sprintf("it has ended: %s", r.Outcome)
	if r.Why != "" {
		text += " (" + r.Why + ")"
	}
	return dovetail.Explanation{Run: r.ID, State: r.State, Text: text}
}

func (s *server) history(ctx context.Context, in *historyInput) (*historyOutput, error) {
	h, err := s.reader.History(ctx, engine.HistoryFilter{
		Class: in.Class, App: in.App, Since: in.Since, Until: in.Until, Before: dovetail.RunID(in.Before), Limit: in.Limit, Replay: in.Replay, Learn: in.Learn,
	})
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	return &historyOutput{Body: historyBody{History: filled(h)}}, nil
}

// find returns the id of the run with this number or name.
func (s *server) find(ctx context.Context, name string) (dovetail.RunID, error) {
	missing := dovetail.Errorf(dovetail.NotFound, "there is no run %q; GET /v1/runs lists them", name)
	if digits.MatchString(name) {
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil || n < 1 {
			return 0, missing
		}
		return dovetail.RunID(n), nil
	}
	if !runName.MatchString(name) {
		return 0, missing
	}
	candidates, err := s.reader.Runs(ctx, engine.RunFilter{Name: name, Limit: 1000})
	if err != nil {
		return 0, err
	}
	var newest, living dovetail.RunID
	for _, r := range candidates {
		switch {
		case r.Name != name: // the application's name matched
			continue
		case r.State != dovetail.Ended && living != 0:
			return 0, dovetail.Errorf(dovetail.Conflict, "runs %d and %d are both called %q; use the number", r.ID, living, name)
		case r.State != dovetail.Ended:
			living = r.ID
		}
		newest = max(newest, r.ID)
	}
	switch {
	case living != 0:
		return living, nil
	case newest != 0:
		return newest, nil
	}
	return 0, missing
}

// filled returns a list that JSON writes as [] when it is empty.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
