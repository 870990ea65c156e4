package model_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/config"
)

const smallAddition = `arith 2
task addition { operands = digits(1..3)  pad = zero(to = 4)  order = reversed }
table circle {
  size   = 1
  radius = learned([], init = 1.3)
  start  = learned([], init = 0.2)
  turn   = learned([], init = 0.6)
  lift   = learned([2], init = uniform(0.1, 1))
  value  = where(c == 0, size * radius * cos(start + turn * n), where(c == 1, radius * sin(start + turn * n), lift[clip(n - 10, 0, 1)]))
}
table line {
  slope = learned([], init = 0.3)
  value = slope * n * (c + 1)
}
model {
  width = 4
  heads = 2
  ffn   = relu(hidden = 6)
  norm  = layernorm(place = pre)
  encoder.layers = 0
  decoder { layers = 2 }
}
train.batch = 4
eval { digits = [2]  pad = zero(to = 4) }
`

const smallText = `arith 2
task addition { operands = digits(1..3) }
table spiral {
  turn  = learned([], init = 0.5)
  grow  = learned([], init = 0.1)
  value = where(c == 0, cos(turn * n), where(c == 1, sin(turn * n), grow * n))
}
model {
  width = 4
  heads = 2
  ffn   = swiglu(hidden = 6)
  norm  = rmsnorm(place = pre)
  decoder_only { layers = 1  times = 2  inject = add(before = block) }
}
train { batch = 4  microbatch = 4 }
eval { grid = [1..2, 1..2] }
`

