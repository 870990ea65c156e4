// Package model turns a checked spec into tensor IR functions and the programs
// that call them. It is the only place that knows what a transformer is. It
// comes after package check; packages grad, opt and lower take its output.
//
// The encoder-decoder is the one of Duan, Shi and Xu, "Attention Bias as an
// Inductive Bias" (arXiv:2310.11984), section 2 and appendix B, and of its
// released code: token embeddings times a scale plus positions, an identity encoder or a stack of
// encoder layers, post-norm decoder layers, a final norm, an untied output.
//
// The loop (loop.go) is the decoder-only model of McLeish et al., "Transformers Can
// Do Arithmetic with the Right Embeddings" (arXiv:2405.17399) section 3 and its
// released code.
package model

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
)

// Names of the buffers that a trainer fills or reads.
const (
	SourceTokens = "source_tokens" // I32 [B, S]; encoder-decoders have it
	TargetTokens = "target_tokens" // I32 [B, T]
	Labels       = "labels"        // I32 [B, T], -1 where there is no loss
	Loss         = "loss"          // F32 [B, T]
	Pred         = "pred"          // I32 [B, T]
	Self         = "self"          // F32 [B, H, T, T]; attention leaves it
	Cross        = "cross"         // F32 [B, H, T, S]; attention leaves it
)

// Build makes the functions, parameters and programs of a spec.
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

// A mode is what a function is built for.
type mode uint8

const (
	training  mode = iota // dropout, all rows
	teacher               // no dropout, all rows
	capturing             // teacher, for the attention of a layer
	decoding              // no dropout, rows from P on, keys and values in caches
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
		m.stack("loop", s.Loop.Layers, slices.Concat(m.site("self", s.Loop.Self, gain), m.feedForward(gain)))
		m.group("head", m.output(gain))
		m.group(plan.Shared, m.shared(gain, s.Loop.Self))
		m.group(plan.Fixed, m.fixed())
		return
	}
	enc, dec := s.Encoder, s.Decoder
	inner, outer := deepEncoderDecoder(depth(enc), depth(dec))
	if enc.Layers > 0 {
		m.stack("encoder", enc.Layers, slices.Concat(m.site("self", enc.Self, inner), m.feedForward(inner)))
		m.group("encoder_norm", m.norms("norm", s.Norm))
	}
	m.stack("decoder", dec.Layers, slices.Concat(m.site("self", dec.Self, outer), m.site("cross", dec.Cross, outer), m.feedForward(outer)))
	m.group("head", m.output(outer))
	m.group(plan.Shared, m.shared(outer, enc.Self, dec.Self, dec.Cross))
	m.group(plan.Fixed, m.fixed())
}

// stack adds the parameters of so many layers.
func (m *builder) stack(name string, layers int, ps []plan.Param) {
	m.plan.Groups = append(m.plan.Groups, &plan.Group{Name: name, Stack: true, Layers: layers, Params: ps})
}

// group adds parameters that the model has once, if there are any.
func (m *builder) group(name string, ps []plan.Param) {
	if len(ps) > 0 {
		m.plan.Groups = append(m.plan.Groups, &plan.Group{Name: name, Layers: 1, Params: ps})
	}
}

// tokens is the token table, which a tied output shares.
func (m *builder) tokens() plan.Param { return m.table("token", m.spec.Task.Vocab()) }

// embedding lists the tables and the norm of the embedding.
func (m *builder) embedding() []plan.Param {
	s := m.spec.Model
	var ps []plan.Param
	if !s.Tied {
		ps = append(ps, m.tokens())
	}
	if rows := s.Position.Rows(); rows > 0 && !s.Position.Fixed {
		ps = append(ps, m.table("position", rows))
	}
	if s.EmbedNorm == "layernorm" || s.EmbedNorm == rmsnorm {
		ps = append(ps, m.norms("norm", s.EmbedNorm)...)
	}
	return ps
}

// output lists what is between the last layer and the logits: a gated layer, the
// norm, an adapter, the output matrix.
func (m *builder) output(gain float64) []plan.Param {
	s := m.spec.Model
	var ps []plan.Param
	if s.Head > 0 {
		ps = m.ffn(s.HeadAct, s.Head, gain)
	}
	ps = append(ps, m.norms("norm", s.Norm)...)
	if s.Adapter {
		ps = append(ps, m.linear("adapter", s.Width, s.Width, m.initial(s.Width, s.Width, gain))...)
	}
	vocab := m.spec.Task.Vocab()
	out := m.linear("out", s.Width, vocab, m.initial(s.Width, vocab, gain))
	out[0].Matrix = false
	if s.Tied {
		out = out[1:] // its matrix is the token table
	}
	return append(ps, out...)
}

