package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.." // of this module, seen from this directory

func load(t *testing.T, dir string) []*Package {
	t.Helper()
	pkgs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 2 {
		t.Fatalf("%s holds %d packages: the rules would be checked against nothing", dir, len(pkgs))
	}
	return pkgs
}

func report(t *testing.T, found []Violation) {
	t.Helper()
	for _, v := range found {
		t.Error(v)
	}
}

func TestImportsFollowTheFloors(t *testing.T) {
	report(t, CheckImports(load(t, root)))
}

// TestEachLibraryHasOneDirectory prints where each outside library is imported, which is what the table of floors.go allows.
func TestEachLibraryHasOneDirectory(t *testing.T) {
	users := make(map[string]map[string]bool)
	for _, p := range load(t, root) {
		for _, f := range p.sources() {
			for _, spec := range f.AST.Imports {
				for _, lib := range libraries() {
					if target, _ := strconv.Unquote(spec.Path.Value); target == lib.path || strings.HasPrefix(target, lib.path+"/") {
						if users[lib.path] == nil {
							users[lib.path] = make(map[string]bool)
						}
						users[lib.path][p.Dir] = true
					}
				}
			}
		}
	}
	for _, lib := range libraries() {
		dirs := slices.Sorted(maps.Keys(users[lib.path]))
		t.Logf("%-40s %s", lib.path, strings.Join(dirs, " "))
		if lib.dir != testsOnly && len(dirs) > 1 {
			t.Errorf("%s is imported under %d directories: %v", lib.path, len(dirs), dirs)
		}
	}
}

func TestLowerFloorsArePure(t *testing.T) {
	pkgs := load(t, root)
	checker, checked := NewChecker(pkgs), 0
	for _, p := range pkgs {
		if number, ok := FloorOf(p.Dir); !ok || number > 2 || len(p.sources()) == 0 {
			continue
		}
		info, err := checker.Info(p)
		if err != nil {
			t.Fatal(err)
		}
		report(t, CheckPure(p, info))
		checked++
	}
	if checked < 6 {
		t.Errorf("checked %d packages, expected the root, policy, alloc, place, expand and sched at least", checked)
	}
}

func TestPackagesHaveOneComment(t *testing.T) {
	report(t, CheckComments(load(t, root)))
}

// The tests of the tests: each source below testdata marks with want "…" the lines that must be flagged, and with what.

func TestImportsAreFlagged(t *testing.T) {
	pkgs := load(t, "testdata/floors")
	compare(t, pkgs, CheckImports(pkgs))
}

func TestImpurityIsFlagged(t *testing.T) {
	pkgs := load(t, "testdata/pure")
	checker := NewChecker(pkgs)
	var found []Violation
	for _, p := range pkgs {
		info, err := checker.Info(p)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, CheckPure(p, info)...)
	}
	compare(t, pkgs, found)
}

func TestCommentsAreFlagged(t *testing.T) {
	pkgs := load(t, "testdata/comments")
	compare(t, pkgs, CheckComments(pkgs))
}

func TestLoadReportsBrokenSource(t *testing.T) {
	if _, err := Load("testdata/no-such-directory"); err == nil {
		t.Error("Load of a directory that does not exist succeeded: the rules would hold for nothing")
	}
}

var wantComment = regexp.MustCompile(`want ("(?:[^"\\]|\\.)*")`)

// compare demands a violation for each want, and no other. A violation without a line belongs to the first file of its
// directory.
func compare(t *testing.T, pkgs []*Package, found []Violation) {
	t.Helper()
	wants := make(map[string]string) // by position
	firsts := make(map[string]string)
	for _, p := range pkgs {
		for _, f := range p.Files {
			for _, group := range f.AST.Comments {
				collect(t, p.Fset, f, group, wants)
			}
		}
		firsts[p.Dir] = fmt.Sprintf("%s:1", p.Files[0].Name)
	}
	for _, v := range found {
		pos := v.Pos
		if first, ok := firsts[pos]; ok {
			pos = first
		}
		want, ok := wants[pos]
		switch {
		case !ok:
			t.Errorf("flagged without a want: %v", v)
		case !strings.Contains(v.Rule, want):
			t.Errorf("%s: flagged as %q, want %q", pos, v.Rule, want)
		}
		delete(wants, pos)
	}
	for _, pos := range slices.Sorted(maps.Keys(wants)) {
		t.Errorf("%s: not flagged, want %q", pos, wants[pos])
	}
}

func collect(t *testing.T, fset *token.FileSet, f File, group *ast.CommentGroup, wants map[string]string) {
	t.Helper()
	for _, c := range group.List {
		m := wantComment.FindStringSubmatch(c.Text)
		if m == nil {
			continue
		}
		text, err := strconv.Unquote(m[1])
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		wants[fmt.Sprintf("%s:%d", f.Name, fset.Position(c.Pos()).Line)] = text
	}
}
