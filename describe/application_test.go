package describe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// wordcount is the example of the description's contract, as it was written there.
const wordcount = `apiVersion: dovetail/v1
name: wordcount            # the job class
kind: batch                # batch | interactive | service | taskpool (later)
priority: 0
expected: 90s              # optional hint: runtime at full scale
target: {runtime: 60s, confidence: 0.9}
params:
  input: {type: string, default: small}
components:
  - name: master
    command: [wordcount, master, --listen, "0.0.0.0:${port.rpc}", --input, "${params.input}"]
    count: 1
    resources: {cpu: 500m, memory: 256Mi}
    ports: {rpc: 7000}
    ready: {tcp: rpc}
    ends: run              # its exit ends the run
  - name: worker
    after: [master]
    command: [wordcount, worker, --join, "${master.0.address}:${master.0.port.rpc}"]
    count: 1               # core
    max: 8                 # up to 7 elastic
    resources: {cpu: 500m, memory: 512Mi}
    remove: {http: {url: "http://${master.0.address}:${master.0.port.rpc}/retire?worker=${replica.name}"}, grace: 10s}
`

func ref[T any](v T) *T { return &v }

func TestWordcount(t *testing.T) {
	got, err := describe.Application([]byte(wordcount), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const second = dovetail.Duration(1e9)
	want := &dovetail.Application{
		APIVersion: "dovetail/v1", Name: "wordcount", Kind: dovetail.Batch, Expected: 90 * second,
		Target: &dovetail.Target{Runtime: 60 * second, Confidence: 0.9},
		Params: map[string]dovetail.Param{"input": {Type: "string", Default: ref("small")}},
		Components: []dovetail.Component{
			{
				Name: "master", Count: 1, Max: 1, Ends: "run",
				Command:   []string{"wordcount", "master", "--listen", "0.0.0.0:${port.rpc}", "--input", "${params.input}"},
				Resources: dovetail.Resources{dovetail.CPU: 500, dovetail.Memory: 256 << 20},
				Ports:     map[string]dovetail.Port{"rpc": {Port: 7000}},
				Ready:     &dovetail.Ready{TCP: "rpc"},
			},
			{
				Name: "worker", Count: 1, Max: 8, After: []string{"master"},
				Command:   []string{"wordcount", "worker", "--join", "${master.0.address}:${master.0.port.rpc}"},
				Resources: dovetail.Resources{dovetail.CPU: 500, dovetail.Memory: 512 << 20},
				Remove: &dovetail.Remove{Grace: 10 * second, HTTP: &dovetail.HTTPCall{
					URL: "http://${master.0.address}:${master.0.port.rpc}/retire?worker=${replica.name}"}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wordcount (-want +got):\n%s", diff)
	}
}

// The daemon reads a description for every submission.
func BenchmarkApplication(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := describe.Application([]byte(wordcount), describe.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
