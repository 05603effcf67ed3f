// Package prometheus answers: how were all machines used, as a Prometheus server knows it that scrapes a node_exporter on each?
package prometheus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/internal/usage"
)

// Options says where the server is, and how it calls the nodes.
type Options struct {
	URL    string       // of the server, such as http://prometheus:9090; may hold a user name and a password
	Label  string       // by which the server tells machines apart; empty: node
	Node   string       // value of that label for a node, where {name}, {address} and {label.KEY} stand for what the node has; empty: {name}
	Client *http.Client // nil: http.DefaultClient
}

// Source measures machines by asking a Prometheus server. It may be used by any number of goroutines.
type Source struct {
	url    string
	label  string
	node   string
	client *http.Client
}

// New returns a source. Options that make no sense are a dovetail.Invalid error.
func New(o Options) (*Source, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, dovetail.Errorf(dovetail.Invalid, "%q is not the address of a Prometheus server; expected one such as http://prometheus:9090", o.URL)
	}
	s := &Source{label: cmp.Or(o.Label, "node"), node: cmp.Or(o.Node, "{name}"), client: cmp.Or(o.Client, http.DefaultClient)}
	if !regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`).MatchString(s.label) {
		return nil, dovetail.Errorf(dovetail.Invalid, "%q is not the name of a Prometheus label; expected one such as node or instance", s.label)
	}
	if bad := placeholder().FindAllString(s.node, -1); slices.ContainsFunc(bad, func(p string) bool {
		return p != "{name}" && p != "{address}" && !strings.HasPrefix(p, "{label.")
	}) {
		return nil, dovetail.Errorf(dovetail.Invalid, "the name of a node in Prometheus %q has an unknown part; there are {name}, {address} and {label.KEY}", s.node)
	}
	s.url = u.JoinPath("api", "v1", "query").String()
	return s, nil
}

// placeholder matches what stands for a property of a node.
func placeholder() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*\}`) }

// Machine returns the value of the label of a node; "" if the node lacks a property that is part of it.
func (s *Source) Machine(n *dovetail.Node) string {
	complete := true
	name := placeholder().ReplaceAllStringFunc(s.node, func(p string) string {
		v := n.Name
		switch p {
		case "{name}":
		case "{address}":
			v = n.Address
		default:
			v = n.Labels[strings.TrimSuffix(strings.TrimPrefix(p, "{label."), "}")]
		}
		complete = complete && v != ""
		return v
	})
	if !complete {
		return ""
	}
	return name
}

// Shortest returns a minute: there must be two samples in a period.
func (s *Source) Shortest() time.Duration { return time.Minute }

// Measure asks the server once. Rates are averages over the period, or over a minute if that is longer. An answer that may lack something
// of a machine, as the server itself warns, is an error; a machine that lacks something has a fault.
func (s *Source) Measure(ctx context.Context, period time.Duration) ([]usage.Reading, error) {
	window := max(period, s.Shortest()).Round(time.Second)
	now := time.Now()
	samples, err := s.query(ctx, query(s.label, window))
	if err != nil {
		return nil, err
	}
	var all []usage.Reading
	byName := make(map[string]map[string]float64)
	for _, x := range samples {
		name, what := x.Metric[s.label], x.Metric[quantity]
		if name == "" {
			continue // a series that is of no machine
		}
		if byName[name] == nil {
			byName[name] = make(map[string]float64)
			all = append(all, usage.Reading{Machine: name})
		}
		byName[name][what] = x.value
	}
	for i := range all {
		read(&all[i], byName[all[i].Machine], now, window)
	}
	return all, nil
}

// quantity is the label that says which of the queries a sample answers.
const quantity = "dovetail_quantity"

// The quantities.
const (
	cpu        = "cpu"
	iowait     = "iowait"
	received   = "received"
	sent       = "sent"
	diskRead   = "read"
	written    = "written"
	age        = "age" // of the last sample, in seconds, by the server's clock
	cpuSome    = "cpuSome"
	ioSome     = "ioSome"
	ioFull     = "ioFull"
	memorySome = "memorySome"
	memoryFull = "memoryFull"
)

