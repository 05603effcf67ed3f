package cli

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
	"github.com/dovetail-sched/dovetail/sim"
)

// simulateWords are the flags of simulate that are read after parsing.
type simulateWords struct {
	compat    string
	speedup   string
	slowSpeed float64
	settings  *pflag.FlagSet
}

// flags adds the flags of faults and of speed.
func (w *simulateWords) flags(f *pflag.FlagSet, o *simulateOptions) {
	faults := &o.Faults
	w.settings = f
	f.DurationVar(&faults.StartDelay, "start-delay", 0, "how long a replica takes to start")
	f.DurationVar(&faults.StartJitter, "start-jitter", 0, "mean of a random time that it takes in addition")
	f.DurationVar(&faults.StopDelay, "stop-delay", 0, "how long a replica takes to stop; it does no work meanwhile")
	f.DurationVar(&faults.ReplicaMTBF, "replica-mtbf", 0, "mean time between failures of a replica (default: never)")
	f.DurationVar(&faults.NodeMTBF, "node-mtbf", 0, "mean time between failures of a node (default: never)")
	f.DurationVar(&faults.NodeMTTR, "node-mttr", 0, "mean time until a lost node is back (default: 10m)")
	f.IntVar(&o.Retries, "retries", 0, "how `many` core replicas of a run are replaced when they die, in all components that say nothing of it;\n"+
		"the next one that dies ends the run (default: as the trace says; generated workloads say none)")
	f.Float64Var(&faults.Redo, "redo", 0, "`share` of what a replica did that is lost with it, and done again, when it is reclaimed or dies")
	f.Float64Var(&faults.SlowNodes, "slow-nodes", 0, "`share` of the nodes that are slow, from 0 to 1")
	f.Float64Var(&w.slowSpeed, "slow-speed", 0.5, "how `fast` they are, from 0.01 to 1")
	f.StringVar(&w.speedup, "speedup", "", "how runs speed up with replicas: `serial=0.05,coordination=0.0001`, the universal\n"+
		"scalability law; or as measured, such as 1:1,8:6.5,64:30, replicas and their speed\n"+
		"(default: linearly, as in Zoe's evaluation)")
}

// read turns words into options, and refuses what does not go together.
func (o *simulateOptions) read(w *simulateWords, changed func(flag string) bool) error {
	if err := o.readWorkload(); err != nil {
		return err
	}
	switch w.compat {
	case "":
	case "zoe":
		o.Zoe = true
	default:
		return usagef("--compat %q: expected zoe", w.compat)
	}
	if err := o.readCells(); err != nil {
		return err
	}
	o.Scheduling = make(map[string]string)
	for _, s := range simulatedSettings() {
		if changed(s.name) {
			o.Scheduling[s.name] = w.settings.Lookup(s.name).Value.String()
		}
	}
	if _, err := o.config(); err != nil {
		return err
	}
	if changed("slow-speed") {
		if !(w.slowSpeed >= 0.01 && w.slowSpeed <= 1) {
			return usagef("--slow-speed %v: expected a share from 0.01 to 1", w.slowSpeed)
		}
		o.Faults.SlowSpeed = int(math.Round(w.slowSpeed * sim.Whole))
	}
	if !(o.Faults.SlowNodes >= 0 && o.Faults.SlowNodes <= 1) {
		return usagef("--slow-nodes %v: expected a share from 0 to 1", o.Faults.SlowNodes)
	}
	if w.speedup != "" {
		var err error
		if o.Model, err = speedupModel(w.speedup); err != nil {
			return err
		}
	}
	return o.readRest(changed)
}

// readWorkload checks where jobs come from.
func (o *simulateOptions) readWorkload() error {
	switch {
	case o.Workload == "" && o.Trace.File == "":
		return usagef("expected a workload: --trace FILE, or --workload with one of %s", strings.Join(generatorNames(), ", "))
	case o.Workload != "" && o.Trace.File != "":
		return usagef("--trace and --workload exclude each other: give one of them")
	case o.Jobs < 0:
		return usagef("--jobs %d: expected 1 or more, or 0 for all", o.Jobs)
	case o.Seeds < 1 || o.Seeds > maxSeeds:
		return usagef("--seeds %d: expected from 1 to %d", o.Seeds, maxSeeds)
	case o.Retries < 0 || o.Retries > describe.MaxRetries:
		return usagef("--retries %d: expected from 0 to %d", o.Retries, describe.MaxRetries)
	case o.Workers < 0:
		return usagef("--workers %d: expected 1 or more, or 0 for one a core", o.Workers)
	case o.Workload != "":
		return knownWorkload(o.Workload)
	}
	return nil
}

