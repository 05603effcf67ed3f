// Package arch answers: does the code keep the rules that docs/ARCHITECTURE.md gives it?
//
// It reads the source of this repository with go/parser and go/types and returns the places where a rule is broken. It is
// used by its own tests only, so `go test ./...` is what enforces the rules.
package arch
