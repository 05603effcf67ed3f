package describe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// validator looks at an application that was read, field by field and then at what fields say of each other.
type validator struct {
	*report
	app      *dovetail.Application
	misspelt []misspelt // entries of `after` that name no component
}

type misspelt struct{ component, index int }

func validate(app *dovetail.Application, r *report) {
	v := validator{report: r, app: app}
	v.header()
	for _, name := range sortedKeys(app.Params) {
		v.param("params."+name, name, app.Params[name])
	}
	for i := range app.Components {
		v.component(componentField(i), &app.Components[i])
	}
	v.replicas()
	v.totals()
	v.names()
	v.order()
	v.references()
}

func componentField(i int) string { return fmt.Sprintf("components[%d]", i) }

// header checks the fields of the application itself.
func (v *validator) header() {
	app := v.app
	if app.APIVersion != dovetail.APIVersion {
		v.wrong("apiVersion", "must be %s, the only version that this program reads", dovetail.APIVersion)
	}
	v.name("name", app.Name)
	kinds := []string{string(dovetail.Batch), string(dovetail.Interactive), string(dovetail.Service)}
	if !slices.Contains(kinds, string(app.Kind)) {
		v.wrong("kind", "%q is not a kind of application%s", clip(string(app.Kind)), didYouMean(clip(string(app.Kind)), kinds))
	}
	v.labels("labels", app.Labels)
	v.between("priority", app.Priority, -MaxPriority, MaxPriority)
	switch {
	case app.Size < 0 || app.Size > MaxSize || math.IsNaN(app.Size):
		v.wrong("size", "must be a number of minutes between 0 and %d", MaxSize)
	case app.Size == 0 && v.given("size"):
		v.wrong("size", "must be more than 0 minutes; leave it out if it is not known")
	}
	v.duration("expected", app.Expected, false)
	v.duration("maxRuntime", app.MaxRuntime, false)
	if t := app.Target; t != nil {
		v.duration("target.runtime", t.Runtime, true)
		unset := t.Confidence == 0 && !v.given("target.confidence")
		if !unset && !(t.Confidence > 0 && t.Confidence < 1) {
			v.wrong("target.confidence", "must be more than 0 and less than 1, such as 0.9")
		}
		if app.MaxRuntime > 0 && t.Runtime > app.MaxRuntime {
			v.wrong("target.runtime", "must be at most maxRuntime, %s, after which the run is ended", app.MaxRuntime)
		}
	}
	if app.FinishBy != nil && (app.FinishBy.Year() < 1970 || app.FinishBy.Year() > 9999) {
		v.wrong("finishBy", "must be in a year between 1970 and 9999")
	}
	for i, input := range app.Inputs {
		v.text(fmt.Sprintf("inputs[%d]", i), input)
	}
	if app.InputSize < 0 || app.InputSize == 0 && v.given("inputSize") {
		v.wrong("inputSize", "must be more than 0 bytes; leave it out if it is not known")
	}
	if app.Colocation != nil {
		v.affinity("colocation", app.Colocation)
	}
	if len(app.Components) == 0 {
		v.wrong("components", "must list at least one component")
	}
	if len(app.Components) > MaxComponents {
		v.wrong("components", "%d components are too many; the limit is %d", len(app.Components), MaxComponents)
	}
}

// affinity checks what an application says of its neighbours. That nobody of these names is known is no mistake: they may come.
func (v *validator) affinity(field string, x *dovetail.Affinity) {
	first := make(map[string]string)
	for _, list := range [...]struct {
		field string
		names []string
	}{{field + ".avoid", x.Avoid}, {field + ".prefer", x.Prefer}} {
		if len(list.names) > MaxNeighbours {
			v.wrong(list.field, "%d names are too many; the limit is %d", len(list.names), MaxNeighbours)
		}
		for i, name := range list.names {
			at := fmt.Sprintf("%s[%d]", list.field, i)
			if !isClass(name) {
				v.wrong(at, "%q must be the name of an application, such as wordcount, or a job class, such as wordcount?input=small&top=10", clip(name))
			} else if other, twice := first[name]; twice {
				v.wrong(at, "%s is in %s already", clip(name), other)
			} else {
				first[name] = at
			}
		}
	}
	if x.Exclusive && len(x.Prefer) > 0 {
		v.wrong(field+".prefer", "must be left out: with exclusive there are no neighbours")
	}
}

// isClass reports whether s can be a job class: the name of an application, alone or with parameters in order of their names.
func isClass(s string) bool {
	app, params, has := strings.Cut(s, "?")
	if !isName(app) || len(s) > MaxClassLength {
		return false
	}
	last := ""
	for has {
		var param string
		param, params, has = strings.Cut(params, "&")
		name, _, ok := strings.Cut(param, "=")
		if !ok || !isVariable(name) || name <= last {
			return false
		}
		last = name
	}
	return true
}

// replicas checks that something must run for the application to run.
func (v *validator) replicas() {
	if v.isLost("components.count") || len(v.app.Components) == 0 {
		return
	}
	for i := range v.app.Components {
		if v.app.Components[i].Count > 0 {
			return
		}
	}
	v.wrong("components", "at least one component needs a core replica: count of 1 or more")
}

