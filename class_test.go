package dovetail_test

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
)

func TestClassOf(t *testing.T) {
	for _, test := range []struct {
		reason string
		params map[string]string
		want   string
	}{
		{"no parameters", nil, "sort"},
		{"in order of name", map[string]string{"top": "10", "input": "small"}, "sort?input=small&top=10"},
		{"what separates is escaped", map[string]string{"a": "b&c=d e%é"}, "sort?a=b%26c%3Dd+e%25%C3%A9"},
		{"an empty value", map[string]string{"a": ""}, "sort?a="},
	} {
		if got := dovetail.ClassOf("sort", test.params); got != test.want {
			t.Errorf("%s: %s; expected %s", test.reason, got, test.want)
		}
	}
}

// Classes are keys of what was learned: they must be written as they always were, with url.QueryEscape.
func TestClassesAreEscapedAsInURLs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name, value := rapid.String().Draw(rt, "name"), rapid.String().Draw(rt, "value")
		want := "app?" + url.QueryEscape(name) + "=" + url.QueryEscape(value)
		if got := dovetail.ClassOf("app", map[string]string{name: value}); got != want {
			rt.Errorf("%s; expected %s", got, want)
		}
	})
}
