package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"path"
	"strings"
)

// Checker finds the types of packages. The module's own packages come from the source it was given, those of the standard
// library from the Go toolchain.
type Checker struct {
	byPath map[string]*Package
	std    types.Importer
	done   map[string]*types.Package
	infos  map[string]*types.Info
}

// NewChecker returns a checker of these packages.
func NewChecker(pkgs []*Package) *Checker {
	c := &Checker{
		byPath: make(map[string]*Package),
		std:    importer.Default(),
		done:   make(map[string]*types.Package),
		infos:  make(map[string]*types.Info),
	}
	for _, p := range pkgs {
		c.byPath[path.Join(Module, p.Dir)] = p
	}
	return c
}

// Info returns what the type checker knows of a package's sources, tests left out.
func (c *Checker) Info(p *Package) (*types.Info, error) {
	importPath := path.Join(Module, p.Dir)
	if _, err := c.Import(importPath); err != nil {
		return nil, err
	}
	return c.infos[importPath], nil
}

// Import implements types.Importer.
func (c *Checker) Import(importPath string) (*types.Package, error) {
	if pkg := c.done[importPath]; pkg != nil {
		return pkg, nil
	}
	p := c.byPath[importPath]
	if p == nil {
		if strings.HasPrefix(importPath, Module) {
			return nil, fmt.Errorf("there is no package %s", importPath)
		}
		return c.std.Import(importPath)
	}
	info := &types.Info{
		Types:      make(map[ast.Expr]types.TypeAndValue),
		Defs:       make(map[*ast.Ident]types.Object),
		Uses:       make(map[*ast.Ident]types.Object),
		Selections: make(map[*ast.SelectorExpr]*types.Selection),
	}
	var files []*ast.File
	for _, f := range p.sources() {
		files = append(files, f.AST)
	}
	conf := types.Config{Importer: c}
	pkg, err := conf.Check(importPath, p.Fset, files, info)
	if err != nil {
		return nil, fmt.Errorf("type-checking %s: %w", importPath, err)
	}
	c.done[importPath], c.infos[importPath] = pkg, info
	return pkg, nil
}
