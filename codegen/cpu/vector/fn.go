package vector

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// The frame has slots of 8 bytes for integers and of 64 for vectors.
const (
	intBytes = 1 << 11
	slotInt  = 8
	slotVec  = 64
)

// A place is where a scalar lives in the frame. F32 is a vector of copies. Integers have 8
// bytes: I32 is sign-extended, U32 and 16 bits are zero-extended, Bool is 0 or -1.
type place struct {
	typ expr.Type
	off int
}

// A fn writes one function. It orders the computations, and its machine writes the
// instructions.
type fn struct {
	*isa
	meter
	m        machine
	stmts    []kernel.Stmt // statements of the vector kernel
	vars     map[string]place
	lets     map[string]*expr.Expr // values of the integers in scope
	touched  map[kernel.Stmt][]depend.Access
	interner *expr.Interner
	ints     int // bytes of the frame in use
	vecs     int
	labels   int
	err      error // the first reason why the vector kernel cannot be compiled
}

// compile writes the functions of a vector kernel, one for each instruction set, and counts
// their instructions.
func compile(l *Kernel, machines []func(*fn) machine) error {
	body := (&hoister{}).nodes(kernel.RewriteAll(l.Body, expr.Expand))
	for _, begin := range machines {
		f := newFn(begin)
		f.m.begin(f.parameters(l))
		if needsRandom(body) {
			f.m.randomKeys()
		}
		f.stmts = body
		f.body(body)
		f.m.end()
		if f.err != nil {
			return f.err
		}
		l.Instructions[f.name] = f.total()
	}
	return nil
}

// newFn begins a function.
func newFn(begin func(*fn) machine) *fn {
	f := &fn{
		meter:    newMeter(),
		vars:     map[string]place{},
		lets:     map[string]*expr.Expr{},
		touched:  map[kernel.Stmt][]depend.Access{},
		interner: expr.NewInterner(),
		vecs:     intBytes,
	}
	f.m = begin(f)
	f.isa = f.m.describe()
	return f
}

// needsRandom reports whether statements need random words.
func needsRandom(body []kernel.Stmt) bool {
	isRandom := func(s kernel.Stmt) bool { _, ok := s.(*kernel.Random); return ok }
	return slices.ContainsFunc(slices.Collect(kernel.All(body)), isRandom)
}

// fail notes why the vector kernel cannot be compiled. Its code is not used.
func (f *fn) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// A parameter is a parameter of the Go function.
type parameter struct {
	name  string    // in Go
	slice string    // the slice that it points to, or ""
	elem  expr.Type // element type of the slice, or type of the value
	slot  int       // where the value goes
}

// isValue reports whether a parameter is a scalar.
func (p parameter) isValue() bool { return p.slice == "" }

// parameters returns the parameters after the frame.
func (f *fn) parameters(l *Kernel) []parameter {
	var out []parameter
	used := map[string]bool{"frame": true}
	unused := func(name string) string {
		name = strings.ReplaceAll(name, ".", "_")
		// Upper-case names and g are registers.
		for used[name] || token.IsKeyword(name) || name == "g" || len(name) > 1 && strings.ToUpper(name) == name {
			name += "_"
		}
		used[name] = true
		return name
	}
	seen := map[string]bool{}
	for _, s := range l.Slices {
		if seen[s.Name] || s.Type == expr.Bool {
			f.fail("slice %s is no parameter", s.Name)
			return nil
		}
		seen[s.Name] = true
		out = append(out, parameter{name: unused(s.Name), slice: s.Name, elem: s.Type})
	}
	for _, v := range l.Values {
		if v.Type == expr.Bool || v.Type.Narrow() {
			f.fail("value %s is %v", v.Name, v.Type)
			return nil
		}
		out = append(out, parameter{name: unused(v.Name), elem: v.Type, slot: f.bind(v.Name, v.Type)})
	}
	return out
}

// label returns a new label.
func (f *fn) label(what string) string {
	f.labels++
	return fmt.Sprintf("%s%d", what, f.labels)
}

// slot takes a part of the frame.
func (f *fn) slot(t expr.Type) int {
	next, bytes, end := &f.ints, slotInt, intBytes
	if t == expr.F32 {
		next, bytes, end = &f.vecs, slotVec, FrameBytes
	}
	if *next+bytes > end {
		f.fail("too many values for the frame")
		return 0
	}
	*next += bytes
	return *next - bytes
}

// bind gives a scalar a place, at an offset into the frame.
func (f *fn) bind(name string, t expr.Type) int {
	p := place{t, f.slot(t)}
	f.vars[name] = p
	return p.off
}

// scope writes code whose names and slots later code does not use.
func (f *fn) scope(write func()) {
	vars, ints, vecs := maps.Clone(f.vars), f.ints, f.vecs
	write()
	f.vars, f.ints, f.vecs = vars, ints, vecs
}
