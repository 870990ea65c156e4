package ir

// RepeatHeads is x [.., G*dh] with each head so many times in a row, to [.., heads*dh].
func (b *Builder) RepeatHeads(x *Value, heads, group int) *Value {
	return b.Emit(RepeatHeads, Attr{Group: group, Attn: &AttnAttr{Heads: heads}}, x)
}

// SumHeads is the sum of each so many heads in a row of x [.., heads*dh].
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

// each runs f for each element of a tensor of all heads, with the element of its group.
func each(v *Value, heads Tensor, f func(one, all int)) {
	width := heads.Shape[len(heads.Shape)-1]
	dh := width / v.Attr.Attn.Heads
	for all := range max(len(heads.F), len(heads.I)) {
		row, h, e := all/width, all%width/dh, all%dh
		f(row*(width/v.Attr.Group)+h/v.Attr.Group*dh+e, all)
	}
}
