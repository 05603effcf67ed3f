package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// pureImports are the packages of the standard library that floors 0 to 2 may import: they compute.
func pureImports() []string {
	return []string{
		"bytes", "cmp", "container/heap", "container/list", "crypto/sha256", "encoding", "encoding/binary", "encoding/hex",
		"encoding/json", "errors", "fmt", "hash", "hash/crc32", "hash/fnv", "iter", "maps", "math", "math/big", "math/bits",
		"math/rand/v2", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
	}
}

// impureFuncs are functions and variables of those packages that look at the world, or whose result is left to chance.
func impureFuncs() map[string]string {
	clock := "floors 0 to 2 have no clock: now is an argument"
	chance := "the order of a map is chance: use slices.Sorted(maps.Keys(m))"
	output := "floors 0 to 2 do no I/O: return the text"
	m := map[string]string{
		"time.Local": "the local time zone is the machine's: use UTC", "time.LoadLocation": "reads files of the machine",
		"maps.Keys": chance, "maps.Values": chance, "maps.All": chance,
	}
	for _, name := range []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"} {
		m["time."+name] = clock
	}
	for _, name := range []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"} {
		m["fmt."+name] = output
	}
	return m
}

// CheckPure returns the places where a package of floors 0 to 2 does more than compute: a clock, I/O, concurrency, hidden
// state, or an order left to chance.
func CheckPure(p *Package, info *types.Info) []Violation {
	c := &pureCheck{pkg: p, info: info, impure: impureFuncs()}
	for _, f := range p.sources() {
		c.file = f
		c.exceptions()
		c.imports()
		c.variables()
		c.parents = nil
		ast.Inspect(f.AST, c.visit)
	}
	return c.found
}

type pureCheck struct {
	pkg      *Package
	info     *types.Info
	impure   map[string]string
	file     File
	anyOrder map[int]bool // lines of the file
	parents  []ast.Node
	found    []Violation
}

func (c *pureCheck) flag(n ast.Node, rule string) {
	c.found = append(c.found, c.pkg.at(c.file, n.Pos(), "%s", rule))
}

func (c *pureCheck) imports() {
	for _, spec := range c.file.AST.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil || target == Module || strings.HasPrefix(target, Module+"/") || slices.Contains(pureImports(), target) {
			continue
		}
		c.flag(spec, "floors 0 to 2 compute and nothing else; "+target+" is not in the list of internal/arch/pure.go")
	}
}

// variables flags package-level variables that are not constants in all but name. A variable passes when it is declared
// with a value, is unexported unless it is an error, and (see mutated) nothing in the package writes to it.
func (c *pureCheck) variables() {
	for _, decl := range c.file.AST.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			for _, name := range value.Names {
				c.variable(name, len(value.Values) > 0)
			}
		}
	}
}

func (c *pureCheck) variable(name *ast.Ident, initialised bool) {
	if name.Name == "_" { // proves that a type implements an interface
		return
	}
	obj := c.info.Defs[name]
	isError := obj != nil && types.Implements(obj.Type(), types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
	switch {
	case !initialised:
		c.flag(name, "package-level variable "+name.Name+" without a value is state: keep state in a struct")
	case name.IsExported() && !isError:
		c.flag(name, "exported variable "+name.Name+" could be assigned by anybody: export a function that returns it")
	}
}

// visit looks at one node; c.parents leads to it.
func (c *pureCheck) visit(n ast.Node) bool {
	if n == nil {
		c.parents = c.parents[:len(c.parents)-1]
		return true
	}
	switch n := n.(type) {
	case *ast.GoStmt:
		c.flag(n, "floors 0 to 2 start no goroutine")
	case *ast.ChanType:
		c.flag(n, "floors 0 to 2 have no channel")
	case *ast.SendStmt, *ast.SelectStmt:
		c.flag(n, "floors 0 to 2 have no channel")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.flag(n, "floors 0 to 2 have no channel")
		}
	case *ast.FuncDecl:
		if n.Recv == nil && n.Name.Name == "init" {
			c.flag(n, "no init: one visible table per kind")
		}
	case *ast.RangeStmt:
		c.ranges(n)
	case *ast.Ident:
		c.ident(n)
	}
	c.parents = append(c.parents, n)
	return true
}

func (c *pureCheck) ranges(n *ast.RangeStmt) {
	t := c.info.TypeOf(n.X)
	if t == nil {
		return
	}
	if _, ok := coreType(t).(*types.Map); ok && !c.anyOrder[c.line(n.Pos())] {
		c.flag(n, "the order of a map is chance: range over slices.Sorted(maps.Keys(m)), keep a slice, or say with "+
			anyOrder+" why every order gives the same result")
	}
}

// anyOrder marks a range over a map whose order does not matter; the reason follows it.
const anyOrder = "//dovetail:anyorder"

