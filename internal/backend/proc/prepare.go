package proc

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/engine"
	"github.com/dovetail-sched/dovetail/expand"
)

// host is where the ports of every replica listen.
const host = "127.0.0.1"

// markerVariable is the environment variable by which every process of a replica can be found. Its value is the id of the state
// directory, a slash, and the name of the record.
const markerVariable = "DOVETAIL_REPLICA"

// inherited are the variables of the daemon's environment that replicas get.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR"}

// prepare resolves all that the replica's shim needs to know. Ports are allocated and belong to the caller afterwards, also
// when there is an error.
func (b *Backend) prepare(l engine.Launch, dir string) (spec, error) {
	s := spec{
		Version: specVersion, Replica: l.Replica, Elastic: l.Elastic, Node: l.Node, Host: host, Boot: b.boot,
		LogBytes: b.opts.LogBytes, LogFiles: b.opts.LogFiles,
	}
	if l.Run == nil || l.Run.App == nil || l.Replica.Component < 0 || l.Replica.Component >= len(l.Run.App.Components) {
		return s, dovetail.Errorf(dovetail.Invalid, "run %d has no component number %d", l.Replica.Run, l.Replica.Component)
	}
	declared := l.Component()
	var err error
	if s.Ports, err = b.ports.allocate(declared.Ports); err != nil {
		return s, err
	}
	self := expand.Self{Node: l.Node, Host: host, Ports: s.Ports}
	c, err := expand.Component(l.Run, l.Replica.Component, l.Replica, self, l.Peers)
	if err != nil {
		return s, err
	}
	if err := check(&c); err != nil {
		return s, err
	}
	name := recordName(l.Replica)
	s.Marker = b.id + "/" + name
	s.Argv = append(slices.Clone(c.Command), c.Args...)
	s.WorkDir = c.WorkDir
	if s.WorkDir == "" {
		s.WorkDir = filepath.Join(dir, workDir)
	}
	s.Env = environment(l, c.Env, s.Marker)
	s.LogDir = b.logDir(l.Replica)
	s.Limits = limits{CPU: c.Resources[dovetail.CPU], Memory: c.Resources[dovetail.Memory]}
	s.Group = b.tree.group(name)
	s.Stop, s.Remove, s.Ready = c.Stop, c.Remove, c.Ready
	if s.Ready != nil && s.Ready.File != "" {
		s.Ready.File = absolute(s.Ready.File, s.WorkDir)
	}
	return s, nil
}

// check refuses what plain processes cannot do, rather than doing something else in silence.
func check(c *dovetail.Component) error {
	refuse := func(format string, args ...any) error {
		return dovetail.Errorf(dovetail.Invalid, "component %s: "+format, append([]any{c.Name}, args...)...)
	}
	if c.Image != "" {
		return refuse("image %s: the proc back-end runs plain processes, not images; remove `image` and give a `command`, or use a container back-end", c.Image)
	}
	if len(c.Command)+len(c.Args) == 0 {
		return refuse("there is no command to run; add `command`")
	}
	for _, v := range c.Volumes {
		if filepath.Clean(v.Source) != filepath.Clean(v.Target) {
			return refuse("volume %s at %s: the proc back-end cannot show a path under another name; make target the same as source, or use a container back-end", v.Source, v.Target)
		}
		if v.ReadOnly {
			return refuse("volume %s: the proc back-end cannot keep a process from writing to a path; remove `readOnly`, or use a container back-end", v.Source)
		}
		if _, err := os.Stat(v.Source); err != nil {
			return refuse("volume %s: %v", v.Source, errors.Unwrap(err))
		}
	}
	if c.WorkDir != "" {
		info, err := os.Stat(c.WorkDir)
		if err != nil || !info.IsDir() {
			return refuse("workDir %s is no directory of this machine", c.WorkDir)
		}
		if !filepath.IsAbs(c.WorkDir) {
			return refuse("workDir %s must be an absolute path", c.WorkDir)
		}
	}
	if c.Stop.Signal != "" && signalNumber(c.Stop.Signal) == 0 {
		return refuse("stop signal %s is unknown; use a name such as SIGTERM or SIGINT", c.Stop.Signal)
	}
	if c.Remove != nil && c.Remove.HTTP == nil && len(c.Remove.Command) == 0 {
		return refuse("remove needs `http` or `command`")
	}
	return checkReady(c.Ready, c, refuse)
}

func checkReady(r *dovetail.Ready, c *dovetail.Component, refuse func(string, ...any) error) error {
	if r == nil {
		return nil
	}
	if _, ok := c.Ports[r.TCP]; r.TCP != "" && !ok {
		return refuse("ready.tcp: there is no port %s", r.TCP)
	}
	if _, err := regexp.Compile(r.Log); err != nil {
		return refuse("ready.log: %v", err)
	}
	if r.TCP+r.HTTP+r.Log+r.File == "" {
		return refuse("ready needs one of tcp, http, log and file")
	}
	return nil
}

// environment returns the whole environment of a replica: a few variables of the daemon, then what is declared, then what
// Dovetail says; later ones win.
func environment(l engine.Launch, declared map[string]string, marker string) []string {
	env := make(map[string]string)
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	maps.Copy(env, declared)
	maps.Copy(env, map[string]string{
		"DOVETAIL_RUN":       strconv.FormatInt(int64(l.Run.ID), 10),
		"DOVETAIL_RUN_NAME":  l.Run.Name,
		"DOVETAIL_COMPONENT": l.Component().Name,
		"DOVETAIL_INDEX":     strconv.Itoa(l.Replica.Index),
		"DOVETAIL_NODE":      l.Node,
		"DOVETAIL_ATTEMPT":   strconv.FormatInt(l.Replica.Attempt, 10),
		markerVariable:       marker,
	})
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// writeSpec makes the record of a replica. From then on the replica will be started, even if the daemon dies.
func writeSpec(dir string, s spec) error {
	scratch := filepath.Join(dir, workDir)
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return fmt.Errorf("make the record of replica %s: %w", recordName(s.Replica), err)
	}
	if err := writeJSON(filepath.Join(dir, specFile), s, true); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
