package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// blame says what is wrong with a JSON text that could not be read into a value of this type: which field, what was found there
// and what is expected. It looks at one field after the other, and so is slow; field names the whole text.
func blame(field string, text []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	first := bytes.TrimSpace(text)[0]
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch {
	case t == reflect.TypeFor[exact]() && isNumber(text):
		_, err := seconds(field, text)
		return err
	case own || first == 'n':
	case t.Kind() == reflect.Struct && first == '{', t.Kind() == reflect.Map && first == '{':
		return blameMember(field, text, t)
	case t.Kind() == reflect.Slice && first == '[':
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return faultf(field, "%v", err)
		}
		for i := range all {
			if err := blame(fmt.Sprintf("%s[%d]", field, i), all[i], t.Elem()); err != nil {
				return err
			}
		}
		return nil
	}
	return blameValue(field, text, t)
}

// blameMember looks at one member of an object after the other.
func blameMember(field string, text []byte, t reflect.Type) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return faultf(field, "%v", err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return faultf(field, "%v", err)
		}
		var member json.RawMessage
		if err := dec.Decode(&member); err != nil {
			return faultf(field, "%v", err)
		}
		key := fmt.Sprint(name)
		of := memberOf(t, key)
		if of == nil {
			return faultf(field, "there is no field %s in it; expected %s", shown([]byte(key)), strings.Join(membersOf(t), ", "))
		}
		if err := blame(strings.TrimPrefix(field+"."+key, wholeLine+"."), member, of); err != nil {
			return err
		}
	}
	return nil
}

// wholeLine stands for the field of what is wrong with all of a line. The fields of a job are named without it.
const wholeLine = "line"

// memberOf returns the type of a struct's field of this JSON name, nil if there is none, or of what a map holds.
func memberOf(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for i := range t.NumField() {
		if strings.EqualFold(nameOf(t.Field(i)), key) {
			return t.Field(i).Type
		}
	}
	return nil
}

// membersOf returns the JSON names of a struct's fields.
func membersOf(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		names = append(names, nameOf(t.Field(i)))
	}
	return names
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// blameValue reads a value as a whole.
func blameValue(field string, text []byte, t reflect.Type) error {
	err := strict(text, reflect.New(t).Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case t == reflect.TypeFor[exact]():
		return faultf(field, "%s; expected %s", found(text), wantSeconds)
	case t == reflect.TypeFor[time.Time]():
		return faultf(field, "%s; expected a date and a time, such as \"2000-01-01T00:40:00Z\"", found(text))
	case errors.As(err, &wrong):
		return faultf(field, "%s; expected %s", found(text), expected(wrong.Type))
	}
	return faultf(field, "%s", strings.TrimPrefix(err.Error(), "json: "))
}

// found says what a JSON value is.
func found(text []byte) string {
	switch text = bytes.TrimSpace(text); text[0] {
	case '{':
		return "it is an object"
	case '[':
		return "it is an array"
	case '"':
		var s string
		if json.Unmarshal(text, &s) == nil {
			return shown([]byte(s)) + " is a string"
		}
	}
	return fmt.Sprintf("%.40s was found", text)
}

// expected says what JSON value a type is read from.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float64:
		return "a number, such as 12.5"
	default:
		return fmt.Sprintf("a whole number of at most %d bits, such as 4", t.Bits())
	}
}

// blameLine says what is wrong with a line that could not be read into a value of this type. A text that is no JSON has no fields.
func blameLine(text []byte, t reflect.Type) error {
	var all json.RawMessage
	var broken *json.SyntaxError
	switch err := json.Unmarshal(text, &all); {
	case errors.As(err, &broken) && broken.Offset >= int64(len(text)) && strings.HasPrefix(broken.Error(), "unexpected end"):
		return faultf(wholeLine, "the JSON ends too early, after character %d; expected a job such as %s", utf8.RuneCount(text), ownExample)
	case errors.As(err, &broken) && strings.HasSuffix(broken.Error(), "after top-level value"):
		return faultf(wholeLine, "there is more after the end of the object, from character %d on; expected one job", utf8.RuneCount(text[:broken.Offset]))
	case errors.As(err, &broken):
		return faultf(wholeLine, "%v, at character %d; expected a job such as %s", broken, utf8.RuneCount(text[:broken.Offset]), ownExample)
	case text[0] != '{':
		return faultf(wholeLine, "%s; expected a job such as %s", found(text), ownExample)
	}
	return blame(wholeLine, text, t)
}
