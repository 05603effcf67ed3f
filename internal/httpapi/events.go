package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// EventFields select event records, in lists and streams alike.
type EventFields struct {
	Raw
	Types  []string `query:"type,explode" maxItems:"32" doc:"Any of these types, such as submitted, up or down"`
	After  int64    `query:"after" minimum:"0" doc:"Only records after this position of the journal"`
	Tail   int      `query:"tail" minimum:"-1" maximum:"10000" doc:"Of what is past only the last so many; a stream takes -1 for none"`
	Limit  int      `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Records in a list at most"`
	Accept string   `header:"Accept" doc:"text/event-stream asks for a stream: what is past first, then what happens"`
	LastID string   `header:"Last-Event-ID" doc:"Where a stream that broke goes on; after and tail are ignored then"`
}

// eventsInput selects event records of all runs, or of one.
type eventsInput struct {
	EventFields
	Run string `query:"run" maxLength:"128" doc:"Number or name of a run"`
}

// runEventsInput selects event records of one run.
type runEventsInput struct {
	RunInput
	EventFields
}

// eventsBody is a list of event records.
type eventsBody struct {
	Events []dovetail.EventRecord `json:"events" nullable:"false" doc:"In order of their position in the journal"`
}

func (s *server) registerEvents(api huma.API) {
	schemas := api.OpenAPI().Components.Schemas
	events := streamOperation(schemas, "/v1/events", "list-events", "List what happened, or stream it as it happens")
	huma.Register(api, events, func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		return s.events(ctx, in.Run, &in.EventFields)
	})
	run := streamOperation(schemas, "/v1/runs/{id}/events", "run-events", "List what happened to a run, or stream it as it happens")
	huma.Register(api, run, func(ctx context.Context, in *runEventsInput) (*huma.StreamResponse, error) {
		return s.events(ctx, in.ID, &in.EventFields)
	})
	watch := streamOperation(schemas, "/v1/watch", "watch", "Stream what happens as server-sent events")
	delete(watch.Responses["200"].Content, "application/json")
	huma.Register(api, watch, func(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		in.Accept = eventStream
		return s.events(ctx, in.Run, &in.EventFields)
	})
}

const eventStream = "text/event-stream"

func (s *server) events(ctx context.Context, run string, in *EventFields) (*huma.StreamResponse, error) {
	filter := engine.EventFilter{Types: in.Types, After: in.After, Tail: in.Tail, Limit: in.Limit}
	if run != "" {
		id, err := s.find(ctx, run)
		if err == nil {
			_, _, err = s.reader.Run(ctx, id)
		}
		if err != nil {
			return nil, s.failure(ctx, err)
		}
		filter.Run = id
	}
	if strings.Contains(in.Accept, eventStream) {
		return s.follow(ctx, filter, in)
	}
	if in.Tail < 0 {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.Invalid, "tail=-1 makes sense only for a stream"))
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	records, err := s.reader.Events(ctx, filter)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	return answerJSON(eventsBody{Events: filled(records)})
}

// untilShutdown returns a context that also ends when the server begins to shut down: streams would hold that up.
func untilShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	down, ok := ctx.Value(shutdownKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(down, cancel)
	return ctx, func() { stop(); cancel() }
}

// follow starts a stream of events.
func (s *server) follow(ctx context.Context, filter engine.EventFilter, in *EventFields) (*huma.StreamResponse, error) {
	f := feed{server: s, filter: filter, at: mark{seq: filter.After, n: whole}, w: in.writer}
	if in.LastID != "" {
		at, ok := parseMark(in.LastID)
		if !ok {
			return nil, s.failure(ctx, dovetail.Errorf(dovetail.Invalid, "Last-Event-ID %q is not an id that this daemon sent", in.LastID))
		}
		f.at, f.filter.Tail = at, 0
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		ctx, stop := untilShutdown(ctx)
		defer stop()
		h := in.writer.Header()
		h.Set("Content-Type", eventStream)
		h.Set("X-Accel-Buffering", "no") // proxies must not wait for more
		in.writer.WriteHeader(http.StatusOK)
		if err := f.run(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "event stream ended", "error", err)
		}
	}}, nil
}
