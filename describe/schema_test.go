package describe_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
	"github.com/dovetail-sched/dovetail/describe"
)

// schema is as much of JSON Schema as schema.json uses. A keyword that is not here makes TestSchemaIsUnderstood fail.
type schema struct {
	ID                   string             `json:"$id"`
	Dialect              string             `json:"$schema"`
	Title                string             `json:"title"`
	Description          string             `json:"description"`
	Default              any                `json:"default"`
	Format               string             `json:"format"`
	Ref                  string             `json:"$ref"`
	Defs                 map[string]*schema `json:"$defs"`
	Type                 any                `json:"type"`
	Const                any                `json:"const"`
	Enum                 []any              `json:"enum"`
	Properties           map[string]*schema `json:"properties"`
	PropertyNames        *schema            `json:"propertyNames"`
	AdditionalProperties any                `json:"additionalProperties"`
	Required             []string           `json:"required"`
	MinProperties        int                `json:"minProperties"`
	Items                *schema            `json:"items"`
	MinItems             int                `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	AnyOf                []*schema          `json:"anyOf"`
	OneOf                []*schema          `json:"oneOf"`
	Pattern              string             `json:"pattern"`
	MinLength            int                `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	ExclusiveMinimum     *float64           `json:"exclusiveMinimum"`
	ExclusiveMaximum     *float64           `json:"exclusiveMaximum"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(describe.Schema())))
	dec.DisallowUnknownFields()
	s := new(schema)
	if err := dec.Decode(s); err != nil {
		t.Fatalf("the schema uses what the test does not understand: %v", err)
	}
	return s
}

// The schema and the Go types name the same fields.
func TestSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	s := readSchema(t)
	checked := map[string]bool{}
	var check func(typ reflect.Type)
	check = func(typ reflect.Type) {
		switch {
		case typ.Kind() == reflect.Pointer, typ.Kind() == reflect.Slice, typ.Kind() == reflect.Map:
			check(typ.Elem())
			return
		case typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || checked[typ.Name()]:
			return
		}
		checked[typ.Name()] = true
		def := s.Defs[typ.Name()]
		if def == nil {
			t.Errorf("$defs has no %s", typ.Name())
			return
		}
		if def.AdditionalProperties != false {
			t.Errorf("%s allows fields that are not known", typ.Name())
		}
		var fields []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
			check(typ.Field(i).Type)
			if p := def.Properties[name]; p != nil && p.Description == "" {
				t.Errorf("%s.%s has no description for people", typ.Name(), name)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(fields)), slices.Sorted(maps.Keys(def.Properties))); diff != "" {
			t.Errorf("fields of %s (-Go +schema):\n%s", typ.Name(), diff)
		}
	}
	check(reflect.TypeFor[dovetail.Application]())
	var kinds []string
	for k := range dovetail.NumResources {
		kinds = append(kinds, k.String())
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(kinds)), slices.Sorted(maps.Keys(s.Defs["Resources"].Properties))); diff != "" {
		t.Errorf("kinds of resources (-Go +schema):\n%s", diff)
	}
}

// The bounds that the schema tells are those that the reader enforces.
func TestSchemaHasTheBounds(t *testing.T) {
	s := readSchema(t)
	app, c := s.Defs["Application"].Properties, s.Defs["Component"].Properties
	for name, got := range map[string]struct{ got, want float64 }{
		"priority":   {*app["priority"].Maximum, describe.MaxPriority},
		"size":       {*app["size"].Maximum, describe.MaxSize},
		"components": {float64(*app["components"].MaxItems), describe.MaxComponents},
		"count":      {*c["count"].Maximum, describe.MaxReplicas},
		"max":        {*c["max"].Maximum, describe.MaxReplicas},
		"retries":    {*s.Defs["Restart"].Properties["retries"].Maximum, describe.MaxRetries},
		"name":       {float64(*s.Defs["name"].MaxLength), describe.MaxNameLength},
		"class":      {float64(*s.Defs["class"].MaxLength), describe.MaxClassLength},
		"avoid":      {float64(*s.Defs["Affinity"].Properties["avoid"].MaxItems), describe.MaxNeighbours},
		"prefer":     {float64(*s.Defs["Affinity"].Properties["prefer"].MaxItems), describe.MaxNeighbours},
	} {
		if got.got != got.want {
			t.Errorf("bound of %s = %v, want %v", name, got.got, got.want)
		}
	}
}

func TestSchemaAcceptsWhatIsAccepted(t *testing.T) {
	s := readSchema(t)
	texts := map[string]string{"wordcount": wordcount, "everything": everything, "one": one}
	maps.Copy(texts, documented(t))
	maps.Copy(texts, examples(t))
	for name, text := range texts {
		if why := s.accepts(decodeAny(t, text), s); why != "" {
			t.Errorf("%s: %s", name, why)
		}
		app, err := describe.Application([]byte(text), describe.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		canonical, err := describe.Marshal(app)
		if err != nil {
			t.Fatal(err)
		}
		if why := s.accepts(decodeAny(t, string(canonical)), s); why != "" {
			t.Errorf("canonical form of %s: %s", name, why)
		}
	}
}

// Most mistakes are caught while typing. These are the ones that a schema cannot see, or that are no JSON.
func TestSchemaRefusesMostMistakes(t *testing.T) {
	s := readSchema(t)
	refused, parsed := 0, 0
	for _, b := range badInputs {
		text, _, _ := unmark(b.text)
		v, err := anyOf(text)
		if err != nil {
			continue
		}
		parsed++
		if s.accepts(v, s) != "" {
			refused++
		}
	}
	if refused*2 < parsed {
		t.Errorf("the schema refuses %d of %d mistakes only", refused, parsed)
	}
}

// anyOf reads a text as an editor does that knows nothing but YAML.
func anyOf(text string) (any, error) {
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &v)
	return v, err
}

func decodeAny(t *testing.T, text string) any {
	t.Helper()
	v, err := anyOf(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// accepts returns why s does not accept v, or "".
func (s *schema) accepts(v any, root *schema) string {
	if s.Ref != "" {
		target := root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if target == nil {
			return "unknown reference " + s.Ref
		}
		if why := target.accepts(v, root); why != "" {
			return why
		}
	}
	if !s.acceptsType(v) {
		return fmt.Sprintf("%v is not of type %v", v, s.Type)
	}
	if s.Const != nil && v != s.Const || s.Enum != nil && !slices.Contains(s.Enum, v) {
		return fmt.Sprintf("%v is not %v%v", v, s.Const, s.Enum)
	}
	if n := s.matching(s.AnyOf, v, root); s.AnyOf != nil && n == 0 {
		return fmt.Sprintf("%v matches no alternative", v)
	}
	if n := s.matching(s.OneOf, v, root); s.OneOf != nil && n != 1 {
		return fmt.Sprintf("%v matches %d alternatives", v, n)
	}
	switch v := v.(type) {
	case map[string]any:
		return s.acceptsObject(v, root)
	case []any:
		if len(v) < s.MinItems || s.MaxItems != nil && len(v) > *s.MaxItems {
			return fmt.Sprintf("%d items are too few or too many", len(v))
		}
		for i, item := range v {
			if s.Items == nil {
				continue
			}
			if why := s.Items.accepts(item, root); why != "" {
				return fmt.Sprintf("[%d]%s", i, why)
			}
		}
	case string:
		n := utf8.RuneCountInString(v)
		if n < s.MinLength || s.MaxLength != nil && n > *s.MaxLength || !regexp.MustCompile(s.Pattern).MatchString(v) {
			return fmt.Sprintf(": %q has the wrong form", v)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum ||
			s.ExclusiveMinimum != nil && v <= *s.ExclusiveMinimum || s.ExclusiveMaximum != nil && v >= *s.ExclusiveMaximum {
			return fmt.Sprintf(": %v is out of range", v)
		}
	}
	return ""
}

func (s *schema) matching(alternatives []*schema, v any, root *schema) (n int) {
	for _, a := range alternatives {
		if a.accepts(v, root) == "" {
			n++
		}
	}
	return n
}

func (s *schema) acceptsType(v any) bool {
	types, several := s.Type.([]any)
	if !several {
		types = []any{s.Type}
	}
	return slices.ContainsFunc(types, func(typ any) bool {
		switch v := v.(type) {
		case nil:
			return typ == nil || typ == "null"
		case map[string]any:
			return typ == nil || typ == "object"
		case []any:
			return typ == nil || typ == "array"
		case string:
			return typ == nil || typ == "string"
		case bool:
			return typ == nil || typ == "boolean"
		case float64:
			return typ == nil || typ == "number" || typ == "integer" && v == math.Trunc(v)
		}
		return false
	})
}

func (s *schema) acceptsObject(v map[string]any, root *schema) string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return "." + name + " is missing"
		}
	}
	if len(v) < s.MinProperties {
		return " has too few fields"
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if s.PropertyNames != nil {
			if why := s.PropertyNames.accepts(name, root); why != "" {
				return "." + name + why
			}
		}
		p := s.Properties[name]
		if p == nil {
			switch additional := s.AdditionalProperties.(type) {
			case bool:
				return "." + name + " is not known"
			case map[string]any:
				data, _ := json.Marshal(additional)
				p = new(schema)
				if err := json.Unmarshal(data, p); err != nil {
					return err.Error()
				}
			default:
				continue
			}
		}
		if why := p.accepts(v[name], root); why != "" {
			return "." + name + why
		}
	}
	return ""
}
