package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dovetail-sched/dovetail"
)

// nameOf returns the name of a replica, such as worker.3.
func nameOf(spec *dovetail.Run, id dovetail.Replica) string {
	return spec.App.Components[id.Component].Name + "." + strconv.Itoa(id.Index)
}

// eventText says in a sentence what happened. Spec is the run that the event is about, if it is about one.
func eventText(e dovetail.Event, spec *dovetail.Run) string {
	who := func(s dovetail.Slot, n int, id dovetail.Replica) string { return replicasText(spec, s, n, id) }
	switch e := e.(type) {
	case dovetail.Cancelled:
		return fmt.Sprintf("run %d is to be cancelled%s", e.Run, by(e.By))
	case dovetail.Held:
		return fmt.Sprintf("run %d is held", e.Run)
	case dovetail.Released:
		return fmt.Sprintf("run %d is released", e.Run)
	case dovetail.Suspended:
		return fmt.Sprintf("run %d is suspended", e.Run)
	case dovetail.Resumed:
		return fmt.Sprintf("run %d is resumed", e.Run)
	case dovetail.Reprioritised:
		return fmt.Sprintf("run %d has priority %d", e.Run, e.Priority)
	case dovetail.Configured:
		return fmt.Sprintf("configured: policy %s, allocator %s, reclaim %s, placement %s",
			e.Config.Policy, e.Config.Alloc, e.Config.Reclaim, e.Config.Place)
	case dovetail.ReplicasUp:
		return who(e.Slot, e.N, e.Replica) + " is up" + portsText(e.Host, e.Ports)
	case dovetail.ReplicasReady:
		return who(e.Slot, e.N, e.Replica) + " is ready"
	case dovetail.ReplicasDown:
		return who(e.Slot, e.N, e.Replica) + " " + exitText(e.Exit)
	case dovetail.Refused:
		return who(e.Slot, e.N, e.Replica) + " could not be started: " + e.Why
	case dovetail.NodeUp:
		return fmt.Sprintf("node %s is up with %s", e.Node.Name, e.Node.Capacity)
	case dovetail.NodeDown:
		return fmt.Sprintf("node %s is gone", e.Node)
	case dovetail.Cordoned:
		return fmt.Sprintf("node %s %s", e.Node, cordonText(e))
	case dovetail.Fitted:
		if e.Outlook.Runs == 1 {
			return fmt.Sprintf("learned from 1 run of %s", e.Outlook.Class)
		}
		return fmt.Sprintf("learned from %d runs of %s", e.Outlook.Runs, e.Outlook.Class)
	case dovetail.Imported:
		if len(e.Runs) == 1 {
			return "1 finished run is imported"
		}
		return fmt.Sprintf("%d finished runs are imported", len(e.Runs))
	case dovetail.Used:
		return fmt.Sprintf("the use of %d nodes was measured over %s", len(e.Nodes), e.Period)
	case dovetail.Paired:
		return fmt.Sprintf("compared the neighbours of %s over %d runs", e.Evidence.Class, e.Evidence.Runs)
	case dovetail.Recalled:
		return recalledText(e)
	case dovetail.Forgotten:
		if e.Class == "" {
			return "all knowledge of neighbours is forgotten"
		}
		return fmt.Sprintf("knowledge of %s and its neighbours is forgotten", e.Class)
	}
	return dovetail.EventType(e)
}

func recalledText(e dovetail.Recalled) string {
	classes := fmt.Sprintf("%d job classes", len(e.Classes))
	if len(e.Classes) == 1 {
		classes = e.Classes[0].Class
	}
	switch {
	case e.All && len(e.Classes) == 0:
		return "all knowledge of neighbours is forgotten"
	case e.All:
		return "knowledge of the neighbours of " + classes + " is loaded, and replaces all that was known"
	case e.Back:
		return "what was known of " + classes + " and their neighbours had been put away, and is back"
	}
	return "knowledge of the neighbours of " + classes + " is loaded"
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " for " + who
}

func cordonText(e dovetail.Cordoned) string {
	switch {
	case !e.On:
		return "may get new replicas again"
	case e.Drain:
		return "is drained: it gets no new replicas and gives back its elastic ones"
	}
	return "is cordoned: it gets no new replicas"
}

// replicasText writes "worker.3 of run 7 on n1", or "3 × worker of run 7 on n1" for replicas that have no names.
func replicasText(spec *dovetail.Run, s dovetail.Slot, n int, id dovetail.Replica) string {
	name := fmt.Sprintf("component %d", s.Component)
	if spec != nil && s.Component < len(spec.App.Components) {
		name = spec.App.Components[s.Component].Name
	}
	if id != (dovetail.Replica{}) {
		name += "." + strconv.Itoa(id.Index)
	} else if n != 1 {
		name = fmt.Sprintf("%d × %s", n, name)
	}
	return fmt.Sprintf("%s of run %d on %s", name, s.Run, s.Node)
}

// portsText writes ", rpc at 10.0.0.1:7000" for each port.
func portsText(host string, ports map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		fmt.Fprintf(&b, ", %s at %s:%d", name, cmp.Or(host, "localhost"), ports[name])
	}
	return b.String()
}

func exitText(e dovetail.Exit) string {
	var s string
	switch {
	case e.Lost:
		s = "was lost"
	case e.OOM:
		s = "was killed for using more memory than it asked for"
	case e.Asked:
		s = "has stopped, as it was told to"
	case e.Signal != "":
		s = "was killed by " + e.Signal
	default:
		s = fmt.Sprintf("exited with code %d", e.Code)
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

func submittedText(r *dovetail.Run) string {
	s := fmt.Sprintf("run %d, %s, is submitted%s", r.ID, r.Name, by(r.User))
	if r.Hold {
		s += " on hold"
	}
	return s
}

// stopText says that a run is being ended.
func stopText(e dovetail.End) string {
	s := fmt.Sprintf("run %d is ended: %s", e.Run, e.Outcome)
	if e.Why != "" && e.Why != string(e.Outcome) {
		s += ": " + e.Why
	}
	return s
}

// endedText says that nothing of a run is left.
func endedText(s *dovetail.RunStatus) string {
	text := fmt.Sprintf("run %d has ended: %s", s.ID, s.Outcome)
	if s.Started != nil && s.Ended != nil {
		text += fmt.Sprintf(" after %s", s.Ended.Sub(*s.Started).Round(time.Millisecond))
	}
	return text
}

// grantText says what a plan has changed for a run.
func grantText(prior, after dovetail.RunStatus) string {
	switch more := after.Elastic - prior.Elastic; {
	case prior.State == dovetail.Queued:
		return fmt.Sprintf("run %d starts: %d core and %d elastic replicas", after.ID, after.Core, after.Elastic)
	case more > 0:
		return fmt.Sprintf("run %d grows by %d to %d of %d elastic replicas", after.ID, more, after.Elastic, after.ElasticMax)
	case more < 0:
		return fmt.Sprintf("run %d gives back %d elastic replicas and keeps %d of %d", after.ID, -more, after.Elastic, after.ElasticMax)
	}
	return fmt.Sprintf("run %d: replicas are placed anew", after.ID)
}
