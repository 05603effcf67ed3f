package study

import (
	"github.com/dovetail-sched/dovetail/report"
)

// ZoeRule compares Dovetail's core with the model of Zoe's simulator under one policy. Turnarounds are means over seeds of a mean or a
// median over runs, in seconds. On one machine only the rules differ: elastic replicas are reclaimed for a new core, all events of an
// instant are one decision, HRRN ages and divides by size. On nodes, a core may also fit what is free in all and yet no node.
type ZoeRule struct {
	Workload string        `json:"workload"`
	Policy   string        `json:"policy"`
	Alloc    string        `json:"alloc"`
	Mean     ZoeTurnaround `json:"meanTurnaround"`
	Median   ZoeTurnaround `json:"medianTurnaround"`
}

// ZoeTurnaround is a figure of the three, and what changes from one to the next. A ratio below 1 is a gain.
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
			if len(e.values(needs, func([]*ZoeCell) float64 { return 0 })) == 0 {
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
