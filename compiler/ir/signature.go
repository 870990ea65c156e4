package ir

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/compiler/expr"
)

// A signature describes the arguments and results of an op, for example
//
//	table:any[V D] ids:i32[*] -> y:any[* D]
//	q[B T heads*D] k[B J heads*D] relative?[B T heads*spans] ... -> weights[B heads T J] logits[B heads T J]
//
// The type of a tensor follows its name and is F32 by default. any is the type of the
// first argument. real is F32 or BF16, the same for all tensors that are marked with it.
//
// An extent is one of:
//
//	D         a letter, equal wherever it appears
//	*         any number of axes, equal wherever it appears
//	*?        these axes or none
//	1         itself
//	examples  B
//	rows      the attribute, as heads
//	groups    the number of groups of heads
//	spans     the number of distances that relative scores distinguish
//	heads*D   such a number times a constant
//
// The attributes transa and transb swap the last two extents of the first and the second
// argument.
//
// An argument with ? is present if the attribute of its name is set, and y if q is BF16. The op's rule checks
// the arguments that ... stands for. The attribute result selects one of several results,
// and one with ? is the result without it.
// A result without extents is like the argument of its name, in F32 if that is real.
// ...[heads] is the part of a bias's parameter, whose extents follow. The attribute shape
// gives the extents of a result that no argument binds. Without an arrow the op's rule
// gives the type.
type signature struct{ args, results []*pattern }

// A pattern is one tensor of a signature.
type pattern struct {
	name     string
	optional bool
	elem     string // f32, i32, any or real
	axes     []string
	text     string // of type and extents
}

var patternText = regexp.MustCompile(`([a-z.]+)(\??)(?::(\w+))?(?:\[(.*?)\])?`)

func patterns(text string) (all []*pattern) {
	for _, m := range patternText.FindAllStringSubmatch(text, -1) {
		elem := cmp.Or(m[3], "f32")
		all = append(all, &pattern{m[1], m[2] != "", elem, strings.Fields(m[4]), elem + "[" + m[4] + "]"})
	}
	return all
}

// signatures returns the signature of each op.
var signatures = sync.OnceValue(func() []signature {
	all := make([]signature, numOps)
	for op := range all {
		takes, gives, _ := strings.Cut(ops[op].signature, "->")
		all[op] = signature{patterns(takes), patterns(gives)}
	}
	return all
})

// named returns the patterns of v's arguments that its signature names, and whether
// others may follow.
func (v *Value) named() (args []*pattern, others bool) {
	for _, p := range signatures()[v.Op].args {
		switch {
		case p.name == "...":
			others = true
		case !p.optional || p.name == "relative" && site(v).Relative != 0 || p.name == "table" && site(v).Table || p.name == "line" && site(v).Line || p.name == "y" && v.narrow():
			args = append(args, p)
		}
	}
	return args, others
}

// narrow reports whether the first argument of v has elements of 16 bits.
func (v *Value) narrow() bool { return len(v.Args) > 0 && v.Args[0].Type.Elem.Narrow() }

// ArgNames returns the names of v's arguments: in its signature, or the names of a bias's
// parameters.
func (v *Value) ArgNames() []string {
	var names []string
	args, _ := v.named()
	for _, p := range args {
		names = append(names, p.name)
	}
	return append(names, site(v).Params...)
}

// unify checks the arguments of v against its signature. It returns v's type if the
// signature has an arrow.
func unify(v *Value) (Type, error) {
	args, others := v.named()
	if len(v.Args) < len(args) || len(v.Args) > len(args) && !others {
		return Type{}, fmt.Errorf("takes no %d arguments, but %s", len(v.Args), ops[v.Op].signature)
	}
	b := append(make(binding, 0, 8), entry{"1", []Dim{N(1)}})
	if v.Op.carries("heads") {
		n := cmp.Or(v.Attr.Group, 1)
		if n < 1 || site(v).Heads%n != 0 {
			return Type{}, fmt.Errorf("%d heads do not divide into groups of %d", site(v).Heads, n)
		}
		b = append(b, entry{"heads", []Dim{N(site(v).Heads)}}, entry{"groups", []Dim{N(site(v).Heads / n)}},
			entry{"spans", []Dim{N(2*site(v).Relative + 1)}})
	}
	if v.Op.carries("rows") {
		b = append(b, entry{"examples", []Dim{Sym("B")}}, entry{"rows", []Dim{N(v.Attr.Rows)}})
	}
	for k, p := range args {
		if err := b.argument(v, k, p); err != nil {
			return Type{}, err
		}
	}
	if len(signatures()[v.Op].results) == 0 {
		return Type{}, nil
	}
	return b.result(v, args)
}

// A binding maps the words of a signature to extents of one value.
type binding []entry

// An entry is one extent, or the axes of *.
type entry struct {
	word string
	is   []Dim
}

