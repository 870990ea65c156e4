// Package model turns a checked spec into tensor IR functions and the programs that call
// them. It is the only package that knows transformers. It runs after package check and
// before packages grad, opt and lower.
//
// The encoder-decoder follows Duan, Shi and Xu, "Attention Bias as an Inductive Bias"
// (arXiv:2310.11984), section 2 and appendix B, and its released code. It has scaled
// token embeddings plus positions, an encoder (the identity or a stack of layers),
// post-norm decoder layers, a final norm and an untied output.
//
// The loop (loop.go) is the decoder-only model of McLeish et al., "Transformers Can Do
// Arithmetic with the Right Embeddings" (arXiv:2405.17399), section 3, and its released
// code.
package model

import (
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// Names of the buffers that a trainer fills or reads.
const (
	SourceTokens = "source_tokens" // I32 [B, S]; only in encoder-decoders
	TargetTokens = "target_tokens" // I32 [B, T]
	Labels       = "labels"        // I32 [B, T], -1 for rows without a loss
	Loss         = "loss"          // F32 [B, T]
	Pred         = "pred"          // I32 [B, T]
	Logits       = "logits"        // F32 [B, T, tokens], of a text
	Self         = "self"          // F32 [B, H, T, T], from the program attention
	Cross        = "cross"         // F32 [B, H, T, S], from the program attention
)

// Build returns the functions, parameters and programs of a spec. An error is a bug in
// the compiler.
func Build(spec *check.Spec) (*plan.Plan, error) {
	m := &builder{spec: spec, plan: &plan.Plan{Varies: spec.Task.Sequence && !spec.Task.Padded}}
	m.groups()
	var err error
	if m.plan.Programs, err = m.gradients(); err != nil {
		return nil, err
	}
	programs := []func() (*plan.Program, error){m.forward, m.encode, m.decode}
	if spec.Capture != nil {
		programs = append(programs, m.attention)
	}
	for _, build := range programs {
		p, err := build()
		if err != nil {
			return nil, err
		}
		m.plan.Programs = append(m.plan.Programs, p)
	}
	if err := m.optimizer(); err != nil {
		return nil, err
	}
	m.plan.NumParams()
	return m.plan, nil
}

// A mode is the purpose of a function.
type mode uint8

const (
	training  mode = iota // dropout, all rows
	teacher               // no dropout, all rows
	capturing             // teacher, and stores the attention of a layer
	decoding              // no dropout, rows from P on, with caches of keys and values
)

type builder struct {
	spec *check.Spec
	plan *plan.Plan
}

// groups declares the parameters. Matrices are [in, out].
func (m *builder) groups() {
	s := m.spec.Model
	m.group("embed", m.embedding())
	if s.Loop != nil {
		gain := deepDecoder(s.Loop.Layers * s.Loop.Times)
		m.stack("loop", s.Loop.Layers, s.Loop.Share, slices.Concat(m.site("self", s.Loop.Self, gain), m.feedForward(gain)))
		m.group("head", m.output(gain))
		m.group(plan.Shared, m.shared(gain, s.Loop.Self))
		m.group(plan.Fixed, m.fixed())
		return
	}
	enc, dec := s.Encoder, s.Decoder
	inner, outer := deepEncoderDecoder(depth(enc), depth(dec))
	if enc.Layers > 0 {
		m.stack("encoder", enc.Layers, enc.Share, slices.Concat(m.site("self", enc.Self, inner), m.feedForward(inner)))
		m.group("encoder_norm", m.norms("norm", s.Norm))
	}
	m.stack("decoder", dec.Layers, dec.Share, slices.Concat(m.site("self", dec.Self, outer), m.site("cross", dec.Cross, outer), m.feedForward(outer)))
	m.group("head", m.output(outer))
	m.group(plan.Shared, m.shared(outer, enc.Self, dec.Self, dec.Cross))
	m.group(plan.Fixed, m.fixed())
}

// stack adds a group of parameters per layer, and a group that layers share.
func (m *builder) stack(name string, layers int, share check.Share, ps []plan.Param) {
	var own, common []plan.Param
	for _, p := range ps {
		if shared(share.Of, p.Name) {
			common = append(common, p)
		} else {
			own = append(own, p)
		}
	}
	groups := []*plan.Group{{Name: name, Stack: true, Layers: layers, Params: own}}
	if span := share.Span(layers); len(common) > 0 {
		groups = append(groups, &plan.Group{Name: plan.Common(name), Stack: true, Layers: layers / span, Span: span, Params: common})
	}
	if len(own) == 0 && len(groups) > 1 {
		groups = groups[1:]
		groups[0].Name = name
	}
	m.plan.Groups = append(m.plan.Groups, groups...)
}

// shared reports whether a parameter is common to layers that share the given part.
func shared(of, param string) bool {
	part, rest, _ := strings.Cut(param, ".")
	norm := strings.HasPrefix(rest, "norm.")
	switch of {
	case "all":
		return true
	case "attention":
		return (part == "self" || part == "cross") && !norm
	case "ffn":
		return part == "ffn" && !norm
	}
	return false
}

// group adds parameters that the model has once, if there are any.
func (m *builder) group(name string, ps []plan.Param) {
	if len(ps) > 0 {
		m.plan.Groups = append(m.plan.Groups, &plan.Group{Name: name, Layers: 1, Params: ps})
	}
}

// tokens returns the token table, which a tied output shares.
func (m *builder) tokens() plan.Param { return m.table("token", m.spec.Task.Vocab()) }

// embedding lists the tables and the norm of the embedding.
func (m *builder) embedding() []plan.Param {
	s := m.spec.Model
	var ps []plan.Param
	if !s.Tied && s.Token == nil {
		ps = append(ps, m.tokens())
	}
	if rows := s.Position.Rows(); rows > 0 && !s.Position.Fixed && s.Position.Value == nil {
		ps = append(ps, m.table("position", rows))
	}
	if s.EmbedNorm == "layernorm" || s.EmbedNorm == rmsnorm {
		ps = append(ps, gains("norm", s.EmbedNorm, s.Width)...)
	}
	return ps
}

// output lists the parameters between the last layer and the logits: a gated layer, the
// norm, an adapter, the output matrix.
func (m *builder) output(gain float64) []plan.Param {
	s := m.spec.Model
	var ps []plan.Param
	if s.Head > 0 {
		ps = m.ffn(s.HeadAct, s.Head, check.Weight{}, check.FFNTies{}, gain)
	}
	ps = append(ps, m.norms("norm", s.Norm)...)
	if s.Adapter {
		ps = append(ps, m.linear("adapter", check.Weight{}, s.Width, s.Width, func(in, out int) plan.Init { return m.initial(in, out, gain) })...)
	}
	return append(ps, m.outputMatrix(gain)...)
}

// outputMatrix lists the parameters of the projection to logits. If a table of tokens is
// the matrix, only biases remain.
func (m *builder) outputMatrix(gain float64) []plan.Param {
	s, vocab := m.spec.Model, m.said()
	made := m.matrix("out", check.Weight{Rank: s.OutputRank, None: s.Tied || s.Output != nil}, s.Width, vocab, func(in, out int) plan.Init { return m.initial(in, out, gain) })
	for i := range made {
		made[i].Matrix = false
	}
	return append(made, m.offsets("out", vocab, m.initialBias(s.Width))...)
}

// said returns the number of tokens that have a logit. A tied learned table has one for
// each token.
func (m *builder) said() int {
	if m.spec.Model.Tied && m.spec.Model.Token == nil {
		return m.spec.Task.Vocab()
	}
	return m.spec.Task.Said()
}

// shared lists the parameters that several groups use: a tied token table, shared gains,
// and each shared parameter of a bias or table once.
func (m *builder) shared(gain float64, sites ...*check.Site) []plan.Param {
	var ps []plan.Param
	if m.spec.Model.Tied && m.spec.Model.Token == nil {
		ps = append(ps, m.tokens())
	}
	if m.spec.Model.Gain == "shared" {
		ps = append(ps, gains(sharedNorm, m.spec.Model.Norm, m.spec.Model.Width)...)
	}
	for _, u := range m.tableUses() {
		for _, param := range u.table.Params {
			p := m.biasParam(param, "", gain)
			p.Name = param.Name
			if !slices.ContainsFunc(ps, func(q plan.Param) bool { return q.Name == p.Name }) {
				ps = append(ps, p)
			}
		}
	}
	for _, s := range sites {
		if s == nil {
			continue
		}
		for _, param := range s.Params {
			p := m.biasParam(param, "", gain)
			known := slices.ContainsFunc(ps, func(q plan.Param) bool { return q.Name == p.Name })
			if param.Shared && !known {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// fixed lists the parameters that are not trained: a position table that keeps its
// initial values, and parameters from a file or a stage.
func (m *builder) fixed() []plan.Param {
	var ps []plan.Param
	if m.spec.Model.Position.Fixed {
		p := m.table("position", m.spec.Model.Position.Rows())
		p.Fixed = true
		ps = append(ps, p)
	}
	for _, param := range m.spec.Given() {
		ps = append(ps, plan.Param{Name: param.Name, Shape: param.Shape, Init: plan.Init{Kind: "given"}, Fixed: true})
	}
	return ps
}

// biasParam returns a parameter of a bias. site is the site of a layer's own parameter.
func (m *builder) biasParam(param check.BiasParam, site string, gain float64) plan.Param {
	p := plan.Param{Name: biasParamName(param, site), Shape: param.Shape, Init: param.Init, Decay: param.Decay}
	if param.Init.Kind == "xavier" {
		p.Init = m.initial(int(param.Init.A), int(param.Init.B), gain)
	}
	if param.Min != nil {
		p.Min = new(float32(*param.Min))
	}
	return p
}

func biasParamName(param check.BiasParam, site string) string {
	switch {
	case param.Fixed():
		return param.Name
	case param.Shared:
		site = plan.Shared
	}
	return site + "." + param.Name
}

// site lists the parameters of an attention site and its residual norm. With xavier the
// in-projections start as parts of one packed [D, 3D] matrix, as in the code of
// arXiv:2310.11984, or narrower if there are fewer heads of keys. Only deepnorm
// distinguishes queries and keys from the rest.
func (m *builder) site(name string, s *check.Site, gain float64) []plan.Param {
	inner, keys := m.spec.Model.Inner(), m.spec.Model.KeyInner(s)
	var ps []plan.Param
	for _, part := range []string{"q", "k", "v", "o"} {
		w, init := *s.Weights.Of(part), m.initialOf(part, inner+2*keys, gain)
		in, out := m.spec.Model.Projection(s, part)
		ps = append(ps, m.matrix(name+"."+part, w, in, out, init)...)
		if !w.None {
			ps = append(ps, m.offsets(name+"."+part, out, plan.Init{Kind: "const"})...)
		}
	}
	if n := s.QKNorm; n != nil && n.Gain != "none" {
		if n.Gain == "shared" {
			ps = append(ps, gains(name+".qk.norm", rmsnorm, inner)...)
		} else {
			ps = append(ps, gains(name+".q.norm", rmsnorm, inner)...)
			ps = append(ps, gains(name+".k.norm", rmsnorm, keys)...)
		}
	}
	if s.Shaw > 0 {
		rows, head := 2*s.Shaw+1, m.spec.Model.HeadUnits()
		ps = append(ps, plan.Param{Name: name + ".relative", Shape: []int{rows, head}, Init: m.initial(rows, head, 1), Decay: true})
	}
	for _, param := range s.Params {
		if !param.Shared && !param.Fixed() {
			ps = append(ps, m.biasParam(param, name, gain))
		}
	}
	return append(ps, m.norms(name+".norm", m.spec.Model.Norm)...)
}

// initialOf returns the initialization of an attention's projection. packed is the number
// of columns of all in-projections.
func (m *builder) initialOf(part string, packed int, gain float64) func(in, out int) plan.Init {
	return func(in, out int) plan.Init {
		switch {
		case part == "o":
			return m.initial(in, out, gain)
		case m.spec.Model.Init == xavier:
			return m.initial(in, packed, 1)
		case part == "v":
			return m.initial(in, out, gain)
		}
		return m.initial(in, out, 1)
	}
}

func (m *builder) feedForward(gain float64) []plan.Param {
	s := m.spec.Model
	return append(m.ffn(s.Act, s.Hidden, check.Weight{Rank: s.FFNRank, Init: s.FFNInit}, s.FFNTies, gain), m.norms("ffn.norm", s.Norm)...)
}

// ffn lists the matrices of a feed-forward layer. hidden counts the units before the
// gate, if there is one. Value and gate start as halves of one packed matrix.
func (m *builder) ffn(act string, hidden int, w check.Weight, ties check.FFNTies, gain float64) []plan.Param {
	d, out, gate := m.spec.Model.Width, w, w
	if ties.Out != "" {
		out = check.Weight{Of: ties.Out}
	}
	if ties.Gate {
		gate = check.Weight{Of: "value"}
	}
	into := func(in, _ int) plan.Init { return m.initial(in, hidden, gain) }
	if w.Rank > 0 {
		into = func(in, out int) plan.Init { return m.initial(in, out, gain) }
	}
	outOf := func(in, out int) plan.Init { return m.initial(in, out, gain) }
	if !check.Activations[act].Gated {
		return append(m.linear("ffn.in", w, d, hidden, into), m.linear("ffn.out", out, hidden, d, outOf)...)
	}
	return slices.Concat(m.linear("ffn.in.u", w, d, hidden/2, into), m.linear("ffn.in.g", gate, d, hidden/2, into),
		m.linear("ffn.out", out, hidden/2, d, outOf))
}

// linear lists the parameters of a linear layer outside of attention.
func (m *builder) linear(name string, w check.Weight, in, out int, init func(in, out int) plan.Init) []plan.Param {
	return append(m.matrix(name, w, in, out, init), m.offsets(name, out, m.initialBias(in))...)
}

// matrix lists the parameters of a matrix: itself, two narrow ones, a scalar, or none.
func (m *builder) matrix(name string, w check.Weight, in, out int, init func(in, out int) plan.Init) []plan.Param {
	matrixwise := optimizers[m.spec.Train.Optimizer].matrix != nil
	param := func(name string, in, out int) plan.Param {
		p := plan.Param{Name: name, Shape: []int{in, out}, Decay: true, Matrix: matrixwise}
		if p.Init = init(in, out); w.Init != nil {
			p.Init = *w.Init
		}
		return p
	}
	switch {
	case w.None || w.Of != "":
		return nil
	case w.Scalar:
		p := param(name+".scalar", 1, 1)
		p.Shape, p.Matrix = nil, false
		return []plan.Param{p}
	case w.Rank > 0:
		return []plan.Param{param(name+".down.w", in, w.Rank), param(name+".up.w", w.Rank, out)}
	}
	return []plan.Param{param(name+".w", in, out)}
}

// offsets lists the biases of a linear layer, if the model has any.
func (m *builder) offsets(name string, out int, init plan.Init) []plan.Param {
	if !m.spec.Model.Bias {
		return nil
	}
	return []plan.Param{{Name: name + ".b", Shape: []int{out}, Init: init}}
}

// table returns an embedding with the given number of rows.
func (m *builder) table(name string, rows int) plan.Param {
	d := m.spec.Model.Width
	init := m.initial(rows, d, 1)
	if m.spec.Model.Init == deepnorm {
		init = plan.Init{Kind: "normal", A: 1 / math.Sqrt(float64(d))}
	}
	return plan.Param{Name: name, Shape: []int{rows, d}, Init: init, Decay: true}
}

// sharedNorm names the gains that all norms share.
const sharedNorm = "norms"

// norms lists the parameters of a norm, if it has its own.
func (m *builder) norms(name, kind string) []plan.Param {
	if g := m.spec.Model.Gain; g == "shared" || g == "none" || !m.spec.Model.Normed(normedPart(name)) {
		return nil
	}
	return gains(name, kind, m.spec.Model.Width)
}

// normedPart returns the part of the model that a norm belongs to.
func normedPart(name string) string {
	part, _, ok := strings.Cut(name, ".")
	if !ok {
		return "output"
	}
	return part
}

// gains lists the gains of a norm and, for a layer norm, its offsets.
func gains(name, kind string, units int) []plan.Param {
	ps := []plan.Param{{Name: name + ".gamma", Shape: []int{units}, Init: plan.Init{Kind: "const", A: 1}}}
	if kind != rmsnorm {
		ps = append(ps, plan.Param{Name: name + ".beta", Shape: []int{units}, Init: plan.Init{Kind: "const"}})
	}
	return ps
}
