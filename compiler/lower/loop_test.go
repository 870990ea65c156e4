package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
)

// loops are tiny decoder-only models.
var loops = []variant{
	{"loop: injection before the block, from noise, pre-norm, gelu, biases, dropout", func(s *check.Spec) {
		looped(s, 2, 3)
		s.Model.Loop.Inject, s.Model.Loop.State, s.Model.Loop.Std = "block", "normal", 0.5
		s.Model.NormPost, s.Model.Act, s.Model.Init = false, "gelu", "normal"
	}},
	{"loop: injection before every layer, a head, an adapter, abacus, rotary", func(s *check.Spec) {
		looped(s, 2, 2)
		s.Model.Loop.Inject, s.Model.Init = "every_layer", "deepnorm"
		s.Model.Act, s.Model.HeadAct, s.Model.Head, s.Model.Adapter = "geglu", "geglu", 6, true
		s.Model.EmbedNorm, s.Model.EmbedEps = "layernorm", 1e-12
		s.Model.Position = check.Position{Kind: "abacus", MaxOffset: 3, Table: 12}
		s.Model.Loop.Self.Rotary = &check.Rotary{Base: 100, Fraction: 1}
		s.Model.Bias, s.Model.Dropout, s.Model.Loop.Self.Dropout = false, 0, 0
	}},
	{"loop: no injection, tied output, rmsnorm, learned positions and bias", func(s *check.Spec) {
		looped(s, 1, 2)
		s.Model.Norm, s.Model.Tied, s.Model.EmbedNorm = "rmsnorm", true, "rmsnorm"
		s.Model.Position = check.Position{Kind: "learned", Max: 12}
		s.Model.Loop.Self.Bias, s.Model.Loop.Self.Params = kerple()
		s.Model.Dropout, s.Model.Loop.Self.Dropout = 0, 0
	}},
}

// looped makes the model of s a loop whose gradients pass through all its runs.
func looped(s *check.Spec, layers, times int) {
	causal := expr.New(expr.Le, ivar("j"), ivar("i"))
	s.Task.Sequence, s.Task.Kind, s.Task.DigitsLo, s.Task.DigitsHi = true, "addition", 1, 20
	s.Model.Encoder, s.Model.Decoder = check.Stack{}, check.Stack{}
	s.Model.Loop = &check.Loop{Layers: layers, Times: times, Inject: "none", State: "embed", Self: &check.Site{Mask: causal, Scale: 0.5, Dropout: 0.25}}
	s.Train.Backprop, s.Train.Batch = times, 8
}

// A launch is one run of an entry with its results.
type launch struct {
	*lower.Machine
	e *lower.Entry
	s kernel.Scalars
}

// text is two problems of 7 tokens and their labels.
var text = [2][]int32{{6, 5, 14, 7, 16, 13, 3, 5, 14, 7, 16, 5, 5, 3}, {-1, -1, -1, -1, 13, 5, 3, -1, -1, -1, 5, 5, 3, -1}}

func (m launch) run(t *testing.T, s kernel.Scalars) launch {
	t.Helper()
	m.s = kernel.Scalars{"B": 2, "T": 7, "S": 0, "C": 7, "P": 0, "step": 3, "example": 8, "seed0": 9, "seed1": 8, "scale": 0.25}
	for k, x := range s {
		m.s[k] = x
	}
	m.Prepare(m.e, m.s)
	copy(m.Ints(m.e, model.TargetTokens, 0), text[0])
	if m.e.Memory.Buffer(model.SourceTokens) != nil {
		copy(m.Ints(m.e, model.SourceTokens, 0), text[0])
	}
	if m.e.Name == "gradients" {
		copy(m.Ints(m.e, model.Labels, 0), text[1])
	}
	if err := m.Run(m.e, m.s); err != nil {
		t.Fatal(err)
	}
	return m
}

func launchOf(p *lower.Program, entry string, params []float32) launch {
	m := launch{Machine: lower.NewMachine(p), e: p.Entry(entry)}
	copy(m.Params, params)
	return m
}

// randomParams returns parameters near 0, gains near 1, and nonnegative parameters of biases.
func randomParams(p *lower.Program) []float32 {
	rng := rand.New(rand.NewPCG(5, 6))
	out := make([]float32, p.NumParams)
	for i := range out {
		out[i] = float32(0.3 * rng.NormFloat64())
	}
	for _, g := range p.Groups {
		for l := range g.Layers {
			for _, param := range g.Params {
				off, _ := g.ParamOff(param.Name)
				ps := out[g.Off+l*g.Stride+off:][:param.Elems()]
				for i, x := range ps {
					switch {
					case param.Init.Kind == "const" && param.Init.A == 1:
						ps[i]++
					case param.Init.Kind == "uniform" && param.Init.A > 0:
						ps[i] = max(x, -x)
					}
				}
			}
		}
	}
	return out
}

