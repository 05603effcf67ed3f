package describe

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/expand"
)

// component checks the fields of one component.
func (v *validator) component(field string, c *dovetail.Component) {
	v.name(field+".name", c.Name)
	if expand.Reserved(c.Name) {
		v.wrong(field+".name", "%s has a meaning of its own in ${…}; choose another name", c.Name)
	}
	v.what(field, c)
	for _, name := range sortedKeys(c.Env) {
		if !isEnvName(name) {
			v.wrong(field+".env."+name, "the name of an environment variable must consist of letters, digits, underscores, dots and dashes, and not begin with a digit")
		}
	}
	for i, volume := range c.Volumes {
		v.volume(fmt.Sprintf("%s.volumes[%d]", field, i), volume)
	}
	for _, name := range sortedKeys(c.Ports) {
		v.port(field+".ports."+name, name, c.Ports[name])
	}
	v.amounts(field, c)
	v.labels(field+".nodes", c.Nodes)
	v.ready(field+".ready", c)
	v.between(field+".restart.retries", c.Restart.Retries, 0, MaxRetries)
	v.ends(field, c)
	v.stop(field+".stop", c.Stop)
	v.remove(field+".remove", c.Remove)
}

// what checks that there is something to run.
func (v *validator) what(field string, c *dovetail.Component) {
	if len(c.Command) == 0 && c.Image == "" && !v.isDamaged(field+".image") {
		v.wrong(field+".command", "must be given, unless there is an image")
	}
	if len(c.Command) > 0 && strings.TrimSpace(c.Command[0]) == "" {
		v.wrong(field+".command[0]", "must name a program")
	}
	if strings.ContainsAny(c.Image, " \t\r\n") || c.Image == "" && v.given(field+".image") {
		v.wrong(field+".image", "must be the name of an image, without spaces")
	}
}

func isEnvName(s string) bool {
	if s == "" || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("_.-", r) })
}

func (v *validator) volume(field string, volume dovetail.Volume) {
	v.text(field+".source", volume.Source)
	if !strings.HasPrefix(volume.Target, "/") && !strings.HasPrefix(volume.Target, "${") {
		v.wrong(field+".target", "must be an absolute path such as /data")
	}
}

func (v *validator) port(field, name string, p dovetail.Port) {
	if !isVariable(name) {
		v.wrong(field, "the name of a port must be at most %d letters, digits, dashes and underscores, and begin with a letter or digit", MaxNameLength)
	}
	if p.Port < 0 || p.Port > 65535 {
		at := field
		if v.given(field + ".port") {
			at += ".port"
		}
		v.wrong(at, "must be a port number between 1 and 65535, or 0 for any free one")
	}
	if p.URL != "" {
		v.url(field+".url", p.URL)
	}
}

// amounts checks how many replicas of which size are asked for.
func (v *validator) amounts(field string, c *dovetail.Component) {
	v.between(field+".count", c.Count, 0, MaxReplicas)
	if c.Max != c.Count { // the same mistake is said once
		v.between(field+".max", c.Max, 0, MaxReplicas)
	}
	unset := c.Max == 0 && !v.given(field+".max")
	switch {
	case c.Count < 0 || c.Count > MaxReplicas:
		v.damage(field + ".count")
	case v.isDamaged(field + ".count"):
	case c.Count == 0 && c.Max == 0:
		v.wrong(field+".max", "must be 1 or more when count is 0; a component without any replica does nothing")
	case c.Max >= 0 && c.Max < c.Count && !unset:
		v.wrong(field+".max", "must not be less than count: %d core replicas do not fit into %d in all", c.Count, c.Max)
	}
	if c.Resources.IsZero() && !v.isIncomplete(field+".resources") {
		v.wrong(field+".resources", "must say what one replica needs, such as {cpu: 500m, memory: 256Mi}")
	}
	for k, n := range c.Resources {
		if n < 0 {
			v.wrong(fmt.Sprintf("%s.resources.%s", field, dovetail.ResourceKind(k)), "must not be negative")
		}
	}
}

