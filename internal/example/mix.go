package example

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// Mix is a workload of real applications that compete for four small nodes. With all of its elastic workers the first one
// takes nearly everything, and each of the others more than half; without them, each takes less than half of one node. So if
// requests are rigid, one runs at a time, a late notebook waits for the first to end, and afterwards a third of the nodes
// stands idle; if they are not, several share all there is, and the notebook starts at once.
type Mix struct {
	Binary   string             // path of the dovetail program, absolute, as replicas call it
	Node     dovetail.Resources // capacity of one of the four nodes; memory may be 0
	Results  string             // absolute path of a directory that exists: each run leaves its result there
	Work     time.Duration      // CPU time of all batch applications together, roughly; 0 means 45s
	Notebook time.Duration      // how long the notebook stays open; 0 means 15s
	Seed     uint64             // of the data
}

// Shares of a node that a master or a worker asks for.
const sharesOfNode = 5

// row is one application of the mix.
type row struct {
	job     string
	workers int // at most
	share   int // percent of the work
}

func rows() []row {
	return []row{
		{"wordcount", 18, 26},
		{"kmeans", 12, 20},
		{"components", 12, 18},
		{"pagerank", 12, 20},
		{"sort", 12, 16},
	}
}

// Batch returns the applications that run to an end by themselves, in the order in which they are to be submitted.
func (m Mix) Batch() []*dovetail.Application {
	total := cmp.Or(m.Work, 45*time.Second)
	var apps []*dovetail.Application
	for _, r := range rows() {
		apps = append(apps, m.batch(r, total*time.Duration(r.share)/100))
	}
	return apps
}

// ResultFile returns where the run of a batch application leaves its result; Check reads it.
func (m Mix) ResultFile(runName string) string { return filepath.Join(m.Results, runName+".json") }

func (m Mix) batch(r row, work time.Duration) *dovetail.Application {
	share := m.share()
	atFullScale := work * 1000 / time.Duration(max(1, share[dovetail.CPU]*int64(r.workers)))
	const rpc = "${master.0.address}:${master.0.port.rpc}"
	return &dovetail.Application{
		APIVersion: dovetail.APIVersion,
		Name:       r.job,
		Kind:       dovetail.Batch,
		Expected:   dovetail.Duration(atFullScale.Round(100 * time.Millisecond)),
		Components: []dovetail.Component{
			{
				Name: "master",
				Command: []string{
					m.Binary, "example", r.job, "master", "--listen", "${replica.address}:${port.rpc}",
					"--size", work.String(), "--seed", fmt.Sprint(m.Seed), "--out", m.ResultFile("${run.name}"),
				},
				Env:       memoryLimit(share),
				Ports:     map[string]dovetail.Port{"rpc": {Port: 7000}},
				Resources: share,
				Count:     1,
				Ready:     &dovetail.Ready{TCP: "rpc"},
				Ends:      "run",
			},
			{
				Name:      "worker",
				After:     []string{"master"},
				Command:   []string{m.Binary, "example", r.job, "worker", "--join", rpc, "--name", "${replica.name}"},
				Env:       memoryLimit(share),
				Resources: share,
				Count:     1,
				Max:       r.workers,
				Remove: &dovetail.Remove{
					HTTP:  &dovetail.HTTPCall{URL: "http://" + rpc + "/retire?worker=${replica.name}"},
					Grace: dovetail.Duration(10 * time.Second),
				},
			},
		},
	}
}

// NotebookApp returns the interactive application that is to be submitted late: it needs two shares of one node at once.
func (m Mix) NotebookApp() *dovetail.Application {
	stay := cmp.Or(m.Notebook, 15*time.Second)
	return &dovetail.Application{
		APIVersion: dovetail.APIVersion,
		Name:       "notebook",
		Kind:       dovetail.Interactive,
		Expected:   dovetail.Duration(stay),
		Components: []dovetail.Component{{
			Name:      "notebook",
			Command:   []string{m.Binary, "example", "notebook", "--listen", "${replica.address}:${port.http}", "--for", stay.String()},
			Env:       memoryLimit(m.share()),
			Ports:     map[string]dovetail.Port{"http": {Port: 8888, URL: "http://${replica.address}:${port.http}/"}},
			Resources: m.share().Times(2),
			Count:     1,
			Ready:     &dovetail.Ready{TCP: "http"},
			Ends:      "run",
		}},
	}
}

// share is what one process asks for: as much CPU as an equal part of a node, and enough memory.
func (m Mix) share() dovetail.Resources {
	const enough = 128 << 20
	return dovetail.Resources{
		dovetail.CPU:    m.Node[dovetail.CPU] / sharesOfNode,
		dovetail.Memory: min(m.Node[dovetail.Memory]/sharesOfNode, enough),
	}
}

// memoryLimit tells the Go runtime to collect garbage before the limit is reached.
func memoryLimit(share dovetail.Resources) map[string]string {
	if share[dovetail.Memory] == 0 {
		return nil
	}
	return map[string]string{"GOMEMLIMIT": fmt.Sprint(share[dovetail.Memory] * 3 / 4)}
}
