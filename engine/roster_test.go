package engine_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
)

// TestRoster runs the scenarios in testdata/roster: what people may read to learn how the roster behaves.
//
//	run ID component:count-max…   a run exists
//	plan SEQ                      a plan; one line an action: "3 of 1/1 on n1 [elastic] [frozen]", or "stop 1"
//	report                        one line an event: "up 1/1.0@1", "ready …", "down …", "refused …", "node n1", "lost n1"
//	roster                        every living replica
//	restart seen=(…) nodes=(…)    restored from its snapshot: what is missing, and what is asked for again
func TestRoster(t *testing.T) {
	datadriven.Walk(t, "testdata/roster", func(t *testing.T, path string) {
		s := &rosterScenario{roster: engine.NewRoster(), runs: make(map[dovetail.RunID]*dovetail.Run), now: time.Unix(0, 0).UTC()}
		datadriven.RunTest(t, path, s.step)
	})
}

type rosterScenario struct {
	roster *engine.Roster
	runs   map[dovetail.RunID]*dovetail.Run
	now    time.Time
}

func (s *rosterScenario) describe(id dovetail.RunID) *dovetail.Run { return s.runs[id] }

func (s *rosterScenario) step(t *testing.T, d *datadriven.TestData) string {
	s.now = s.now.Add(time.Second)
	switch d.Cmd {
	case "run":
		s.run(t, d.CmdArgs)
		return ""
	case "plan":
		return show(s.roster.Fold(s.now, dovetail.Decided{Plan: parsePlan(t, d)}, s.describe))
	case "report":
		return s.report(t, d.Input)
	case "roster":
		return s.list(t)
	case "restart":
		return s.restart(t, d)
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (s *rosterScenario) run(t *testing.T, args []datadriven.CmdArg) {
	t.Helper()
	id := dovetail.RunID(number(t, args[0].Key))
	app := &dovetail.Application{Name: "app"}
	for _, a := range args[1:] {
		name, counts, _ := strings.Cut(a.Key, ":")
		count, most, _ := strings.Cut(counts, "-")
		c := dovetail.Component{Name: name, Count: number(t, count)}
		if most != "" {
			c.Max = number(t, most)
		}
		app.Components = append(app.Components, c)
	}
	s.runs[id] = &dovetail.Run{ID: id, Name: fmt.Sprintf("app-%d", id), App: app}
}

func (s *rosterScenario) report(t *testing.T, input string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(input) {
		e := parseReport(t, strings.Fields(line))
		news, ok := s.roster.Admit(e)
		if !ok {
			fmt.Fprintf(&out, "no news\n%s", show(s.roster.Stray(e)))
			continue
		}
		fmt.Fprintf(&out, "%s\n", dovetail.EventType(news))
		if down, ok := news.(dovetail.ReplicasDown); ok && (down.WasUp || down.WasReady) {
			fmt.Fprintf(&out, "  was up: %t, was ready: %t\n", down.WasUp, down.WasReady)
		}
		out.WriteString(show(s.roster.Fold(s.now, news, s.describe)))
	}
	return out.String()
}

// list writes the roster by way of its snapshot, which must survive being restored.
func (s *rosterScenario) list(t *testing.T) string {
	t.Helper()
	data, err := s.roster.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := engine.RestoreRoster(data, s.describe)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := restored.Snapshot(); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("restored, the roster is %s, %v; want %s", again, err, data)
	}
	return engine.RosterText(s.roster)
}

func (s *rosterScenario) restart(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	s.list(t)
	data, err := s.roster.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s.roster, err = engine.RestoreRoster(data, s.describe); err != nil {
		t.Fatal(err)
	}
	seen, nodes := make(map[dovetail.Replica]bool), make(map[string]bool)
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			switch {
			case v == "":
			case a.Key == "seen":
				seen[parseReplica(t, v)] = true
			default:
				nodes[v] = true
			}
		}
	}
	var out strings.Builder
	for _, e := range s.roster.Missing(nodes, seen) {
		switch e := e.(type) {
		case dovetail.NodeDown:
			fmt.Fprintf(&out, "missing: node %s\n", e.Node)
		case dovetail.ReplicasDown:
			fmt.Fprintf(&out, "missing: %s\n", e.Exit.Why)
		}
		out.WriteString(show(s.roster.Fold(s.now, e, s.describe)))
	}
	return out.String() + show(s.roster.Again(seen))
}

func parsePlan(t *testing.T, d *datadriven.TestData) dovetail.Plan {
	t.Helper()
	p := dovetail.Plan{Seq: int64(number(t, d.CmdArgs[0].Key))}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if f[0] == "stop" {
			p.Actions = append(p.Actions, dovetail.StopRun{Run: dovetail.RunID(number(t, f[1]))})
			continue
		}
		run, component, _ := strings.Cut(f[2], "/")
		a := dovetail.RunReplicas{
			Slot: dovetail.Slot{Run: dovetail.RunID(number(t, run)), Component: number(t, component), Node: f[4]}, N: number(t, f[0]),
		}
		for _, flag := range f[5:] {
			a.Elastic = a.Elastic || flag == "elastic"
			a.Frozen = a.Frozen || flag == "frozen"
		}
		p.Actions = append(p.Actions, a)
	}
	return p
}

func parseReport(t *testing.T, f []string) dovetail.Event {
	t.Helper()
	switch f[0] {
	case "up":
		return dovetail.ReplicasUp{Replica: parseReplica(t, f[1]), N: 1, Host: "10.0.0.1", Ports: map[string]int{"rpc": 7000}}
	case "ready":
		return dovetail.ReplicasReady{Replica: parseReplica(t, f[1]), N: 1}
	case "down":
		return dovetail.ReplicasDown{Replica: parseReplica(t, f[1]), N: 1}
	case "refused":
		return dovetail.Refused{Replica: parseReplica(t, f[1]), N: 1, Why: "no"}
	case "node":
		return dovetail.NodeUp{Node: dovetail.Node{Name: f[1], Capacity: dovetail.Resources{1000}}}
	case "lost":
		return dovetail.NodeDown{Node: f[1]}
	}
	t.Fatalf("unknown report %v", f)
	return nil
}

// parseReplica reads run/component.index@attempt.
func parseReplica(t *testing.T, s string) dovetail.Replica {
	t.Helper()
	var r dovetail.Replica
	if n, err := fmt.Sscanf(s, "%d/%d.%d@%d", &r.Run, &r.Component, &r.Index, &r.Attempt); n != 4 || err != nil {
		t.Fatalf("replica %q: expected run/component.index@attempt", s)
	}
	return r
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func show(cmds []engine.Command) string {
	var b strings.Builder
	for _, c := range cmds {
		fmt.Fprintf(&b, "  %s", c)
		if c.Verb == engine.StartIt && len(c.Launch.Peers) > 0 {
			b.WriteString(", with")
			for _, p := range c.Launch.Peers {
				fmt.Fprintf(&b, " %s.%d@%s:%d", p.Component, p.Index, p.Host, p.Ports["rpc"])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