// TestLoopIsItsUnrolledStack compares two layers run twice with four layers, whose last two
// equal the first two. The results must have the same bits. A layer's gradient is the sum over
// both copies, or the last copy's alone if the first run has no gradient.
func TestLoopIsItsUnrolledStack(t *testing.T) {
	for _, state := range []check.Loop{{State: "embed"}, {State: "normal", Std: 0.5}, {State: "normal"}} {
		t.Run(fmt.Sprintf("state %s %g", state.State, state.Std), func(t *testing.T) {
			with := func(layers, times int) *lower.Program {
				return build(t, variant{"", func(s *check.Spec) {
					looped(s, layers, times)
					s.Model.Loop.Inject, s.Model.Loop.State, s.Model.Loop.Std, s.Model.Act = "every_layer", state.State, state.Std, "gelu"
					s.Model.Dropout, s.Model.Loop.Self.Dropout = 0, 0
				}})
			}
			twice, once := with(2, 2), with(4, 1)
			params := randomParams(twice)
			embed, loop, tail := split(twice, params)
			far := launchOf(once, "gradients", slices.Concat(embed, loop, loop, tail)).run(t, kernel.Scalars{"WithGrad": 1})
			wantEmbed, wantLoop, wantTail := split(once, far.Grads)
			first, last := wantLoop[:len(loop)], wantLoop[len(loop):]

			kept := launchOf(twice, "gradients", params).run(t, kernel.Scalars{"WithGrad": 2})
			gotEmbed, gotLoop, gotTail := split(twice, kept.Grads)
			sameBits(t, "loss", kept.Floats(kept.e, model.Loss, 0), far.Floats(far.e, model.Loss, 0))
			sameBits(t, "gradient of the embedding", gotEmbed, wantEmbed)
			sameBits(t, "gradient of the head", gotTail, wantTail)
			for i := range gotLoop {
				if want := float64(first[i]) + float64(last[i]); math.Abs(float64(gotLoop[i])-want) > 1e-5 {
					t.Fatalf("gradient %d of the loop is %g, want %g", i, gotLoop[i], want)
				}
			}

			free := launchOf(twice, "gradients", params).run(t, kernel.Scalars{"NoGrad": 1, "WithGrad": 1})
			gotEmbed, gotLoop, gotTail = split(twice, free.Grads)
			sameBits(t, "loss after a run without gradients", free.Floats(free.e, model.Loss, 0), far.Floats(far.e, model.Loss, 0))
			sameBits(t, "gradient of the head after a run without gradients", gotTail, wantTail)
			sameBits(t, "gradient of the loop after a run without gradients", gotLoop, last)
			if slices.Equal(gotEmbed, wantEmbed) || slices.Max(gotEmbed) == 0 {
				t.Error("the embedding should have the gradient of one injection a layer less")
			}
			slopes(t, launchOf(once, "gradients", far.Params), far.s, wantEmbed)

			more := launchOf(twice, "forward", params).run(t, kernel.Scalars{"Times": 2})
			if want := far.Ints(far.e, model.Pred, 0); state.Std == 0 && !slices.Equal(more.Ints(more.e, model.Pred, 0), want) {
				t.Errorf("the forward pass predicts %v, want %v", more.Ints(more.e, model.Pred, 0), want)
			}
		})
	}
}

// TestStateOfZeros wants a loop to ignore the text if it starts from noise of deviation 0 and
// nothing is injected.
func TestStateOfZeros(t *testing.T) {
	for _, state := range []string{"normal", "embed"} {
		p := build(t, variant{"", func(s *check.Spec) {
			looped(s, 1, 2)
			s.Model.Loop.State = state
		}})
		m := launchOf(p, "gradients", randomParams(p)).run(t, kernel.Scalars{"WithGrad": 2})
		embed, loop, _ := split(p, m.Grads)
		if seen := slices.Max(embed) > 0; seen != (state == "embed") {
			t.Errorf("state %s: the embedding has a gradient: %v", state, seen)
		}
		if slices.Max(loop) == 0 {
			t.Errorf("state %s: the loop has no gradient", state)
		}
	}
}

