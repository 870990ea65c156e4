package compiler_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/grad"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
)

// biases are the fixtures in testdata/biases.
var biases = []string{"alibi", "kerple", "sandwich", "t5", "rpe", "fire", "phase", "gaussian", "product", "knee", "network", "soft", "t5_encoder"}

// A biasPeer is a bias and its gradient as PyTorch computes them in float64
// (bench/peers/biases.py).
type biasPeer struct {
	Set     []string // makes it the bias of a site of testdata/biases/invented.arith
	Params  []peerBiasParam
	Lengths []peerLength
}

// A peerBiasParam is a learned parameter of a bias.
type peerBiasParam struct {
	Name   string
	Shape  []int
	Values []float32
}

// A peerLength is a bias table [H, Queries, Keys]: every Step-th cell from the first on,
// the Sum of all cells times their biasWeights, and the gradient of this sum in each
// parameter.
type peerLength struct {
	Queries, Keys int
	Sum           float64
	Step          int
	Cells         []float64
	Gradients     [][]float64
}

// How far a bias may be from its peer. The difference is relative to the largest cell of
// a table, to the largest element of a gradient or, for the sum of a table, to the sum of
// absolute cells.
const (
	// In float64. The fixture has 9 digits, and constants of a spec are float32, up to
	// 6e-8 of a value off. A bias uses a few of them in a row.
	exactTolerance = 1e-6

	// In a float32 kernel. A cell takes a few roundings, each up to 6e-8 of a value that
	// may be several times larger than the result.
	cellTolerance = 2e-6

	// In a float32 kernel. A gradient is a sum over up to 33 * 33 cells with a rounding
	// each, most of which cancel.
	sumTolerance = 1e-5
)

func TestBiases(t *testing.T) {
	for _, name := range biases {
		t.Run(name, func(t *testing.T) {
			p := readBiasPeer(t, name)
			d := newBiased(t, p)
			for _, at := range p.Lengths {
				for _, diff := range d.compare(t, p, at) {
					t.Error(diff)
				}
			}
		})
	}
}

// TestBiasesTellFormulasApart makes sure that the comparison notices a small change of a
// bias.
func TestBiasesTellFormulasApart(t *testing.T) {
	mutations := []struct{ bias, set string }{
		{"alibi", "model.decoder.self.bias = 0.9999 * alibi()"},
		{"kerple", "model.decoder.self.bias = kerple() + h"},
		{"sandwich", "model.decoder.self.bias = sandwich(63)"},
		{"t5", "model.decoder.self.bias = t5(16, 56)"},
		{"t5_encoder", "model.encoder.self.bias = t5_encoder(16, 36)"},
		{"rpe", "model.encoder.self.bias = -rpe(5)"},
		{"fire", "model.decoder.self.bias = fire(hidden = 4, threshold = 19)"},
		{"phase", "bias.phase.value = -slope[h, mod(j, 7)] * abs(i - j)"},
		{"phase", "bias.phase.value = -slope[h, mod(i, 6)] * abs(i - j)"},
		{"gaussian", "bias.gaussian.d = i + j + 1 - J - center[h]"},
		{"gaussian", "bias.gaussian.value = -d * d / (2 * width[h])"},
		{"product", "model.encoder.self.bias = near + late"},
		{"product", "bias.late.value = gain[h] * tanh((i + 1) / I - start)"},
		{"knee", "bias.knee.value = -where(d < far[h], steep[h] * d, steep[h] * far[h] + flat * d)"},
		{"knee", "bias.knee.value = -where(d < far[0], steep[h] * d, steep[h] * far[h] + flat * (d - far[h]))"},
		{"soft", "bias.soft.value = -relu(rate[h] * (abs(i - j) - far[h]))"},
		{"network", "bias.network.z = log(1 + abs(i - j))"},
	}
	for _, m := range full.Some(mutations, 4) {
		t.Run(m.bias+", "+m.set, func(t *testing.T) {
			p := readBiasPeer(t, m.bias)
			if len(newBiased(t, p, m.set).compare(t, p, p.Lengths[2])) == 0 {
				t.Error("it agrees with its peer, which it should not")
			}
		})
	}
}

// TestBiasKernels compares the kernels of a bias with its values in float64.
func TestBiasKernels(t *testing.T) {
	for _, name := range biases {
		t.Run(name, func(t *testing.T) {
			p := readBiasPeer(t, name)
			d := newBiased(t, p)
			for _, at := range p.Lengths[1:3] {
				d.compareKernels(t, p, at)
			}
		})
	}
}

func readBiasPeer(t *testing.T, name string) *biasPeer {
	t.Helper()
	return readFixture[biasPeer](t, "testdata/biases/"+name+".json")
}