// TestDifferences compares the gradients of whole training programs with central
// differences of their loss, both in float64: along random directions, which show any wrong
// gradient, and then each by itself, to say which.
func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		set        []string
	}{
		{"plain", smallAddition, nil},
		{"table of tokens", smallAddition, []string{"model.embed.token=learned(value = circle, scale = 1)"}},
		{"table of tokens that is tied", smallAddition, []string{"model.embed.token=learned(value = circle)", "model.output=linear(tied = true)"}},
		{"two tables, and one of positions", smallAddition, []string{"model.embed.token=learned(value = circle + 0.5 * line)", "model.output=linear(value = line)", "model.embed.position=learned(max = 12, value = circle(size = 2))"}},
		{"tied projections", smallAddition, []string{"model.decoder.self.k=q", "model.decoder.self.o=transposed(v)", "model.decoder.cross.q=self.q", "model.decoder.cross.v=self.v"}},
		{"low rank", smallAddition, []string{"model.decoder.self.q=low(rank = 2)", "model.decoder.self.k=transposed(q)", "model.decoder.cross.o=low(1)", "model.ffn=relu(hidden = 6, rank = 2)", "model.output=linear(rank = 3)"}},
		{"no projections", smallAddition, []string{"model.decoder.cross.q=none", "model.decoder.cross.k=none", "model.decoder.self.v=none", "model.decoder.self.o=none", "model.decoder.cross.mask=j == i || j == i + 5"}},
		{"multiples", smallAddition, []string{"model.decoder.cross.v=scalar(init = 0.7)", "model.decoder.cross.o=scalar", "model.decoder.self.q=own(init = normal(0.5))"}},
		{"tied ffn", smallAddition, []string{"model.ffn=gelu(hidden = 6, out = transposed(in))"}},
		{"tied ffn of low rank", smallAddition, []string{"model.ffn=relu(hidden = 6, out = transposed(in), rank = 2)", "model.decoder.share=ffn"}},
		{"tied gates", smallAddition, []string{"model.ffn=swiglu(hidden = 6, out = transposed(gate))"}},
		{"gates that are what they gate", smallAddition, []string{"model.ffn=geglu(hidden = 6, out = transposed(gate), gate = value)", "model.head=swiglu(hidden = 6)"}},
		{"wide heads", smallAddition, []string{"model.head_width=3", "model.decoder.self.o=transposed(v)", "model.decoder.self.qk_norm=rmsnorm()"}},
		{"few heads of keys", smallAddition, []string{"model.heads=4", "model.head_width=2", "model.decoder.self.key_heads=2", "model.decoder.cross.key_heads=1",
			"model.decoder.self.qk_norm=rmsnorm()", "model.decoder.self.relative=shaw(clip = 2)", "model.decoder.cross.v=k", "model.decoder.self.k=low(rank = 2)"}},
		{"shared gains", smallAddition, []string{"model.norm=layernorm(place = post, gain = shared)", "model.decoder.cross.qk_norm=rmsnorm(gain = shared)"}},
		{"no gains", smallAddition, []string{"model.norm=rmsnorm(place = pre, gain = none)", "model.heads=1", "model.norm.at=[self, ffn]", "model.decoder.cross.qk_norm=rmsnorm(gain = none)"}},
		{"smoothed labels", smallAddition, []string{"train.label_smoothing=20%", "model.decoder.layers=1"}},
		{"an encoder", smallAddition, []string{"model.encoder.layers=1", "model.encoder.self.k=q", "model.norm=rmsnorm(place = pre, gain = shared)"}},
		{"windows over places", smallAddition, []string{"model.encoder.layers=1", "model.encoder.self.mask=dj >= di", "model.decoder.self.mask=dj != di || i == j", "model.decoder.cross.mask=dj == di + h || dj == 0"}},
		{"loop", smallText, nil},
		{"loop with a bias over places", smallText, []string{"model.decoder_only.self.mask=abs(dj - di) <= 1", "model.decoder_only.self.bias=-log(1 + abs(dj - di - h))", "model.embed.position=abacus(max_offset = 3, table = 12)"}},
		{"all of two layers shared", smallAddition, []string{"model.decoder.share=all", "model.decoder.self.k=q", "model.decoder.self.bias=kerple()"}},
		{"attention of pairs of layers shared", smallAddition, []string{"model.decoder.layers=4", "model.decoder.share=attention(group = 2)", "model.decoder.times=2", "model.decoder.self.bias=kerple()"}},
		{"ffn of all layers shared", smallAddition, []string{"model.decoder.share=ffn", "model.encoder.layers=4", "model.encoder.share=all(group = 2)"}},
		{"loop with divided gradients", smallText, []string{"train.throttle=block", "model.decoder_only.layers=2", "model.decoder_only.share=attention", "model.decoder_only.self.bias=kerple()", "model.embed.norm=layernorm()"}},
		{"loop with divided gradients that starts from noise", smallText, []string{"train.throttle=block", "model.decoder_only.inject=add(before = every_layer)", "model.decoder_only.state=normal(std = 1)", "model.head=geglu(hidden = 6)", "model.output=linear(tied = true)"}},
		{"loop whose layers share attention", smallText, []string{"model.decoder_only.layers=2", "model.decoder_only.share=attention"}},
		{"loop with one head of keys", smallText, []string{"model.decoder_only.self.key_heads=1", "model.decoder_only.self.qk_norm=rmsnorm(gain = own)", "model.decoder_only.self.rotary=rope(base = 3)"}},
		{"loop with a table, tied projections and normed heads", smallText, []string{"model.embed.token=learned(value = spiral)", "model.embed.position=abacus(max_offset = 3, table = 12, value = spiral)",
			"model.output=linear(tied = true)", "model.decoder_only.self.k=q", "model.decoder_only.self.v=q", "model.decoder_only.self.o=transposed(q)", "model.decoder_only.self.qk_norm=rmsnorm()", "model.decoder_only.self.rotary=rope(base = 3)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, list := check.Resolve(check.Options{Path: "small.arith", Set: c.set, Read: func(string) ([]byte, error) { return []byte(c.spec), nil }})
			for _, d := range list {
				if list.HasErrors() {
					t.Error(d)
				}
			}
			if spec == nil {
				t.FailNow()
			}
			p, err := model.Build(spec)
			if err != nil {
				t.Fatal(err)
			}
			r := newTraining(t, p)
			whole := r.step(r.params)
			grads := r.grads
			if loss := r.loss(r.params); loss != whole {
				t.Fatalf("the loss is %g, and %g once gradients are", loss, whole)
			}
			// differ compares the slope along a direction.
			differ := func(direction map[int]float64) (got, want float64, differ bool) {
				const h = 1e-5
				at := func(by float64) float64 {
					moved := slices.Clone(r.params)
					for i, x := range direction {
						moved[i] += by * x
					}
					return r.loss(moved)
				}
				want = (at(h) - at(-h)) / (2 * h)
				for i, x := range direction {
					if spec.Train.ByRuns && inLoop(p, i) {
						x *= runs
					}
					got += grads[i] * x
				}
				return got, want, !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want)))
			}
			random, wrong := rand.New(rand.NewPCG(1, 1)), full.Tests
			for range 2 {
				direction := map[int]float64{}
				for _, i := range someOf(p) {
					direction[i] = random.Float64()*2 - 1
				}
				if got, want, differ := differ(direction); differ {
					t.Errorf("the slope along %v is %.8g, want %.8g", direction, got, want)
					wrong = true
				}
			}
			if !wrong {
				return
			}
			for _, i := range someOf(p) {
				if got, want, differ := differ(map[int]float64{i: 1}); differ {
					t.Errorf("the slope of parameter %d of %d is %.8g, want %.8g", i, p.Trained(), got, want)
				}
			}
		})
	}
}

