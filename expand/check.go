package expand

import (
	"fmt"
	"slices"

	"github.com/dovetail-sched/dovetail"
)

// MaxFaults is the number of faults after which Check stops looking for more.
const MaxFaults = 100

// Check returns a fault for every reference in the application that cannot be resolved when a replica starts: malformed or
// unknown ones, replicas that a component may not have, and replicas of components that are not sure to be up by then.
// Faults carry the field and no line. Components must have different names; references to the same thing in one text count once.
func Check(app *dovetail.Application) []dovetail.Fault {
	v := checker{app: app, number: make(map[string]int, len(app.Components))}
	for i := range app.Components {
		v.number[app.Components[i].Name] = i
	}
	v.after = make([][]int, len(app.Components))
	for i := range app.Components {
		for _, name := range app.Components[i].After {
			if n, ok := v.number[name]; ok {
				v.after[i] = append(v.after[i], n)
			}
		}
	}
	var faults []dovetail.Fault
	for i := range app.Components {
		v.own, v.ownNumber, v.before = &app.Components[i], i, nil
		c := clone(v.own)
		rewrite(&c, func(field, text string) string {
			if len(faults) >= MaxFaults {
				return text
			}
			for _, message := range v.text(text) {
				faults = append(faults, dovetail.Fault{Field: fmt.Sprintf("components[%d].%s", i, field), Message: message})
			}
			return text
		})
	}
	return faults[:min(len(faults), MaxFaults)]
}

// checker verifies the references of one component after another.
type checker struct {
	app       *dovetail.Application
	number    map[string]int // of a component, by name
	after     [][]int        // numbers of the components that the one with this number comes directly after
	own       *dovetail.Component
	ownNumber int
	before    []bool // by number: components that are ready before own starts; nil until asked for
}

// text returns what is wrong with the references in s.
func (v *checker) text(s string) []string {
	refs, err := Refs(s)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	seen := make(map[string]bool, len(refs))
	for _, r := range refs {
		if seen[r] {
			continue
		}
		seen[r] = true
		if message := v.reference(r); message != "" {
			wrong = append(wrong, message)
		}
		if len(wrong) == MaxFaults {
			break
		}
	}
	return wrong
}

// reference returns what is wrong with one reference, or "".
func (v *checker) reference(text string) string {
	ref, ok := parse(text)
	switch {
	case !ok:
		return unknown(text, v.app, v.own)
	case ref.component != "":
		return v.peer(ref)
	case ref.name == "params":
		if _, ok := v.app.Params[ref.arg]; !ok {
			return fmt.Sprintf("${%s}: unknown parameter %s; declared are %s", text, ref.arg, list(v.app.Params))
		}
	case ref.name == "port":
		if _, ok := v.own.Ports[ref.arg]; !ok {
			return fmt.Sprintf("${%s}: %s has no port %s; it has %s", text, v.own.Name, ref.arg, list(v.own.Ports))
		}
	}
	return ""
}

// peer returns what is wrong with a reference to a replica of another component, or "".
func (v *checker) peer(ref reference) string {
	n, ok := v.number[ref.component]
	if !ok {
		return fmt.Sprintf("${%s}: unknown component %s; there are %s", ref.text, ref.component, list(v.number))
	}
	c := &v.app.Components[n]
	if ref.index >= c.Count {
		return fmt.Sprintf("${%s}: %s has %d core replicas, numbered from 0; elastic ones come and go and cannot be referred to",
			ref.text, c.Name, c.Count)
	}
	if n == v.ownNumber {
		return fmt.Sprintf("${%s}: %s cannot refer to its own replicas: they start together, so that their addresses are not known yet",
			ref.text, c.Name)
	}
	if ref.name == "port" {
		if _, ok := c.Ports[ref.arg]; !ok {
			return fmt.Sprintf("${%s}: %s has no port %s; it has %s", ref.text, c.Name, ref.arg, list(c.Ports))
		}
	}
	if !v.predecessors()[n] {
		return fmt.Sprintf("${%s}: %s may not be up when %s starts, so that its address is not known yet; add %s to `after` of %s",
			ref.text, c.Name, v.own.Name, c.Name, v.own.Name)
	}
	return ""
}

// predecessors returns the components that own comes after, directly or through others.
func (v *checker) predecessors() []bool {
	if v.before != nil {
		return v.before
	}
	v.before = make([]bool, len(v.app.Components))
	open := slices.Clone(v.after[v.ownNumber])
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if !v.before[n] {
			v.before[n] = true
			open = append(open, v.after[n]...)
		}
	}
	return v.before
}
