package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/internal/backend/proc"
	"github.com/dovetail-sched/dovetail/internal/httpapi"
	"github.com/dovetail-sched/dovetail/internal/usage"
	"github.com/dovetail-sched/dovetail/internal/usage/local"
	"github.com/dovetail-sched/dovetail/internal/usage/prometheus"
	"github.com/dovetail-sched/dovetail/sched"
)

// usageOptions says how the use of nodes is measured, in the words of the flags.
type usageOptions struct {
	Source string // usageLocal, usageOff or the address of a Prometheus server; empty: off
	Signal string // name of a usage.Signal
	Disk   string // what disks can read and write; see parseLimits
	Net    string // what network interfaces can receive and send
	Label  string // by which Prometheus tells machines apart
	Node   string // value of that label for a node
}

// Sources and limits that have a name.
const (
	usageLocal  = "local"
	usageOff    = "off"
	limitLearnt = "auto"
)

// defaultUsage is how a daemon measures if nobody says anything about it.
func defaultUsage() usageOptions {
	return usageOptions{Source: usageLocal, Signal: string(usage.Auto), Disk: limitLearnt, Net: limitLearnt, Label: "node", Node: "{name}"}
}

// usageSettings returns the settings of usageOptions.
func usageSettings() []serveSetting {
	setting := func(name, value, help string, field func(*usageOptions) *string, check func(usageOptions) error) serveSetting {
		return serveSetting{name, value, help, func(o *serveOptions, s string) error {
			next := o.Usage
			*field(&next) = s
			if s == "" {
				return fmt.Errorf("%s: must not be empty", name)
			}
			if err := check(next); err != nil {
				return fmt.Errorf("%s %q: %w", name, s, err)
			}
			o.Usage = next
			return nil
		}}
	}
	limits := func(field func(*usageOptions) *string) func(usageOptions) error {
		return func(o usageOptions) error {
			_, _, err := parseLimits(*field(&o))
			return err
		}
	}
	source := func(o *usageOptions) *string { return &o.Source }
	signal := func(o *usageOptions) *string { return &o.Signal }
	disk := func(o *usageOptions) *string { return &o.Disk }
	net := func(o *usageOptions) *string { return &o.Net }
	label := func(o *usageOptions) *string { return &o.Label }
	node := func(o *usageOptions) *string { return &o.Node }
	return []serveSetting{
		setting("usage", "local|off|URL", "how the use of nodes is measured that job classes share: by /proc of this machine, not at all, or by a Prometheus server with node_exporters",
			source, func(o usageOptions) error { _, err := newSource(o); return err }),
		setting("usage-signal", "signal", "what tells that work stands still for I/O: psi (pressure, some), psi-full, iowait, or auto: psi-full where the kernel has it",
			signal, func(o usageOptions) error { _, err := usage.ParseSignal(o.Signal); return err }),
		setting("usage-disk", "auto|READ[:WRITE]", "what the disks of a machine can do in a second, such as 500MB:400MB; auto: that is learned", disk, limits(disk)),
		setting("usage-net", "auto|IN[:OUT]", "what the network interfaces of a machine can do in a second, such as 125MB; auto: that is learned", net, limits(net)),
		setting("usage-label", "label", "with a Prometheus server: the label by which it tells machines apart", label, checkProm),
		setting("usage-node", "text", "with a Prometheus server: what it calls a node; {name}, {address} and {label.KEY} are the node's", node, checkProm),
	}
}

// checkProm checks what only matters with a Prometheus server, whether there is one or not.
func checkProm(o usageOptions) error {
	o.Source = "http://localhost"
	_, err := newSource(o)
	return err
}

// parseLimits reads how many bytes a second can come and go: one number for both, or two. 0: that is to be learned.
func parseLimits(s string) (in, out float64, err error) {
	if s == limitLearnt || s == "" {
		return 0, 0, nil
	}
	first, second, two := strings.Cut(s, ":")
	if !two {
		second = first
	}
	var both [2]float64
	for i, text := range []string{first, second} {
		n, err := dovetail.ParseSize(text)
		if err != nil || n <= 0 {
			return 0, 0, fmt.Errorf("expected auto, or bytes a second such as 500MB or 500MB:400MB")
		}
		both[i] = float64(n)
	}
	return both[0], both[1], nil
}

