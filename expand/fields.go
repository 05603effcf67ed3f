package expand

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// readyLog is the one field whose text is a regular expression.
const readyLog = "ready.log"

// rewrite replaces every text of a component that may hold references by what f returns for it, in a fixed order. The
// field is a path within the component, such as command[2]. The component must not share memory with another: see clone.
func rewrite(c *dovetail.Component, f func(field, text string) string) {
	texts := func(field string, s []string) {
		for i := range s {
			s[i] = f(fmt.Sprintf("%s[%d]", field, i), s[i])
		}
	}
	one := func(field string, s *string) { *s = f(field, *s) }

	texts("command", c.Command)
	texts("args", c.Args)
	for _, k := range sortedKeys(c.Env) {
		c.Env[k] = f("env."+k, c.Env[k])
	}
	one("workDir", &c.WorkDir)
	for i := range c.Volumes {
		one(fmt.Sprintf("volumes[%d].source", i), &c.Volumes[i].Source)
		one(fmt.Sprintf("volumes[%d].target", i), &c.Volumes[i].Target)
	}
	for _, k := range sortedKeys(c.Ports) {
		p := c.Ports[k]
		one("ports."+k+".url", &p.URL)
		c.Ports[k] = p
	}
	if r := c.Ready; r != nil {
		one("ready.http", &r.HTTP)
		one(readyLog, &r.Log)
		one("ready.file", &r.File)
	}
	if r := c.Remove; r != nil {
		texts("remove.command", r.Command)
		if r.HTTP != nil {
			one("remove.http.url", &r.HTTP.URL)
			one("remove.http.body", &r.HTTP.Body)
		}
	}
}

// clone returns a copy of c that shares no memory with it.
func clone(c *dovetail.Component) dovetail.Component {
	d := *c
	d.Command = slices.Clone(c.Command)
	d.Args = slices.Clone(c.Args)
	d.Env = maps.Clone(c.Env)
	d.Volumes = slices.Clone(c.Volumes)
	d.Ports = maps.Clone(c.Ports)
	d.Nodes = maps.Clone(c.Nodes)
	d.After = slices.Clone(c.After)
	if c.Ready != nil {
		ready := *c.Ready
		d.Ready = &ready
	}
	if c.Remove != nil {
		remove := *c.Remove
		remove.Command = slices.Clone(c.Remove.Command)
		if c.Remove.HTTP != nil {
			call := *c.Remove.HTTP
			remove.HTTP = &call
		}
		d.Remove = &remove
	}
	return d
}