// totals checks that sums over all replicas can be computed with.
func (v *validator) totals() {
	if v.isLost("components") {
		return
	}
	var total dovetail.Resources
	for i := range v.app.Components {
		c := &v.app.Components[i]
		n := int64(c.Limit())
		for k := range total {
			if c.Resources[k] < 0 || n < 0 {
				return // reported where it stands
			}
			if n > 0 && c.Resources[k] > (math.MaxInt64-total[k])/n {
				v.wrong(componentField(i)+".resources", "%d replicas of %s, with those of the components before, are more %s than can be counted",
					n, c.Resources, dovetail.ResourceKind(k))
				return
			}
			total[k] += n * c.Resources[k]
		}
	}
}

// names checks that components can be told apart.
func (v *validator) names() {
	first := make(map[string]int)
	for i := range v.app.Components {
		name := v.app.Components[i].Name
		if name == "" {
			continue
		}
		if n, twice := first[name]; twice {
			field := componentField(i) + ".name"
			v.wrong(field, "%s is the name of components[%d] already", clip(name), n)
			v.damage(field) // who is meant by it elsewhere, nobody knows
			continue
		}
		first[name] = i
	}
}

// references checks every ${…}. They can be judged only when all that they may refer to could be read.
func (v *validator) references() {
	if v.isLost("params", "components.name", "components.ports", "components.after") {
		return
	}
	for _, f := range expand.Check(v.asMeant()) {
		v.wrong(f.Field, "%s", f.Message)
	}
}

// asMeant returns the application with misspelt names in `after` corrected, and with any number of replicas where it could
// not be read: one mistake is to be reported once.
func (v *validator) asMeant() *dovetail.Application {
	var known []string
	for i := range v.app.Components {
		known = append(known, v.app.Components[i].Name)
	}
	app := *v.app
	app.Components = slices.Clone(app.Components)
	for i := range app.Components {
		if v.isDamaged(componentField(i) + ".count") {
			app.Components[i].Count = MaxReplicas
		}
	}
	for _, m := range v.misspelt {
		c := &app.Components[m.component]
		c.After = slices.Clone(c.After)
		c.After[m.index] = cmp.Or(nearest(c.After[m.index], known), c.After[m.index])
	}
	return &app
}

// name checks a name that becomes part of other names: of hosts, files and replicas.
func (v *validator) name(field, name string) {
	switch {
	case name == "":
		v.wrong(field, "must be given")
	case !isName(name):
		v.wrong(field, "%q must be at most %d lower-case letters, digits and dashes, with a letter or digit at either end",
			clip(name), MaxNameLength)
	}
}

func isName(s string) bool {
	if s == "" || len(s) > MaxNameLength || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-')
	})
}

// isVariable reports whether s can be written in a reference: params.s or port.s.
func isVariable(s string) bool {
	if s == "" || len(s) > MaxNameLength || !isLetterOrDigit(rune(s[0])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !isLetterOrDigit(r) && r != '-' && r != '_' })
}

func isLetterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// labels checks names and values as Kubernetes does, so that they mean the same there.
func (v *validator) labels(field string, labels map[string]string) {
	for _, key := range sortedKeys(labels) {
		prefix, name, prefixed := strings.Cut(key, "/")
		if !prefixed {
			prefix, name = "x", key
		}
		if !isLabel(name) || len(prefix) > 253 || strings.ContainsFunc(prefix, notInPrefix) || prefix == "" {
			v.wrong(join(field, key), "the name of a label must be like disk or example.com/disk, with at most %d letters, digits, dots, dashes and underscores",
				MaxNameLength)
		}
		if value := labels[key]; value != "" && !isLabel(value) {
			v.wrong(join(field, key), "the value of a label must be at most %d letters, digits, dots, dashes and underscores, with a letter or digit at either end",
				MaxNameLength)
		}
	}
}

func isLabel(s string) bool {
	if s == "" || len(s) > MaxNameLength || !isLetterOrDigit(rune(s[0])) || !isLetterOrDigit(rune(s[len(s)-1])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("-_.", r) })
}

func notInPrefix(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.')
}

// duration checks that a time span that is given, or must be, is more than nothing.
func (v *validator) duration(field string, d dovetail.Duration, required bool) {
	switch {
	case d > 0 || d == 0 && !required && !v.given(field):
	case d == 0 && !v.given(field):
		v.wrong(field, "must be given, such as 90s, 5m or 1h30m")
	default:
		v.wrong(field, "must be more than 0%s", hint(!required, "; leave it out for the default"))
	}
}

func (v *validator) between(field string, n, low, high int) {
	switch {
	case n < low && low == 0:
		v.wrong(field, "must not be negative")
	case n < low:
		v.wrong(field, "must be at least %d", low)
	case n > high:
		v.wrong(field, "must be at most %d", high)
	}
}

// text checks a text that must say something.
func (v *validator) text(field, s string) {
	if strings.TrimSpace(s) == "" {
		v.wrong(field, "must not be empty")
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
