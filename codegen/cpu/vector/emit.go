package vector

// An instance is one vector of a loop's body. Its elements begin at disp, after the loop's
// index if indexed is set. If masked is set, only some lanes exist.
type instance struct {
	disp    int
	indexed bool
	masked  bool
	part    int // vector within a group
}

// emit writes the body for a vector.
func (b *block) emit(in instance) {
	b.inst = in
	steps, ok := b.steps[in.masked]
	if !ok {
		steps = b.allocate(in.masked)
		b.steps[in.masked] = steps
	}
	for _, v := range b.order {
		v.spill = none
	}
	ints, vecs := b.f.ints, b.f.vecs
	for i := range steps {
		switch s := &steps[i]; s.action {
		case reload:
			b.f.m.reload(b, s.value, s.reg)
		case spill:
			b.f.m.spill(b, s.value, s.reg)
		default:
			b.f.m.run(b, s)
		}
	}
	b.f.ints, b.f.vecs = ints, vecs
}

// number returns the register of a value: n, or the stream's register for random words.
func (b *block) number(v *value, n int) int {
	if v.kind == word {
		s := b.streams[v.off]
		return s.words + b.inst.part%s.vectors
	}
	return n
}
