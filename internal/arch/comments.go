package arch

import (
	"go/ast"
	"strings"
)

// CheckComments returns the packages that do not have exactly one package comment, and those whose comment does not begin
// as the Go tools expect.
func CheckComments(pkgs []*Package) []Violation {
	var found []Violation
	for _, p := range pkgs {
		sources := p.sources()
		if len(sources) == 0 { // tests only: any of their files may carry it
			sources = p.Files
		}
		var with []File
		for _, f := range sources {
			if f.AST.Doc != nil && strings.TrimSpace(f.AST.Doc.Text()) != "" {
				with = append(with, f)
			}
		}
		switch {
		case len(with) == 0:
			found = append(found, Violation{p.Dir, "no package comment: say in one file which question the package answers"})
		case len(with) > 1:
			for _, f := range with {
				found = append(found, p.at(f, f.AST.Package, "%d files have a package comment: keep one", len(with)))
			}
		default:
			if f := with[0]; !strings.HasPrefix(f.AST.Doc.Text(), begins(f.AST)) {
				found = append(found, p.at(f, f.AST.Package, "the package comment must begin with %q", begins(f.AST)))
			}
		}
	}
	return found
}

// begins returns how the package comment of a file must begin.
func begins(f *ast.File) string {
	if f.Name.Name == "main" {
		return "Command "
	}
	return "Package " + f.Name.Name + " "
}
