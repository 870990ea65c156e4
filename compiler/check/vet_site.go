package check

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// mentions reports whether an expression has any of some variables.
func mentions(x *expr.Expr, names ...string) bool {
	return x != nil && slices.ContainsFunc(expr.Vars(x), func(v *expr.Expr) bool { return slices.Contains(names, v.Name) })
}

// counted are the variables that hang on the tokens of a problem.
var counted = []string{"di", "dj", "ni", "nj"}

// coupled reports whether mask or bias hang on the tokens of a problem.
func (s *Site) coupled() bool { return mentions(s.Mask, counted...) || mentions(s.Bias, counted...) }

// checkPlaces wants no parameters of a bias where mask or bias hang on the tokens of a problem: a
// table of such a bias is one for each problem.
func (c *checker) checkPlaces(s *Spec) {
	for _, x := range s.attention() {
		if x.coupled() && len(x.Params) > 0 {
			c.report("E0348", c.at(x.path+".bias"), "%s.bias has parameters, and mask or bias read di, dj, ni or nj", x.path).
				WithHelp("write numbers in place of learned(…), or use i and j")
		}
	}
}

// vetDrawn finds random positions that nothing reads: neither an embedding, nor
// rotations, nor a bias. Masks and relative vectors go by token indices.
func (c *checker) vetDrawn(s *Spec) {
	if p := s.Model.Position; p.Kind != "random" || p.Inner != "none" {
		return
	}
	read := slices.ContainsFunc(s.Model.sites(), func(site *Site) bool {
		return site.Rotary != nil || mentions(site.Bias, "pi", "pj")
	})
	if !read {
		c.report("V012", c.at("model.embed.position"), "the drawn positions reach nothing").
			WithHelp("write a bias over pi and pj instead of i and j, or use rotary = rope, or another inner than none")
	}
}

// vetPadding finds masks and biases of a loop over lengths that are longer in
// training, where texts are padded, than in a test.
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
			c.report("V013", c.at("model.loop.self."+path), "I and J count the padding of training, where texts of several lengths are computed together").
				WithHelp("use i and j alone, or pad = zero(to = …) and no random_pad, so that all texts are equally long")
		}
	}
}