// slopes compares gradients of a used token's embedding with central differences of the loss.
func slopes(t *testing.T, m launch, s kernel.Scalars, gradients []float32) {
	t.Helper()
	loss := func(i int, by float32) (sum float64) {
		before := m.Params[i]
		m.Params[i] += by
		m.run(t, s)
		m.Params[i] = before
		for _, l := range m.Floats(m.e, model.Loss, 0) {
			sum += float64(l) * s["scale"]
		}
		return sum
	}
	const step = 1.0 / 1024
	for i := 5 * 8; i < 6*8; i++ {
		want := (loss(i, step) - loss(i, -step)) / (2 * step)
		if d := math.Abs(float64(gradients[i]) - want); !(d < 5e-3+0.02*math.Abs(want)) {
			t.Errorf("gradient %d of the embedding is %g, the slope %g", i, gradients[i], want)
		}
	}
}

// TestStackIsAppliedTwice compares a decoder's layer applied twice with two equal layers.
func TestStackIsAppliedTwice(t *testing.T) {
	with := func(layers, times int) *lower.Program {
		return build(t, variant{"", func(s *check.Spec) {
			s.Model.Decoder.Layers, s.Model.Decoder.Times = layers, times
		}})
	}
	twice, once := with(1, 2), with(2, 1)
	params, source := randomParams(twice), kernel.Scalars{"S": 4}
	embed, layer, head := split(twice, params)
	got := launchOf(twice, "gradients", params).run(t, source)
	want := launchOf(once, "gradients", slices.Concat(embed, layer, layer, head)).run(t, source)
	sameBits(t, "loss", got.Floats(got.e, model.Loss, 0), want.Floats(want.e, model.Loss, 0))
	gotEmbed, _, gotHead := split(twice, got.Grads)
	wantEmbed, _, wantHead := split(once, want.Grads)
	sameBits(t, "gradient of the embedding", gotEmbed, wantEmbed)
	sameBits(t, "gradient of the head", gotHead, wantHead)
}

// split cuts an arena into embedding, loop and the rest.
func split(p *lower.Program, arena []float32) (embed, loop, tail []float32) {
	l, h := p.Groups[1], p.Groups[2]
	return arena[:l.Off], arena[l.Off:h.Off], arena[h.Off:]
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// TestFreeRunsInjectBeforeTheBlock wants no difference between the two injections with one
// layer, for any number of runs without gradient. With two layers they must differ.
func TestFreeRunsInjectBeforeTheBlock(t *testing.T) {
	for layers := 1; layers <= 2; layers++ {
		var losses [][]float32
		for _, inject := range []string{"block", "every_layer"} {
			p := build(t, variant{"", func(s *check.Spec) {
				looped(s, layers, 4)
				s.Model.Loop.Inject = inject
			}})
			m := launchOf(p, "gradients", randomParams(p)).run(t, kernel.Scalars{"NoGrad": 3, "WithGrad": 1})
			losses = append(losses, m.Floats(m.e, model.Loss, 0))
		}
		if same := slices.Equal(losses[0], losses[1]); same != (layers == 1) {
			t.Errorf("%d layers: losses are the same: %v", layers, same)
		}
	}
}

// TestLoopDecodesItsRows runs the prompt in one launch and then row by row. The states must
// have the bits of the whole pass, for any number of runs.
func TestLoopDecodesItsRows(t *testing.T) {
	for _, v := range loops {
		t.Run(v.name, func(t *testing.T) {
			p := build(t, v)
			layers := p.Groups[1].Layers
			for times := 1; times <= 3; times++ {
				runs := kernel.Scalars{"Times": float64(times)}
				whole := launchOf(p, "forward", randomParams(p)).run(t, runs)
				want := whole.Floats(whole.e, "x", layers*times%2)
				m := launchOf(p, "decode", whole.Params)
				m.s = whole.s
				m.Prepare(m.e, m.s)
				for first := 0; first < 7; {
					n := 1
					if first == 0 {
						n = 4
					}
					got := m.rows(t, first, n, layers*times%2)
					for b := range 2 {
						sameBits(t, fmt.Sprintf("%d runs, example %d, row %d", times, b, first), got[b*n*8:][:n*8], want[(b*7+first)*8:][:n*8])
					}
					first += n
				}
			}
		})
	}
}

// rows decodes n rows from first on and returns their states.
func (m launch) rows(t *testing.T, first, n, tensor int) []float32 {
	t.Helper()
	s := kernel.Scalars{}
	for k, x := range m.s {
		s[k] = x
	}
	s["P"], s["T"] = float64(first), float64(n)
	tokens := m.Ints(m.e, model.TargetTokens, 0)
	for b := range 2 {
		copy(tokens[b*n:], text[0][b*7+first:][:n])
	}
	if err := m.Run(m.e, s); err != nil {
		t.Fatal(err)
	}
	return m.Floats(m.e, "x", tensor)
}