// biasWeights are factors of the cells of a table [heads, queries, keys].
func biasWeights(heads, queries, keys int) ir.Tensor {
	w := ir.Tensor{Shape: []int{heads, queries, keys}}
	for h := range heads {
		for i := range queries {
			for j := range keys {
				w.F = append(w.F, 1+math.Cos(float64(h)+0.3*float64(i)-0.7*float64(j)))
			}
		}
	}
	return w
}

// A biased is a compiled model with a bias at one site. forward computes the bias alone
// from its parameters, with the result table, and back is its gradient.
type biased struct {
	program       *compiler.Program
	heads         int
	params        []check.BiasParam
	forward, back *ir.Func
}

// newBiased compiles a peer's bias. set overrides the spec.
func newBiased(t *testing.T, p *biasPeer, set ...string) *biased {
	t.Helper()
	const path = "testdata/biases/invented.arith"
	program, found, err := compiler.Compile(check.Options{Path: path, Read: os.ReadFile, Set: slices.Concat(p.Set, set)})
	if err != nil || found.HasErrors() {
		found.Text(t.Output(), os.ReadFile, false)
		t.Fatal(path, err)
	}
	m := program.Spec.Model
	for _, site := range []*check.Site{m.Encoder.Self, m.Decoder.Self, m.Decoder.Cross} {
		if site == nil || site.Bias == nil {
			continue
		}
		d := &biased{program: program, heads: m.Heads, params: site.Params}
		d.build(t, site, site != m.Decoder.Cross)
		return d
	}
	t.Fatal("no site has a bias")
	return nil
}

// build makes the functions forward and back for the bias of a site.
func (d *biased) build(t *testing.T, s *check.Site, self bool) {
	t.Helper()
	b := ir.NewBuilder("bias", diag.Pos{})
	attr := ir.AttnAttr{Heads: d.heads, Mask: tokenPositions(s.Mask), Bias: tokenPositions(s.Bias), Self: self}
	var params []*ir.Value
	for _, param := range s.Params {
		dims := make([]ir.Dim, len(param.Shape))
		for k, n := range param.Shape {
			dims[k] = ir.N(n)
		}
		attr.Params = append(attr.Params, param.Name)
		params = append(params, b.Param(param.Name, ir.T(dims...), ir.Weight))
	}
	b.Result("table", b.BiasTable(attr, ir.Sym("T"), ir.Sym("S"), params...), false)
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	if d.forward, d.back, err = grad.Backward(f); err != nil {
		t.Fatal(err)
	}
}

// tokenPositions replaces positions by token indices.
func tokenPositions(e *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	return expr.Subst(e, map[string]*expr.Expr{"pi": expr.NewVar("i", expr.I32), "pj": expr.NewVar("j", expr.I32)})
}

// compare evaluates the bias and its gradient in float64 and lists the differences from
// the peer.
func (d *biased) compare(t *testing.T, p *biasPeer, at peerLength) []string {
	t.Helper()
	table, gradients := d.evaluate(t, p, at)
	var diffs []string
	hold := func(what string, got, want []float64, scale float64) {
		if off := farthest(got, want); !(off <= exactTolerance*scale) {
			diffs = append(diffs, fmt.Sprintf("%s at %d by %d is %g off, of %g", what, at.Queries, at.Keys, off, scale))
		}
	}
	sum, sumAbs := 0.0, 0.0
	for k, w := range biasWeights(d.heads, at.Queries, at.Keys).F {
		sum += w * table[k]
		sumAbs += w * math.Abs(table[k])
	}
	var cells []float64
	for k := 0; k < len(table); k += at.Step {
		cells = append(cells, table[k])
	}
	hold("the weighted sum", []float64{sum}, []float64{at.Sum}, sumAbs)
	hold("the table", cells, at.Cells, largest(table))
	for n, param := range p.Params {
		want := at.Gradients[n]
		hold("the gradient of "+param.Name, gradients[param.Name], want, largest(want))
	}
	return diffs
}

// evaluate returns the bias table, and the gradients of its weighted sum by parameter.
func (d *biased) evaluate(t *testing.T, p *biasPeer, at peerLength) (table []float64, gradients map[string][]float64) {
	t.Helper()
	args := d.arguments(t, p)
	args["d.table"] = biasWeights(d.heads, at.Queries, at.Keys)
	eval := func(f *ir.Func) map[string][]float64 {
		in := make([]ir.Tensor, len(f.Params))
		for i, param := range f.Params {
			in[i] = args[param.Attr.Name]
		}
		env := ir.Env{Dims: map[string]int{"T": at.Queries, "S": at.Keys, "C": at.Queries, "P": 0}}
		results, err := ir.Eval(f, env, in)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]float64{}
		for i, r := range f.Results {
			out[strings.TrimPrefix(r.Name, "d.")] = results[i].F
		}
		return out
	}
	return eval(d.forward)["table"], eval(d.back)
}

