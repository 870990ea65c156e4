package cuda

import (
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A form is the launch lists of a group that have the same ops, on different data.
type form struct {
	list *launchList // the first list
	refs []int       // references before each op's
	word []int       // words before each op's
	hash []uint64    // of each op
}

// A formSet is a set of a group's forms, one bit each.
type formSet uint64

const maxForms = 64

// An item is an op that the launch lists of some forms share.
type item struct {
	*op
	refs  []device.Ref
	words []uint32
	forms formSet
	own   []int // the op's number in each form of the group; -1: the form lacks it
}

// A table is consecutive shapes of replicas. Its place is a word of the first stage.
type table struct {
	at     int
	shapes []abi.Shape
}

// newForm indexes and hashes the ops of a launch list.
func newForm(t *launchList, hash func(f *form, i int) uint64) *form {
	f := &form{list: t}
	refs, word := 0, 0
	for _, o := range t.ops {
		f.refs, f.word = append(f.refs, refs), append(f.word, word)
		refs, word = refs+o.refs, word+o.words
	}
	for i := range t.ops {
		f.hash = append(f.hash, hash(f, i))
	}
	return f
}

// hashWith returns a function that hashes everything in a form's op that equal compares.
func hashWith(seed maphash.Seed) func(f *form, i int) uint64 {
	return func(f *form, i int) uint64 {
		var h maphash.Hash
		h.SetSeed(seed)
		maphash.WriteComparable(&h, f.list.ops[i].unshaped())
		maphash.WriteComparable(&h, f.stepOf(i))
		for _, r := range f.refsOf(i) {
			maphash.WriteComparable(&h, r)
		}
		for _, w := range f.wordsOf(i) {
			maphash.WriteComparable(&h, w)
		}
		return h.Sum64()
	}
}

// equal reports whether op i of f is op j of o, apart from shapes and sizes.
func (f *form) equal(i int, o *form, j int) bool {
	return f.list.ops[i].unshaped() == o.list.ops[j].unshaped() && f.stepOf(i) == o.stepOf(j) &&
		slices.Equal(f.refsOf(i), o.refsOf(j)) && slices.Equal(f.wordsOf(i), o.wordsOf(j))
}

// stepOf returns the step scalars that an op reads from its list, or zeros.
func (f *form) stepOf(i int) (s stepBlock) {
	if o := &f.list.ops[i]; o.kind == launchOp && o.at >= 0 {
		s = stepBlock(f.list.in[o.at:])
	}
	return s
}

// unshaped returns an op without its shape's number. Its size becomes 1 if it is a product.
func (o *op) unshaped() op {
	out := *o
	out.shape, out.size = 0, min(o.size, 1)
	return out
}

// refsOf and wordsOf return the references and words of an op.
func (f *form) refsOf(i int) []device.Ref { return f.list.refs[f.refs[i]:][:f.list.ops[i].refs] }
func (f *form) wordsOf(i int) []uint32    { return f.list.words[f.word[i]:][:f.list.ops[i].words] }

// merge finds the forms of a group. If there are several it makes the group's items: an op that
// several forms share is one item, and the ops of each form keep their order.
func (g *group) merge(hash func(f *form, i int) uint64) {
	g.form = make([]int, len(g.lists))
	var first []*launchList
	for i, t := range g.lists {
		n := slices.IndexFunc(first, func(f *launchList) bool { return t.replica(f, t.further(f)) })
		if n < 0 {
			n = len(first)
			first = append(first, t)
		}
		g.form[i] = n
	}
	if len(first) == 1 {
		return
	}
	var forms []*form
	for n, t := range first {
		f := newForm(t, hash)
		forms = append(forms, f)
		next := make([]item, 0, len(g.items)+len(f.hash))
		old, at := 0, 0
		add := func(items, ops int) { // everything before a common op
			next = append(next, g.items[old:items]...)
			for ; at < ops; at++ {
				x := item{op: &t.ops[at], refs: f.refsOf(at), words: f.wordsOf(at), forms: 1 << n, own: slices.Repeat([]int{-1}, len(first))}
				x.own[n] = at
				next = append(next, x)
			}
		}
		for _, p := range common(g.items, forms, f) {
			add(p.item, p.op)
			x := g.items[p.item]
			x.forms |= 1 << n
			x.own[n] = p.op
			next = append(next, x)
			old, at = p.item+1, p.op+1
		}
		add(len(g.items), len(f.hash))
		g.items = next
	}
}

// A pair is an item and an op that are equal.
type pair struct {
	item, op int
	before   int // the previous pair of a sequence; -1: this is the first
}

// common returns a longest common sequence of items and a form's ops. The method of Hunt and
// Szymanski (1977) is quick because few ops of a form are equal.
func common(items []item, forms []*form, f *form) []pair {
	with := map[uint64][]int{} // items by hash, the last first
	first := func(x *item) (*form, int) {
		n := bits.TrailingZeros64(uint64(x.forms))
		return forms[n], x.own[n]
	}
	for i := range slices.Backward(items) {
		of, at := first(&items[i])
		with[of.hash[at]] = append(with[of.hash[at]], i)
	}
	var pairs []pair
	var ends []int // by length, from 1: the last pair of the sequence that ends at the earliest item
	for op, hash := range f.hash {
		for _, i := range with[hash] {
			if of, at := first(&items[i]); !of.equal(at, f, op) {
				continue
			}
			n, _ := slices.BinarySearchFunc(ends, i, func(end, i int) int { return pairs[end].item - i })
			x := pair{i, op, -1}
			if n > 0 {
				x.before = ends[n-1]
			}
			if n == len(ends) {
				ends = append(ends, 0)
			}
			ends[n] = len(pairs)
			pairs = append(pairs, x)
		}
	}
	sequence := make([]pair, len(ends))
	if len(ends) > 0 {
		last := ends[len(ends)-1]
		for i := range slices.Backward(sequence) {
			sequence[i] = pairs[last]
			last = pairs[last].before
		}
	}
	return sequence
}

// ops iterates over the items of a group in order.
func (g *group) ops(yield func(x *item) bool) {
	for i := range g.items {
		if !yield(&g.items[i]) {
			return
		}
	}
	if len(g.items) > 0 {
		return
	}
	t := g.lists[0] // all have one form
	refs, words := t.refs, t.words
	x := item{forms: 1}
	for i := range t.ops {
		x.op = &t.ops[i]
		x.refs, x.words = refs[:x.op.refs], words[:x.op.words]
		if !yield(&x) {
			return
		}
		refs, words = refs[x.op.refs:], words[x.op.words:]
	}
}

// formOf returns the form of a replica.
func (g *group) formOf(replica int) int {
	if len(g.items) == 0 {
		return 0
	}
	return g.form[replica]
}

// replicas iterates over the replicas of some forms, ascending.
func (g *group) replicas(forms formSet) iter.Seq[int] {
	return func(yield func(int) bool) {
		for replica := range g.lists {
			if forms>>g.formOf(replica)&1 != 0 && !yield(replica) {
				return
			}
		}
	}
}

// firstOf returns the first replica of some forms.
func (g *group) firstOf(forms formSet) int {
	for replica := range g.replicas(forms) {
		return replica
	}
	panic("BUG: an item of no launch list")
}

// count returns the number of replicas of some forms.
func (g *group) count(forms formSet) (n int) {
	for range g.replicas(forms) {
		n++
	}
	return n
}

// runs returns the replicas of some forms, neighbours as one run.
func (g *group) runs(forms formSet) (runs []run) {
	for replica := range g.replicas(forms) {
		if last := len(runs) - 1; last >= 0 && runs[last].first+runs[last].n == replica {
			runs[last].n++
			continue
		}
		runs = append(runs, run{replica, 1})
	}
	return runs
}

// A run is consecutive replicas.
type run struct{ first, n int }

// of returns the item's op in a replica's launch list, and that list.
func (x *item) of(g *group, replica int) (*launchList, *op) {
	t := g.lists[replica]
	if x.own == nil {
		return t, x.op
	}
	return t, &t.ops[x.own[g.form[replica]]]
}

// table returns the place of the shapes of an item's replicas. If they have no place yet, it takes
// the room from next on.
func (g *group) table(x *item, next *int) int {
	var shapes []abi.Shape
	for replica := range g.replicas(x.forms) {
		t, o := x.of(g, replica)
		shape := t.shapes[o.shape-1]
		shape[abi.ShapeWords-1] = uint32(replica)
		shapes = append(shapes, shape)
	}
	for _, t := range g.tables {
		if slices.Equal(t.shapes, shapes) {
			return t.at
		}
	}
	g.tables = append(g.tables, table{*next, shapes})
	*next += len(shapes) * abi.ShapeWords
	return g.tables[len(g.tables)-1].at
}

// putTables writes the shapes into the first stage.
func (g *group) putTables(host []byte) {
	for _, t := range g.tables {
		b := host[:t.at*wordBytes]
		for i := range t.shapes {
			b = t.shapes[i].Append(b)
		}
	}
}