func (b *binding) argument(v *Value, k int, p *pattern) error {
	t, how := v.Args[k].Type, ""
	shape := t.Shape
	if n := len(shape); n >= 2 && (k == 0 && v.Attr.TransA || k == 1 && v.Attr.TransB) {
		shape = slices.Concat(shape[:n-2], []Dim{shape[n-1], shape[n-2]})
		how = " transposed"
	}
	known := *b
	if t.Elem != p.elemOf(v) || p.elem == "real" && !t.Real() || !b.matches(p.axes, shape) {
		return fmt.Errorf("%s is %s, not %s%s%s", p.name, t, p.textOf(v), how, known.where(p))
	}
	return nil
}

// elemOf returns the type of a tensor's elements.
func (p *pattern) elemOf(v *Value) expr.Type {
	if p.elem == "any" || p.elem == "real" {
		return v.Args[0].Type.Elem
	}
	t, _ := expr.TypeByName(p.elem)
	return t
}

// textOf returns type and extents as text, with the real type of v.
func (p *pattern) textOf(v *Value) string {
	extents, real := strings.CutPrefix(p.text, "real")
	switch t := v.Args[0].Type; {
	case real && t.Elem.Narrow():
		return t.Elem.String() + extents
	case real:
		return "f32" + extents
	}
	return p.text
}

// where describes the known extents of a pattern.
func (b binding) where(p *pattern) string {
	text, sep := "", " where "
	for _, x := range b {
		if strings.Contains(p.text, x.word) {
			is := shapeString(x.is)
			if x.word != "*" {
				is = x.is[0].String()
			}
			text, sep = text+sep+x.word+" = "+is, ", "
		}
	}
	return text
}

// matches binds the words of axes to the extents of a shape, and reports whether they
// fit.
func (b *binding) matches(axes []string, shape []Dim) bool {
	for k, axis := range axes {
		n := 1
		if axis[0] == '*' {
			n = len(shape) - (len(axes) - 1 - k)
		}
		if n < 0 || n > len(shape) {
			return false
		}
		if none := axis == "*?" && n == 0; !none && !b.bind(strings.TrimSuffix(axis, "?"), shape[:n]) {
			return false
		}
		shape = shape[n:]
	}
	return len(shape) == 0
}

// bind binds a word to extents, and reports whether they equal earlier ones.
func (b *binding) bind(word string, is []Dim) bool {
	if times, n := b.multiple(word); times != "" {
		d := is[0]
		return n > 0 && d.Sym == "" && d.N%n == 0 && b.bind(times, []Dim{N(d.N / n)})
	}
	if old, ok := b.get(word); ok {
		return slices.Equal(old, is)
	}
	*b = append(*b, entry{word, is})
	return true
}

// multiple splits an extent such as heads*D into D and the value of heads.
func (b binding) multiple(word string) (times string, n int) {
	attr, times, product := strings.Cut(word, "*")
	if !product || attr == "" {
		return "", 0
	}
	is, _ := b.get(attr)
	return times, is[0].N
}

// get returns the extents of a word.
func (b binding) get(word string) (is []Dim, ok bool) {
	for _, x := range b {
		if x.word == word {
			return x.is, true
		}
	}
	return nil, false
}

// result returns the type of v, whose arguments are bound.
func (b binding) result(v *Value, args []*pattern) (Type, error) {
	results := signatures()[v.Op].results
	want := results[0].name
	if v.Op.carries("result") && !(results[0].optional && v.Attr.Result == "") {
		want = v.Attr.Result
	}
	arg := slices.IndexFunc(args, func(p *pattern) bool { return p.name == want })
	param, params := slices.Index(site(v).Params, want), v.params()
	for _, p := range results {
		switch {
		case p.name == "..." && param >= 0 && param < len(params):
			t, err := b.build(v, p)
			t.Shape = append(t.Shape, params[param].Type.Shape...)
			return t, err
		case p.name == "..." || p.name != want:
		case len(p.axes) > 0:
			return b.build(v, p)
		case arg >= 0 && args[arg].elem == "real":
			return T(v.Args[arg].Type.Shape...), nil
		case arg >= 0:
			return v.Args[arg].Type, nil
		}
	}
	return Type{}, fmt.Errorf("has no result %q", want)
}

// build returns the type of a pattern.
func (b binding) build(v *Value, p *pattern) (Type, error) {
	t, known := Type{Elem: p.elemOf(v)}, b
	if v.Op.carries("shape") {
		if t.Shape = v.Attr.Shape; !b.matches(p.axes, t.Shape) {
			return t, fmt.Errorf("shape %s is not %s%s", shapeString(t.Shape), p.text, known.where(p))
		}
		return t, nil
	}
	for _, axis := range p.axes {
		times, n := b.multiple(axis)
		is, _ := b.get(cmp.Or(times, axis))
		if times != "" {
			if is[0].Sym != "" {
				return t, fmt.Errorf("%s is not constant%s", times, b.where(p))
			}
			is = []Dim{N(n * is[0].N)}
		}
		t.Shape = append(t.Shape, is...)
	}
	return t, nil
}
