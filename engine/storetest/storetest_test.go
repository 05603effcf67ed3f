package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/dovetail-sched/dovetail"
)

// TestEventsAreAll reads the declarations of the closed set, so that an event that is added is added here too.
func TestEventsAreAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../event.go", nil, 0)
	ok(t, "event.go", err)
	declared := 0
	for _, d := range file.Decls {
		if f, isFunc := d.(*ast.FuncDecl); isFunc && f.Recv != nil && f.Name.Name == "event" {
			declared++
		}
	}
	var types []string
	for _, e := range Events() {
		types = append(types, dovetail.EventType(e))
	}
	slices.Sort(types)
	if got := len(slices.Compact(types)); got != declared {
		t.Errorf("Events has %d types, event.go declares %d", got, declared)
	}
}
