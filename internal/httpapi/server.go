package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// Defaults of Options.
const (
	DefaultMaxBody   = 1 << 20          // bytes
	DefaultTimeout   = 30 * time.Second // of a request that is not a stream
	DefaultHeartbeat = 15 * time.Second // between signs of life on a silent event stream
)

// Options says what the API serves, and how.
type Options struct {
	Engine    Engine
	Reader    engine.Reader
	Logs      Logs            // nil: there are no logs
	Meter     Meter           // nil: what replicas consume is said when they have ended
	Forecasts Forecasts       // nil: nobody says when runs will start
	Metrics   func() []Metric // what else there is to say at a scrape; nil: nothing
	Token     string          // who calls must know it; empty: only programs on this machine may call
	Log       *slog.Logger    // nil: nothing is logged
	Version   string          // of the program
	MaxBody   int64           // bytes of a request body; 0 means DefaultMaxBody
	Timeout   time.Duration   // 0 means DefaultTimeout
	Heartbeat time.Duration   // 0 means DefaultHeartbeat
}

// server is the state that handlers share. It does not change after New, but for the caches and counters, which lock.
type server struct {
	engine    Engine
	reader    engine.Reader
	logs      Logs
	meter     Meter
	forecasts Forecasts
	more      func() []Metric
	token     string
	log       *slog.Logger
	version   string
	maxBody   int64
	timeout   time.Duration
	heartbeat time.Duration
	specs     *specCache
	metrics   *metrics
	importing sync.Mutex // held from looking for what is on record to adding to it
}

// New returns the handler of the whole API. Options without an engine or a reader are a dovetail.Invalid error. The
// caller checks the address with CheckListen.
func New(o Options) (http.Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	api := s.register(mux)
	s.registerPlain(mux, api.OpenAPI())
	return s.guard(s.unknownRoutes(mux)), nil
}

func newServer(o Options) (*server, error) {
	if o.Engine == nil || o.Reader == nil {
		return nil, dovetail.Errorf(dovetail.Invalid, "the HTTP API needs an engine and a reader")
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &server{
		engine: o.Engine, reader: o.Reader, logs: o.Logs, meter: o.Meter, forecasts: o.Forecasts, more: o.Metrics, token: o.Token, log: log, version: o.Version,
		maxBody: cmp.Or(o.MaxBody, DefaultMaxBody), timeout: cmp.Or(o.Timeout, DefaultTimeout),
		heartbeat: cmp.Or(o.Heartbeat, DefaultHeartbeat),
	}
	s.specs = newSpecCache(int(s.maxBody))
	s.metrics = newMetrics(s)
	return s, nil
}

// register adds every operation that the OpenAPI document describes.
func (s *server) register(mux *http.ServeMux) huma.API {
	api := newAPI(mux)
	api.UseMiddleware(s.measure, s.refuseUnknownQuery(api), s.limitTime)
	s.registerRuns(api)
	s.registerHistory(api)
	s.registerWhatIf(api)
	s.registerPredict(api)
	s.registerNeighbours(api)
	s.registerEvents(api)
	s.registerLogs(api)
	s.registerCluster(api)
	s.registerHealth(api)
	polish(api.OpenAPI())
	return api
}

// streaming marks operations that may last as long as the client likes.
const streaming = "streaming"

func isStream(op *huma.Operation) bool { return op.Metadata[streaming] == true }

// limitTime gives every request that is not a stream a deadline.
func (s *server) limitTime(ctx huma.Context, next func(huma.Context)) {
	if isStream(ctx.Operation()) {
		next(ctx)
		return
	}
	limited, cancel := context.WithTimeout(ctx.Context(), s.timeout)
	defer cancel()
	next(huma.WithContext(ctx, limited))
}

// refuseUnknownQuery refuses query parameters that the operation does not have: a filter with a typing error would
// otherwise select everything.
func (s *server) refuseUnknownQuery(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		u := ctx.URL()
		if u.RawQuery == "" {
			next(ctx)
			return
		}
		var known []string
		for _, p := range ctx.Operation().Parameters {
			if p.In == "query" {
				known = append(known, p.Name)
			}
		}
		var faults []error
		for name := range u.Query() {
			if !slices.Contains(known, name) {
				faults = append(faults, &huma.ErrorDetail{Location: "query." + name, Message: unknownName("parameter", known)})
			}
		}
		if len(faults) == 0 {
			next(ctx)
			return
		}
		slices.SortFunc(faults, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "", faults...) // the client has gone if it fails
	}
}

// unknownRoutes answers paths and methods that do not exist with problem details, as everything else.
func (s *server) unknownRoutes(mux *http.ServeMux) http.Handler {
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(&tracked{ResponseWriter: w}, r)
			return
		}
		var allowed string
		for _, m := range methods {
			probe := &http.Request{Method: m, URL: r.URL, Host: r.Host}
			if _, pattern := mux.Handler(probe); pattern != "" {
				if allowed != "" {
					allowed += ", "
				}
				allowed += m
			}
		}
		if allowed == "" {
			problem(http.StatusNotFound, dovetail.NotFound, "there is no such path; /openapi.yaml lists all there are").send(w)
			return
		}
		w.Header().Set("Allow", allowed)
		problem(http.StatusMethodNotAllowed, dovetail.Invalid, "this path does not take "+r.Method+"; it takes "+allowed).send(w)
	})
}
