package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/dovetail-sched/dovetail"
)

// DefaultMaxBytes is the length of the longest text that is read unless Options say otherwise.
const DefaultMaxBytes = 1 << 20

// parse reads the one document in data; what names the kind of text in messages. A nil fault means success.
func parse(data []byte, what string, maxBytes int) (*yaml.Node, *dovetail.Fault) {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	if len(data) > maxBytes {
		return nil, &dovetail.Fault{Message: fmt.Sprintf("%d bytes are too many for %s; the limit is %d", len(data), what, maxBytes)}
	}
	data = yamlOf(data)
	if f := badCharacter(data); f != nil {
		return nil, f
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, syntaxFault(err, data)
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &dovetail.Fault{Message: what + " is empty"}
	case err != nil:
		return nil, syntaxFault(err, data)
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, syntaxFault(err, data)
	}
	return nil, &dovetail.Fault{Line: second.Line, Column: second.Column,
		Message: "a second document begins here; a file holds one only"}
}

// badCharacter returns the first place where data is not UTF-8, or holds a control character that YAML does not allow.
func badCharacter(data []byte) *dovetail.Fault {
	line, column := 1, 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return &dovetail.Fault{Line: line, Column: column,
				Message: fmt.Sprintf("byte 0x%02x is not valid UTF-8; save the file as UTF-8", rest[0])}
		case !printable(r):
			return &dovetail.Fault{Line: line, Column: column,
				Message: fmt.Sprintf("the control character U+%04X is not allowed; remove it, or write it as an escape in a quoted text", r)}
		case r == '\n':
			line, column = line+1, 0
		}
		column++
		rest = rest[size:]
	}
	return nil
}

// printable reports whether YAML allows r outside of an escape (YAML 1.2, c-printable).
func printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85, r == 0xfeff:
		return true
	case r < ' ', 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// syntaxFault says where a text ceased to be YAML.
func syntaxFault(err error, data []byte) *dovetail.Fault {
	f := &dovetail.Fault{Message: "not valid YAML: " + err.Error()}
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return f
	}
	f.Message = "not valid YAML: " + le.Message
	if le.ContextMsg != "" {
		f.Message += " " + le.ContextMsg
		if le.ContextMark.Line > 0 && le.ContextMark.Line != le.Mark.Line {
			f.Message += fmt.Sprintf(" that begins in line %d", le.ContextMark.Line)
		}
	}
	f.Line, f.Column = le.Mark.Line, le.Mark.Column
	if strings.Contains(lineOf(data, f.Line), "${") && strings.Contains(le.ContextMsg, "flow") {
		f.Message += `; between [ ] and { } a text with ${…} must be quoted: "${…}"`
	}
	return f
}

// lineOf returns a line of data, counted from 1, or "".
func lineOf(data []byte, line int) string {
	for l := range bytes.Lines(data) {
		if line--; line == 0 {
			return string(l)
		}
	}
	return ""
}

// yamlOf returns JSON with those characters of its texts escaped that YAML reads otherwise (as the end of a line, or not at
// all), and with characters that are escaped as two halves (\ud83d\ude00) escaped as one (\U0001f600). Other texts are
// returned as they are.
func yamlOf(data []byte) []byte {
	ascii := !bytes.ContainsFunc(data, func(r rune) bool { return r >= 0x7f })
	if ascii && !bytes.Contains(data, []byte(`\u`)) || !json.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		half := rune(0)
		if r == '\\' {
			half = utf16.DecodeRune(escape(data), escape(data[min(6, len(data)):]))
			size = 2 // in valid JSON something follows a backslash
		}
		switch {
		case r == '\\' && half != utf8.RuneError:
			out = fmt.Appendf(out, `\U%08x`, half)
			size = len(`\ud83d\ude00`)
		case r == 0x85, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0x7f && !printable(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, data[:size]...)
		}
		data = data[size:]
	}
	return out
}

// escape returns the UTF-16 unit that a \uXXXX at the beginning of b stands for, or 0.
func escape(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
