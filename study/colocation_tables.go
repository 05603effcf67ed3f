package study

import (
	"context"
	"fmt"
	"math"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/trace"
)

// PairRow is a job of an experiment of tables 2 and 3 of seed 000: jobs that begin together, each on nodes of its own or all of them on all of the nodes.
type PairRow struct {
	Table     int     `json:"table"`
	Nodes     int     `json:"nodes"`
	Job       string  `json:"job"`
	Beside    string  `json:"beside"`
	Separated float64 `json:"separatedSeconds"` // of the seed
	Paper     float64 `json:"paperPercent"`     // by how much longer it took on shared nodes
	Model     float64 `json:"modelPercent"`
}

// Residual returns the difference of model and paper in percentage points.
func (r *PairRow) Residual() float64 { return r.Model - r.Paper }

// experiment is one of tables 2 and 3.
type pairExperiment struct {
	table, nodes int
	jobs         []string
	separated    []float64 // seconds
	together     []float64
}

// pairExperiments returns the tables: durations in seconds.
func pairExperiments() []pairExperiment {
	return []pairExperiment{
		{2, 20, []string{"K-Means 500", "K-Means 1000"}, []float64{676, 783}, []float64{600, 691}},
		{2, 20, []string{"TPC-H 10", "TPC-H 10"}, []float64{625, 625}, []float64{608, 621}},
		{2, 20, []string{"K-Means 500", "CC 8"}, []float64{919, 858}, []float64{893, 830}},
		{2, 10, []string{"K-Means 500", "CC 8"}, []float64{1500, 1560}, []float64{1494, 1290}},
		{2, 20, []string{"K-Means 1000", "CC 3"}, []float64{786, 617}, []float64{688, 585}},
		{2, 10, []string{"K-Means 1000", "CC 3"}, []float64{1214, 1028}, []float64{1062, 904}},
		{3, 20, []string{"K-Means 1000", "TPC-H 10"}, []float64{805, 644}, []float64{764, 457}},
		{3, 10, []string{"K-Means 1000", "TPC-H 10"}, []float64{1244, 1521}, []float64{1042, 954}},
		{3, 20, []string{"K-Means 1000", "TPC-H 10", "CC 3"}, []float64{1019, 1300, 931}, []float64{921, 790, 763}},
	}
}

// measuredKinds returns the jobs of table 1 of seed 000, with the vectors of models.md 5.2.
func measuredKinds() *contended {
	return fluid("tables 2 and 3",
		jobKind{name: "K-Means 500", phases: means500Phases(70)}, jobKind{name: "K-Means 1000", phases: means1000Phases()},
		jobKind{name: "TPC-H 10", phases: queryPhases()},
		jobKind{name: "CC 3", phases: componentsPhases(0.105, 3)}, jobKind{name: "CC 8", phases: componentsPhases(0.2, 8)},
	)
}

// pairRows plays the experiments of tables 2 and 3. All nodes are alike, so that one stands for all of them: each of k jobs has a k-th of it.
func pairRows(ctx context.Context) ([]PairRow, error) {
	const cores = 6 // can be halved, and divided by three
	w := measuredKinds()
	var rows []PairRow
	for _, x := range pairExperiments() {
		var jobs []trace.Job
		for i, name := range x.jobs {
			jobs = append(jobs, trace.Job{ID: int64(i + 1), Runtime: lasting(x.separated[i]), App: &dovetail.Application{
				APIVersion: dovetail.APIVersion, Name: name, Kind: dovetail.Batch,
				Components: []dovetail.Component{{Name: "worker", Count: 1, Resources: dovetail.Resources{
					dovetail.CPU: cores * 1000 / int64(len(x.jobs)), dovetail.Memory: 1 << 30,
				}}},
			}})
		}
		o := sim.Options{Config: dovetail.DefaultConfig(), Contention: w.contention(), Nodes: []dovetail.Node{
			{Name: "node", Capacity: dovetail.Resources{dovetail.CPU: cores * 1000, dovetail.Memory: nodeMemory}},
		}}
		out, err := sim.Play(ctx, o, jobs)
		if err != nil {
			return nil, fmt.Errorf("table %d, %v: %w", x.table, x.jobs, err)
		}
		for i, name := range x.jobs {
			r := PairRow{
				Table: x.table, Nodes: x.nodes, Job: name, Separated: x.separated[i],
				Paper: 100 * (x.together[i]/x.separated[i] - 1), Model: 100 * (out.Jobs[i].Finish.Seconds()/x.separated[i] - 1),
			}
			for k, other := range x.jobs {
				if k != i {
					if r.Beside != "" {
						r.Beside += " and "
					}
					r.Beside += other
				}
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// residuals returns the root of the mean square, the mean, and the largest absolute residual, in percentage points.
func residuals(rows []PairRow) (rms, mean, largest float64) {
	for i := range rows {
		d := rows[i].Residual()
		rms += d * d / float64(len(rows))
		mean += math.Abs(d) / float64(len(rows))
		largest = max(largest, math.Abs(d))
	}
	return math.Sqrt(rms), mean, largest
}
