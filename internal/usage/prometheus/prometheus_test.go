package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/usage"
)

// values are what the server knows of a machine, by quantity.
type values map[string]string

func whole() values {
	return values{
		cpu: "0.5", iowait: "0.1", diskRead: "5e7", written: "1e6", received: "2e6", sent: "3e6", age: "4.5",
		cpuSome: "0.6", ioSome: "0.2", ioFull: "0.1", memorySome: "0.01", memoryFull: "0",
	}
}

func without(quantities ...string) values {
	v := whole()
	for _, q := range quantities {
		delete(v, q)
	}
	return v
}

func with(quantity, value string) values {
	v := whole()
	v[quantity] = value
	return v
}

// answer writes what Prometheus would.
func answer(label string, machines map[string]values) string {
	var all []string
	for _, m := range slices.Sorted(maps.Keys(machines)) {
		for _, q := range slices.Sorted(maps.Keys(machines[m])) {
			all = append(all, fmt.Sprintf(`{"metric":{%q:%q,%q:%q},"value":[1774785600.1,%q]}`, label, m, quantity, q, machines[m][q]))
		}
	}
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(all, ",") + `]}}`
}

// serve answers every query with a text; it returns the last query.
func serve(t *testing.T, status int, text string) (*httptest.Server, *string) {
	t.Helper()
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prom/api/v1/query" || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		asked = r.FormValue("query")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func source(t *testing.T, o Options) *Source {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMeasure(t *testing.T) {
	server, asked := serve(t, http.StatusOK, answer("instance", map[string]values{
		"a": whole(), "b": without(cpuSome, ioSome, ioFull, memorySome, memoryFull), "c": without(written), "d": with(age, "200"),
		"e": with(cpu, "4"), "f": with(cpu, "NaN"), "g": without(age), "h": with(age, "+Inf"), "": whole(),
	}))
	s := source(t, Options{URL: server.URL + "/prom/", Label: "instance"})
	all, err := s.Measure(t.Context(), 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(*asked, "sum by(instance)(rate(node_disk_written_bytes_total{") || !strings.Contains(*asked, "[120s]") {
		t.Errorf("asked for\n%s", *asked)
	}
	byName := make(map[string]usage.Reading)
	for _, r := range all {
		byName[r.Machine] = r
	}
	if len(all) != 8 {
		t.Errorf("%d machines, want 8", len(all))
	}
	a := byName["a"]
	want := usage.Rates{
		CPU: .5, IOWait: .1, Read: 5e7, Written: 1e6, Received: 2e6, Sent: 3e6,
		Pressure: usage.Pressure{CPU: .6, IO: .2, IOFull: .1, Memory: .01},
	}
	if old := time.Since(a.To); a.Rates != want || a.Fault != usage.None || a.Over != 2*time.Minute || old < 4500*time.Millisecond || old > time.Minute {
		t.Errorf("a: %+v", a)
	}
	if b := byName["b"]; b.Fault != usage.None || !math.IsNaN(b.Pressure.IO) {
		t.Errorf("b says no pressure: %+v", b)
	}
	j := usage.NewJudge(usage.Auto, usage.Limits{})
	for name, fault := range map[string]usage.Fault{
		"c": usage.Missing, "d": usage.Stale, "e": usage.Range, "f": usage.Range, "g": usage.Missing, "h": usage.Missing,
	} {
		r := byName[name]
		if _, _, got := j.Use(&r); got != fault {
			t.Errorf("%s: fault %q, want %q (%+v)", name, got, fault, r)
		}
	}
}

// TestShortPeriods: a rate needs two samples, which a minute has and a second has not.
func TestShortPeriods(t *testing.T) {
	server, asked := serve(t, http.StatusOK, answer("node", map[string]values{"a": whole()}))
	all, err := source(t, Options{URL: server.URL + "/prom"}).Measure(t.Context(), time.Second)
	if err != nil || len(all) != 1 || all[0].Over != time.Minute || !strings.Contains(*asked, "[60s]") {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		reason string
		status int
		text   string
		says   []string
	}{
		{"a query that fails", 422, `{"status":"error","errorType":"execution","error":"query timed out"}`, []string{"422", "query timed out"}},
		{"a proxy", 502, `<html>Bad Gateway</html>`, []string{"502"}},
		{"something else", 200, `<html>hello</html>`, []string{"no answer of Prometheus"}},
		{"an answer that is cut off", 200, `{"status":"success","data":{"resultType":"vector","result":[`, []string{"no answer of Prometheus"}},
		{"an answer that lacks something", 200, `{"status":"success","warnings":["store 2 is down"],"data":{"resultType":"vector","result":[]}}`, []string{"not complete", "store 2 is down"}},
		{"another type", 200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, []string{"matrix"}},
		{"a value that is no number", 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}}`, []string{`"x"`}},
		{"a value that is no text", 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,2]}]}}`, []string{"value 2"}},
		{"no value", 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{}}]}}`, []string{"value"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			server, _ := serve(t, tc.status, tc.text)
			all, err := source(t, Options{URL: server.URL + "/prom"}).Measure(t.Context(), time.Minute)
			if err == nil {
				t.Fatalf("%+v", all)
			}
			for _, s := range tc.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %v; want one with %q", err, s)
				}
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if all, err := source(t, Options{URL: server.URL}).Measure(ctx, time.Minute); err == nil {
		t.Errorf("%+v", all)
	}
}

func TestNodes(t *testing.T) {
	n := &dovetail.Node{Name: "n1", Address: "10.0.0.7", Labels: map[string]string{"host": "alpha"}}
	for template, want := range map[string]string{
		"": "n1", "{name}": "n1", "{address}:9100": "10.0.0.7:9100", "{label.host}.example": "alpha.example", "{label.rack}": "", "all": "all",
	} {
		if got := source(t, Options{URL: "http://x", Node: template}).Machine(n); got != want {
			t.Errorf("%q: %q, want %q", template, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{}, {URL: "prometheus:9090"}, {URL: "ftp://x"}, {URL: "http://"}, {URL: "http://x", Label: "a b"}, {URL: "http://x", Label: "a)"}, {URL: "http://x", Node: "{host}"},
	} {
		if _, err := New(o); dovetail.CodeOf(err) != dovetail.Invalid {
			t.Errorf("%+v: %v; want an invalid error", o, err)
		}
	}
}

// FuzzDecode feeds the reader garbage: what it takes is numbers, and readings of them are judged, not trusted.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(answer("node", map[string]values{"a": whole()})))
	f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"a","dovetail_quantity":"cpu"},"value":[1,"-Inf"]}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		all, err := decode(body)
		if err != nil {
			return
		}
		known := make(map[string]float64)
		for _, x := range all {
			known[x.Metric[quantity]] = x.value
		}
		var r usage.Reading
		read(&r, known, time.Unix(1e9, 0), time.Minute)
		use, _, fault := usage.NewJudge(usage.Auto, usage.Limits{}).Use(&r)
		if fault == usage.None && !(use.CPU >= 0 && use.CPU <= 1 && use.Wait >= 0 && use.Wait <= 1 && use.Disk >= 0 && use.Net >= 0) {
			t.Errorf("%+v from %+v", use, r)
		}
		if _, err := json.Marshal(use); err != nil {
			t.Errorf("cannot be put on record: %v", err)
		}
	})
}