// someOf returns one element of every trained parameter in each layer.
func someOf(p *plan.Plan) (all []int) {
	for _, g := range p.Groups {
		for l := range g.Layers {
			at := g.Off + l*g.Stride
			for _, q := range g.Params {
				if !q.Fixed {
					all = append(all, at+q.Elems()/2)
				}
				at += q.Elems()
			}
		}
	}
	return all
}

// inLoop reports whether an element is a parameter of the loop.
func inLoop(p *plan.Plan, i int) bool {
	g := p.Groups[slices.IndexFunc(p.Groups, func(g *plan.Group) bool { return g.Off <= i && i < g.Off+g.Layers*g.Stride })]
	return strings.HasPrefix(g.Name, "loop")
}

// runs is the number of recurrences of a step, all with gradients.
const runs = 2

// A training runs the programs of a training step in float64.
type training struct {
	t             *testing.T
	p             *plan.Plan
	params, grads []float64
	dims          map[string]int
	inputs        map[string]ir.Tensor
	buffers       map[place]ir.Tensor
	simple        map[*ir.Func]*ir.Func // by function, its decomposition
}

// A place is a tensor of a buffer.
type place struct {
	buffer string
	index  int
}

func newTraining(t *testing.T, p *plan.Plan) *training {
	const batch = 2
	source, target := max(8, p.Source), max(4, p.Target)
	rng := rand.New(rand.NewPCG(1, 2))
	r := &training{t: t, p: p, simple: map[*ir.Func]*ir.Func{}, dims: map[string]int{"B": batch, "S": source, "T": target, "P": 0, "C": target, "recurrences": runs}}
	for range p.NumParams() {
		r.params = append(r.params, 0.2+rng.NormFloat64()/2)
	}
	for _, g := range p.Groups { // kerple's parameters are positive
		for l := range g.Layers {
			at := g.Off + l*g.Stride
			for _, q := range g.Params {
				for i := range q.Elems() {
					if q.Init.Kind == "uniform" && q.Init.A >= 0 {
						r.params[at+i] = math.Abs(r.params[at+i])
					}
				}
				at += q.Elems()
			}
		}
	}
	ids := func(rows int) ir.Tensor {
		x := ir.Tensor{Shape: []int{batch, rows}}
		for range batch * rows {
			x.I = append(x.I, 4+rng.Int64N(11))
		}
		return x
	}
	r.inputs = map[string]ir.Tensor{model.SourceTokens: ids(source), model.TargetTokens: ids(target), model.Labels: ids(target)}
	return r
}

