package describe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// one is a correct description of one component to which a case adds lines.
const one = "apiVersion: dovetail/v1\nname: a\ncomponents:\n- {name: c, command: [x], resources: {cpu: 1}}\n"

// component makes a correct description with more fields of its component.
func component(more string) string {
	return "apiVersion: dovetail/v1\nname: a\ncomponents:\n- name: c\n  command: [x]\n  resources: {cpu: 1}\n" + more
}

// second makes a description with a correct component m, which has port rpc, and another one.
func second(more string) string {
	return "apiVersion: dovetail/v1\nname: a\nparams: {n: {type: int, default: 1}}\ncomponents:\n" +
		"- {name: m, command: [x], resources: {cpu: 1}, ports: {rpc: 7000}}\n" +
		"- name: w\n  resources: {cpu: 1}\n" + more
}

// badInputs lists a text for each kind of mistake. The mark § stands where the fault is to be found.
var badInputs = []struct {
	reason string
	text   string
	field  string
	want   string // part of the message
}{
	// the text itself
	{"nothing at all", "", "", "is empty"},
	{"comments only", "# c\n", "", "is empty"},
	{"no YAML", "name: [a\nb§: c\n", "", "not valid YAML"},
	{"unquoted reference in a flow list", "command: [a, $§{x}]\n", "", `must be quoted: "${…}"`},
	{"bad UTF-8", one + "description: \"é§\xff\"\n", "", "byte 0xff is not valid UTF-8"},
	{"control character", one + "description: \"é§\x01\"\n", "", "control character U+0001"},
	{"two documents", one + "§---\n" + one, "", "second document"},
	{"nested too deeply", strings.Repeat("[", 10_000) + "§" + strings.Repeat("[", 100_000), "", "depth"},
	{"not a mapping", "§- a\n", "", "expected a mapping"},
	{"too long", one + "#" + strings.Repeat("x", describe.DefaultMaxBytes), "", "the limit is 1048576"},
	{"10 MB", one + "#" + strings.Repeat("x", 10_000_000), "", "the limit is 1048576"},
	{"10,000 components", "name: a\ncomponents:\n§" + strings.Repeat("- {name: c}\n", 10_000), "components", "10000 components are too many; the limit is 1000"},

	// names and types
	{"unknown field", one + "§namee: b\n", "namee", "unknown field; did you mean name?"},
	{"unknown field like no other", one + "§zzzzzzzz: b\n", "zzzzzzzz", "unknown field; known are apiVersion, name"},
	{"unknown field of a component", component("  §replica: 2\n"), "components[0].replica", "unknown field"},
	{"unknown field within", component("  stop: {§signl: SIGINT}\n"), "components[0].stop.signl", "did you mean signal?"},
	{"field in other letters", one + "§Kind: batch\n", "Kind", "did you mean kind?"},
	{"duplicate field", one + "§name: b\n", "name", "is given twice; first in line 2"},
	{"duplicate name in a mapping", component("  env: {A: 1, §A: 2}\n"), "components[0].env.A", "given twice"},
	{"text for a number", one + "priority: §high\n", "priority", `expected a whole number such as 3, found the text "high"`},
	{"fraction for a whole number", component("  count: §1.5\n"), "components[0].count", "found the number 1.5"},
	{"octal number", component("  count: §010\n"), "components[0].count", "expected a whole number"},
	{"number beyond int64", one + "priority: §99999999999999999999\n", "priority", "too large"},
	{"number for a text", one + "description: §5\n", "description", "expected a text, found the number 5; put it in quotes"},
	{"list for a text", one + "description: §[a]\n", "description", "expected a text, found a list"},
	{"text for a list", component("  after: §m\n"), "components[0].after", "expected a list"},
	{"list for a mapping", component("  env: §[A]\n"), "components[0].env", "expected a mapping"},
	{"mapping for a word", component("  args: [§{a: b}]\n"), "components[0].args[0]", "found a mapping"},
	{"text for a boolean", component("  volumes: [{source: /a, target: /a, readOnly: §yes}]\n"), "components[0].volumes[0].readOnly", "expected true or false"},
	{"no number", one + "size: §.nan\n", "size", "expected a number such as 0.5"},
	{"no value", component("  args:§\n"), "components[0].args", "has no value"},
	{"alias", one + "labels: {a: &x b, c: §*x}\n", "labels.c", "aliases are not supported"},
	{"beginning of a bomb", one + "inputs: [&a x, §*a]\n", "inputs[1]", "aliases are not supported"},
	{"merge", component("  env: {A: &x b, §<<: *x}\n"), "components[0].env", "merging with << is not supported"},
	{"tag", one + "description: §!!int 5\n", "description", "tags are not supported"},
	{"name that is a list", component("  env: {? §[a] : b}\n"), "components[0].env", "expected a name"},
	{"empty name", component("  env: {§\"\": b}\n"), "components[0].env", "must not be empty"},
	{"escaped NUL", component("  args: [§\"a\\0\"]\n"), "components[0].args[0]", "U+0000"},

	// the application
	{"other version", "apiVersion: §dovetail/v9\n" + one[24:], "apiVersion", "must be dovetail/v1"},
	{"no version", "§" + one[24:], "apiVersion", "must be dovetail/v1"},
	{"no name", "§apiVersion: dovetail/v1\n" + one[32:], "name", "must be given"},
	{"bad name", "apiVersion: dovetail/v1\nname: §Word_Count\n" + one[32:], "name", "lower-case letters"},
	{"name of 64 letters", "apiVersion: dovetail/v1\nname: §" + strings.Repeat("a", 64) + "\n" + one[32:], "name", "at most 63"},
	{"unknown kind", one + "kind: §bach\n", "kind", "did you mean batch?"},
	{"priority out of bounds", one + "priority: §1000001\n", "priority", "must be at most 1000000"},
	{"size of nothing", one + "size: §0\n", "size", "must be more than 0"},
	{"negative size", one + "size: §-1\n", "size", "must be a number of minutes between 0 and"},
	{"duration without unit", one + "expected: §90\n", "expected", "such as \"90s\""},
	{"duration with a wrong unit", one + "expected: §90x\n", "expected", "such as 90s, 5m or 1h30m"},
	{"duration of nothing", one + "maxRuntime: §0s\n", "maxRuntime", "must be more than 0"},
	{"negative duration", one + "expected: §-5s\n", "expected", "must be more than 0"},
	{"target without runtime", one + "target: §{confidence: 0.9}\n", "target.runtime", "must be given"},
	{"confidence of certainty", one + "target: {runtime: 1m, confidence: §1}\n", "target.confidence", "less than 1"},
	{"confidence of nothing", one + "target: {runtime: 1m, confidence: §0}\n", "target.confidence", "more than 0"},
	{"target beyond the longest runtime", one + "maxRuntime: 1m\ntarget: {runtime: §61s}\n", "target.runtime", "at most maxRuntime"},
	{"size without a number", one + "inputSize: §GB\n", "inputSize", "such as 24GB"},
	{"size with a wrong unit", one + "inputSize: §24 gigabytes\n", "inputSize", "such as 24GB"},
	{"input of nothing", one + "inputSize: §0\n", "inputSize", "more than 0"},
	{"negative input", one + "inputSize: §-1GB\n", "inputSize", "such as 24GB"},
	{"list of inputs for their size", one + "inputSize: §[24GB]\n", "inputSize", "such as 24GB"},
	{"neighbours that are no mapping", one + "colocation: §[sort]\n", "colocation", "expected a mapping"},
	{"misspelt wish", one + "colocation: {§avoids: [sort]}\n", "colocation.avoids", "did you mean avoid?"},
	{"neighbour that is no name", one + "colocation: {avoid: [§Sort]}\n", "colocation.avoid[0]", "must be the name of an application"},
	{"class without its values", one + "colocation: {avoid: [§\"sort?input\"]}\n", "colocation.avoid[0]", "or a job class"},
	{"class whose parameters are not in order", one + "colocation: {prefer: [§\"sort?b=1&a=2\"]}\n", "colocation.prefer[0]", "or a job class"},
	{"neighbour twice", one + "colocation: {avoid: [sort, §sort]}\n", "colocation.avoid[1]", "is in colocation.avoid[0] already"},
	{"avoided and preferred", one + "colocation: {avoid: [sort], prefer: [§sort]}\n", "colocation.prefer[0]", "is in colocation.avoid[0] already"},
	{"alone with friends", one + "colocation: {exclusive: true, prefer: §[sort]}\n", "colocation.prefer", "there are no neighbours"},
	{"no time", one + "finishBy: §tomorrow\n", "finishBy", "expected a time such as"},
	{"time without zone", one + "finishBy: §2026-05-01 18:00:00\n", "finishBy", "expected a time such as"},
	{"bad label", one + "labels: {a: §\"b c\"}\n", "labels.a", "the value of a label"},
	{"bad name of a label", one + "labels: {-a: §b}\n", "labels.-a", "the name of a label"},
	{"empty input", one + "inputs: [§\"\"]\n", "inputs[0]", "must not be empty"},
	{"no components", "§apiVersion: dovetail/v1\nname: a\n", "components", "at least one component"},
	{"empty components", "apiVersion: dovetail/v1\nname: a\ncomponents: §[]\n", "components", "at least one component"},
	{"no core replica at all", "apiVersion: dovetail/v1\nname: a\ncomponents:\n§- {name: c, command: [x], resources: {cpu: 1}, count: 0, max: 2}\n",
		"components", "at least one component needs a core replica"},

	// parameters
	{"unknown type of parameter", one + "params: {n: {type: §integer}}\n", "params.n.type", "is not a type of parameter"},
	{"parameter without type", one + "params: {n: §{default: 3}}\n", "params.n.type", "is not a type of parameter"},
	{"default of another type", one + "params: {n: {type: int, default: §x}}\n", "params.n.default", "expected a whole number"},
	{"default that is a list", one + "params: {n: {type: int, default: §[1]}}\n", "params.n.default", "expected a text, found a list"},
	{"default out of range", one + "params: {n: {type: int, min: 3, default: §2}}\n", "params.n.default", "2 is less than the minimum 3"},
	{"default not allowed", one + "params: {n: {type: string, enum: [small, large], default: §smal}}\n", "params.n.default", "did you mean small?"},
	{"empty range", one + "params: {n: {type: float, min: 3, max: §2}}\n", "params.n.max", "must not be less than min"},
	{"range of texts", one + "params: {n: {type: string, min: §3}}\n", "params.n.min", "only parameters of type int and float"},
	{"allowed value of another type", one + "params: {n: {type: bool, enum: [§maybe]}}\n", "params.n.enum[0]", "expected true or false"},
	{"allowed value twice", one + "params: {n: {type: float, enum: [1, §1.0]}}\n", "params.n.enum[1]", "listed twice"},
	{"no value allowed", one + "params: {n: {type: int, enum: §[]}}\n", "params.n.enum", "at least one value"},
	{"bad name of a parameter", one + "params: {a b: §{type: int}}\n", "params.a b", "the name of a parameter"},

	// components
	{"component without name", "apiVersion: dovetail/v1\nname: a\ncomponents:\n- §command: [x]\n  resources: {cpu: 1}\n", "components[0].name", "must be given"},
	{"two components of one name", one + "- {name: §c, command: [x], resources: {cpu: 1}}\n", "components[1].name", "name of components[0] already"},
	{"reserved name", one + "- {name: §replica, command: [x], resources: {cpu: 1}}\n", "components[1].name", "meaning of its own"},
	{"nothing to run", one + "- §{name: d, resources: {cpu: 1}}\n", "components[1].command", "must be given, unless there is an image"},
	{"empty command", one + "- {name: d, command: [§\"\"], resources: {cpu: 1}}\n", "components[1].command[0]", "must name a program"},
	{"bad image", component("  image: §a b\n"), "components[0].image", "without spaces"},
	{"bad variable", component("  env: {1A: §b}\n"), "components[0].env.1A", "environment variable"},
	{"relative target", component("  volumes: [{source: /a, target: §a}]\n"), "components[0].volumes[0].target", "absolute path"},
	{"volume without source", component("  volumes: [§{target: /a}]\n"), "components[0].volumes[0].source", "must not be empty"},
	{"port out of range", component("  ports: {ui: §65536}\n"), "components[0].ports.ui", "between 1 and 65535"},
	{"port out of range in full form", component("  ports: {ui: {port: §-1}}\n"), "components[0].ports.ui.port", "between 1 and 65535"},
	{"port that is a list", component("  ports: {ui: §[1]}\n"), "components[0].ports.ui", "expected a port number or {port: …, url: …}"},
	{"port that is a text", component("  ports: {ui: §http}\n"), "components[0].ports.ui", "expected a whole number"},
	{"bad name of a port", component("  ports: {a.b: §1}\n"), "components[0].ports.a.b", "the name of a port"},
	{"bad URL", component("  ports: {ui: {port: 1, url: §localhost}}\n"),
		"components[0].ports.ui.url", "must be a URL"},
	{"wrong unit", one + "- {name: d, command: [x], resources: {cpu: §1x}}\n", "components[1].resources.cpu", "optional unit"},
	{"part of a byte", one + "- {name: d, command: [x], resources: {memory: §100m}}\n", "components[1].resources.memory", "not a whole number of units"},
	{"negative quantity", one + "- {name: d, command: [x], resources: {cpu: §-1}}\n", "components[1].resources.cpu", "must not be negative"},
	{"overflowing quantity", one + "- {name: d, command: [x], resources: {memory: §100E}}\n", "components[1].resources.memory", "is too large"},
	{"quantity that is a list", one + "- {name: d, command: [x], resources: {memory: §[1]}}\n", "components[1].resources.memory", "expected a quantity"},
	{"unknown resource", one + "- {name: d, command: [x], resources: {§memroy: 1, cpu: 1}}\n", "components[1].resources.memroy", "did you mean memory?"},
	{"no resources", one + "- §{name: d, command: [x]}\n", "components[1].resources", "what one replica needs"},
	{"overflow in all", one + "- {name: d, command: [x], max: 100000, resources: §{memory: 1Pi}}\n", "components[1].resources", "more memory than can be counted"},
	{"negative count", component("  count: §-1\n"), "components[0].count", "must not be negative"},
	{"huge count", component("  count: §100001\n"), "components[0].count", "at most 100000"},
	{"huge max", component("  max: §100001\n"), "components[0].max", "at most 100000"},
	{"count above max", component("  count: 3\n  max: §2\n"), "components[0].max", "must not be less than count: 3 core replicas do not fit into 2"},
	{"max of zero", component("  max: §0\n"), "components[0].max", "must not be less than count"},
	{"no replica", one + "- §{name: d, command: [x], resources: {cpu: 1}, count: 0}\n", "components[1].max", "must be 1 or more when count is 0"},
	{"two conditions", component("  ready: {file: §/a, log: b}\n"), "components[0].ready.file", "excludes log"},
	{"no condition", component("  ready: §{timeout: 5s}\n"), "components[0].ready", "exactly one of tcp, http, log, file"},
	{"condition on an unknown port", component("  ports: {rpc: 1}\n  ready: {tcp: §rcp}\n"), "components[0].ready.tcp", "did you mean rpc?"},
	{"condition that is no URL", component("  ready: {http: §/health}\n"), "components[0].ready.http", "must be a URL"},
	{"condition that is no regular expression", component("  ready: {log: §\"(\"}\n"), "components[0].ready.log", "regular expression"},
	{"negative retries", component("  restart: {retries: §-1}\n"), "components[0].restart.retries", "must not be negative"},
	{"other end", component("  ends: §all\n"), "components[0].ends", "must be run"},
	{"end by elastic replicas", one + "- {name: d, command: [x], resources: {cpu: 1}, count: 0, max: 1, ends: §run}\n", "components[1].ends", "without core replicas"},
	{"unknown signal", component("  stop: {signal: §TERM}\n"), "components[0].stop.signal", "did you mean SIGTERM?"},
	{"no grace", component("  stop: {grace: §0s}\n"), "components[0].stop.grace", "leave it out for the default"},
	{"two hooks", component("  remove: {http: {url: \"http://a\"}, command: §[x]}\n"), "components[0].remove.command", "excludes http"},
	{"no hook", component("  remove: §{grace: 5s}\n"), "components[0].remove", "exactly one of http, command"},
	{"bad method", component("  remove: {http: {url: \"http://a\", method: §post}}\n"), "components[0].remove.http.method", "did you mean POST?"},
	{"hook without URL", component("  remove: {http: §{method: PUT}}\n"), "components[0].remove.http.url", "must be a URL"},

	// what one says of another
	{"unknown predecessor", second("  command: [x]\n  after: [§n]\n"), "components[1].after[0]", `unknown component "n"; did you mean m?`},
	{"predecessor of itself", second("  command: [x]\n  after: [§w]\n"), "components[1].after[0]", "cannot come after itself"},
	{"predecessor twice", second("  command: [x]\n  after: [m, §m]\n"), "components[1].after[1]", "listed twice"},
	{"cyclic order", second("  command: [x]\n  after: §[v]\n- {name: v, command: [x], resources: {cpu: 1}, after: [w]}\n"), "components[1].after", "w after v after w"},
	{"unknown variable", second("  command: [§\"${HOME}\"]\n"), "components[1].command[0]", "write $${HOME} for the text itself"},
	{"malformed reference", second("  command: [§\"${m\"]\n"), "components[1].command[0]", "no closing brace"},
	{"unknown parameter", second("  command: [§\"${params.m}\"]\n"), "components[1].command[0]", "unknown parameter m; declared are n"},
	{"unknown component", second("  command: [§\"${n.0.host}\"]\n"), "components[1].command[0]", "unknown component n"},
	{"index beyond the core", second("  after: [m]\n  command: [§\"${m.1.host}\"]\n"), "components[1].command[0]", "1 core replicas"},
	{"unknown port of a component", second("  after: [m]\n  command: [§\"${m.0.port.ui}\"]\n"), "components[1].command[0]", "has no port ui"},
	{"reference to what may not be up", second("  command: [§\"${m.0.host}\"]\n"), "components[1].command[0]", "add m to `after` of w"},
}