// arguments returns the peer's parameters by name. They must be the parameters of the
// bias.
func (d *biased) arguments(t *testing.T, p *biasPeer) map[string]ir.Tensor {
	t.Helper()
	args := map[string]ir.Tensor{}
	for _, param := range p.Params {
		x := ir.Tensor{Shape: param.Shape, F: make([]float64, len(param.Values))}
		for k, v := range param.Values {
			x.F[k] = float64(v)
		}
		args[param.Name] = x
	}
	for _, param := range d.params {
		if x, ok := args[param.Name]; !ok || !slices.Equal(x.Shape, param.Shape) {
			t.Fatalf("%s has shape %v, not %v as its peer", param.Name, param.Shape, x.Shape)
		}
	}
	if len(args) != len(d.params) {
		t.Fatalf("the bias has %d parameters, its peer %d", len(d.params), len(args))
	}
	return args
}

// compareKernels runs the kernels of the compiled model that compute the bias
// table and its gradients.
func (d *biased) compareKernels(t *testing.T, p *biasPeer, at peerLength) {
	t.Helper()
	table, gradients := d.evaluate(t, p, at)
	inputs := map[string][]float32{"dtable": float32s(biasWeights(d.heads, at.Queries, at.Keys).F)}
	for _, param := range p.Params {
		inputs[flat(param.Name)+"_"] = param.Values
	}
	ran := map[string]bool{}
	for _, k := range d.program.Lowered.Kernels {
		if !strings.HasPrefix(k.Name, "bias_table") {
			continue
		}
		for name, got := range runKernel(t, k, at, inputs) {
			ran[name] = true
			if name == "table" {
				checkKernel(t, k, name, got, table, cellTolerance)
				continue
			}
			for _, param := range p.Params {
				if name == "d"+flat(param.Name) {
					checkKernel(t, k, name, overHeads(got, d.heads), gradients[param.Name], sumTolerance)
				}
			}
		}
	}
	if len(ran) != 1+len(p.Params) {
		t.Errorf("the kernels compute %v, want a table and the gradients of %d parameters", ran, len(p.Params))
	}
}

// flat is a parameter's name in kernels.
func flat(param string) string { return strings.ReplaceAll(param, ".", "_") }

// runKernel runs a kernel on inputs by name and returns its outputs by name.
func runKernel(t *testing.T, k *kernel.Kernel, at peerLength, inputs map[string][]float32) map[string][]float64 {
	t.Helper()
	s := kernel.Scalars{"T": float64(at.Queries), "C": float64(at.Queries), "S": float64(at.Keys), "P": 0}
	shapes, err := kernel.Extents(k, s)
	if err != nil {
		t.Fatal(err)
	}
	bufs := make([]kernel.Buffer, len(shapes))
	for i, shape := range shapes {
		if k.Params[i].Mode == kernel.In {
			bufs[i].F = inputs[k.Params[i].Name]
			continue
		}
		n := 1
		for _, d := range shape {
			n *= d
		}
		bufs[i].F = make([]float32, n)
	}
	if err := kernel.Run(k, s, bufs); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for i := range shapes {
		if k.Params[i].Mode != kernel.In {
			out[k.Params[i].Name] = float64s(bufs[i].F)
		}
	}
	return out
}

func checkKernel(t *testing.T, k *kernel.Kernel, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if off := farthest(got, want); !(off <= tolerance*largest(want)) {
		t.Errorf("%s: %s is %g off, its largest element is %g", k.Name, what, off, largest(want))
	}
}

// overHeads adds up the parts of a gradient, one per head.
func overHeads(parts []float64, heads int) []float64 {
	sum := make([]float64, len(parts)/heads)
	for k, x := range parts {
		sum[k%len(sum)] += x
	}
	return sum
}

// farthest returns the largest difference between two elements, or NaN if the lengths
// differ.
func farthest(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	d := 0.0
	for i, w := range want {
		d = max(d, math.Abs(got[i]-w))
	}
	return d
}

func largest(xs []float64) float64 { return farthest(xs, make([]float64, len(xs))) }

func float32s(xs []float64) []float32 {
	out := make([]float32, len(xs))
	for i, x := range xs {
		out[i] = float32(x)
	}
	return out
}

func float64s(xs []float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}
