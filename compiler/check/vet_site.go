package check

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// mentions reports whether an expression contains one of the variables.
func mentions(x *expr.Expr, names ...string) bool {
	return x != nil && slices.ContainsFunc(expr.Vars(x), func(v *expr.Expr) bool { return slices.Contains(names, v.Name) })
}

// counted are the variables that depend on a problem's tokens.
var counted = []string{"di", "dj", "ni", "nj"}

// coupled reports whether the mask or bias depends on a problem's tokens.
func (s *Site) coupled() bool { return mentions(s.Mask, counted...) || mentions(s.Bias, counted...) }

// checkPlaces reports a bias with parameters at a site that depends on a problem's
// tokens. Its table would differ for each problem.
func (c *checker) checkPlaces(s *Spec) {
	for _, x := range s.attention() {
		if x.coupled() && len(x.Params) > 0 {
			c.report("E0348", c.at(x.path+".bias"), "%s.bias has parameters, but its mask or bias reads di, dj, ni or nj", x.path).
				WithHelp("write numbers instead of learned(…), or use i and j")
		}
	}
}

// vetDrawn warns of random positions that no embedding, rotation or bias reads. Masks and
// relative vectors use token indices.
func (c *checker) vetDrawn(s *Spec) {
	if p := s.Model.Position; p.Kind != "random" || p.Inner != "none" {
		return
	}
	read := slices.ContainsFunc(s.Model.Sites(), func(site *Site) bool {
		return site.Rotary != nil || mentions(site.Bias, "pi", "pj")
	})
	if !read {
		c.report("V012", c.at("model.embed.position"), "the drawn positions reach nothing").
			WithHelp("write a bias over pi and pj instead of i and j, or use rotary = rope, or another inner than none")
	}
}

// vetPadding warns of masks and biases of a loop that read lengths. In training, where
// texts are padded, lengths are larger than in tests.
func (c *checker) vetPadding(s *Spec) {
	if s.Model.Loop == nil {
		return
	}
	shapes := s.trained()
	same := !slices.ContainsFunc(shapes, func(l lengths) bool { return l != shapes[0] })
	if same && s.Task.RandomPad == 0 {
		return
	}
	site := s.Model.Loop.Self
	for path, x := range map[string]*expr.Expr{"mask": site.Mask, "bias": site.Bias} {
		if mentions(x, "I", "J") {
			c.report("V013", c.at("model.decoder_only.self."+path), "I and J count the padding of training, where texts of several lengths are computed together").
				WithHelp("use i and j alone, or pad = zero(to = …) and no random_pad, so that all texts are equally long")
		}
	}
}