// step runs a step with the given parameters, leaves the gradients and returns the loss.
func (r *training) step(params []float64) float64 {
	r.run(params, func() bool { return false })
	return r.lost()
}

// loss runs a step only up to its loss, which it returns.
func (r *training) loss(params []float64) float64 {
	at := r.key(plan.At(model.Loss, 0), 0)
	r.run(params, func() bool { return r.buffers[at].F != nil })
	return r.lost()
}

// lost returns the sum of all tokens' losses.
func (r *training) lost() (loss float64) {
	for _, x := range r.buffers[r.key(plan.At(model.Loss, 0), 0)].F {
		loss += x
	}
	return loss
}

// run runs a step until it is done.
func (r *training) run(params []float64, done func() bool) {
	r.grads, r.buffers = make([]float64, len(params)), map[place]ir.Tensor{}
	for _, p := range r.p.Programs {
		if p.Name == "forward" {
			break
		}
		for _, s := range p.Body {
			if done() {
				return
			}
			switch s := s.(type) {
			case *plan.Call:
				r.call(p, s, 0, params)
			case *plan.Loop:
				n := s.N
				if s.Runs == plan.WithGrad {
					n *= runs
				} else if s.Runs == plan.NoGrad {
					n = 0
				}
				for l := range n {
					if s.Down {
						l = n - 1 - l
					}
					for _, c := range s.Body {
						r.call(p, c, l, params)
					}
				}
			}
		}
	}
}

func (r *training) key(ref plan.Ref, l int) place {
	n := runs
	if ref.Runs == plan.NoGrad {
		n = 0
	}
	return place{ref.Buffer, ref.Index(l, n)}
}

func (r *training) call(p *plan.Program, c *plan.Call, l int, params []float64) {
	var args []ir.Tensor
	for i, param := range c.Func.Params {
		name := param.Attr.Name
		ref, passed := c.Args[name]
		if in, ok := r.inputs[ref.Buffer]; passed && ok {
			args = append(args, in)
			continue
		}
		if passed {
			x, there := r.buffers[r.key(ref, l)]
			if !there {
				r.t.Fatalf("%s reads %s", c.Func.Name, ref)
			}
			args = append(args, x)
			continue
		}
		if role := c.Func.Roles[i]; role != ir.Weight && role != ir.Fixed {
			r.t.Fatalf("%s has no %s", c.Func.Name, name)
		}
		g, q, off := r.p.Find(c.Group, name)
		at := g.Off + (*config.Group)(g).Instance(l)*g.Stride + off
		args = append(args, ir.Tensor{Shape: q.Shape, F: params[at : at+q.Elems()]})
	}
	f := r.simple[c.Func]
	if f == nil {
		var err error
		if f, err = ir.Decompose(c.Func); err != nil {
			r.t.Fatal(err)
		}
		r.simple[c.Func] = f
	}
	out, err := ir.Eval(f, ir.Env{Dims: r.dims, Scalars: map[string]float64{"scale": 1}, Layer: l, Seed: 1}, args)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, result := range c.Func.Results {
		ref, stored := c.Results[result.Name]
		switch {
		case !stored && result.Accumulate:
			g, q, off := r.p.Find(c.Group, result.Name[len("d."):])
			at := g.Off + (*config.Group)(g).Instance(l)*g.Stride + off
			for k := range q.Elems() {
				r.grads[at+k] += out[i].F[k]
			}
		case !stored:
		case result.Accumulate && r.buffers[r.key(ref, l)].F != nil:
			for k, x := range out[i].F {
				r.buffers[r.key(ref, l)].F[k] += x
			}
		default:
			r.buffers[r.key(ref, l)] = out[i]
		}
	}
}
