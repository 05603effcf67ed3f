package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// apiVersion is the version of the API: the first segment of its paths.
const apiVersion = "v1"

type readyOutput struct {
	Status int
	Body   readyBody
}

type readyBody struct {
	Ready   bool   `json:"ready" doc:"Whether the daemon accepts work"`
	Problem string `json:"problem,omitempty" doc:"Why not"`
}

type versionOutput struct{ Body versionBody }

type versionBody struct {
	Version string `json:"version" doc:"Of the program"`
	Go      string `json:"go" doc:"Version of Go it was built with"`
	API     string `json:"api" doc:"Version of the API"`
}

func (s *server) registerHealth(api huma.API) {
	health := operation(http.MethodGet, "/healthz", "healthz", "Say that the process answers", "health")
	health.Security = []map[string][]string{{}}
	health.Responses = map[string]*huma.Response{"200": text("It does")}
	huma.Register(api, health, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return answerText("ok\n"), nil
	})

	ready := operation(http.MethodGet, "/readyz", "readyz", "Say whether the daemon accepts work", "health")
	ready.Responses = map[string]*huma.Response{
		"200": {Description: "It does"},
		"503": jsonResponse(api.OpenAPI().Components.Schemas, "It does not, for now", readyBody{}),
	}
	huma.Register(api, ready, func(context.Context, *struct{}) (*readyOutput, error) {
		h := s.engine.Health()
		out := &readyOutput{Status: http.StatusOK, Body: readyBody{Ready: h.Ready, Problem: h.Problem}}
		if !h.Ready {
			out.Status = http.StatusServiceUnavailable
		}
		return out, nil
	})

	version := operation(http.MethodGet, "/v1/version", "version", "Say what the daemon is", "health")
	huma.Register(api, version, func(context.Context, *struct{}) (*versionOutput, error) {
		return &versionOutput{Body: versionBody{Version: s.version, Go: runtime.Version(), API: apiVersion}}, nil
	})

	schema := operation(http.MethodGet, "/v1/schema/application.json", "application-schema", "The JSON Schema of descriptions, for editors", "runs")
	schema.Responses = map[string]*huma.Response{
		"200": {Description: "A JSON Schema", Content: map[string]*huma.MediaType{"application/schema+json": {}}},
	}
	huma.Register(api, schema, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", "application/schema+json")
			_, _ = hc.BodyWriter().Write(describe.Schema()) // the client has gone if it fails
		}}, nil
	})
}

// registerPlain adds what the OpenAPI document does not describe: the document itself, the metrics, and the index.
func (s *server) registerPlain(mux *http.ServeMux, doc *huma.OpenAPI) {
	index := fmt.Sprintf(`dovetail %s

/v1/runs        runs: submit, list, show, cancel
/v1/nodes       nodes
/v1/watch       what happens, as server-sent events
/openapi.yaml   the whole API
/metrics        for Prometheus
`, s.version)
	mux.HandleFunc("GET /openapi.yaml", s.document("application/yaml", doc.YAML))
	mux.HandleFunc("GET /openapi.json", s.document("application/json", doc.MarshalJSON))
	mux.HandleFunc("GET /{$}", s.document("text/plain; charset=utf-8", func() ([]byte, error) { return []byte(index), nil }))
	mux.Handle("GET /metrics", s.metrics.handler())
}

// document answers with what write returns; it is written when somebody asks for it first.
func (s *server) document(kind string, write func() ([]byte, error)) http.HandlerFunc {
	once := sync.OnceValues(write)
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := once()
		if err != nil {
			s.log.ErrorContext(r.Context(), "document cannot be written", "path", r.URL.Path, "error", err)
			problem(http.StatusInternalServerError, dovetail.Internal, "the daemon failed; its log says why").send(w)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // the client has gone if it fails
	}
}
