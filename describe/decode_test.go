package describe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// everything uses every field of a description.
const everything = `apiVersion: dovetail/v1
name: every-thing
description: "all that there is: é 😀"
kind: interactive
labels: {team: data, example.com/cost: "7"}
priority: -5
size: 1.5
expected: 1m30s
maxRuntime: 1h
target: {runtime: 60s, confidence: 0.9}
finishBy: 2026-05-01T20:00:00+02:00
params:
  input: {type: string, default: small, enum: [small, large], description: how much}
  k: {type: int, min: 1, max: 10}
inputs: [hdfs:///a, 7]
inputSize: 24 GB
colocation: {avoid: [sort, "scan?input=large&top=3"], prefer: [cache]}
components:
  - name: master
    image: example.com/master:1
    command: [sleep, 10, true, 1.50]
    args: ["${params.k}"]
    env: {THREADS: 2, HOME: /root, PRICE: "$${x}"}
    workDir: /runs/${run.id}
    volumes: [{source: /data, target: /data, readOnly: true}]
    ports: {rpc: 0, ui: {port: 8080, url: "http://${replica.address}:${port.ui}/lab"}}
    resources: {cpu: 1.5, memory: 1G, gpu: 1, disk: 10Gi}
    nodes: {ssd: true}
    ready: {log: "listening on ${host}:\\d+", timeout: 5s}
    restart: {retries: 3}
    ends: run
    stop: {signal: SIGINT, grace: 5s}
  - name: worker
    command: [work]
    resources: {cpu: 100m}
    count: 0
    max: 100000
    after: [master]
    ready: {http: "http://${host}/"}
    remove: {command: [bye, "${master.0.port.rpc}"], grace: 1s}
  - name: helper
    command: [help]
    resources: {memory: 1}
    remove: {http: {url: "http://${host}/", method: PUT, body: "x"}}
`

// equateEmpty does not tell an empty list from one that is absent: both are written as nothing.
var equateEmpty = cmpopts.EquateEmpty()

func containsNUL(s string) bool { return strings.Contains(s, "\x00") }

func TestEverything(t *testing.T) {
	app, err := describe.Application([]byte(everything), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const second = dovetail.Duration(time.Second)
	finish := time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC)
	want := &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: "every-thing", Description: "all that there is: é 😀", Kind: dovetail.Interactive,
		Labels: map[string]string{"team": "data", "example.com/cost": "7"}, Priority: -5, Size: 1.5,
		Expected: 90 * second, MaxRuntime: 3600 * second, Target: &dovetail.Target{Runtime: 60 * second, Confidence: 0.9}, FinishBy: &finish,
		Params: map[string]dovetail.Param{
			"input": {Type: "string", Default: ref("small"), Enum: []string{"small", "large"}, Description: "how much"},
			"k":     {Type: "int", Min: ref(1.0), Max: ref(10.0)},
		},
		Inputs: []string{"hdfs:///a", "7"}, InputSize: 24e9,
		Colocation: &dovetail.Affinity{Avoid: []string{"sort", "scan?input=large&top=3"}, Prefer: []string{"cache"}},
		Components: []dovetail.Component{{
			Name: "master", Image: "example.com/master:1", Command: []string{"sleep", "10", "true", "1.50"}, Args: []string{"${params.k}"},
			Env: map[string]string{"THREADS": "2", "HOME": "/root", "PRICE": "$${x}"}, WorkDir: "/runs/${run.id}",
			Volumes:   []dovetail.Volume{{Source: "/data", Target: "/data", ReadOnly: true}},
			Ports:     map[string]dovetail.Port{"rpc": {}, "ui": {Port: 8080, URL: "http://${replica.address}:${port.ui}/lab"}},
			Resources: dovetail.Resources{1500, 1e9, 1, 10 << 30}, Nodes: map[string]string{"ssd": "true"}, Count: 1, Max: 1,
			Ready:   &dovetail.Ready{Log: `listening on ${host}:\d+`, Timeout: 5 * second},
			Restart: dovetail.Restart{Retries: 3}, Ends: "run", Stop: dovetail.Stop{Signal: "SIGINT", Grace: 5 * second},
		}, {
			Name: "worker", Command: []string{"work"}, Resources: dovetail.Resources{100}, Max: 100_000, After: []string{"master"},
			Ready:  &dovetail.Ready{HTTP: "http://${host}/"},
			Remove: &dovetail.Remove{Command: []string{"bye", "${master.0.port.rpc}"}, Grace: second},
		}, {
			Name: "helper", Command: []string{"help"}, Resources: dovetail.Resources{0, 1}, Count: 1, Max: 1,
			Remove: &dovetail.Remove{HTTP: &dovetail.HTTPCall{URL: "http://${host}/", Method: "PUT", Body: "x"}},
		}},
	}
	if diff := cmp.Diff(want, app); diff != "" {
		t.Errorf("everything (-want +got):\n%s", diff)
	}
	roundTrip(t, app)
}