// query returns all queries in one, so that they are of the same moment.
func query(label string, window time.Duration) string {
	by := " by(" + label + ")"
	rate := func(metric string) string { return fmt.Sprintf("(rate(%s[%ds]))", metric, int(window.Seconds())) }
	const disks = `{device!~"loop.*|ram.*|zram.*|dm-.*|md.*|sr.*"}`
	const nets = `{device!~"lo|veth.*|docker.*|br-.*|cni.*|flannel.*|cali.*|cilium.*|lxc.*|ifb.*"}`
	parts := [][2]string{
		{cpu, "1 - sum" + by + rate(`node_cpu_seconds_total{mode=~"idle|iowait"}`) + " / sum" + by + rate("node_cpu_seconds_total")},
		{iowait, "avg" + by + rate(`node_cpu_seconds_total{mode="iowait"}`)},
		{diskRead, "sum" + by + rate("node_disk_read_bytes_total"+disks)},
		{written, "sum" + by + rate("node_disk_written_bytes_total"+disks)},
		{received, "sum" + by + rate("node_network_receive_bytes_total"+nets)},
		{sent, "sum" + by + rate("node_network_transmit_bytes_total"+nets)},
		{age, "time() - max" + by + `(timestamp(node_cpu_seconds_total{mode="idle"}))`},
		{cpuSome, "max" + by + rate("node_pressure_cpu_waiting_seconds_total")},
		{ioSome, "max" + by + rate("node_pressure_io_waiting_seconds_total")},
		{ioFull, "max" + by + rate("node_pressure_io_stalled_seconds_total")},
		{memorySome, "max" + by + rate("node_pressure_memory_waiting_seconds_total")},
		{memoryFull, "max" + by + rate("node_pressure_memory_stalled_seconds_total")},
	}
	var all []string
	for _, p := range parts {
		all = append(all, fmt.Sprintf(`label_replace(%s, %q, %q, "", "")`, p[1], quantity, p[0]))
	}
	return strings.Join(all, "\nor ")
}

// read fills in what the server says of a machine.
func read(r *usage.Reading, values map[string]float64, now time.Time, window time.Duration) {
	r.Over = window
	for _, q := range []struct {
		name string
		to   *float64
	}{
		{cpu, &r.CPU}, {iowait, &r.IOWait}, {diskRead, &r.Read}, {written, &r.Written}, {received, &r.Received}, {sent, &r.Sent},
	} {
		v, ok := values[q.name]
		if !ok {
			r.Fault, r.Detail = usage.Missing, "the server has no "+q.name
			return
		}
		*q.to = v
	}
	seconds, ok := values[age]
	if !ok || !(math.Abs(seconds) < 1e6) {
		r.Fault, r.Detail = usage.Missing, "the server does not say when it heard of the machine"
		return
	}
	old := time.Duration(seconds * float64(time.Second))
	r.To = now.Add(-max(0, old))
	if usage.IsStale(old, window) {
		r.Fault, r.Detail = usage.Stale, fmt.Sprintf("the last sample is %v old", old.Round(time.Second))
		return
	}
	r.Pressure = usage.NoPressure()
	p := &r.Pressure
	for _, q := range []struct {
		name string
		to   *float64
	}{
		{cpuSome, &p.CPU}, {ioSome, &p.IO}, {ioFull, &p.IOFull}, {memorySome, &p.Memory}, {memoryFull, &p.MemoryFull},
	} {
		if v, ok := values[q.name]; ok {
			*q.to = v
		}
	}
}

// sample is one element of the vector that an instant query returns.
type sample struct {
	Metric map[string]string  `json:"metric"`
	Value  [2]json.RawMessage `json:"value"` // when, in seconds, and what, as a string
	value  float64
}

// mostBytes bounds an answer: 12 quantities of 100,000 machines.
const mostBytes = 256 << 20

// query asks for an instant vector.
func (s *Source) query(ctx context.Context, q string) ([]sample, error) {
	form := url.Values{"query": {q}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of Prometheus: %w", err)
	case len(body) > mostBytes:
		return nil, fmt.Errorf("the answer of Prometheus has more than %d MiB", mostBytes>>20)
	}
	samples, err := decode(body)
	if err != nil && res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("Prometheus answered %s: %w", res.Status, err) //nolint:staticcheck // a name
	}
	return samples, err
}

// decode reads the answer to an instant query (https://prometheus.io/docs/prometheus/latest/querying/api/).
func decode(body []byte) ([]sample, error) {
	var answer struct {
		Status   string   `json:"status"`
		Error    string   `json:"error"`
		Warnings []string `json:"warnings"`
		Data     struct {
			ResultType string   `json:"resultType"`
			Result     []sample `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("this is no answer of Prometheus: %w", err)
	}
	switch {
	case answer.Status != "success":
		return nil, errors.New("the query failed: " + cmp.Or(answer.Error, "no reason is given"))
	case len(answer.Warnings) > 0:
		return nil, errors.New("the answer is not complete: " + strings.Join(answer.Warnings, "; "))
	case answer.Data.ResultType != "vector":
		return nil, fmt.Errorf("expected a vector, found %q", answer.Data.ResultType)
	}
	all := answer.Data.Result
	for i := range all {
		var text string
		if err := json.Unmarshal(all[i].Value[1], &text); err != nil {
			return nil, fmt.Errorf("value %s: %w", all[i].Value[1], err)
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("value %s: %w", all[i].Value[1], err)
		}
		all[i].value = v
	}
	return all, nil
}
