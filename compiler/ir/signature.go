package ir

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// A signature says what an op takes and gives, for example
//
//	table:any[V D] ids:i32[*] -> y:any[* D]
//	q[B T heads*D] k[B J heads*D] relative?[B T heads*spans] ... -> weights[B heads T J] logits[B heads T J]
//
// A tensor is F32 or of the type behind its name, where any is the first argument's,
// and real is that of all that are so marked, F32 or BF16.
// Its extents are upper-case letters, the same wherever they stand; examples, which is
// B; the attributes rows and heads, groups of so many heads, and spans, how many distances
// relative scores tell apart; or such a number times a constant. One * is any number of axes, the same
// throughout; *? is these or none; 1 is itself. The attributes transa and transb swap the last two
// extents of the first and the second argument.
//
// An argument with ? is there if the attribute of its name is set; those that ...
// stands for are left to the op's rule. Of several results the attribute result names
// one. One without extents is like the argument of its name, in F32 if that is real; ...[heads] is that of a
// parameter of a bias, whose own extents follow. What no argument binds of a result is
// as the attribute shape says. Without an arrow the op's rule gives the type.
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

// signatures are those of the op table.
var signatures = func() (all [numOps]signature) {
	for op := range all {
		takes, gives, _ := strings.Cut(ops[op].signature, "->")
		all[op] = signature{patterns(takes), patterns(gives)}
	}
	return all
}()

// named are the arguments of v that its signature names; others may follow.
func (v *Value) named() (args []*pattern, others bool) {
	for _, p := range signatures[v.Op].args {
		switch {
		case p.name == "...":
			others = true
		case !p.optional || p.name == "relative" && site(v).Relative != 0 || p.name == "table" && site(v).Table:
			args = append(args, p)
		}
	}
	return args, others
}

// ArgNames are what the arguments of v are called: in its signature, or if they are
// parameters of a bias by their own names.
func (v *Value) ArgNames() []string {
	var names []string
	args, _ := v.named()
	for _, p := range args {
		names = append(names, p.name)
	}
	return append(names, site(v).Params...)
}

// unify holds the arguments of v to its signature, which gives its type if it has an
// arrow.
func unify(v *Value) (Type, error) {
	args, others := v.named()
	if len(v.Args) < len(args) || len(v.Args) > len(args) && !others {
		return Type{}, fmt.Errorf("takes no %d arguments, but %s", len(v.Args), ops[v.Op].signature)
	}
	b := append(make(binding, 0, 8), entry{"1", []Dim{N(1)}})
	if v.Op.carries("heads") {
		b = append(b, entry{"heads", []Dim{N(site(v).Heads)}}, entry{"spans", []Dim{N(2*site(v).Relative + 1)}})
	}
	if n := v.Attr.Group; v.Op.carries("heads") && v.Op.carries("group") {
		if n < 1 || site(v).Heads%n != 0 {
			return Type{}, fmt.Errorf("%d heads are no groups of %d", site(v).Heads, n)
		}
		b = append(b, entry{"groups", []Dim{N(site(v).Heads / n)}})
	}
	if v.Op.carries("rows") {
		b = append(b, entry{"examples", []Dim{Sym("B")}}, entry{"rows", []Dim{N(v.Attr.Rows)}})
	}
	for k, p := range args {
		if err := b.argument(v, k, p); err != nil {
			return Type{}, err
		}
	}
	if len(signatures[v.Op].results) == 0 {
		return Type{}, nil
	}
	return b.result(v, args)
}

// A binding is what words of a signature stand for in one value.
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

// elemOf is the type of a tensor's elements.
func (p *pattern) elemOf(v *Value) expr.Type {
	if p.elem == "any" || p.elem == "real" {
		return v.Args[0].Type.Elem
	}
	t, _ := expr.TypeByName(p.elem)
	return t
}

// textOf is the text of type and extents, with the type of real numbers that v has.
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

// where tells what is known of the extents of a pattern.
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

// matches binds the words of axes to the extents of a shape, if these fit.
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

// bind makes a word stand for extents, if it does not for others.
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

// get is what a word stands for.
func (b binding) get(word string) (is []Dim, ok bool) {
	for _, x := range b {
		if x.word == word {
			return x.is, true
		}
	}
	return nil, false
}

// result is the type of v, whose arguments are bound.
func (b binding) result(v *Value, args []*pattern) (Type, error) {
	results := signatures[v.Op].results
	want := results[0].name
	if v.Op.carries("result") {
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

// build makes the type that a pattern is.
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
