package lower

import "github.com/arithlang/mlc/compiler/ir"

// WhyMicroBatches says why launches of training have a micro-batch on a GPU too. It returns ""
// if they may have any number of examples.
func (p *Program) WhyMicroBatches() string {
	e := p.Entry(training)
	if e == nil || p.AnyLaunch {
		return ""
	}
	var why string
	if !readsSource(e) && seesFillers(e.funcs()) {
		anyAttention(e.funcs(), func(v *ir.Value) bool {
			why = fillersSeen(v)
			return why != ""
		})
		return why
	}
	return unchained(e)
}

// fillersSeen says why padding of the shorter texts of a launch can change a result of an
// attention. It returns "" if it cannot.
func fillersSeen(attention *ir.Value) string {
	switch attn := attention.Attr.Attn; {
	case readsLength(attention):
		return "a mask or bias reads the length of texts"
	case !causal(attention):
		return "queries see keys behind themselves"
	case attention.Attr.Rate > 0 && attn.Words == nil:
		return "random words of an attention are counted by the rows of a launch"
	}
	return ""
}