// ready checks the readiness condition.
func (v *validator) ready(field string, c *dovetail.Component) {
	r := c.Ready
	if r == nil {
		return
	}
	v.exactlyOne(field, []string{"tcp", "http", "log", "file"}, []bool{r.TCP != "", r.HTTP != "", r.Log != "", r.File != ""})
	if _, ok := c.Ports[r.TCP]; !ok && r.TCP != "" && !v.isLost("components.ports") {
		v.wrong(field+".tcp", "%q is no port of this component%s", clip(r.TCP), didYouMean(clip(r.TCP), sortedKeys(c.Ports)))
	}
	if r.HTTP != "" {
		v.url(field+".http", r.HTTP)
	}
	if r.Log != "" {
		if _, err := regexp.Compile(withoutRefs(r.Log)); err != nil {
			v.wrong(field+".log", "must be a regular expression: %s", clipError(err))
		}
	}
	v.duration(field+".timeout", r.Timeout, false)
}

// exactlyOne checks that one alternative is chosen.
func (v *validator) exactlyOne(field string, names []string, set []bool) {
	var chosen []string
	for i, name := range names {
		if set[i] || v.isDamaged(field+"."+name) {
			chosen = append(chosen, name)
		}
	}
	switch {
	case len(chosen) == 0:
		v.wrong(field, "needs exactly one of %s", strings.Join(names, ", "))
	case len(chosen) > 1:
		v.wrong(field+"."+chosen[1], "excludes %s: exactly one of %s may be given", chosen[0], strings.Join(names, ", "))
	}
}

// ends checks the field of that name.
func (v *validator) ends(field string, c *dovetail.Component) {
	switch {
	case c.Ends == "" && !v.given(field+".ends"):
	case c.Ends != "run":
		v.wrong(field+".ends", "must be run, or be left out")
	case c.Count == 0 && !v.isDamaged(field+".count"):
		v.wrong(field+".ends", "a component without core replicas cannot end the run: elastic replicas come and go")
	}
}

func (v *validator) stop(field string, s dovetail.Stop) {
	signals := []string{"SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPWR", "SIGWINCH", "SIGKILL"}
	if (s.Signal != "" || v.given(field+".signal")) && !slices.Contains(signals, s.Signal) {
		meant := didYouMean(clip(s.Signal), signals)
		if prefixed := "SIG" + s.Signal; slices.Contains(signals, prefixed) {
			meant = "; did you mean " + prefixed + "?"
		}
		v.wrong(field+".signal", "%q is not a signal that stops%s", clip(s.Signal), meant)
	}
	v.duration(field+".grace", s.Grace, false)
}

// remove checks the removal hook.
func (v *validator) remove(field string, r *dovetail.Remove) {
	if r == nil {
		return
	}
	v.exactlyOne(field, []string{"http", "command"}, []bool{r.HTTP != nil, len(r.Command) > 0})
	if len(r.Command) > 0 && strings.TrimSpace(r.Command[0]) == "" {
		v.wrong(field+".command[0]", "must name a program")
	}
	if r.HTTP != nil {
		v.url(field+".http.url", r.HTTP.URL)
		methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
		if (r.HTTP.Method != "" || v.given(field+".http.method")) && !slices.Contains(methods, r.HTTP.Method) {
			v.wrong(field+".http.method", "%q is not a method that a hook can use%s", clip(r.HTTP.Method), didYouMean(clip(r.HTTP.Method), methods))
		}
	}
	v.duration(field+".grace", r.Grace, false)
}

// url checks the form of a URL, as far as it does not depend on references.
func (v *validator) url(field, s string) {
	if strings.HasPrefix(s, "${") {
		return
	}
	u, err := url.Parse(withoutRefs(s))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		v.wrong(field, "must be a URL such as http://${replica.address}:${port.ui}/")
	}
}

var referenceText = regexp.MustCompile(`\$\{[^}]*\}`)

// withoutRefs replaces each reference by a digit, which is right in a host, a port, a path and a regular expression.
func withoutRefs(s string) string { return referenceText.ReplaceAllString(s, "1") }