func TestBadInput(t *testing.T) {
	for _, tt := range badInputs {
		t.Run(tt.reason, func(t *testing.T) {
			text, line, column := unmark(tt.text)
			_, err := describe.Application([]byte(text), describe.Options{File: "a.yaml"})
			got := faultsOf(t, err)
			if len(got) != 1 {
				t.Fatalf("%d faults, want one:\n%v", len(got), err)
			}
			f := got[0]
			if f.Line != line || f.Column != column || f.Field != tt.field || !strings.Contains(f.Message, tt.want) {
				t.Errorf("fault = %s\nwant line %d, column %d: %s: …%s…", f, line, column, tt.field, tt.want)
			}
			if !strings.HasPrefix(err.Error(), "a.yaml: ") {
				t.Errorf("err = %q, want it to begin with the file", err)
			}
			if len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes: too many for a terminal", len(err.Error()))
			}
		})
	}
}

// unmark removes the mark § and returns where it stood; 0, 0 if there is none.
func unmark(s string) (text string, line, column int) {
	before, after, ok := strings.Cut(s, "§")
	if !ok {
		return s, 0, 0
	}
	last := before[strings.LastIndex(before, "\n")+1:]
	return before + after, strings.Count(before, "\n") + 1, utf8.RuneCountInString(last) + 1
}

