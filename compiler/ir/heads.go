package ir

// RepeatHeads repeats each head of x [.., G*dh] group times: [.., heads*dh].
func (b *Builder) RepeatHeads(x *Value, heads, group int) *Value {
	return b.Emit(RepeatHeads, Attr{Group: group, Attn: &AttnAttr{Heads: heads}}, x)
}

// SumHeads sums each group of consecutive heads in x [.., heads*dh].
func (b *Builder) SumHeads(x *Value, heads, group int) *Value {
	return b.Emit(SumHeads, Attr{Group: group, Attn: &AttnAttr{Heads: heads}}, x)
}

func evalRepeatHeads(_ *machine, v *Value, args []Tensor, out Tensor) error {
	each(v, out, func(one, all int) { out.set(all, args[0].at(one)) })
	return nil
}

func evalSumHeads(_ *machine, v *Value, args []Tensor, out Tensor) error {
	each(v, args[0], func(one, all int) { out.F[one] += args[0].F[all] })
	return nil
}

// each calls f for each element of the tensor with all heads, with the index of its
// group's element.
func each(v *Value, heads Tensor, f func(one, all int)) {
	width := heads.Shape[len(heads.Shape)-1]
	dh := width / v.Attr.Attn.Heads
	for all := range max(len(heads.F), len(heads.I)) {
		row, h, e := all/width, all%width/dh, all%dh
		f(row*(width/v.Attr.Group)+h/v.Attr.Group*dh+e, all)
	}
}
