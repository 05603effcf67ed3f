package describe

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
)

// Decode reads YAML or JSON into a T, whose fields have the names that their json tags say. Unknown and duplicate fields
// and values of the wrong type are faults. The file names the text in messages; it may be empty.
func Decode[T any](data []byte, file string) (T, error) {
	const what = "the file"
	var v T
	n, fault := parse(data, what, DefaultMaxBytes)
	if fault != nil {
		return v, invalid(what, file, *fault)
	}
	d := newDecoder()
	d.decode(n, &v)
	return v, d.err(what, file)
}

// decoder fills Go values from YAML nodes and reports what does not fit.
type decoder struct {
	*report
	fields map[reflect.Type][]structField
}

func newDecoder() *decoder {
	return &decoder{report: newReport(), fields: make(map[reflect.Type][]structField)}
}

// decode fills what target points to.
func (d *decoder) decode(n *yaml.Node, target any) { d.value(n, reflect.ValueOf(target).Elem(), "") }

// structField is a field of a struct as descriptions name it.
type structField struct {
	name  string
	index []int
}

var (
	portType      = reflect.TypeFor[dovetail.Port]()
	resourcesType = reflect.TypeFor[dovetail.Resources]()
	timeType      = reflect.TypeFor[time.Time]()
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonType      = reflect.TypeFor[json.Unmarshaler]()
)

// value decodes n into v, the value of the field.
func (d *decoder) value(n *yaml.Node, v reflect.Value, field string) {
	if !d.plain(n, field) {
		return
	}
	d.saw(field, n)
	switch t := v.Type(); {
	case t == portType:
		d.port(n, v, field)
	case t == resourcesType:
		d.resources(n, v, field)
	case t == timeType:
		d.time(n, v, field)
	case reflect.PointerTo(t).Implements(jsonType) || reflect.PointerTo(t).Implements(textType):
		d.unmarshaler(n, v, field)
	default:
		d.kind(n, v, field)
	}
}

// plain reports whether n is an ordinary value. Aliases could make a small text huge, and tags could make a value something
// else than it looks like.
func (d *decoder) plain(n *yaml.Node, field string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		d.misread(n, field, "*%s: aliases are not supported; write the value out", clip(n.Value))
	case n.Style&yaml.TaggedStyle != 0:
		d.misread(n, field, "%s: tags are not supported; write the value without it", clip(n.Tag))
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		d.misread(n, field, "has no value; give it one or leave it out")
	default:
		return true
	}
	return false
}

func (d *decoder) kind(n *yaml.Node, v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		if target.Elem().Kind() == reflect.String { // told apart from a text that is absent: any value, as it is written
			d.word(n, target.Elem(), field)
		} else {
			d.value(n, target.Elem(), field)
		}
		v.Set(target)
	case reflect.Struct:
		d.structure(n, v, field)
	case reflect.Map:
		d.mapping(n, v, field)
	case reflect.Slice:
		d.list(n, v, field)
	case reflect.String:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" && n.Tag != "!!timestamp" {
			d.misread(n, field, "expected a text, found %s%s", found(n), hint(n.Kind == yaml.ScalarNode, "; put it in quotes"))
			return
		}
		d.word(n, v, field)
	case reflect.Bool:
		if n.Tag != "!!bool" {
			d.misread(n, field, "expected true or false, found %s", found(n))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int64: // bytes; counts are of type int
		d.bytes(n, v, field)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		d.integer(n, v, field)
	case reflect.Float32, reflect.Float64:
		d.float(n, v, field)
	default:
		panic(fmt.Sprintf("describe: values of type %s cannot be read from a description", v.Type()))
	}
}

// structure decodes a mapping with known names.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, field string) {
	known := d.known(v.Type())
	d.entries(n, field, func(key, value *yaml.Node) {
		for _, f := range known {
			if f.name == key.Value {
				d.value(value, v.FieldByIndex(f.index), join(field, f.name))
				return
			}
		}
		d.unknown(key, field, names(known))
	})
}

