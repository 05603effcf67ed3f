package describe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dovetail-sched/dovetail"
)

func paramTypes() []string { return []string{"string", "int", "float", "bool"} }

// Params returns the value of every parameter that the application declares: the one given, or else the default. Numbers and
// booleans are in their canonical form, so that equal values have equal texts. Faults name parameters that are unknown,
// missing, of the wrong type, or out of range.
func Params(app *dovetail.Application, given map[string]string) (map[string]string, error) {
	var faults []dovetail.Fault
	wrong := func(name, format string, args ...any) {
		faults = append(faults, dovetail.Fault{Field: "params." + clip(name), Message: fmt.Sprintf(format, args...)})
	}
	declared := sortedKeys(app.Params)
	for _, name := range sortedKeys(given) {
		if _, ok := app.Params[name]; !ok {
			wrong(name, "unknown parameter%s", didYouMean(clip(name), declared))
		}
	}
	values := make(map[string]string, len(declared))
	for _, name := range declared {
		p := app.Params[name]
		value, ok := given[name]
		if !ok {
			if p.Default == nil {
				wrong(name, "must be given: it has no default")
				continue
			}
			value = *p.Default
		}
		value, why := paramValue(&p, value)
		if why != "" {
			wrong(name, "%s", why)
			continue
		}
		values[name] = value
	}
	if len(faults) > 0 {
		e := dovetail.Errorf(dovetail.Invalid, "%s cannot run with these parameters; correct what is listed", app.Name)
		e.Faults = faults[:min(len(faults), maxFaults)]
		return nil, e
	}
	return values, nil
}

// paramValue returns the canonical form of a parameter's value, or why the parameter cannot have it.
func paramValue(p *dovetail.Param, value string) (canonical, why string) {
	canonical, why = canonicalValue(p.Type, value)
	if why != "" {
		return "", why
	}
	if n, err := strconv.ParseFloat(canonical, 64); err == nil && isNumeric(p.Type) {
		if p.Min != nil && n < *p.Min {
			return "", fmt.Sprintf("%s is less than the minimum %s", canonical, formatFloat(*p.Min))
		}
		if p.Max != nil && n > *p.Max {
			return "", fmt.Sprintf("%s is more than the maximum %s", canonical, formatFloat(*p.Max))
		}
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, canonical) {
		return "", fmt.Sprintf("%q is not one of the values allowed%s", clip(canonical), didYouMean(clip(canonical), p.Enum))
	}
	return canonical, ""
}

// canonicalValue returns the canonical form of a value of a type, or why it is none.
func canonicalValue(typ, value string) (canonical, why string) {
	switch typ {
	case "int":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "", fmt.Sprintf("expected a whole number such as 3, found %q", clip(value))
		}
		return strconv.FormatInt(n, 10), ""
	case "float":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return "", fmt.Sprintf("expected a number such as 0.5, found %q", clip(value))
		}
		return formatFloat(n), ""
	case "bool":
		if l := strings.ToLower(value); l == "true" || l == "false" {
			return l, ""
		}
		return "", fmt.Sprintf("expected true or false, found %q", clip(value))
	}
	if !utf8.ValidString(value) || strings.Contains(value, "\x00") {
		return "", "expected a text in UTF-8 without the character U+0000"
	}
	return value, ""
}

func isNumeric(typ string) bool { return typ == "int" || typ == "float" }

// formatFloat writes the shortest text that stands for exactly this number, without an exponent unless it saves many zeros.
func formatFloat(n float64) string {
	if n == 0 {
		return "0" // also for -0
	}
	if a := math.Abs(n); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// canonicalParam brings the default and the allowed values into their canonical form, as far as they have one.
func canonicalParam(p *dovetail.Param) {
	if p.Default != nil {
		if s, why := canonicalValue(p.Type, *p.Default); why == "" {
			p.Default = &s
		}
	}
	for i := range p.Enum {
		if s, why := canonicalValue(p.Type, p.Enum[i]); why == "" {
			p.Enum[i] = s
		}
	}
}

// param checks the declaration of a parameter.
func (v *validator) param(field, name string, p dovetail.Param) {
	if !isVariable(name) {
		v.wrong(field, "the name of a parameter must be at most %d letters, digits, dashes and underscores, and begin with a letter or digit", MaxNameLength)
	}
	if !slices.Contains(paramTypes(), p.Type) {
		v.wrong(field+".type", "%q is not a type of parameter%s", clip(p.Type), didYouMean(clip(p.Type), paramTypes()))
		return
	}
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"min", p.Min}, {"max", p.Max}} {
		if bound.value != nil && !isNumeric(p.Type) {
			v.wrong(join(field, bound.name), "only parameters of type int and float have a range, not %s", p.Type)
		}
	}
	if p.Min != nil && p.Max != nil && !(*p.Min <= *p.Max) {
		v.wrong(field+".max", "must not be less than min")
	}
	if len(p.Enum) == 0 && v.given(field+".enum") {
		v.wrong(field+".enum", "must list at least one value, or be left out")
	}
	inRange := p
	inRange.Enum = nil
	for i, value := range p.Enum {
		at := fmt.Sprintf("%s.enum[%d]", field, i)
		if _, why := paramValue(&inRange, value); why != "" {
			v.wrong(at, "%s", why)
		} else if slices.Contains(p.Enum[:i], value) {
			v.wrong(at, "%q is listed twice", clip(value))
		}
	}
	if p.Default != nil {
		if _, why := paramValue(&p, *p.Default); why != "" {
			v.wrong(field+".default", "%s", why)
		}
	}
}