// exceptions notes the lines that carry the mark. One without a reason counts for nothing.
func (c *pureCheck) exceptions() {
	c.anyOrder = make(map[int]bool)
	for _, group := range c.file.AST.Comments {
		for _, comment := range group.List {
			reason, ok := strings.CutPrefix(comment.Text, anyOrder)
			if ok && strings.TrimSpace(reason) != "" {
				c.anyOrder[c.line(comment.Pos())] = true
			}
		}
	}
}

func (c *pureCheck) line(pos token.Pos) int { return c.pkg.Fset.Position(pos).Line }

// coreType returns the underlying type of t; of a type parameter that of its constraint if all types in it share one.
func coreType(t types.Type) types.Type {
	param, ok := t.(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	iface := param.Underlying().(*types.Interface)
	if iface.NumEmbeddeds() != 1 {
		return iface
	}
	switch e := iface.EmbeddedType(0).(type) {
	case *types.Union:
		return e.Term(0).Type().Underlying()
	default:
		return e.Underlying()
	}
}

func (c *pureCheck) ident(n *ast.Ident) {
	obj := c.info.Uses[n]
	if obj == nil || obj.Pkg() == nil {
		return
	}
	if obj.Parent() != obj.Pkg().Scope() { // a field, a method, something local
		return
	}
	name := obj.Pkg().Path() + "." + obj.Name()
	if rule := c.impure[name]; rule != "" && !(obj.Pkg().Path() == "maps" && c.sorted()) {
		c.flag(n, name+": "+rule)
	}
	if _, ok := obj.(*types.Func); ok && obj.Pkg().Path() == "math/rand/v2" && !strings.HasPrefix(obj.Name(), "New") {
		c.flag(n, name+": the generator is global; derive one from the seed with rand.New")
	}
	if v, ok := obj.(*types.Var); ok && c.mutated(n, v) {
		c.flag(n, "package-level variable "+obj.Name()+" is written to: keep state in a struct")
	}
}

// sorted reports whether the identifier is the Keys of slices.Sorted(maps.Keys(m)), or of SortedFunc or SortedStableFunc.
func (c *pureCheck) sorted() bool {
	// The last parents are: …, CallExpr slices.Sorted(…), CallExpr maps.Keys(m), SelectorExpr maps.Keys.
	if len(c.parents) < 3 {
		return false
	}
	outer, ok := c.parents[len(c.parents)-3].(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn := c.info.Uses[sel.Sel]
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "slices" && strings.HasPrefix(fn.Name(), "Sorted")
}

// mutated reports whether this use of a package-level variable writes to it or could let somebody else do so: it, or an
// element or field of it, is assigned, counted up, filled by a range, cleared, or its address is taken (also by calling a
// method with a pointer receiver). Writing through an alias escapes this test; that is left to review.
func (c *pureCheck) mutated(n *ast.Ident, v *types.Var) bool {
	var expr ast.Expr = n
	for i := len(c.parents) - 1; i >= 0; i-- {
		switch p := c.parents[i].(type) {
		case *ast.SelectorExpr:
			if c.addressed(p) {
				return true
			}
			expr = p
		case *ast.IndexExpr:
			if p.X != expr { // the variable is the index
				return false
			}
			expr = p
		case *ast.ParenExpr, *ast.StarExpr, *ast.SliceExpr:
			expr = p.(ast.Expr)
		case *ast.AssignStmt:
			return slices.Contains(p.Lhs, expr)
		case *ast.RangeStmt:
			return p.Key == expr || p.Value == expr
		case *ast.IncDecStmt:
			return true
		case *ast.UnaryExpr:
			return p.Op == token.AND && v.Parent() == v.Pkg().Scope()
		case *ast.CallExpr:
			return c.clears(p, expr)
		default:
			return false
		}
	}
	return false
}

// addressed reports whether a selector calls a method with a pointer receiver on a value, which takes its address.
func (c *pureCheck) addressed(sel *ast.SelectorExpr) bool {
	s := c.info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	sig, ok := s.Obj().Type().(*types.Signature)
	if !ok || sig.Recv() == nil {
		return false
	}
	_, wantsPointer := sig.Recv().Type().(*types.Pointer)
	_, isPointer := s.Recv().Underlying().(*types.Pointer)
	return wantsPointer && !isPointer
}

// clears reports whether a call is one of the builtins that write to their first argument, and expr is that.
func (c *pureCheck) clears(call *ast.CallExpr, expr ast.Expr) bool {
	fun, ok := call.Fun.(*ast.Ident)
	if !ok || len(call.Args) == 0 || call.Args[0] != expr {
		return false
	}
	_, builtin := c.info.Uses[fun].(*types.Builtin)
	return builtin && slices.Contains([]string{"clear", "delete", "copy"}, fun.Name)
}