// shared lists what several groups use: a tied token table, and the parameters that the
// whole model has once, each once.
func (m *builder) shared(gain float64, sites ...*check.Site) []plan.Param {
	var ps []plan.Param
	if m.spec.Model.Tied {
		ps = append(ps, m.tokens())
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

// fixed lists what is not trained: a position table that stays as it was drawn, and
// the parameters that are given.
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

// biasParam is a learned parameter of a bias; site is where a layer has its own.
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

// site lists the parameters of one attention site with its residual norm. By
// Glorot and Bengio's rule the in-projections start as parts of one packed [D, 3D]
// matrix, as in the code of arXiv:2310.11984; only deep gains tell queries and keys
// from the rest.
func (m *builder) site(name string, s *check.Site, gain float64) []plan.Param {
	d := m.spec.Model.Width
	in := map[string]plan.Init{"q": m.initial(d, d, 1), "k": m.initial(d, d, 1), "v": m.initial(d, d, gain)}
	var ps []plan.Param
	for _, part := range []string{"q", "k", "v"} {
		init := in[part]
		if m.spec.Model.Init == xavier {
			init = m.initial(d, 3*d, 1)
		}
		ps = append(ps, m.affine(name+"."+part, d, d, init, plan.Init{Kind: "const"})...)
	}
	ps = append(ps, m.affine(name+".o", d, d, m.initial(d, d, gain), plan.Init{Kind: "const"})...)
	if s.Shaw > 0 {
		rows, head := 2*s.Shaw+1, d/m.spec.Model.Heads
		ps = append(ps, plan.Param{Name: name + ".relative", Shape: []int{rows, head}, Init: m.initial(rows, head, 1), Decay: true})
	}
	for _, param := range s.Params {
		if !param.Shared && !param.Fixed() {
			ps = append(ps, m.biasParam(param, name, gain))
		}
	}
	return append(ps, m.norms(name+".norm", m.spec.Model.Norm)...)
}

func (m *builder) feedForward(gain float64) []plan.Param {
	s := m.spec.Model
	return append(m.ffn(s.Act, s.Hidden, gain), m.norms("ffn.norm", s.Norm)...)
}

// ffn lists the matrices of a feed-forward layer with so many hidden units, before the
// gate if it has one. Value and gate start as halves of one packed matrix.
func (m *builder) ffn(act string, hidden int, gain float64) []plan.Param {
	d := m.spec.Model.Width
	in := m.initial(d, hidden, gain)
	if !check.Activations[act].Gated {
		return append(m.linear("ffn.in", d, hidden, in), m.linear("ffn.out", hidden, d, m.initial(hidden, d, gain))...)
	}
	return slices.Concat(m.linear("ffn.in.u", d, hidden/2, in), m.linear("ffn.in.g", d, hidden/2, in),
		m.linear("ffn.out", hidden/2, d, m.initial(hidden/2, d, gain)))
}

// linear lists the parameters of a linear layer outside of attention.
func (m *builder) linear(name string, in, out int, init plan.Init) []plan.Param {
	return m.affine(name, in, out, init, m.initialBias(in))
}

// affine lists a matrix and, where linear layers have them, its biases.
func (m *builder) affine(name string, in, out int, weights, biases plan.Init) []plan.Param {
	matrixwise := optimizers[m.spec.Train.Optimizer].matrix != nil
	ps := []plan.Param{{Name: name + ".w", Shape: []int{in, out}, Init: weights, Decay: true, Matrix: matrixwise}}
	if m.spec.Model.Bias {
		ps = append(ps, plan.Param{Name: name + ".b", Shape: []int{out}, Init: biases})
	}
	return ps
}

// table is an embedding of so many rows.
func (m *builder) table(name string, rows int) plan.Param {
	d := m.spec.Model.Width
	init := m.initial(rows, d, 1)
	if m.spec.Model.Init == deepnorm {
		init = plan.Init{Kind: "normal", A: 1 / math.Sqrt(float64(d))}
	}
	return plan.Param{Name: name, Shape: []int{rows, d}, Init: init, Decay: true}
}

// norms lists the parameters of a norm.
func (m *builder) norms(name, kind string) []plan.Param {
	d := m.spec.Model.Width
	ps := []plan.Param{{Name: name + ".gamma", Shape: []int{d}, Init: plan.Init{Kind: "const", A: 1}}}
	if kind != rmsnorm {
		ps = append(ps, plan.Param{Name: name + ".beta", Shape: []int{d}, Init: plan.Init{Kind: "const"}})
	}
	return ps
}
