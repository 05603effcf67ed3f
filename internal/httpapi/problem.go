package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
)

// Problem is an error as the API sends it: the problem details of RFC 9457 with two members of our own.
type Problem struct { //nolint:errname // what RFC 9457 calls it
	Title  string  `json:"title" doc:"The HTTP status in words"`
	Status int     `json:"status" doc:"The HTTP status"`
	Detail string  `json:"detail" doc:"What is wrong and what to do, for people"`
	Code   string  `json:"code" enum:"invalid,not_found,conflict,unauthorized,unavailable,internal" doc:"What kind of error it is, for programs"`
	Faults []Fault `json:"faults,omitempty" doc:"Everything that is wrong with the input, and where"`
}

// Fault is one thing that is wrong with an input; it mirrors dovetail.Fault.
type Fault struct {
	Line    int    `json:"line,omitempty" doc:"From 1; absent when unknown"`
	Column  int    `json:"column,omitempty"`
	Field   string `json:"field,omitempty" doc:"Path such as components[1].count"`
	Message string `json:"message"`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders returns the headers that go with the status.
func (p *Problem) GetHeaders() http.Header {
	switch p.Status {
	case http.StatusServiceUnavailable:
		return http.Header{"Retry-After": {"1"}}
	case http.StatusUnauthorized:
		return http.Header{"Www-Authenticate": {`Bearer realm="dovetail"`}}
	}
	return nil
}

// ContentType returns the media type of problem details.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problem makes a Problem of a status of its own.
func problem(status int, code dovetail.ErrorCode, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail, Code: string(code)}
}

// statusOf says with which status an error of this code is answered.
func statusOf(code dovetail.ErrorCode) int {
	switch code {
	case dovetail.Invalid:
		return http.StatusUnprocessableEntity
	case dovetail.NotFound:
		return http.StatusNotFound
	case dovetail.Conflict:
		return http.StatusConflict
	case dovetail.Unauthorized:
		return http.StatusUnauthorized
	case dovetail.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// failure turns an error into the Problem to send. Errors that are not for people are logged and not shown.
func (s *server) failure(ctx context.Context, err error) error {
	var p *Problem
	var e *dovetail.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &e) && e.Code != dovetail.Internal:
		return fromError(e)
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusServiceUnavailable, dovetail.Unavailable,
			"the daemon did not answer in time; it may be overloaded or its disk slow: try again, with an idempotency key if it is a submission")
	case errors.Is(err, context.Canceled):
		return problem(http.StatusServiceUnavailable, dovetail.Unavailable, "the request was given up, or the daemon is stopping; try again")
	}
	s.log.ErrorContext(ctx, "request failed", "error", err)
	return problem(http.StatusInternalServerError, dovetail.Internal, "the daemon failed; its log says why")
}

func fromError(e *dovetail.Error) *Problem {
	p := problem(statusOf(e.Code), e.Code, e.Message)
	for _, f := range e.Faults {
		p.Faults = append(p.Faults, Fault(f))
	}
	return p
}

// speakProblem makes the errors that huma finds in parameters look like all others.
func speakProblem(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := dovetail.Invalid
	if m.Status >= 500 {
		code = dovetail.Internal
	}
	p := problem(m.Status, code, "the request is not valid")
	if len(m.Errors) == 0 {
		p.Detail = m.Detail
	}
	for _, e := range m.Errors {
		p.Faults = append(p.Faults, Fault{Field: e.Location, Message: e.Message})
	}
	return p, nil
}

// send writes the problem outside of huma.
func (p *Problem) send(w http.ResponseWriter) {
	for k, v := range p.GetHeaders() {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // nobody is left to tell
}
