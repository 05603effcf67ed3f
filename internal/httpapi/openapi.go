package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/dovetail-sched/dovetail"
)

// Stand-ins for types whose JSON form differs from their Go form.
type (
	// Quantities stands for dovetail.Resources.
	Quantities struct {
		CPU    string `json:"cpu,omitempty" example:"500m" doc:"Cores"`
		Memory string `json:"memory,omitempty" example:"256Mi" doc:"Bytes"`
		GPU    string `json:"gpu,omitempty" example:"1" doc:"Devices"`
		Disk   string `json:"disk,omitempty" example:"10Gi" doc:"Bytes"`
	}
	// DurationText stands for dovetail.Duration.
	DurationText string
	// Action stands for one of dovetail.Actions: exactly one member is set.
	Action struct {
		Run  *dovetail.RunReplicas `json:"run,omitempty"`
		Stop *dovetail.StopRun     `json:"stop,omitempty"`
	}
)

// newAPI returns an API without operations on the mux.
func newAPI(mux *http.ServeMux) huma.API {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schemas.RegisterTypeAlias(reflect.TypeFor[dovetail.Resources](), reflect.TypeFor[Quantities]())
	schemas.RegisterTypeAlias(reflect.TypeFor[dovetail.Duration](), reflect.TypeFor[DurationText]())
	schemas.RegisterTypeAlias(reflect.TypeFor[dovetail.Actions](), reflect.TypeFor[[]Action]())
	schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Dovetail",
				Version:     apiVersion,
				Description: "Schedules elastic analytics applications. Unknown members of answers are to be ignored: later versions add some. Unknown query parameters and members of requests are refused.",
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: schemas,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {Type: "http", Scheme: "bearer", Description: "Needed when the daemon was started with a token"},
				},
			},
			Security: []map[string][]string{{"token": {}}, {}},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{speakProblem},
	})
}

func operation(method, path, id, summary, tag string) huma.Operation {
	return huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{tag}}
}

// streamOperation returns an operation that answers with a list of events, or with a stream of them.
func streamOperation(schemas huma.Registry, path, id, summary string) huma.Operation {
	op := operation(http.MethodGet, path, id, summary, "events")
	op.Metadata = map[string]any{streaming: true}
	answer := jsonResponse(schemas, "What happened", eventsBody{})
	answer.Content[eventStream] = &huma.MediaType{Schema: &huma.Schema{
		Type:        huma.TypeString,
		Description: "Messages whose data is an EventRecord and whose id goes into Last-Event-ID; a message without data only sets the id, a comment only shows that the daemon lives",
	}}
	op.Responses = map[string]*huma.Response{"200": answer}
	return op
}

func jsonResponse(schemas huma.Registry, description string, body any) *huma.Response {
	t := reflect.TypeOf(body)
	return &huma.Response{
		Description: description,
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(t, true, t.Name())}},
	}
}

func text(description string) *huma.Response {
	return &huma.Response{
		Description: description,
		Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// describeBody documents a body that the handler reads itself. It is called after huma.Register, which would read it.
func describeBody(op *huma.Operation, content map[string]*huma.MediaType) {
	op.RequestBody = &huma.RequestBody{Required: true, Content: content}
}

func submitRequest(schemas huma.Registry) map[string]*huma.MediaType {
	application := schemas.Schema(reflect.TypeFor[dovetail.Application](), true, "Application")
	words := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }
	flag := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeBoolean, Description: doc} }
	longest := maxName
	name := words("Of the run; the daemon chooses one if absent")
	name.MaxLength, name.Pattern = &longest, runName.String()
	body := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"spec"},
		Properties: map[string]*huma.Schema{
			"spec": {
				Description: "The description: an object, or a string that contains YAML or JSON. /v1/schema/application.json says all that is allowed",
				OneOf:       []*huma.Schema{application, {Type: huma.TypeString}},
			},
			"params":       {Type: huma.TypeObject, AdditionalProperties: words(""), Description: "Values of its parameters"},
			"name":         name,
			"user":         words("On whose behalf"),
			"key":          words("Idempotency key, as in the header"),
			"hold":         flag("Do not start it before it is released"),
			"waitCapacity": flag("Accept it although its core fits no cluster known so far"),
			"inputSize":    {Type: huma.TypeInteger, Format: "int64", Description: "Bytes that the run reads, in place of what the description says"},
		},
	}
	return map[string]*huma.MediaType{
		"application/json": {Schema: body},
		"application/yaml": {Schema: &huma.Schema{Type: huma.TypeString, Description: "The description alone"}},
	}
}

func submitResponses(schemas huma.Registry) map[string]*huma.Response {
	run := schemas.Schema(reflect.TypeFor[submittedBody](), true, "SubmittedRun")
	ok := jsonResponse(schemas, "The run that had this key already; or the answer to a dry run", submittedBody{})
	dry := schemas.Schema(reflect.TypeFor[dryRunBody](), true, "DryRun")
	ok.Content["application/json"].Schema = &huma.Schema{OneOf: []*huma.Schema{run, dry}}
	return map[string]*huma.Response{
		"200": ok,
		"201": jsonResponse(schemas, "The run was put on record", submittedBody{}),
	}
}

func priorityRequest() map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"priority"},
		Properties: map[string]*huma.Schema{"priority": {Type: huma.TypeInteger, Description: "Higher is served first"}},
	}}}
}

func configRequest(schemas huma.Registry) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{
		"application/json": {Schema: schemas.Schema(reflect.TypeFor[dovetail.Config](), true, "Config")},
	}
}

// polish corrects what reflection gets wrong: answers may get new members, every operation may fail, and a replica has
// a component by number and by name.
func polish(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	for _, schema := range schemas.Map() {
		if schema.AdditionalProperties == false {
			schema.AdditionalProperties = nil
		}
	}
	replica := schemas.Map()["ReplicaStatus"]
	replica.Properties["component"] = &huma.Schema{
		Type: huma.TypeInteger, Format: "int64", Description: "Index into the components of the application",
	}
	replica.Required = append(replica.Required, "component")
	failed := &huma.Response{
		Description: "Error",
		Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")},
		},
	}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			if op != nil {
				op.Responses["default"] = failed
			}
		}
	}
}

// answerJSON answers with JSON where the type of the answer depends on the request.
func answerJSON(body any) (*huma.StreamResponse, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/json")
		_, _ = hc.BodyWriter().Write(data) // the client has gone if it fails
	}}, nil
}

func answerText(s string) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "text/plain; charset=utf-8")
		_, _ = hc.BodyWriter().Write([]byte(s)) // the client has gone if it fails
	}}
}