// faultsOf returns the faults of an error, which must be an Invalid one.
func faultsOf(t *testing.T, err error) []dovetail.Fault {
	t.Helper()
	var e *dovetail.Error
	if !errors.As(err, &e) || e.Code != dovetail.Invalid || len(e.Faults) == 0 {
		t.Fatalf("err = %v, want an invalid error with faults", err)
	}
	return e.Faults
}

func TestAllFaultsAtOnce(t *testing.T) {
	const text = `apiVersion: dovetail/v2
namee: x
kind: bach
priority: high
target: {confidence: 1, runtime: 5x}
components:
- name: a
  after: [bb]
  command: sleep
  count: 1.5
  resources: {cpu: 5x, memroy: 4}
- name: b
  resources: {cpu: 1}
  after: [c]
  command: ["${bar}", "${a.7.host}"]
- {name: c, after: [b], command: [sleep, 1], resources: {cpu: 1}, max: 0}
`
	_, err := describe.Application([]byte(text), describe.Options{})
	var got []string
	for _, f := range faultsOf(t, err) {
		got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Field))
	}
	want := []string{
		"1:13 apiVersion",
		"2:1 namee", // and no complaint that name is missing
		"3:7 kind",
		"4:11 priority",
		"5:22 target.confidence",
		"5:34 target.runtime",
		"8:11 components[0].after[0]",
		"9:12 components[0].command", // and no complaint that nothing is to be run
		"10:10 components[0].count",  // and no complaint that there is no a.7
		"11:20 components[0].resources.cpu",
		"11:24 components[0].resources.memroy",
		"14:10 components[1].after",
		"15:13 components[1].command[0]",
		"15:23 components[1].command[1]", // a may not be up
		"16:72 components[2].max",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s\n%v", diff, err)
	}
}