// maxSeeds bounds a sweep.
const maxSeeds = 1000

// readCells checks the names of policies and allocators.
func (o *simulateOptions) readCells() error {
	for _, list := range []struct {
		flag  string
		names *[]string
		known []string
	}{{"policy", &o.Policies, o.policies()}, {"alloc", &o.Allocs, allocNames()}} {
		if len(*list.names) == 0 {
			return usagef("--%s: expected one or more of %s", list.flag, strings.Join(list.known, ", "))
		}
		for i, name := range *list.names {
			name = strings.TrimSpace(name)
			(*list.names)[i] = name
			if !slices.Contains(list.known, name) {
				return usagef("unknown --%s %q; expected one or more of %s", list.flag, name, strings.Join(list.known, ", "))
			}
			if slices.Contains((*list.names)[:i], name) {
				return usagef("--%s: %s is given twice", list.flag, name)
			}
		}
	}
	if !slices.Contains([]string{"true", "false", "both"}, o.Preempt) {
		return usagef("--preempt %q: expected true, false or both", o.Preempt)
	}
	return nil
}

// config returns the configuration that all cells share.
func (o *simulateOptions) config() (dovetail.Config, error) {
	c := dovetail.DefaultConfig()
	c.InteractiveFirst = false // only together with preemption
	if err := change(&c, o.Scheduling); err != nil {
		return c, err
	}
	return c, nil
}

// readRest refuses what does not go together.
func (o *simulateOptions) readRest(changed func(flag string) bool) error {
	f := &o.Faults
	random := f.StartJitter > 0 || f.ReplicaMTBF > 0 || f.NodeMTBF > 0 || f.SlowNodes > 0
	if o.Trace.File != "" && o.Seeds > 1 && !random {
		return usagef("--seeds %d: a trace is the same for every seed; give faults, which are not, such as --node-mtbf 24h, or a generated workload", o.Seeds)
	}
	if o.Timeline && o.Out == "" {
		return usagef("--timeline draws into the directory of a report: give --out as well")
	}
	if !o.Zoe {
		return nil
	}
	if o.Preempt != "false" {
		return usagef("--compat zoe knows no preemption: leave out --preempt, or leave out --compat to ask our own core")
	}
	flags := []string{
		"start-delay", "start-jitter", "stop-delay", "replica-mtbf", "node-mtbf", "node-mttr", "retries", "redo", "slow-nodes", "slow-speed", "speedup",
		"journal-hash", "timeline",
	}
	for _, s := range simulatedSettings() {
		flags = append(flags, s.name)
	}
	for _, flag := range flags {
		if changed(flag) {
			return usagef("--compat zoe knows no --%s: its rules are fixed, and nothing fails there; leave out one of the two", flag)
		}
	}
	return nil
}

// speedupModel reads a curve, or points.
func speedupModel(text string) (sim.Model, error) {
	if strings.Contains(text, ":") {
		return speedupPoints(text)
	}
	return speedupCurve(text)
}

// speedupPoints reads "1:1,8:6.5,64:30": replicas and their speed, both rising.
func speedupPoints(text string) (sim.Points, error) {
	var all sim.Points
	var last sim.Point
	for part := range strings.SplitSeq(text, ",") {
		replicas, speed, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.Atoi(replicas)
		v, not := strconv.ParseFloat(speed, 64)
		if err != nil || not != nil || n > maxPoint || !(v > 0 && v <= maxPoint) {
			return nil, usagef("--speedup %q: %q is not a point; expected replicas and their speed such as 1:1,8:6.5,64:30", text, part)
		}
		if n <= last.Replicas || v < last.Speedup {
			return nil, usagef("--speedup %q: %q does not follow what is before it; expected more and more replicas, and speeds that do not fall", text, part)
		}
		last = sim.Point{Replicas: n, Speedup: v}
		all = append(all, last)
	}
	return all, nil
}

// maxPoint bounds the replicas and the speeds of points.
const maxPoint = 1_000_000

// speedupCurve reads "serial=0.05,coordination=0.0001".
func speedupCurve(text string) (sim.Curve, error) {
	var c sim.Curve
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return c, usagef("--speedup %q: %q is not a share; expected numbers from 0 to 1 such as serial=0.05,coordination=0.0001", text, part)
		}
		switch name {
		case "serial":
			c.Serial = v
		case "coordination":
			c.Coordination = v
		default:
			return c, usagef("--speedup %q: unknown %q; expected serial, coordination or both", text, name)
		}
	}
	return c, nil
}
