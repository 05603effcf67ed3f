package describe_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// withParams returns an application that declares a parameter of each type.
func withParams() *dovetail.Application {
	return &dovetail.Application{Name: "a", Params: map[string]dovetail.Param{
		"input":   {Type: "string"},
		"k":       {Type: "int", Default: ref("8"), Min: ref(1.0), Max: ref(100.0)},
		"epsilon": {Type: "float", Default: ref("0.5")},
		"verbose": {Type: "bool", Default: ref("false")},
		"size":    {Type: "string", Default: ref("small"), Enum: []string{"small", "large"}},
	}}
}

func TestParams(t *testing.T) {
	tests := []struct {
		reason string
		given  map[string]string
		want   map[string]string // what differs from the defaults
		faults []string
	}{
		{"defaults", map[string]string{"input": "x"}, map[string]string{"input": "x"}, nil},
		{"canonical forms", map[string]string{"input": " a ", "k": "+07", "epsilon": "5e-1", "verbose": "TRUE"},
			map[string]string{"input": " a ", "k": "7", "epsilon": "0.5", "verbose": "true"}, nil},
		{"an empty text is a text", map[string]string{"input": ""}, map[string]string{"input": ""}, nil},
		{"a reference is not expanded", map[string]string{"input": "${run.id}"}, map[string]string{"input": "${run.id}"}, nil},
		{"missing", nil, nil, []string{"params.input: must be given: it has no default"}},
		{"unknown", map[string]string{"input": "x", "inptu": "y"}, nil, []string{"params.inptu: unknown parameter; did you mean input?"}},
		{"wrong types, out of range and not allowed, all at once",
			map[string]string{"input": "\xff", "k": "1.5", "epsilon": "NaN", "verbose": "yes", "size": "medium"}, nil,
			[]string{
				`params.epsilon: expected a number such as 0.5, found "NaN"`,
				"params.input: expected a text in UTF-8",
				`params.k: expected a whole number such as 3, found "1.5"`,
				`params.size: "medium" is not one of the values allowed; known are small, large`,
				`params.verbose: expected true or false, found "yes"`,
			}},
		{"below the range", map[string]string{"input": "x", "k": "0"}, nil, []string{"params.k: 0 is less than the minimum 1"}},
		{"above the range", map[string]string{"input": "x", "k": "101"}, nil, []string{"params.k: 101 is more than the maximum 100"}},
		{"beyond int64", map[string]string{"input": "x", "k": "9223372036854775808"}, nil, []string{"params.k: expected a whole number"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := describe.Params(withParams(), tt.given)
			if len(tt.faults) > 0 {
				faults := faultsOf(t, err)
				if len(faults) != len(tt.faults) {
					t.Fatalf("err = %v, want %d faults", err, len(tt.faults))
				}
				for i, f := range faults {
					if !strings.HasPrefix(f.String(), tt.faults[i]) {
						t.Errorf("fault %d = %q, want %q", i, f, tt.faults[i])
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"k": "8", "epsilon": "0.5", "verbose": "false", "size": "small"}
			for name, value := range tt.want {
				want[name] = value
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is accepted stays the same when it is given again, and means the number that was given.
func TestParamsAreCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]string{"string", "int", "float", "bool"}).Draw(t, "type")
		app := &dovetail.Application{Params: map[string]dovetail.Param{"p": {Type: typ}}}
		given := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[-+]?0?[0-9]{1,20}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?`),
			rapid.Map(rapid.Float64(), func(f float64) string { return strconv.FormatFloat(f, 'e', -1, 64) }),
			rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) }),
			rapid.SampledFrom([]string{"true", "False", "-0", "0x10", "1_000", "Inf"}),
		).Draw(t, "given")
		once, err := describe.Params(app, map[string]string{"p": given})
		if err != nil {
			if n, perr := strconv.ParseInt(given, 10, 64); perr == nil && typ == "int" {
				t.Fatalf("%d is refused as an int: %v", n, err)
			}
			return
		}
		again, err := describe.Params(app, once)
		if err != nil || again["p"] != once["p"] {
			t.Fatalf("%q became %q, and that %q, %v", given, once["p"], again["p"], err)
		}
		if typ == "float" {
			want, _ := strconv.ParseFloat(given, 64)
			if got, err := strconv.ParseFloat(once["p"], 64); err != nil || got != want {
				t.Fatalf("%q became %q: %v, %v", given, once["p"], got, err)
			}
		}
	})
}

// A number is accepted exactly if it lies within the range.
func TestParamsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "min")
		high := rapid.Float64Range(low, 1e6+1).Draw(t, "max")
		n := rapid.Float64Range(-2e6, 2e6).Draw(t, "n")
		app := &dovetail.Application{Params: map[string]dovetail.Param{"p": {Type: "float", Min: &low, Max: &high}}}
		_, err := describe.Params(app, map[string]string{"p": strconv.FormatFloat(n, 'g', -1, 64)})
		if inside := low <= n && n <= high; inside != (err == nil) {
			t.Fatalf("%v in [%v, %v]: %v", n, low, high, err)
		}
	})
}

func TestParamDefaultsAreCanonical(t *testing.T) {
	app, err := describe.Application([]byte(one+`params:
  i: {type: int, default: +5}
  f: {type: float, default: 1e3, enum: [1000.0, 5]}
  b: {type: bool, default: True}
  s: {type: string, default: 007}
`), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"i": "5", "f": "1000", "b": "true", "s": "007"} {
		if got := *app.Params[name].Default; got != want {
			t.Errorf("default of %s = %q, want %q", name, got, want)
		}
	}
	if want := []string{"1000", "5"}; !cmp.Equal(app.Params["f"].Enum, want) {
		t.Errorf("enum of f = %q, want %q", app.Params["f"].Enum, want)
	}
}
