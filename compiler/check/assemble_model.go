package check

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

func (c *checker) model() Model {
	ffn, head, norm, output := c.get("model.ffn"), c.get("model.head"), c.get("model.norm"), c.get("model.output")
	m := Model{
		Name:       c.modelName(),
		Width:      c.int("model.width"),
		Heads:      c.int("model.heads"),
		Act:        ffn.word,
		Hidden:     ffn.int("hidden"),
		Norm:       norm.word,
		NormEps:    norm.num64("eps"),
		NormPost:   norm.arg("place").is("post"),
		Dropout:    c.num("model.dropout"),
		Bias:       c.flag("model.bias"),
		HeadAct:    head.word,
		Head:       head.int("hidden"),
		Adapter:    output.arg("adapter").is("true"),
		Tied:       output.arg("tied").is("true"),
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
	} else { // its attention is checked and leaves no traces
		idle := c.separate()
		idle.site("model.encoder.self")
		c.list = append(c.list, idle.list...)
	}
	m.Decoder.Self = c.causalSite("model.decoder.self")
	m.Decoder.Cross = c.site("model.decoder.cross")
	return m
}

func (c *checker) modelName() string {
	if l := c.labels["model"]; l != nil {
		return l.Name
	}
	return "transformer"
}

func (c *checker) loop() *Loop {
	inject, state := c.get("model.loop.inject"), c.get("model.loop.state")
	l := &Loop{
		Layers: c.int("model.loop.layers"),
		Times:  c.int("model.loop.times"),
		Inject: "none",
		State:  state.word,
		Std:    state.num64("std"),
		Self:   c.causalSite("model.loop.self"),
		Pos:    c.place("model.loop"),
	}
	if inject.is("add") {
		l.Inject = inject.arg("before").word
	}
	return l
}

func (c *checker) stack(path string) Stack {
	return Stack{Layers: c.int(path + ".layers"), Times: c.int(path + ".times"), Pos: c.place(path)}
}

// causalSite is a site whose queries see nothing that comes after them.
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
	s.Shaw = c.get(path + ".relative").int("clip")
	if v := c.values[path+".mask"]; v != nil {
		s.Mask, _ = (&scope{checker: c, path: path + ".mask", mask: true}).condition(v.expr)
	}
	v := c.values[path+".bias"]
	if v == nil || v.is("none") {
		return s
	}
	if s.Bias = (&scope{checker: c, path: path + ".bias"}).number(v.expr); s.Bias == nil {
		return s
	}
	seen := make(map[string]bool)
	for _, e := range expr.Elems(s.Bias) {
		if !seen[e.Name] {
			seen[e.Name] = true
			s.Params = append(s.Params, *c.uses.params[e.Name])
		}
	}
	return s
}

// sitePlace is where a site was written, as a block or by its bias or mask.
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
