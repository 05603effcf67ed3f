package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sched"
)

// whatIfInput asks about an alternative. Its body is a whatIfBody.
type whatIfInput struct{ Raw }

type whatIfBody struct {
	Config json.RawMessage `json:"config"`
	Nodes  []dovetail.Node `json:"nodes"`
	Submit json.RawMessage `json:"submit"`
}

type whatIfOutput struct{ Body dovetail.WhatIf }

func (s *server) registerWhatIf(api huma.API) {
	op := operation(http.MethodPost, "/v1/whatif", "what-if", "Say who would start when under another configuration, with more nodes, or after a submission", "runs")
	op.Description = "Plays the present state on, many times, as things are and under the alternative. Nothing is changed. " +
		"It takes some seconds; one such question is answered at a time."
	huma.Register(api, op, s.whatIf)
	describeBody(api.OpenAPI().Paths["/v1/whatif"].Post, whatIfRequest(api.OpenAPI().Components.Schemas))
}

func (s *server) whatIf(ctx context.Context, in *whatIfInput) (*whatIfOutput, error) {
	if s.forecasts == nil {
		return nil, s.failure(ctx, dovetail.Errorf(dovetail.Unavailable, "this daemon makes no forecasts"))
	}
	a, err := s.alternative(ctx, in)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	answer, err := s.forecasts.WhatIf(ctx, a)
	if err != nil {
		return nil, s.failure(ctx, err)
	}
	answer.Runs = filled(answer.Runs)
	return &whatIfOutput{Body: answer}, nil
}

// alternative reads what is asked about. Members of the configuration that are left out stay as they are.
func (s *server) alternative(ctx context.Context, in *whatIfInput) (dovetail.Alternative, error) {
	var a dovetail.Alternative
	var b whatIfBody
	if err := s.jsonBody(in.Raw, &b); err != nil {
		return a, err
	}
	if err := s.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) { a.Config = c.Config() }); err != nil {
		return a, err
	}
	if b.Config != nil {
		if err := strict(b.Config, &a.Config); err != nil {
			return a, under("config", err)
		}
	}
	a.Nodes = b.Nodes
	if b.Submit == nil {
		return a, nil
	}
	sub, text, given, err := decodeSubmission(b.Submit)
	if err == nil {
		sub, err = s.complete(sub, text, given)
	}
	if err != nil {
		return a, err
	}
	a.Submit = sub.Run()
	return a, nil
}

func whatIfRequest(schemas huma.Registry) map[string]*huma.MediaType {
	config := schemas.Schema(reflect.TypeFor[dovetail.Config](), true, "Config")
	node := schemas.Schema(reflect.TypeFor[dovetail.Node](), true, "Node")
	return map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"config": {Type: huma.TypeObject, Description: "Members of the configuration that would differ; see " + config.Ref},
			"nodes":  {Type: huma.TypeArray, Items: node, Description: "Nodes that would be added; no node may have their names"},
			"submit": {Type: huma.TypeObject, Description: "What would be submitted: the body of POST /v1/runs"},
		},
	}}}
}