func TestJSON(t *testing.T) {
	text := "{\r\n\t\"apiVersion\" : \"dovetail\\/v1\", \"name\":\"a\",\"description\":\"\\ud83d\\ude00 \\\\ud83d \\u00e9\"\n" +
		",\"components\":[{\"name\":\"c\",\"image\":\"x\",\"count\":2,\"resources\":{\"cpu\":1,\"memory\":\"1Mi\"},\"ports\":{\"ui\":{\"port\":80}}}]}"
	app, err := describe.Application([]byte(text), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `😀 \ud83d é`; app.Description != want {
		t.Errorf("description = %q, want %q", app.Description, want)
	}
	if c := app.Components[0]; c.Count != 2 || c.Max != 2 || c.Ports["ui"].Port != 80 {
		t.Errorf("component = %+v", c)
	}
}

func TestMarshalIsCanonical(t *testing.T) {
	app, err := describe.Application([]byte(one+"params: {n: {type: int, default: 5}, s: {type: string, default: 5}}\n"), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	app.Components[0].Ports = map[string]dovetail.Port{"b": {Port: 2}, "a": {Port: 1, URL: "http://x"}}
	got, err := describe.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: dovetail/v1
name: a
kind: batch
params:
  n:
    type: int
    default: 5
  s:
    type: string
    default: '5'
components:
- name: c
  command:
  - x
  ports:
    a:
      port: 1
      url: http://x
    b: 2
  resources:
    cpu: '1'
  count: 1
  max: 1
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// settings stands for the configuration of a program.
type settings struct {
	Listen string          `json:"listen"`
	Every  time.Duration   `json:"-"`
	Core   dovetail.Config `json:"core"`
	Sizes  map[string]int  `json:"sizes,omitempty"`
	limits
}

type limits struct {
	Limit int64 `json:"limit"`
}

func TestDecode(t *testing.T) {
	got, err := describe.Decode[settings]([]byte("listen: :80\nlimit: 7\nsizes: {a: 1}\ncore: {policy: srpt, preempt: true, maxWait: 1h}\n"), "")
	want := settings{
		Listen: ":80", Sizes: map[string]int{"a": 1}, limits: limits{Limit: 7},
		Core: dovetail.Config{Policy: "srpt", Preempt: true, MaxWait: dovetail.Duration(time.Hour)},
	}
	if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(settings{}, limits{})) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	_, err = describe.Decode[settings]([]byte("listen: [a]\ncore: {polcy: x, maxWait: 5}\nEvery: 1s\nsizes: {a: b}\n"), "serve.yaml")
	var fields []string
	for _, f := range faultsOf(t, err) {
		fields = append(fields, f.Field)
	}
	if want := []string{"listen", "core.polcy", "core.maxWait", "Every", "sizes.a"}; !cmp.Equal(fields, want) {
		t.Errorf("fields with faults = %q, want %q", fields, want)
	}
}

func TestNodes(t *testing.T) {
	got, err := describe.Nodes([]byte(`nodes: [{name: a, capacity: {cpu: 4, memory: 8Gi}, labels: {disk: ssd}}, {name: b.example.com, address: 10.0.0.2, capacity: {cpu: 1, memory: 1Gi}}]`), "")
	want := []dovetail.Node{
		{Name: "a", Capacity: dovetail.Resources{4000, 8 << 30}, Labels: map[string]string{"disk": "ssd"}},
		{Name: "b.example.com", Address: "10.0.0.2", Capacity: dovetail.Resources{1000, 1 << 30}},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	tests := []struct{ reason, text, field, want string }{
		{"empty", "nodes: §[]\n", "nodes", "at least one node"},
		{"absent", "§{}\n", "nodes", "at least one node"},
		{"unknown field", "nodes: [{name: a, capacity: {cpu: 1, memory: 1}, §lables: {}}]\n", "nodes[0].lables", "did you mean labels?"},
		{"bad name", "nodes: [{name: §a/b, capacity: {cpu: 1, memory: 1}}]\n", "nodes[0].name", "lower-case letters"},
		{"name twice", "nodes: [{name: a, capacity: {cpu: 1, memory: 1}}, {name: §a, capacity: {cpu: 1, memory: 1}}]\n", "nodes[1].name", "nodes[0] already"},
		{"no memory", "nodes: [{name: a, capacity: §{cpu: 1}}]\n", "nodes[0].capacity.memory", "more than 0"},
		{"wrong unit", "nodes: [{name: a, capacity: {cpu: 1, memory: §1GB}}]\n", "nodes[0].capacity.memory", "optional unit"},
		{"bad label", "nodes: [{name: a, capacity: {cpu: 1, memory: 1}, labels: {a: §/}}]\n", "nodes[0].labels.a", "value of a label"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			text, line, column := unmark(tt.text)
			_, err := describe.Nodes([]byte(text), "nodes.yaml")
			faults := faultsOf(t, err)
			if f := faults[0]; len(faults) != 1 || f.Line != line || f.Column != column || f.Field != tt.field || !strings.Contains(f.Message, tt.want) {
				t.Errorf("err = %v\nwant line %d, column %d: %s: …%s…", err, line, column, tt.field, tt.want)
			}
		})
	}
}
