package expand

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dovetail-sched/dovetail"
)

// ownNames are the variables that every replica has, in the order in which errors list them.
func ownNames() []string {
	return []string{
		"run.id", "run.name", "run.user", "run.class",
		"replica.name", "replica.index", "replica.component", "replica.node", "replica.address", "replica.host",
		"node", "host",
	}
}

// Reserved reports whether name has a meaning of its own at the beginning of a reference, so that no component can bear it.
func Reserved(name string) bool {
	switch name {
	case "params", "run", "replica", "node", "host", "port":
		return true
	}
	return false
}

// Refs returns the references in s, without ${ and }, in the order of their appearance. It fails on a reference that does
// not end and on one that is not made of letters, digits, dots, dashes and underscores; whether it stands for anything
// is not looked at.
func Refs(s string) ([]string, error) {
	var refs []string
	_, err := replace(s, func(text string) (string, error) {
		refs = append(refs, text)
		return "", nil
	})
	if err != nil {
		return nil, err
	}
	return refs, nil
}

// replace returns s with every reference replaced by what lookup returns, and $${ by ${.
func replace(s string, lookup func(text string) (string, error)) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var b strings.Builder
	for len(s) > 0 {
		switch {
		case strings.HasPrefix(s, "$${"):
			b.WriteString("${")
			s = s[len("$${"):]
		case strings.HasPrefix(s, "${"):
			text, rest, ok := strings.Cut(s[len("${"):], "}")
			if !ok {
				return "", dovetail.Errorf(dovetail.Invalid, "%s has no closing brace; write $${ for a literal ${", s)
			}
			if !isReference(text) {
				return "", dovetail.Errorf(dovetail.Invalid,
					"${%s} is not a reference such as ${run.id} or ${params.input}; write $${%s} for the text itself", text, text)
			}
			value, err := lookup(text)
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			s = rest
		default:
			next := strings.IndexByte(s[1:], '$') + 1
			if next == 0 {
				next = len(s)
			}
			b.WriteString(s[:next])
			s = s[next:]
		}
	}
	return b.String(), nil
}

func isReference(text string) bool {
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
		default:
			return false
		}
	}
	return text != ""
}

// reference is a variable by its form: name is one of ownNames(), params or port (of the replica itself) when component is
// empty; otherwise address, host, node or port of replica index of that component. arg is the NAME in params.NAME and
// port.NAME.
type reference struct {
	text      string
	component string
	index     int
	name      string
	arg       string
}

// parse reads a reference; it is false when no variable has this form.
func parse(text string) (reference, bool) {
	ref := reference{text: text}
	parts := strings.Split(text, ".")
	switch {
	case slices.Contains(ownNames(), text):
		ref.name = text
		return ref, true
	case len(parts) == 2 && (parts[0] == "params" || parts[0] == "port"):
		ref.name, ref.arg = parts[0], parts[1]
		return ref, true
	case len(parts) < 3 || Reserved(parts[0]):
		return ref, false
	}
	index, err := strconv.Atoi(parts[1])
	if err != nil || strconv.Itoa(index) != parts[1] {
		return ref, false
	}
	ref.component, ref.index, ref.name = parts[0], index, parts[2]
	switch ref.name {
	case "address", "host", "node":
		return ref, len(parts) == 3
	case "port":
		if len(parts) == 4 {
			ref.arg = parts[3]
			return ref, true
		}
	}
	return ref, false
}
