package httpapi

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/sched"
)

// scrapeTime bounds a look into the engine for the metrics.
const scrapeTime = 5 * time.Second

// metrics are what Prometheus may know: counters of the API itself, and the engine's state at the time of the scrape.
type metrics struct {
	*server
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	outcomes *calibration
}

func newMetrics(s *server) *metrics {
	m := &metrics{
		server:   s,
		outcomes: newCalibration(time.Now()),
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dovetail_http_requests_total", Help: "Requests to the API by operation and status.",
		}, []string{"operation", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dovetail_http_request_seconds", Help: "Duration of requests to the API that are no streams.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 15),
		}, []string{"operation"}),
	}
	m.registry.MustRegister(m, m.requests, m.latency, m.outcomes.targets, m.outcomes.ratio, m.outcomes.within, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	metrics := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), scrapeTime)
		defer cancel()
		if err := m.outcomes.catchUp(ctx, m.reader); err != nil {
			m.log.WarnContext(ctx, "metrics lack the runs that ended last", "error", err)
		}
		metrics.ServeHTTP(w, r)
	})
}

// measure counts and times the requests of every operation.
func (s *server) measure(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	start := time.Now()
	next(ctx)
	status := ctx.Status()
	if status == 0 {
		status = http.StatusOK
	}
	s.metrics.requests.WithLabelValues(op.OperationID, strconv.Itoa(status)).Inc()
	if !isStream(op) {
		s.metrics.latency.WithLabelValues(op.OperationID).Observe(time.Since(start).Seconds())
	}
}

// Describe describes nothing: which metrics there are depends on the cluster.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect looks into the engine.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	e := emitter{out}
	e.gauge("dovetail_build_info", "What the daemon is; always 1.", 1, "version", m.version, "goversion", runtime.Version())
	e.gauge("dovetail_ready", "1 if the daemon accepts work.", flag(m.engine.Health().Ready))
	m.collectStats(e, m.engine.Stats())
	if m.more != nil {
		for _, x := range m.more() {
			x.emit(e)
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	var nodes []dovetail.NodeStatus
	counted := census{runs: map[dovetail.State]int{}}
	err := m.engine.Inspect(ctx, func(c *sched.Core, _ time.Time) {
		nodes = c.Nodes()
		counted.runs[dovetail.Queued] = c.Waiting()
		for _, id := range c.Serving() {
			if r, ok := c.Status(id); ok {
				counted.add(r)
			}
		}
	})
	e.gauge("dovetail_engine_answers", "1 if the engine's loop answered in time.", flag(err == nil))
	if err != nil {
		m.log.Warn("metrics lack the cluster's state", "error", err)
		return
	}
	counted.emit(e)
	emitNodes(e, nodes)
}

func (m *metrics) collectStats(e emitter, s engine.Stats) {
	e.gauge("dovetail_inbox_length", "Events and requests that wait for the next turn.", float64(s.Queue))
	e.counter("dovetail_turns_total", "Turns of the engine.", float64(s.Turns))
	e.counter("dovetail_events_total", "Events that the engine took in.", float64(s.Events))
	e.counter("dovetail_events_refused_total", "Events that contradicted the state.", float64(s.Refused))
	e.counter("dovetail_actions_total", "Commands to the back-end.", float64(s.Actions))
	e.counter("dovetail_journal_records_total", "Records appended to the journal.", float64(s.Records))
	e.counter("dovetail_journal_append_failures_total", "Attempts to append that failed; each is repeated.", float64(s.AppendFailures))
	e.counter("dovetail_snapshots_total", "Snapshots stored.", float64(s.Snapshots))
	e.histogram("dovetail_turn_seconds", "Time from the begin of a turn until it is durable: applying, deciding, appending.", s.Append)
	e.histogram("dovetail_turn_events", "Events a turn.", s.Batch)
}

// Metric is a number that another part of the daemon knows at the time of a scrape.
type Metric struct {
	Name, Help string
	Counter    bool // it never falls while the daemon lives
	Value      float64
	Labels     []string // names and values in turn
}

func (x *Metric) emit(e emitter) {
	kind := prometheus.GaugeValue
	if x.Counter {
		kind = prometheus.CounterValue
	}
	e.emit(kind, x.Name, x.Help, x.Value, x.Labels)
}

// census counts the runs that have not ended, and the replicas of those in service.
type census struct {
	runs          map[dovetail.State]int
	core, elastic int
}

func (c *census) add(r dovetail.RunStatus) {
	c.runs[r.State]++
	c.core += r.CoreUp
	c.elastic += r.ElasticUp
}

func (c *census) emit(e emitter) {
	for _, state := range []dovetail.State{dovetail.Queued, dovetail.Starting, dovetail.Running, dovetail.Stopping} {
		e.gauge("dovetail_runs", "Runs that have not ended, by state.", float64(c.runs[state]), "state", string(state))
	}
	e.gauge("dovetail_replicas_up", "Replicas that run by class.", float64(c.core), "class", "core")
	e.gauge("dovetail_replicas_up", "Replicas that run by class.", float64(c.elastic), "class", "elastic")
}

func emitNodes(e emitter, nodes []dovetail.NodeStatus) {
	for _, n := range nodes {
		e.gauge("dovetail_node_up", "1 if the node is there.", flag(n.Up), "node", n.Name)
		e.gauge("dovetail_node_cordoned", "1 if the node gets no new replicas.", flag(n.Cordoned), "node", n.Name)
		e.gauge("dovetail_node_replicas", "Replicas granted on the node.", float64(n.Replicas), "node", n.Name)
		for k := range dovetail.NumResources {
			if n.Capacity[k] == 0 {
				continue
			}
			labels := []string{"node", n.Name, "resource", k.String()}
			e.gauge("dovetail_node_capacity", "What the node has, in cores, bytes or devices.", units(k, n.Capacity), labels...)
			e.gauge("dovetail_node_granted", "What is set aside for replicas, started or not.", units(k, n.Granted), labels...)
			e.gauge("dovetail_node_occupied", "What replicas take that were started and have not stopped.", units(k, n.Occupied), labels...)
		}
	}
}

// units returns a quantity in the unit that Prometheus likes: cores, not millicores.
func units(k dovetail.ResourceKind, r dovetail.Resources) float64 {
	if k == dovetail.CPU {
		return float64(r[k]) / 1000
	}
	return float64(r[k])
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// emitter writes metrics that are computed at the time of the scrape. Labels are names and values in turn.
type emitter struct{ out chan<- prometheus.Metric }

func (e emitter) gauge(name, help string, v float64, labels ...string) {
	e.emit(prometheus.GaugeValue, name, help, v, labels)
}

func (e emitter) counter(name, help string, v float64) {
	e.emit(prometheus.CounterValue, name, help, v, nil)
}

// histogram writes a histogram of the engine, unless it has counted nothing yet.
func (e emitter) histogram(name, help string, h engine.Histogram) {
	if h.Count() == 0 {
		return
	}
	buckets := make(map[float64]uint64, len(h.Bounds))
	var below uint64
	for i, bound := range h.Bounds {
		below += uint64(h.Counts[i])
		buckets[bound] = below
	}
	e.out <- prometheus.MustNewConstHistogram(prometheus.NewDesc(name, help, nil, nil), uint64(h.Count()), h.Sum, buckets)
}

func (e emitter) emit(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	names, values := split(labels)
	e.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
}

// split parts labels into names and values.
func split(labels []string) (names, values []string) {
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	return names, values
}
