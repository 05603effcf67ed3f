package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the path of the module whose rules these are.
const Module = "github.com/dovetail-sched/dovetail"

// Package is the source of one directory.
type Package struct {
	Dir   string // relative to the module root, with slashes; "." for the root
	Fset  *token.FileSet
	Files []File // in order of their names
}

// File is one source file.
type File struct {
	Name string // relative to the module root
	Test bool   // its name ends in _test.go
	AST  *ast.File
}

// Violation is a place where a rule is broken.
type Violation struct {
	Pos  string // file:line
	Rule string // the rule, and what to do
}

// String writes "file:line: rule".
func (v Violation) String() string { return v.Pos + ": " + v.Rule }

// Load parses every package below root, without those in testdata, hidden directories and other modules.
func Load(root string) ([]*Package, error) {
	byDir := make(map[string]*Package)
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			return enter(root, rel)
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(rel)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Dir: dir, Fset: fset}
		}
		byDir[dir].Files = append(byDir[dir].Files, File{Name: rel, Test: strings.HasSuffix(rel, "_test.go"), AST: f})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the source below %s: %w", root, err)
	}
	var all []*Package
	for _, p := range byDir {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return all, nil
}

// enter says whether a directory belongs to the code of the module.
func enter(root, rel string) error {
	if rel == "." {
		return nil
	}
	base := path.Base(rel)
	if base == "testdata" || base == "vendor" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(rel), "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// at returns a violation at a position of a file.
func (p *Package) at(f File, pos token.Pos, format string, args ...any) Violation {
	return Violation{
		Pos:  fmt.Sprintf("%s:%d", f.Name, p.Fset.Position(pos).Line),
		Rule: fmt.Sprintf(format, args...),
	}
}

// sources returns the files that are not tests.
func (p *Package) sources() []File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f File) bool { return f.Test })
}
