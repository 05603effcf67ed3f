package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/dovetail-sched/dovetail"
)

// Raw gives a handler the request as net/http knows it, for bodies and headers that it reads itself.
type Raw struct {
	request *http.Request
	writer  http.ResponseWriter
}

// Resolve is called by huma before the handler.
func (r *Raw) Resolve(ctx huma.Context) []error {
	r.request, r.writer = humago.Unwrap(ctx)
	return nil
}

// body reads the request body, at most maxBody bytes of UTF-8.
func (s *server) body(r Raw) ([]byte, error) {
	return s.bodyUpTo(r, s.maxBody, "a description should name its data, not contain it")
}

// bodyUpTo reads the request body, at most so many bytes of UTF-8. The hint says what to do when there are more.
func (s *server) bodyUpTo(r Raw, limit int64, hint string) ([]byte, error) {
	_ = http.NewResponseController(r.writer).SetReadDeadline(time.Now().Add(s.timeout)) // not all writers can
	if r.request.ContentLength > limit {
		return nil, tooLarge(limit, hint)
	}
	data, err := io.ReadAll(http.MaxBytesReader(r.writer, r.request.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(limit, hint)
	case err != nil:
		return nil, problem(http.StatusBadRequest, dovetail.Invalid, "the body of the request ended early")
	case !utf8.Valid(data):
		p := problem(http.StatusBadRequest, dovetail.Invalid, "the body is not UTF-8 text")
		line, column := position(data, int64(invalidAt(data)))
		p.Faults = []Fault{{Line: line, Column: column, Message: "not UTF-8"}}
		return nil, p
	}
	return data, nil
}

func tooLarge(limit int64, hint string) *Problem {
	return problem(http.StatusRequestEntityTooLarge, dovetail.Invalid,
		fmt.Sprintf("the body is larger than %d bytes; %s", limit, hint))
}

// jsonBody reads a JSON object into out, a pointer to a struct. Unknown and repeated members are errors.
func (s *server) jsonBody(r Raw, out any) error {
	if kind := mediaType(r.request); kind != "application/json" && kind != "" {
		return unsupported(kind, "application/json")
	}
	data, err := s.body(r)
	if err != nil {
		return err
	}
	return strict(data, out)
}

func mediaType(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Header.Get("Content-Type") != "" {
		return r.Header.Get("Content-Type")
	}
	return kind
}

func unsupported(kind, expected string) *Problem {
	return problem(http.StatusUnsupportedMediaType, dovetail.Invalid, fmt.Sprintf("the body is of type %q; expected %s", kind, expected))
}

// strict decodes one JSON object into out, a pointer to a struct, and reports faults with line and column.
func strict(data []byte, out any) error {
	known := members(reflect.TypeOf(out).Elem())
	err := object(data, func(name string, at int64) error {
		if !slices.Contains(known, name) {
			return faultAt(data, at, name, unknownName("member", known))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return jsonFault(data, err)
	}
	return nil
}

// object walks over the members of a JSON object, calls f with each name and the offset behind it, and refuses what is no
// object, has a member twice, or goes on after its end.
func object(data []byte, f func(name string, at int64) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return jsonFault(data, err)
	}
	if start != json.Delim('{') {
		return faultAt(data, 0, "", "expected a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return jsonFault(data, err)
		}
		name, at := t.(string), dec.InputOffset()
		if seen[name] {
			return faultAt(data, at, name, "is given twice")
		}
		seen[name] = true
		if err := f(name, at); err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return jsonFault(data, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return jsonFault(data, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return faultAt(data, dec.InputOffset(), "", "text after the end of the JSON object")
	}
	return nil
}

// members returns the names of a struct's JSON members.
func members(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// jsonFault says where encoding/json failed.
func jsonFault(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		// A decoder that is asked for tokens as well does not count all that lies between them: the whole is read once more.
		_ = errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax)
		p := faultAt(data, syntax.Offset, "", strings.TrimPrefix(syntax.Error(), "json: "))
		p.Status, p.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
		return p
	case errors.As(err, &kind):
		return faultAt(data, kind.Offset, kind.Field, fmt.Sprintf("expected %s, found %s", plainType(kind.Type), kind.Value))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p := faultAt(data, int64(len(data)), "", "the JSON object ends early")
		p.Status, p.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
		return p
	}
	return faultAt(data, 0, "", strings.TrimPrefix(err.Error(), "json: "))
}

// plainType names a Go type as JSON would.
func plainType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return "a number in range"
	}
}

func faultAt(data []byte, offset int64, field, message string) *Problem {
	line, column := position(data, offset)
	p := problem(http.StatusUnprocessableEntity, dovetail.Invalid, "the body of the request is not valid")
	p.Faults = []Fault{{Line: line, Column: column, Field: field, Message: message}}
	return p
}

// position turns an offset into a line and a column, both from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset, 0), int64(len(data)))]
	return 1 + bytes.Count(before, []byte("\n")), max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n <= 1 {
			return at
		}
		at += n
	}
	return len(data)
}

func unknownName(what string, known []string) string {
	if len(known) == 0 {
		return "unknown " + what + "; there are none here"
	}
	return "unknown " + what + "; known are " + strings.Join(known, ", ")
}
