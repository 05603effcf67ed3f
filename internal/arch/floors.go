package arch

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// floors says on which floor a package is: the first pattern that matches its directory decides. A new package needs a
// line here, and that is the moment to think about where it belongs.
func floors() []floor {
	return []floor{
		{".", 0},
		{"fit", 0},
		{"predict", 1}, {"coloc", 1}, {"policy", 1}, {"alloc", 1}, {"place", 1}, {"expand", 1},
		{"sched", 2},
		{"predict/predicttest", 3}, {"engine", 3}, {"engine/storetest", 3}, {"engine/backendtest", 3}, {"learn", 3}, {"describe", 3}, {"report", 3}, {"trace", 3},
		{"sim", 3}, {"sim/*", 3},
		{"internal/store", 4}, {"internal/store/*", 4}, {"internal/backend/*", 4}, {"internal/httpapi", 4}, {"client", 4}, {"internal/example", 4}, {"internal/usage", 4}, {"internal/usage/*", 4}, {"study", 4},
		{"internal/cli", 5}, {"cmd/*", 5}, {"test/*", 5}, {"examples/*", 5},
		{"internal/arch", 5},
	}
}

type floor struct {
	pattern string // of path.Match
	number  int
}

// FloorOf returns the floor of a directory, and whether it has one.
func FloorOf(dir string) (int, bool) {
	for _, f := range floors() {
		if ok, _ := path.Match(f.pattern, dir); ok {
			return f.number, true
		}
	}
	return 0, false
}

// libraries says under which single directory each outside library may be imported, tests included. Libraries for tests
// alone may be imported by tests anywhere.
func libraries() []library {
	return []library{
		{"go.yaml.in/yaml/v4", "describe"},
		{"modernc.org/sqlite", "internal/store/sqlite"},
		{"github.com/danielgtaylor/huma/v2", "internal/httpapi"},
		{"github.com/prometheus/client_golang", "internal/httpapi"},
		{"github.com/spf13/cobra", "internal/cli"},
		{"github.com/spf13/pflag", "internal/cli"},
		{"github.com/lmittmann/tint", "internal/cli"},
		{"golang.org/x/term", "internal/cli"},
		{"gonum.org/v1/plot", "report"},
		{"golang.org/x/sys", "internal/backend/proc"},
		{"pgregory.net/rapid", testsOnly},
		{"github.com/cockroachdb/datadriven", testsOnly},
		{"github.com/rogpeppe/go-internal", testsOnly},
		{"github.com/google/go-cmp", testsOnly},
	}
}

// testsOnly stands for every _test.go file and the conformance suites.
const testsOnly = "tests"

type library struct {
	path string // of the module
	dir  string // where it may be imported, or testsOnly
}

// CheckImports returns the imports that break the floors or the confinement of outside libraries.
func CheckImports(pkgs []*Package) []Violation {
	var found []Violation
	for _, p := range pkgs {
		number, ok := FloorOf(p.Dir)
		if !ok {
			found = append(found, Violation{p.Dir, "this package is on no floor: give it one in internal/arch/floors.go"})
			continue
		}
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				if rule := importRule(p.Dir, number, f, spec); rule != "" {
					found = append(found, p.at(f, spec.Pos(), "%s", rule))
				}
			}
		}
	}
	return found
}

// importRule returns the rule that an import breaks, or "".
func importRule(dir string, number int, f File, spec *ast.ImportSpec) string {
	target, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return "import path " + spec.Path.Value + " cannot be read"
	}
	switch {
	case target == "C":
		return "cgo is not used here: the program must build with the Go toolchain alone"
	case target == Module || strings.HasPrefix(target, Module+"/"):
		return floorRule(dir, number, f.Test, target)
	case strings.Contains(strings.SplitN(target, "/", 2)[0], "."):
		return libraryRule(dir, number, f.Test, target)
	}
	return ""
}

func floorRule(dir string, number int, test bool, target string) string {
	other := "."
	if target != Module {
		other = strings.TrimPrefix(target, Module+"/")
	}
	theirs, ok := FloorOf(other)
	suite := isSuite(other)
	switch {
	case !ok:
		return "imports " + other + ", which is on no floor"
	case other == dir: // an external test of the package itself
		return ""
	case theirs < number:
		return ""
	case theirs == number && number == 3 && other == "engine":
		return ""
	case (dir == "sim" || path.Dir(dir) == "sim") && (other == "trace" || other == "report"): // what goes in, what comes out
		return ""
	case test && suite:
		return ""
	case test && number == 3 && other == "internal/store/mem": // the simplest store stands in for any
		return ""
	case test && theirs == number && number < 3:
		return ""
	case number == 5 && theirs == 5 && other == "internal/cli": // cmd and test/ run the program
		return ""
	case number == 4 && theirs == 4:
		return adapterRule(dir, test, other)
	}
	return "floor " + strconv.Itoa(number) + " (" + dir + ") must not import " + other + " of floor " + strconv.Itoa(theirs) +
		": only lower floors may be imported; move what both need down, or turn the call round with an interface at the consumer"
}

// isSuite reports whether a directory holds a conformance suite: tests that other packages run.
func isSuite(dir string) bool {
	return dir == "engine/storetest" || dir == "engine/backendtest" || dir == "predict/predicttest"
}

// adapterRule keeps adapters apart. Those of one kind may share what lies in the directory above them. Their tests may use
// the client, which is how a server is spoken to, and the memory store, which stands in for any.
func adapterRule(dir string, test bool, other string) string {
	if other == path.Dir(dir) || test && (other == "client" || other == "internal/store/mem") {
		return ""
	}
	return "adapter " + dir + " must not import adapter " + other + ": they meet in internal/cli only"
}

func libraryRule(dir string, number int, test bool, target string) string {
	i := slices.IndexFunc(libraries(), func(l library) bool {
		return target == l.path || strings.HasPrefix(target, l.path+"/")
	})
	if i < 0 {
		return "library " + target + " is not in the table of internal/arch/floors.go: say there under which directory it may be imported"
	}
	lib := libraries()[i]
	switch {
	case lib.dir == testsOnly && (test || isSuite(dir)):
		return ""
	case lib.dir == testsOnly:
		return "library " + lib.path + " is for tests only"
	case number <= 2:
		return "floors 0 to 2 use the standard library only, not " + target
	case dir == lib.dir || strings.HasPrefix(dir, lib.dir+"/"):
		return ""
	}
	return "library " + lib.path + " may be imported under " + lib.dir + " only"
}
