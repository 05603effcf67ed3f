package study

import (
	"fmt"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/report"
	"github.com/dovetail-sched/dovetail/sim"
	"github.com/dovetail-sched/dovetail/sim/zoe"
	"github.com/dovetail-sched/dovetail/trace"
)

// ZoeRule compares Dovetail's core with the model of Zoe's simulator under one policy. Turnarounds are means over seeds of a mean or a
// median over runs, in seconds; Interval.N is 0 if nothing was started. On one machine only the rules differ: elastic replicas are reclaimed for a new core, all events of an
// instant are one decision, HRRN ages and divides by size. On nodes, a core may also fit what is free in all and yet no node.
type ZoeRule struct {
	Workload string        `json:"workload"`
	Policy   string        `json:"policy"`
	Alloc    string        `json:"alloc"`
	Mean     ZoeTurnaround `json:"meanTurnaround"`
	Median   ZoeTurnaround `json:"medianTurnaround"`
}

// ZoeTurnaround is a figure of the three, and what changes from one to the next. A ratio below 1 is a gain; where nothing was started there
// is none.
type ZoeTurnaround struct {
	Peer       report.Interval `json:"peerSeconds"`
	OneMachine report.Interval `json:"oneMachineSeconds"`
	Nodes      report.Interval `json:"nodesSeconds"`
	Rules      report.Interval `json:"oneMachineToPeer"`
	Placement  report.Interval `json:"nodesToOneMachine"`
}

// triple is one workload by the model of Zoe's simulator, on one machine, and on nodes.
type triple struct{ workload, peer, one, nodes string }

// triples returns what is compared.
func triples(traced bool) []triple {
	all := []triple{{"batch", zoePeer, zoeOneMachine, zoeBatch}}
	if traced {
		all = append(all, triple{"trace", zoeTracePeer, zoeTraceOne, zoeTraceNodes})
	}
	return all
}

// ruleRows returns the settings that are compared.
func ruleRows() []at {
	var rows []at
	for _, p := range []string{"fifo", "sjf", "srpt", "hrrn", "sjf-3d", "srpt-3d1"} {
		rows = append(rows, at{policy: p, alloc: "rigid"}, at{policy: p, alloc: "flexible"})
	}
	return rows
}

// ruleSettings returns what has to be simulated for the comparison.
func ruleSettings(traced bool) []at {
	var all []at
	for _, t := range triples(traced) {
		for _, part := range []string{t.peer, t.one, t.nodes} {
			for _, row := range ruleRows() {
				row.part = part
				all = append(all, row)
			}
		}
	}
	return all
}

// zoeRules fills the table; rows of which cells are missing are left out.
func zoeRules(e *evidence, traced bool) []ZoeRule {
	var all []ZoeRule
	for _, t := range triples(traced) {
		for _, row := range ruleRows() {
			peer, one, nodes := row, row, row
			peer.part, one.part, nodes.part = t.peer, t.one, t.nodes
			needs := []at{peer, one, nodes}
			if !e.complete(needs) {
				continue
			}
			mean, median := e.compare(needs, meanTurnaround), e.compare(needs, medianTurnaround)
			all = append(all, ZoeRule{t.workload, row.policy, row.alloc, mean, median})
		}
	}
	return all
}

// compare measures the cells of a triple.
func (e *evidence) compare(needs []at, m zoeMeasure) ZoeTurnaround {
	over := func(of func(c []*ZoeCell) float64) report.Interval { return report.Estimate(e.values(needs, of)) }
	return ZoeTurnaround{
		Peer:       over(func(c []*ZoeCell) float64 { return m(c[0]) }),
		OneMachine: over(func(c []*ZoeCell) float64 { return m(c[1]) }),
		Nodes:      over(func(c []*ZoeCell) float64 { return m(c[2]) }),
		Rules:      over(func(c []*ZoeCell) float64 { return quotient(m(c[1]), m(c[0])) }),
		Placement:  over(func(c []*ZoeCell) float64 { return quotient(m(c[2]), m(c[1])) }),
	}
}

// playable returns the jobs of a trace that all three ways to serve it can play, so that they are compared on the same jobs, and says
// what it leaves out. It fails with dovetail.Invalid if Zoe's simulator knows nothing like one of the jobs, or none fits.
func playable(jobs []trace.Job) (fit []trace.Job, notices []string, err error) {
	nodes, err := sim.Nodes(clusterTrace)
	if err != nil {
		return nil, nil, err
	}
	s := Sweep{Nodes: nodes}
	for _, row := range ruleRows() {
		s.Configs = append(s.Configs, row.config())
	}
	var refused []report.Refusal
	if err = zoe.Check(s.capacity(), jobs); err == nil {
		fit, refused, err = s.fitting(jobs)
	}
	if err != nil {
		return nil, nil, dovetail.Errorf(dovetail.Invalid, "the trace cannot be compared with Zoe's simulator: %v. Go without a trace, or give one of "+
			"applications of one component with cpu and memory, such as one made by `dovetail trace generate zoe-batch`", err)
	}
	if n := len(refused); n > 0 {
		notices = append(notices, fmt.Sprintf("trace: %d of %d jobs left out that Zoe's simulator would drop or %s could never hold, first job %d: %s",
			n, len(jobs), clusterTrace, refused[0].ID, refused[0].Why))
	}
	return fit, notices, nil
}

// unstarted says in which parts Zoe's simulator did not start all jobs, by the first cell in which it did not.
func unstarted(cells []ZoeCell) []string {
	var all []string
	seen := make(map[string]bool)
	for i := range cells {
		c := &cells[i]
		if c.Unfinished == 0 || seen[c.Part] {
			continue
		}
		seen[c.Part] = true
		why := "it forgets some (docs/zoe.md). Its figures are of the others"
		if c.Runs == 0 {
			why = "it starts nothing before four wait. So there are no figures, and no ratio to them"
		}
		all = append(all, fmt.Sprintf("%s, %s, seed %d: Zoe's simulator never starts %d of the %d jobs: %s",
			c.Part, c.Setting(), c.Seed, c.Unfinished, c.Unfinished+c.Runs, why))
	}
	return all
}