// newSource returns the source of readings; nil if nothing is to be measured.
func newSource(o usageOptions) (usage.Source, error) {
	switch o.Source {
	case "", usageOff:
		return nil, nil
	case usageLocal:
		return local.New("/"), nil
	}
	s, err := prometheus.New(prometheus.Options{URL: o.Source, Label: o.Label, Node: o.Node})
	if err != nil {
		return nil, fmt.Errorf("expected local, off or a Prometheus server: %w", err)
	}
	return s, nil
}

// meter measures the use of nodes beside an engine, or does nothing.
type meter struct {
	service *usage.Service // nil: nothing is measured
}

// newMeter returns what measures for a daemon with this state directory.
func newMeter(o usageOptions, dir string, log *slog.Logger) (meter, error) {
	source, err := newSource(o)
	if source == nil || err != nil {
		return meter{}, err
	}
	signal, err := usage.ParseSignal(o.Signal)
	if err != nil {
		return meter{}, err
	}
	var limits usage.Limits
	if limits.Read, limits.Write, err = parseLimits(o.Disk); err != nil {
		return meter{}, err
	}
	if limits.Receive, limits.Send, err = parseLimits(o.Net); err != nil {
		return meter{}, err
	}
	judge := usage.NewJudge(signal, limits)
	path := filepath.Join(dir, usageFile)
	data, err := os.ReadFile(path)
	if err == nil {
		err = judge.Restore(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("cannot read what disks and networks can do; it is learned anew", "file", path, "error", err)
	}
	keep := func(data []byte) error { return writeWhole(path, string(data)) }
	return meter{usage.NewService(source, judge, (*sched.Core).Shared, keep, log)}, nil
}

// usageFile, in the state directory, keeps what was learned of what disks and networks can do.
const usageFile = "usage.json"

func (m meter) recorded(c *engine.Changes) {
	if m.service != nil {
		m.service.Recorded(c)
	}
}

func (m meter) run(ctx context.Context, e *engine.Engine) {
	if m.service != nil {
		m.service.Run(ctx, e)
	}
}

// metrics returns what there is to say at a scrape.
func (m meter) metrics() []httpapi.Metric {
	if m.service == nil {
		return nil
	}
	s := m.service.Stats()
	working := 0.0
	if s.Working {
		working = 1
	}
	all := []httpapi.Metric{
		{Name: "dovetail_usage_working", Help: "1 if the use of machines could be measured the last time.", Value: working},
		{Name: "dovetail_usage_periods_total", Help: "Periods in which the use of machines was measured.", Counter: true, Value: float64(s.Periods)},
		{Name: "dovetail_usage_failures_total", Help: "Periods in which it could not be.", Counter: true, Value: float64(s.Failures)},
		{Name: "dovetail_usage_told_total", Help: "Readings of shared nodes that were told to learn from.", Counter: true, Value: float64(s.Told)},
		{Name: "dovetail_usage_seconds", Help: "What it took to measure and to tell the last time.", Value: s.Took.Seconds()},
	}
	for _, f := range usage.Faults() {
		all = append(all, httpapi.Metric{
			Name: "dovetail_usage_left_out_total", Help: "Readings of shared nodes that were not, by reason.", Counter: true,
			Value: float64(s.Left[f]), Labels: []string{"reason", string(f)},
		})
	}
	if s.Signal != "" {
		all = append(all, httpapi.Metric{
			Name: "dovetail_usage_signal", Help: "What tells that work stands still for I/O; always 1.", Value: 1, Labels: []string{"signal", string(s.Signal)},
		})
	}
	return all
}

// checkUsage says how the use of this machine can be measured.
func checkUsage() proc.Check {
	c := proc.Check{Name: "use of nodes"}
	counters, err := local.New("/").Read()
	if err != nil {
		c.Detail = err.Error()
		c.Means = "which job classes use this machine well together cannot be measured; it is still learned from runtimes"
		return c
	}
	c.Detail = fmt.Sprintf("%s, %s, I/O wait", plural(len(counters.Disks), "disk", "disks"), plural(len(counters.Nets), "network interface", "network interfaces"))
	if counters.Pressure == nil {
		c.Means = "which job classes use this machine well together is measured by I/O wait, which busy processors hide; boot with psi=1"
		return c
	}
	c.OK = true
	c.Detail += ", pressure"
	c.Means = "which job classes use this machine well together is measured, by the time in which nobody got on (pressure, io, full)"
	return c
}
