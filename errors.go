package dovetail

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorCode classifies an Error for programs.
type ErrorCode string

// The codes of errors.
const (
	Invalid      ErrorCode = "invalid"      // the request is wrong and will stay so
	NotFound     ErrorCode = "not_found"    // there is no such thing
	Conflict     ErrorCode = "conflict"     // the request contradicts the present state
	Unauthorized ErrorCode = "unauthorized" // the token is missing or wrong
	Unavailable  ErrorCode = "unavailable"  // not now; the same request may succeed later
	Internal     ErrorCode = "internal"     // a fault of this program
)

// Fault is one thing that is wrong with an input, and where.
type Fault struct {
	Line    int    `json:"line,omitempty"` // from 1; 0: unknown
	Column  int    `json:"column,omitempty"`
	Field   string `json:"field,omitempty"` // path such as components[1].count
	Message string `json:"message"`
}

// String writes "line 3, column 5: components[1].count: must not be negative".
func (f Fault) String() string {
	var b strings.Builder
	if f.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", f.Line, f.Column)
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	return b.String() + f.Message
}

// Error is the one type of error at the edges of the program: it tells programs what kind of failure it is, and people
// what is wrong and what to do.
type Error struct {
	Code    ErrorCode
	Message string
	Faults  []Fault
}

// Errorf makes an Error with a message.
func Errorf(code ErrorCode, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error writes the message and the faults, one a line.
func (e *Error) Error() string {
	s := e.Message
	for _, f := range e.Faults {
		s += "\n  " + f.String()
	}
	return s
}

// CodeOf returns the code of the first Error in err's chain, Internal if there is none.
func CodeOf(err error) ErrorCode {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