// unknown reports a name that a mapping cannot have. The field that was probably meant counts as damaged, so that nobody
// complains of its absence.
func (d *decoder) unknown(key *yaml.Node, field string, known []string) {
	if d.full() {
		d.more++
		return
	}
	d.place(position{key.Line, key.Column}, join(field, key.Value), "unknown field%s", didYouMean(clip(key.Value), known))
	if meant := nearest(key.Value, known); meant != "" {
		d.damage(join(field, meant))
	}
}

// mapping decodes a mapping whose names are chosen by the author.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, field string) {
	m := reflect.MakeMap(v.Type())
	v.Set(m)
	d.entries(n, field, func(key, value *yaml.Node) {
		if key.Value == "" {
			d.misread(key, field, "a name must not be empty")
			return
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.element(value, element, join(field, key.Value))
		m.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), element)
	})
}

// entries calls f for every entry of a mapping, each name once.
func (d *decoder) entries(n *yaml.Node, field string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.misread(n, field, "expected a mapping (name: value), found %s", found(n))
		return
	}
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch line, twice := first[key.Value]; {
		case key.Tag == "!!merge":
			d.misread(key, field, "merging with << is not supported; write the fields out")
		case key.Kind != yaml.ScalarNode || key.Tag == "!!null":
			d.misread(key, field, "expected a name, found %s", found(key))
		case twice:
			d.place(position{key.Line, key.Column}, join(field, key.Value), "is given twice; first in line %d", line)
		default:
			first[key.Value] = key.Line
			f(key, value)
		}
	}
}

// list decodes a sequence.
func (d *decoder) list(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		d.misread(n, field, "expected a list ([a, b], or lines that begin with a dash), found %s", found(n))
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.element(item, s.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}
	v.Set(s)
}

// element decodes an element of a list or mapping. Where texts are expected, numbers and booleans are taken as they are
// written, so that a command may read [sleep, 10].
func (d *decoder) element(n *yaml.Node, v reflect.Value, field string) {
	if v.Kind() != reflect.String || v.Type().PkgPath() != "" {
		d.value(n, v, field)
		return
	}
	if d.plain(n, field) {
		d.saw(field, n)
		d.word(n, v, field)
	}
}

// word decodes a scalar of any type as it is written.
func (d *decoder) word(n *yaml.Node, v reflect.Value, field string) {
	switch {
	case !d.plain(n, field):
	case n.Kind != yaml.ScalarNode:
		d.misread(n, field, "expected a text, found %s", found(n))
	case strings.Contains(n.Value, "\x00"):
		d.misread(n, field, "must not contain the character U+0000")
	default:
		v.SetString(n.Value)
	}
}

// wholeNumber is how a description may write one: YAML's other forms (0x10, 1_000 and 010, which is eight) surprise.
var wholeNumber = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)

func (d *decoder) integer(n *yaml.Node, v reflect.Value, field string) {
	if n.Tag != "!!int" && n.Tag != "!!float" || !wholeNumber.MatchString(n.Value) {
		d.misread(n, field, "expected a whole number such as 3, found %s", found(n))
		return
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || v.OverflowInt(i) {
		d.misread(n, field, "the number %s is too large", clip(n.Value))
		return
	}
	v.SetInt(i)
}

func (d *decoder) float(n *yaml.Node, v reflect.Value, field string) {
	f, err := strconv.ParseFloat(n.Value, v.Type().Bits())
	if n.Tag != "!!int" && n.Tag != "!!float" || err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		d.misread(n, field, "expected a number such as 0.5, found %s", found(n))
		return
	}
	v.SetFloat(f)
}

// known returns the fields of a struct, those of embedded structs included.
func (d *decoder) known(t reflect.Type) []structField {
	if fields, ok := d.fields[t]; ok {
		return fields
	}
	d.fields[t] = structFields(t)
	return d.fields[t]
}

func structFields(t reflect.Type) []structField {
	var fields []structField
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-" || f.Anonymous && name == "":
			continue
		case name == "":
			name = f.Name
		}
		fields = append(fields, structField{name: name, index: f.Index})
	}
	return fields
}

func names(fields []structField) []string {
	s := make([]string, len(fields))
	for i, f := range fields {
		s[i] = f.name
	}
	return s
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

func hint(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

// found says for people what a node is.
func found(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + clip(n.Value)
	case n.Tag == "!!bool":
		return clip(n.Value)
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("the text %q", clip(n.Value))
}