func TestManyFaultsAreCounted(t *testing.T) {
	var b strings.Builder
	b.WriteString(one)
	for i := range 5000 {
		fmt.Fprintf(&b, "x%d: 1\n", i)
	}
	_, err := describe.Application([]byte(b.String()), describe.Options{})
	faults := faultsOf(t, err)
	if len(faults) != 101 || faults[100].Message != "and 4900 more" {
		t.Errorf("%d faults, the last is %v; want 100 and the number of the others", len(faults), faults[len(faults)-1])
	}
}

func TestOptions(t *testing.T) {
	_, err := describe.Application([]byte(one), describe.Options{MaxBytes: len(one) - 1})
	if f := faultsOf(t, err); !strings.Contains(f[0].Message, "the limit is") {
		t.Errorf("a text longer than MaxBytes: %v", err)
	}
	if _, err := describe.Application([]byte(one), describe.Options{MaxBytes: len(one)}); err != nil {
		t.Errorf("a text of MaxBytes: %v", err)
	}
}

func TestValidate(t *testing.T) {
	app := &dovetail.Application{
		APIVersion: dovetail.APIVersion, Name: "a", Kind: dovetail.Service,
		Components: []dovetail.Component{{Name: "c", Image: "x", Count: 1, Resources: dovetail.Resources{1000}}},
	}
	if faults := describe.Validate(app); len(faults) > 0 {
		t.Errorf("a correct application that a program made: %v", faults)
	}
	app.Components[0].After = []string{"c"}
	app.Components[0].Resources[dovetail.Memory] = -1
	var got []string
	for _, f := range describe.Validate(app) {
		got = append(got, f.Field)
	}
	if want := []string{"components[0].resources.memory", "components[0].after[0]"}; !slices.Equal(got, want) {
		t.Errorf("fields with faults = %q, want %q", got, want)
	}
}
