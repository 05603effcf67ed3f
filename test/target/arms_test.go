package target_test

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The cluster promises twice what two processors have, as clusters do whose users ask for more than they need. With up to three
// replicas less than fit beside the neighbour, nobody is slowed down; beyond that, everybody is.
const nodes = `nodes:
  - {name: n1, capacity: {cpu: 1, memory: 2Gi}}
  - {name: n2, capacity: {cpu: 1, memory: 2Gi}}
  - {name: n3, capacity: {cpu: 1, memory: 2Gi}}
  - {name: n4, capacity: {cpu: 1, memory: 2Gi}}
`

// The job with the target, and what is started beside it. Each replica may use a tenth of a processor, and would use more.
const (
	target     = 11 * time.Second // from the start of the first replica to the end
	confidence = 0.9
	least      = 2  // scale-outs that the job may have
	most       = 14 //
	middle     = (least + most) / 2
	work       = 8 * time.Second // CPU time of the job, roughly: see example.Size

	beside      = 16 // replicas of the neighbour
	besideWork  = 12 * time.Second
	earliest    = -8 * time.Second // the neighbour starts that long before the job, or
	latest      = 8 * time.Second  // that long after it
	replan      = time.Second      // how often a scale-out is reconsidered: the default, 30 s, is for runs of minutes
	exploring   = 6                // the first runs of a class try scale-outs out
	replicasCPU = 100              // thousandths of a processor
)

// arm is one way to decide on the scale-out. Each has job classes of its own, so that none learns from another's runs.
type arm struct {
	name       string
	words      string
	count, max int
	target     bool
}

// The first arm is what is to be proven; the others are how it was done before.
func arms() []arm {
	return []arm{
		{name: "predicted", words: "with prediction", count: least, max: most, target: true},
		{name: "most", words: fmt.Sprintf("always %d", most), count: most, max: most},
		{name: "middle", words: fmt.Sprintf("always %d", middle), count: middle, max: middle},
	}
}

// job describes the application with the target.
func (a arm) job(binary string) string {
	head := ""
	if a.target {
		head = fmt.Sprintf("target: {runtime: %s, confidence: %g}\n", target, confidence)
	}
	return application(binary, "job-"+a.name, head, "wordcount", work, a.count, a.max)
}

// neighbour describes the application that is started beside it, which has no target and never changes its scale-out.
func (a arm) neighbour(binary string) string {
	return application(binary, "neighbour-"+a.name, "", "kmeans", besideWork, beside, beside)
}

// application writes a description of one of the example applications: a master that hands out tasks, checks the result and ends the run, and
// workers that do them.
func application(binary, name, head, kind string, work time.Duration, count, limit int) string {
	const rpc = "${master.0.address}:${master.0.port.rpc}"
	return fmt.Sprintf(`apiVersion: dovetail/v1
name: %s
%scomponents:
  - name: master
    command: [%q, example, %s, master, --listen, "${replica.address}:${port.rpc}", --size, %s]
    resources: {cpu: %dm, memory: 64Mi}
    ports: {rpc: 7000}
    ready: {tcp: rpc}
    ends: run
  - name: %s
    after: [master]
    command: [%q, example, %s, worker, --join, "%s", --name, "${replica.name}"]
    count: %d
    max: %d
    resources: {cpu: %dm, memory: 64Mi}
    remove:
      http: {url: "http://%s/retire?worker=${replica.name}"}
      grace: 10s
`, name, head, binary, kind, work, replicasCPU, worker, binary, kind, rpc, count, limit, replicasCPU, rpc)
}

// worker is the component whose replicas are the scale-out.
const worker = "worker"

// trial is what all arms meet alike, one after the other in an order of its own: whatever else the machine does at that time meets all.
type trial struct {
	number int
	delay  time.Duration // from the submission of the job to that of its neighbour; negative: the neighbour is there first
	order  []int         // of the arms
}

// draw returns the trials that belong to a seed. More trials begin with the same ones.
func draw(seed uint64, n int) []trial {
	r := rand.New(rand.NewPCG(seed, 0))
	trials := make([]trial, n)
	for i := range trials {
		delay := earliest + time.Duration(r.Float64()*float64(latest-earliest))
		trials[i] = trial{number: i + 1, delay: delay.Round(10 * time.Millisecond), order: r.Perm(len(arms()))}
	}
	return trials
}
