package httpapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
)

func TestMetrics(t *testing.T) {
	f := submitted(t, 3)
	h := handler(t, f)
	call(t, h, "GET /v1/runs", "")
	call(t, h, "GET /v1/runs/99", "")
	body := call(t, h, "GET /metrics", "").Body.String()
	for _, want := range []string{
		`dovetail_build_info{goversion="go[^"]+",version="test"} 1`,
		`dovetail_ready 1`,
		`dovetail_engine_answers 1`,
		`dovetail_runs{state="queued"} 3`,
		`dovetail_runs{state="running"} 0`,
		`dovetail_replicas_up{class="elastic"} 0`,
		`dovetail_node_capacity{node="n1",resource="cpu"} 0.1`,
		`dovetail_node_capacity{node="n1",resource="memory"} 8.589934592e\+09`,
		`dovetail_node_up{node="n1"} 1`,
		`dovetail_turn_seconds_bucket{le="0.01"} 3`,
		`dovetail_turn_seconds_bucket{le="\+Inf"} 6`,
		`dovetail_turn_seconds_sum 1.5`,
		`dovetail_http_requests_total{operation="list-runs",status="200"} 1`,
		`dovetail_http_requests_total{operation="get-run",status="404"} 1`,
		`dovetail_http_request_seconds_count{operation="list-runs"} 1`,
		`go_goroutines \d+`,
	} {
		if !regexp.MustCompile(`(?m)^` + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(want) + `$`).MatchString(body) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(body, `resource="gpu"`) {
		t.Error("a resource that no node has is listed")
	}
}

func TestMetricsOfOthers(t *testing.T) {
	body := call(t, handler(t, newFake(t), func(o *httpapi.Options) {
		o.Metrics = func() []httpapi.Metric {
			return []httpapi.Metric{
				{Name: "tea_cups_total", Help: "Drunk.", Counter: true, Value: 3, Labels: []string{"kind", "green"}},
				{Name: "tea_cups_total", Help: "Drunk.", Counter: true, Value: 1, Labels: []string{"kind", "black"}},
				{Name: "tea_hot", Help: "1 if it is.", Value: 1},
			}
		}
	}), "GET /metrics", "").Body.String()
	for _, want := range []string{
		"# TYPE tea_cups_total counter", `tea_cups_total{kind="green"} 3`, `tea_cups_total{kind="black"} 1`, "# TYPE tea_hot gauge", "tea_hot 1",
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestMetricsWithoutEngine(t *testing.T) {
	f := newFake(t)
	f.fail = dovetail.Errorf(dovetail.Unavailable, "the loop hangs")
	w := call(t, handler(t, f), "GET /metrics", "")
	if w.Code != 200 || !strings.Contains(w.Body.String(), "dovetail_engine_answers 0") {
		t.Errorf("got %d, want metrics that say that the engine does not answer", w.Code)
	}
}
