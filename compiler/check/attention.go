package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// An Attention is a spec of attention alone, without a model and a task. Its numbers of
// queries and keys are free.
type Attention struct {
	Name     string // the file's base name without extension
	Hash     string // hex SHA-256 of the resolved spec and of the files that it reads
	Resolved string // the spec with every default written out; parses back to itself
	Heads    int    // of queries
	KeyHeads int    // of keys and values, a divisor of Heads; never 0
	Width    int    // units of a head
	Site     *Site  // Mask and Bias over h, i, j, H, I and J
	Mask     string // as in Resolved
	Bias     string // as in Resolved; none, given
	Given    bool   // the caller gives the bias at each call, and Site has none
	Pos      diag.Pos
}

// IsAttention reports whether a spec is of attention alone: it has that block, and none
// of a model. IsAttention reads the spec and what it includes, and checks nothing.
func IsAttention(opts Options) bool {
	c := newChecker(opts)
	c.merge()
	return c.alone() && len(c.ofModel()) == 0
}

// ResolveAttention reads a spec of attention alone and everything that it includes, and
// checks it. The result is nil if the list has errors. Warnings may accompany a result.
func ResolveAttention(opts Options) (*Attention, diag.List) {
	c := newChecker(opts)
	c.merge()
	a := c.attention()
	return a, c.complete(c.list)
}

// alone reports whether the spec is of attention alone, which it is if it has that block.
func (c *checker) alone() bool {
	_, ok := c.places["attention"]
	return ok
}

// ofAttention reports whether a block, or the attributes in it, may stand in a spec of
// attention alone.
func ofAttention(path string) bool {
	block, _, _ := strings.Cut(path, ".")
	return slices.Contains([]string{"attention", "mask", "bias", "vet"}, block)
}

// attention resolves and vets a spec of attention alone. It returns nil after errors.
func (c *checker) attention() *Attention {
	if c.unparsed { // the block may be in the text that did not parse
		return nil
	}
	if !c.alone() {
		c.report("E0361", c.where("attention"), "this spec has no attention of its own").
			WithHelp("write attention { … } in a spec without a task and a model")
		return nil
	}
	if !c.checkAlone() {
		return nil
	}
	c.lang = c.lang.withoutPositions()
	c.fold()
	c.resolveValues()
	c.collect()
	a := &Attention{Name: c.name, Heads: c.int("attention.heads"), Width: c.int("attention.width"), Site: c.site("attention"), Pos: c.place("attention")}
	if c.list.HasErrors() {
		return nil
	}
	c.checkKeyHeads("attention", a.Site, a.Heads)
	a.KeyHeads = a.Site.KeyHeads
	if a.KeyHeads == 0 {
		a.KeyHeads = a.Heads
	}
	a.Mask, a.Bias = c.get("attention.mask").text, c.get("attention.bias").text
	a.Given = c.get("attention.bias").is("given")
	c.vetAttention(a)
	if c.list.HasErrors() {
		return nil
	}
	a.Resolved = c.print()
	carried, _ := c.printCarried()
	a.Hash = c.hash(carried)
	return a
}

// refuseAlone reports a spec of attention alone where a model is wanted.
func (c *checker) refuseAlone() {
	if c.checkAlone() {
		c.report("E0361", c.where("attention"), "this is a spec of attention alone: it has no model and no task").
			WithHelp("use mlc attention FILE -o DIR, or a spec with task and model")
	}
}

// checkAlone reports whether a spec of attention alone has no other blocks, and adds a
// finding if it has.
func (c *checker) checkAlone() bool {
	others := c.ofModel()
	if len(others) == 0 {
		return true
	}
	names := slices.Sorted(maps.Keys(others))
	d := c.report("E0360", c.where("attention"), "attention stands alone in its spec, but this spec also has %s", listed(names)).
		WithHelp("leave out attention, or all of these; two specs share a bias by including its file")
	for _, name := range names {
		d.WithNote(others[name], "%s is written", name)
	}
	return false
}

// ofModel returns the blocks at the top that do not belong to attention alone, each with
// a place.
func (c *checker) ofModel() map[string]diag.Pos {
	out := make(map[string]diag.Pos)
	for _, path := range slices.Sorted(maps.Keys(c.places)) {
		if block, _, _ := strings.Cut(path, "."); !ofAttention(block) && !out[block].IsValid() {
			out[block] = c.place(path)
		}
	}
	return out
}

// withoutPositions returns the language of attention alone. Its prelude counts tokens
// where a model has positions, as a model without a position scheme does.
func (l *language) withoutPositions() *language {
	out := *l
	out.prelude = nil
	for _, d := range l.prelude {
		own := *d
		own.attrs = make(map[string]*setting)
		for name, s := range d.attrs {
			counted := *s
			counted.value = dsl.Rewrite(s.value, func(e *dsl.Expr) *dsl.Expr {
				if index, ok := indexOf[e.Text]; ok && e.Kind == dsl.Name {
					e = &dsl.Expr{Kind: dsl.Name, Text: index, Range: e.Range, Head: e.Head}
				}
				return e
			})
			own.attrs[name] = &counted
		}
		out.prelude = append(out.prelude, &own)
	}
	return &out
}

// lengthsAlone are the numbers of queries, and of keys, at which attention alone is
// vetted.
var lengthsAlone = []int{1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 512, 2048}

// vetAttention reports a bias that is not finite, and warns as of a model's attention.
func (c *checker) vetAttention(a *Attention) {
	s := &Spec{Model: Model{Heads: a.Heads}}
	for _, n := range lengthsAlone {
		s.shapes.trained = append(s.shapes.trained, lengths{Source: n, Target: n})
	}
	s.shapes.evaluated = s.shapes.trained
	x := attention{path: "attention", Site: a.Site, size: func(l lengths) (rows, keys int) { return l.Target, l.Source }}
	c.checkBias(s, x)
	if c.list.HasErrors() {
		return
	}
	for _, r := range []struct {
		code string
		run  func()
	}{
		{"V002", func() { c.vetMask(s, x, s.shapes.trained) }},
		{"V018", func() { c.vetUsual(s) }},
		{"V023", func() { c.vetBias(s, x) }},
	} {
		if c.wanted(r.code) {
			r.run()
		}
	}
	c.vetDefinitions([]*checker{c})
}
