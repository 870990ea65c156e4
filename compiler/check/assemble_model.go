package check

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

func (c *checker) model() Model {
	ffn, head, norm, output := c.get("model.ffn"), c.get("model.head"), c.get("model.norm"), c.get("model.output")
	m := Model{
		Width:      c.int("model.width"),
		Heads:      c.int("model.heads"),
		HeadWidth:  c.int("model.head_width"),
		Act:        ffn.word,
		Hidden:     ffn.int("hidden"),
		FFNRank:    ffn.int("rank"),
		FFNInit:    c.initOf("model.ffn", ffn),
		FFNTies:    FFNTies{Out: ffn.arg("out").arg("of").word, Gate: ffn.arg("gate").is("value")},
		Norm:       norm.word,
		Gain:       norm.arg("gain").word,
		Unnormed:   missing([]string{"self", "cross", "ffn", "output"}, norm.arg("at").words),
		NormEps:    norm.num64("eps"),
		NormPost:   norm.arg("place").is("post"),
		Dropout:    c.num("model.dropout"),
		Bias:       c.flag("model.bias"),
		HeadAct:    head.word,
		Head:       head.int("hidden"),
		Adapter:    output.arg("adapter").is("true"),
		Tied:       output.arg("tied").is("true"),
		OutputRank: output.int("rank"),
		Output:     c.tableOf("model.output", output),
		Token:      c.tableOf("model.embed.token", c.get("model.embed.token")),
		Init:       c.word("model.init"),
		InitStd:    c.get("model.init").num64("std"),
		InitBiases: c.get("model.init").arg("biases").is("uniform"),
		TokenScale: c.get("model.embed.token").num64("scale"),
		Position:   c.position(),
		EmbedNorm:  c.word("model.embed.norm"),
		EmbedEps:   c.get("model.embed.norm").num64("eps"),
		Pos:        c.place("model"),
	}
	if c.looped() {
		m.Loop = c.loop()
		return m
	}
	m.Encoder, m.Decoder = c.stack("model.encoder"), c.stack("model.decoder")
	if m.Encoder.Layers > 0 {
		m.Encoder.Self = c.site("model.encoder.self")
	} else { // its attention is checked, but not part of the model
		idle := c.separate()
		idle.site("model.encoder.self")
		c.list = append(c.list, idle.list...)
	}
	m.Decoder.Self = c.causalSite("model.decoder.self")
	m.Decoder.Cross = c.site("model.decoder.cross")
	return m
}

// missing returns the elements of all that are not in some.
func missing(all, some []string) (out []string) {
	for _, x := range all {
		if !slices.Contains(some, x) {
			out = append(out, x)
		}
	}
	return out
}

func (c *checker) loop() *Loop {
	inject, state := c.get("model.decoder_only.inject"), c.get("model.decoder_only.state")
	l := &Loop{
		Layers: c.int("model.decoder_only.layers"),
		Times:  c.int("model.decoder_only.times"),
		Share:  c.share("model.decoder_only"),
		Inject: "none",
		State:  state.word,
		Std:    state.num64("std"),
		Self:   c.causalSite("model.decoder_only.self"),
		Pos:    c.place("model.decoder_only"),
	}
	if inject.is("add") {
		l.Inject = inject.arg("before").word
	}
	return l
}

func (c *checker) stack(path string) Stack {
	return Stack{Layers: c.int(path + ".layers"), Times: c.int(path + ".times"), Share: c.share(path), Pos: c.place(path)}
}

// share returns which parameters the layers of a stack share.
func (c *checker) share(path string) Share {
	v, layers := c.get(path+".share"), c.int(path+".layers")
	if v.is("none") {
		return Share{}
	}
	s := Share{Of: v.word, Group: v.int("group")}
	if s.Group > 0 && layers%s.Group != 0 {
		c.report("E0346", c.at(path+".share"), "%d layers do not divide into groups of %d", layers, s.Group).WithHelp("use a divisor of the layers, or group = all")
	}
	return s
}

// causalSite returns a site whose queries see no later keys.
func (c *checker) causalSite(path string) *Site {
	if s := c.sites[path]; s != nil {
		return s
	}
	s := c.site(path)
	causal := expr.New(expr.Le, expr.NewVar("j", expr.I32), expr.NewVar("i", expr.I32))
	if s.Mask != nil {
		causal = expr.New(expr.And, causal, s.Mask)
	}
	s.Mask = causal
	return s
}

func (c *checker) site(path string) *Site {
	if s := c.sites[path]; s != nil {
		return s
	}
	s := &Site{Scale: c.num(path + ".scale"), Dropout: c.num(path + ".dropout"), Pos: c.sitePlace(path)}
	c.sites[path] = s
	if v := c.get(path + ".rotary"); v.is("rope") {
		s.Rotary = &Rotary{Base: v.num64("base"), Fraction: v.num64("fraction"), Input: v.arg("of").is("input")}
	}
	if v := c.values[path+".scale"]; v == nil || v.is("auto") {
		s.Scale = 1 / math.Sqrt(float64(max(c.headUnits(), 1)))
	}
	s.Weights = c.weights(path)
	if v := c.get(path + ".qk_norm"); v.is("rmsnorm") {
		s.QKNorm = &QKNorm{Eps: v.num64("eps"), Gain: v.arg("gain").word}
	}
	if v := c.get(path + ".key_heads"); !v.is("auto") {
		s.KeyHeads = c.int(path + ".key_heads")
	}
	s.Shaw = c.get(path + ".relative").int("clip")
	if v := c.values[path+".mask"]; v != nil {
		s.Mask, _ = (&scope{checker: c, path: path + ".mask", mask: true}).condition(v.expr)
	}
	v := c.values[path+".bias"]
	if v == nil || v.expr == nil { // a word
		return s
	}
	if s.Bias = (&scope{checker: c, path: path + ".bias"}).number(v.expr); s.Bias != nil {
		s.Params = c.paramsOf(s.Bias)
	}
	return s
}

// paramsOf lists the parameters of an expression in order of first use.
func (c *checker) paramsOf(x *expr.Expr) (out []BiasParam) {
	seen := make(map[string]bool)
	for _, e := range expr.Elems(x) {
		if !seen[e.Name] {
			seen[e.Name] = true
			out = append(out, *c.uses.params[e.Name])
		}
	}
	return out
}

// sitePlace returns the place of a site's block, or of its mask or bias.
func (c *checker) sitePlace(path string) diag.Pos {
	if _, ok := c.places[path]; ok {
		return c.place(path)
	}
	for _, attr := range []string{".mask", ".bias"} {
		if set := c.settings[path+attr]; set != nil {
			return set.name.Start
		}
	}
	return c.place(path)
}
