package describe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// FuzzApplication demands that no text makes the reader panic, that what is refused has faults, and that what is accepted
// is valid and survives being written and read again, as YAML and as JSON.
func FuzzApplication(f *testing.F) {
	f.Add([]byte(wordcount))
	f.Add([]byte(everything))
	for _, b := range badInputs {
		if len(b.text) < 10_000 {
			text, _, _ := unmark(b.text)
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		app, err := describe.Application(data, describe.Options{})
		if err != nil {
			for _, fault := range faultsOf(t, err) {
				if fault.Message == "" || fault.Line < 0 || fault.Line > 0 && fault.Column < 1 {
					t.Errorf("fault without message or place: %+v", fault)
				}
			}
			return
		}
		if faults := describe.Validate(app); len(faults) > 0 {
			t.Errorf("accepted, but not valid: %v", faults)
		}
		roundTrip(t, app)
	})
}

// roundTrip checks that an application can be written and read again.
func roundTrip(tb testing.TB, app *dovetail.Application) {
	tb.Helper()
	for name, write := range map[string]func() ([]byte, error){
		"Marshal": func() ([]byte, error) { return describe.Marshal(app) },
		"ToJSON":  func() ([]byte, error) { return describe.ToJSON(app) },
		"ToYAML":  func() ([]byte, error) { return describe.ToYAML(app) },
	} {
		text, err := write()
		if err != nil {
			tb.Errorf("%s: %v", name, err)
			continue
		}
		again, err := describe.Application(text, describe.Options{MaxBytes: 1 << 30})
		if err != nil {
			tb.Errorf("%s wrote what cannot be read: %v\n%s", name, err, text)
			continue
		}
		if diff := cmp.Diff(app, again, equateEmpty); diff != "" {
			tb.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// A text survives however strange its letters are.
func TestTextsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(
			rapid.Rune(), rapid.SampledFrom([]rune("\n\r\t \u0085\u2028\u2029\ufeff\x7f\x1b:#-?*&!|>'\"%@`{}[],~01")),
		)).Filter(func(s string) bool { return !containsNUL(s) }).Draw(t, "text")
		type box struct {
			S string            `json:"s"`
			L []string          `json:"l"`
			M map[string]string `json:"m"`
		}
		want := box{S: s, L: []string{s}, M: map[string]string{"k" + s: s}}
		for name, write := range map[string]func(any) ([]byte, error){"ToJSON": describe.ToJSON, "ToYAML": describe.ToYAML} {
			text, err := write(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := describe.Decode[box](text, "")
			if err != nil || !cmp.Equal(got, want) {
				t.Fatalf("%s: %q became %q, %v\n%s", name, want, got, err, text)
			}
		}
	})
}
