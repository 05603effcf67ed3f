// Package expand answers: what does ${…} in a description stand for?
//
// A component's description is written once for all of its replicas, before anybody knows where they will run. Check tells
// the author beforehand whether every reference can be resolved; Component resolves them for one replica that is about to
// start. The text $${ stands for a literal ${. What a variable stands for is never expanded again.
package expand

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// Peer is a replica of the same run that is up, as other components may refer to it.
type Peer struct {
	Component string
	Index     int
	Node      string
	Host      string
	Ports     map[string]int
}

// Self is what the back-end has allocated to the replica that is about to start.
type Self struct {
	Node  string
	Host  string         // where its ports listen
	Ports map[string]int // allocated port by name
}

// Component returns a deep copy of the run's component with every ${…} replaced for the replica r. In ready.log, a
// regular expression, values are quoted so that they match themselves. A reference to a peer that is not up is a
// dovetail.Unavailable error, one that can never be resolved a dovetail.Invalid error.
func Component(run *dovetail.Run, component int, r dovetail.Replica, self Self, peers []Peer) (dovetail.Component, error) {
	if component < 0 || component >= len(run.App.Components) {
		return dovetail.Component{}, dovetail.Errorf(dovetail.Invalid,
			"run %d has no component number %d; it has %d", run.ID, component, len(run.App.Components))
	}
	s := scope{run: run, own: &run.App.Components[component], replica: r, self: self, peers: peers}
	c := clone(s.own)
	var failed error
	rewrite(&c, func(field, text string) string {
		if failed != nil {
			return text
		}
		lookup := s.lookup
		if field == readyLog {
			lookup = quoted(s.lookup)
		}
		out, err := replace(text, lookup)
		if err != nil {
			failed = located(err, s.own.Name, field)
		}
		return out
	})
	if failed != nil {
		return dovetail.Component{}, failed
	}
	return c, nil
}

// quoted makes lookup return values that match themselves in a regular expression.
func quoted(lookup func(string) (string, error)) func(string) (string, error) {
	return func(text string) (string, error) {
		v, err := lookup(text)
		return regexp.QuoteMeta(v), err
	}
}

// located says in which field of which component an error arose.
func located(err error, component, field string) error {
	return dovetail.Errorf(dovetail.CodeOf(err), "component %s, %s: %s", component, field, err)
}

// scope is all that the references of one replica may speak of.
type scope struct {
	run     *dovetail.Run
	own     *dovetail.Component
	replica dovetail.Replica
	self    Self
	peers   []Peer
}

// lookup returns what the reference written as text stands for.
func (s *scope) lookup(text string) (string, error) {
	ref, ok := parse(text)
	if !ok {
		return "", s.unknown(text)
	}
	if ref.component != "" {
		return s.peer(ref)
	}
	switch ref.name {
	case "params":
		if v, ok := s.run.Params[ref.arg]; ok {
			return v, nil
		}
	case "port":
		if p, ok := s.self.Ports[ref.arg]; ok {
			return strconv.Itoa(p), nil
		}
	case "run.id":
		return strconv.FormatInt(int64(s.run.ID), 10), nil
	case "run.name":
		return s.run.Name, nil
	case "run.user":
		return s.run.User, nil
	case "run.class":
		return s.run.Class, nil
	case "replica.name":
		return fmt.Sprintf("%s.%d", s.own.Name, s.replica.Index), nil
	case "replica.index":
		return strconv.Itoa(s.replica.Index), nil
	case "replica.component":
		return s.own.Name, nil
	case "node", "replica.node":
		return s.self.Node, nil
	case "host", "replica.host", "replica.address":
		return s.self.Host, nil
	}
	return "", s.unknown(text)
}

// peer resolves a reference to a replica of another component.
func (s *scope) peer(ref reference) (string, error) {
	at := slices.IndexFunc(s.peers, func(p Peer) bool { return p.Component == ref.component && p.Index == ref.index })
	if at < 0 {
		if !slices.ContainsFunc(s.run.App.Components, func(c dovetail.Component) bool { return c.Name == ref.component }) {
			return "", s.unknown(ref.text)
		}
		return "", dovetail.Errorf(dovetail.Unavailable,
			"${%s}: replica %s.%d is not up; list %s in `after` of %s so that it starts first",
			ref.text, ref.component, ref.index, ref.component, s.own.Name)
	}
	p := s.peers[at]
	switch ref.name {
	case "address", "host":
		return p.Host, nil
	case "node":
		return p.Node, nil
	}
	if n, ok := p.Ports[ref.arg]; ok {
		return strconv.Itoa(n), nil
	}
	return "", dovetail.Errorf(dovetail.Invalid, "${%s}: replica %s.%d has no port %s; it has %s",
		ref.text, p.Component, p.Index, ref.arg, list(p.Ports))
}

func (s *scope) unknown(text string) error {
	return dovetail.Errorf(dovetail.Invalid, "%s", unknown(text, s.run.App, s.own))
}

// unknown says that text is no variable, and which ones there are.
func unknown(text string, app *dovetail.Application, own *dovetail.Component) string {
	var others []string
	for i := range app.Components {
		if c := &app.Components[i]; c.Name != own.Name {
			others = append(others, c.Name)
		}
	}
	s := fmt.Sprintf("${%s}: unknown variable; known are %s", text, strings.Join(ownNames(), ", "))
	if len(app.Params) > 0 {
		s += "; params.NAME with NAME one of " + list(app.Params)
	}
	if len(own.Ports) > 0 {
		s += "; port.NAME with NAME one of " + list(own.Ports)
	}
	if len(others) > 0 {
		s += "; COMPONENT.INDEX.address, .host, .node and .port.NAME with COMPONENT one of " + shorten(others)
	}
	return s + fmt.Sprintf("; write $${%s} for the text itself", text)
}

// shorten joins names, only the first few of many.
func shorten(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// list joins the keys of a map in order; "none" if it is empty.
func list[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return shorten(sortedKeys(m))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
