package compiler_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/device"
)

// peers are the specs in testdata/peers whose models were also trained in PyTorch.
var peers = []string{"windows", "encoder", "kerple", "alibi", "alibi_published", "rope", "rope_input", "shaw", "lines", "mixed", "lion", "smoothed", "sgd", "nesterov", "muon", "original_muon", "grokfast", "grouped"}

// A peer is a training run in PyTorch, in float64 (bench/peers/fixture.py).
type peer struct {
	Losses    []float64 // of each step's batch, before the step
	Batches   []peerBatch
	Params    []peerParam
	Attention peerAttention // before training
	Pred      [][]int32     // of the first batch, before training
}

// A peerBatch holds tokens, one problem per row.
type peerBatch struct {
	Source, Target, Labels [][]int32
}

// A peerParam is a parameter before training, its gradient at the first step, and its
// value after the last step.
type peerParam struct {
	Name                     string
	Shape                    []int
	Initial, Gradient, Final []float32
}

// How far a program may be from its peer. It computes in float32 from the numbers that
// the peer used in float64. So all differences are rounding, up to 6e-8 of a value each
// time.
const (
	// For a loss: a mean, in which most roundings cancel.
	lossTolerance = 1e-6

	// For a gradient, relative to the largest element of its tensor. Each element is a
	// sum over the rows of a batch, and the terms are about as large everywhere. A small
	// element, whose terms cancel, is as inexact as the largest.
	gradientTolerance = 1e-5

	// For a trained parameter, relative to the distance that the steps can cover. Adam
	// divides a gradient by its size. So a small gradient, whose relative error
	// gradientTolerance does not bound, has a step with the same relative error.
	finalTolerance = 1e-4
)

// TestPeers compares predictions, of all rows at once and row by row from caches, and
// then training. The spec closing only predicts: where calibrated lines close whole rows
// with -5e3, float32 keeps too few digits of the scores to train alike.
func TestPeers(t *testing.T) {
	for _, name := range append(peers, "closing") {
		t.Run(name, func(t *testing.T) {
			p := readPeer(t, name)
			r := newTrainee(t, peerSpec(name), p.Params)
			for how, pred := range map[string][][]int32{"forward": r.forward(t, p.Batches[0]), "decode": r.decode(t, p.Batches[0])} {
				if !slices.EqualFunc(pred, p.Pred, slices.Equal) {
					t.Errorf("%s says %v, want %v", how, pred, p.Pred)
				}
			}
			if name == "closing" {
				return
			}
			for _, d := range r.follow(t, p, len(p.Batches)) {
				t.Error(d)
			}
		})
	}
}

// TestPeersTellModelsApart makes sure that the comparison notices a small change of the
// model.
func TestPeersTellModelsApart(t *testing.T) {
	mutations := []struct{ peer, set string }{
		{"windows", "model.decoder.self.mask = i - j <= 2"},
		{"windows", "model.decoder.self.mask = i == j"},
		{"windows", "model.decoder.cross.mask = abs(J - 1 - i - j) <= 1"},
		{"windows", "model.embed.position = cyclic(sinusoidal, period = 4)"},
		{"windows", "model.embed.token = learned(scale = 2.8)"},
		{"windows", "model.norm = layernorm(eps = 1e-4)"},
		{"windows", "model.heads = 4"},
		{"encoder", "model.ffn = relu(hidden = 16)"},
		{"encoder", "model.encoder.self.mask = j <= i"},
		{"encoder", "model.encoder.self.scale = 0.49"},
		{"kerple", "model.decoder.cross.bias = -0.5 * abs(J - 1 - i - j)"},
		{"kerple", "bias.kerple.value = -r1[h] * log(1 + r2[h] * (i - j + 1))"},
		{"kerple", "bias.kerple.value = -r1[0] * log(1 + r2[h] * (i - j))"},
		{"kerple", "model.embed.position = none"},
		{"alibi", "model.embed.position = none"},
		{"alibi", "model.decoder.cross.bias = alibi()"},
		{"alibi", "model.decoder.self.bias = 0.999 * alibi()"},
		{"alibi_published", "model.embed.position = sinusoidal"},
		{"alibi_published", "model.decoder.self.bias = -exp(-log(2) * (h + 1)) * abs(i - j)"},
		{"rope", "model.decoder.self.rotary = rope(base = 9000)"},
		{"rope", "model.decoder.self.rotary = rope(fraction = 50%)"},
		{"rope", "model.decoder.self.rotary = rope(of = input)"},
		{"rope", "model.decoder.cross.rotary = none"},
		{"rope_input", "model.decoder.self.rotary = rope(fraction = 50%)"},
		{"rope_input", "model.decoder.self.rotary = rope(of = input)"},
		{"rope_input", "model.decoder.cross.rotary = rope(fraction = 50%)"},
		{"rope_input", "model.decoder.cross.rotary = rope(base = 9000, fraction = 50%, of = input)"},
		{"shaw", "model.decoder.self.scale = 0.49"},
		{"shaw", "model.encoder.self.bias = -0.001 * abs(i - j)"},
		{"lines", "stage.second.model.decoder.self.bias = 1.001 * lines.self"},
		{"lines", "stage.second.model.decoder.self.bias = lines.self + 0.001 * j"},
		{"lines", "stage.second.model.decoder.cross.bias = 0.501 * lines.cross"},
		{"lines", "stage.second.model.decoder.cross.mask = i + j >= 2"},
		{"grouped", "model.decoder.cross.rotary = none"},
		{"mixed", "stage.second.model.decoder.self.bias = lines.self + 0.999 * kerple"},
		{"mixed", "stage.second.model.decoder.cross.bias = lines.cross - 0.501 * abs(J - 2 - i - j)"},
	}
	for _, m := range full.Some(mutations, 7) {
		t.Run(m.peer+", "+m.set, func(t *testing.T) {
			p := readPeer(t, m.peer)
			if len(newTrainee(t, peerSpec(m.peer), p.Params, m.set).follow(t, p, 1)) == 0 {
				t.Error("it agrees with its peer, which it should not")
			}
		})
	}
}

// TestPeersTellTablesApart makes sure that the comparison notices tables of positions, or
// lines, that are moved by one row or reversed. Reversed rows are distances to the other
// side.
func TestPeersTellTablesApart(t *testing.T) {
	moves := map[string]func(xs []float32){
		"reversed": slices.Reverse[[]float32],
		"moved":    func(xs []float32) { copy(xs, slices.Concat(xs[len(xs)-1:], xs[:len(xs)-1])) },
	}
	for peer, tables := range map[string][]string{
		"shaw":  {"encoder.self.relative", "decoder.self.relative"},
		"lines": {"fixed.calibrated.self0", "fixed.calibrated.self1", "fixed.calibrated.cross0", "fixed.calibrated.cross1"},
		"mixed": {"fixed.calibrated.cross0"},
	} {
		program := compilePeer(t, check.Options{Path: peerSpec(peer), Read: os.ReadFile})
		for _, table := range tables {
			for how, move := range moves {
				t.Run(peer+", "+table+" "+how, func(t *testing.T) {
					p := readPeer(t, peer)
					n := slices.IndexFunc(p.Params, func(x peerParam) bool { return x.Name == table })
					for row := range slices.Chunk(p.Params[n].Initial, p.Params[n].Shape[1]) {
						move(row)
					}
					if len(traineeOf(t, last(program), p.Params).follow(t, p, 1)) == 0 {
						t.Error("it agrees with its peer, which it should not")
					}
				})
			}
		}
	}
}

// TestPeersTellOptimizersApart makes sure that the comparison notices a small change of
// the optimizer, at the last step.
func TestPeersTellOptimizersApart(t *testing.T) {
	for _, m := range full.Some([]struct{ peer, set string }{
		{"alibi", "train.optimizer.betas = [0.9, 0.981]"},
		{"alibi", "train.optimizer = adamw(lr = 1e-2, betas = [0.9, 0.98], eps = 1e-9, decay = 0.01)"},
		{"lion", "train.optimizer.betas = [0.8, 0.99]"},
		{"lion", "train.optimizer.betas = [0.9, 0.9]"},
		{"lion", "train.optimizer.decay = 0.49"},
		{"smoothed", "train.label_smoothing = 24%"},
		{"sgd", "train.optimizer.momentum = 0.874"},
		{"sgd", "train.optimizer.nesterov = true"},
		{"sgd", "train.optimizer.decay = 0.49"},
		{"nesterov", "train.optimizer.nesterov = false"},
		{"muon", "train.optimizer.betas = [0.9, 0.981]"},
		{"muon", "train.optimizer.decay = 0.49"},
		{"muon", "train.optimizer.momentum = 0.949"},
		{"muon", "train.optimizer.nesterov = false"},
		{"muon", "train.optimizer.steps = 6"},
		{"muon", "train.optimizer.adjust = original"},
		{"grokfast", "train.grokfast.alpha = 0.74"},
		{"grokfast", "train.grokfast.lamb = 1.49"},
		{"grokfast", "train.grokfast = none"},
		{"grokfast", "train.clip = none"},
		{"original_muon", "train.optimizer.adjust = match_rms_adamw"},
		{"original_muon", "train.optimizer = adamw(lr = 1e-2, betas = [0.8, 0.9], eps = 1e-8, decay = 0.5)"},
	}, 5) {
		t.Run(m.peer+", "+m.set, func(t *testing.T) {
			p := readPeer(t, m.peer)
			if len(newTrainee(t, peerSpec(m.peer), p.Params, m.set).follow(t, p, len(p.Batches))) == 0 {
				t.Error("it agrees with its peer, which it should not")
			}
		})
	}
}

func readPeer(t *testing.T, name string) *peer {
	t.Helper()
	return readFixture[peer](t, "testdata/peers/"+name+".json")
}

// readFixture reads a file that a script in bench/peers wrote.
func readFixture[T any](t *testing.T, path string) *T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := new(T)
	if err := json.Unmarshal(data, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A trainee is a compiled model under training, kernel by kernel.
type trainee struct {
	train   check.Train
	params  []plan.Param // with their offsets in the arenas
	program *lower.Program
	machine *lower.Machine
	at      map[string]int // of each parameter, its first element in the arenas
}

func peerSpec(name string) string { return "testdata/peers/" + name + ".arith" }

// newTrainee compiles a peer's spec, overridden by set, and gives its last training the
// peer's initial parameters. The peer must have a value for every parameter.
func newTrainee(t *testing.T, path string, params []peerParam, set ...string) *trainee {
	t.Helper()
	return traineeOf(t, last(compilePeer(t, check.Options{Path: path, Read: os.ReadFile, Set: set})), params)
}

// last returns the last training of a program.
func last(p *compiler.Program) *compiler.Program {
	trainings := p.Trainings()
	return trainings[len(trainings)-1]
}

func compilePeer(t *testing.T, o check.Options) *compiler.Program {
	t.Helper()
	p, found, err := compiler.Compile(o)
	if err != nil || len(found) > 0 {
		found.Text(t.Output(), o.Read, false)
		t.Fatal(o.Path, err)
	}
	return p
}

func traineeOf(t *testing.T, compiled *compiler.Program, params []peerParam) *trainee {
	t.Helper()
	r := &trainee{train: compiled.Spec.Train, program: compiled.Lowered, machine: lower.NewMachine(compiled.Lowered), at: map[string]int{}}
	shapes := map[string][]int{}
	for _, g := range compiled.Lowered.Groups {
		off := g.Off
		for l := range g.Layers {
			for _, param := range g.Params {
				name := g.Name + "." + param.Name
				if g.Layers > 1 {
					name = fmt.Sprintf("%s.%d.%s", g.Name, l, param.Name)
				}
				r.at[name], shapes[name] = off, param.Shape
				param.Off = off
				r.params = append(r.params, param)
				off += param.Elems()
			}
		}
	}
	for _, param := range params {
		if shape, ok := shapes[param.Name]; !ok || !slices.Equal(shape, param.Shape) {
			t.Fatalf("%s has shape %v, not %v as its peer", param.Name, shape, param.Shape)
		}
		copy(r.machine.Params[r.at[param.Name]:], param.Initial)
	}
	if len(params) != len(shapes) {
		t.Fatalf("there are %d parameters, the peer has %d", len(shapes), len(params))
	}
	return r
}

// follow trains for the first steps of the peer and lists the differences.
func (r *trainee) follow(t *testing.T, p *peer, steps int) []string {
	t.Helper()
	var diffs []string
	for step, batch := range p.Batches[:steps] {
		loss := r.gradients(t, batch)
		if d := math.Abs(loss - p.Losses[step]); !(d <= lossTolerance*p.Losses[step]) {
			diffs = append(diffs, fmt.Sprintf("the loss of step %d is %v, want %v", step, loss, p.Losses[step]))
		}
		if step == 0 {
			diffs = append(diffs, r.wrongGradients(p)...)
		}
		r.update(t, step)
	}
	if steps == len(p.Batches) {
		diffs = append(diffs, r.wrongParams(p)...)
	}
	return diffs
}

// gradients leaves the gradient of a batch's mean loss in the machine and returns the
// loss. Both are sums over micro-batches, as in training, here of 3 examples and of 1.
func (r *trainee) gradients(t *testing.T, b peerBatch) float64 {
	t.Helper()
	clear(r.machine.Grads)
	rows := float64(len(b.Labels) * len(b.Labels[0]))
	sum := 0.0
	for _, cut := range [][2]int{{0, 3}, {3, len(b.Source)}} {
		source, target, labels := b.Source[cut[0]:cut[1]], b.Target[cut[0]:cut[1]], b.Labels[cut[0]:cut[1]]
		e := r.program.Entry("gradients")
		s := kernel.Scalars{"B": float64(len(source)), "S": float64(len(source[0])), "T": float64(len(target[0])), "C": float64(len(target[0])),
			"P": 0, "step": 0, "example": float64(cut[0]), "seed0": 0, "seed1": 0, "scale": 1 / rows}
		r.machine.Prepare(e, s)
		copy(r.machine.Ints(e, model.SourceTokens, 0), slices.Concat(source...))
		copy(r.machine.Ints(e, model.TargetTokens, 0), slices.Concat(target...))
		copy(r.machine.Ints(e, model.Labels, 0), slices.Concat(labels...))
		if err := r.machine.Run(e, s); err != nil {
			t.Fatal(err)
		}
		for _, row := range r.machine.Floats(e, model.Loss, 0) {
			sum += float64(row)
		}
	}
	return sum / rows
}

// forward predicts all rows of a batch at once.
func (r *trainee) forward(t *testing.T, b peerBatch) [][]int32 {
	t.Helper()
	rows := len(b.Target[0])
	e, s := r.program.Entry("forward"), b.scalars(0, rows)
	r.machine.Prepare(e, s)
	copy(r.machine.Ints(e, model.SourceTokens, 0), slices.Concat(b.Source...))
	copy(r.machine.Ints(e, model.TargetTokens, 0), slices.Concat(b.Target...))
	r.run(t, e, s)
	return slices.Collect(slices.Chunk(r.machine.Ints(e, model.Pred, 0), rows))
}

// decode predicts the first three rows of a batch at once, then row by row.
func (r *trainee) decode(t *testing.T, b peerBatch) [][]int32 {
	t.Helper()
	encode, e := r.program.Entry("encode"), r.program.Entry("decode")
	s := b.scalars(0, len(b.Target[0]))
	r.machine.Prepare(encode, s)
	copy(r.machine.Ints(encode, model.SourceTokens, 0), slices.Concat(b.Source...))
	r.run(t, encode, s)
	pred := make([][]int32, len(b.Target))
	for from, to := 0, 3; to <= len(b.Target[0]); from, to = to, to+1 {
		var tokens []int32
		for _, row := range b.Target {
			tokens = append(tokens, row[from:to]...)
		}
		copy(r.machine.Ints(e, model.TargetTokens, 0), tokens)
		r.run(t, e, b.scalars(from, to))
		for k := range pred {
			pred[k] = append(pred[k], r.machine.Ints(e, model.Pred, 0)[k*(to-from):][:to-from]...)
		}
	}
	return pred
}

// scalars returns the scalars of a launch without gradients on rows of a batch.
func (b *peerBatch) scalars(from, to int) kernel.Scalars {
	return kernel.Scalars{"B": float64(len(b.Source)), "S": float64(len(b.Source[0])), "T": float64(to - from), "C": float64(len(b.Target[0])),
		"P": float64(from), "step": 0, "example": 0, "seed0": 0, "seed1": 0}
}

func (r *trainee) run(t *testing.T, e *lower.Entry, s kernel.Scalars) {
	t.Helper()
	if err := r.machine.Run(e, s); err != nil {
		t.Fatal(err)
	}
}

// update does one step of the spec's optimizer.
func (r *trainee) update(t *testing.T, step int) {
	t.Helper()
	correct := func(beta float64) float64 { return 1 / (1 - math.Pow(beta, float64(step+1))) }
	norm, all := r.program.Entry("sum_squares"), kernel.Scalars{"P": 0, "N": float64(r.trained()), "step": float64(step)}
	r.machine.Prepare(norm, all)
	r.run(t, norm, all)
	clip := float64(device.Clip(r.train.Clip, r.machine.Floats(norm, "sum", 0)[0]))
	for _, p := range r.params {
		if p.Fixed {
			continue
		}
		e := r.program.Entry("update")
		if p.Matrix {
			e = r.program.Entry(plan.Matrices{Rows: p.Shape[0], Cols: p.Shape[1]}.Update())
		}
		s := kernel.Scalars{"P": float64(p.Off), "N": float64(p.Elems()), "lr": r.train.LR, "clip": clip, "decay": 0, "step": float64(step), "bound": math.Inf(-1),
			"bias_correction1": correct(r.train.Beta1), "bias_correction2": correct(r.train.Beta2)}
		if p.Decay {
			s["decay"] = r.train.Decay
		}
		r.machine.Prepare(e, s)
		r.run(t, e, s)
	}
}

// trained returns the number of trained elements in the arena.
func (r *trainee) trained() (n int) {
	for _, p := range r.params {
		if !p.Fixed {
			n = max(n, p.Off+p.Elems())
		}
	}
	return n
}

// wrongGradients compares the gradients of the first step.
func (r *trainee) wrongGradients(p *peer) []string {
	var diffs []string
	for i, param := range p.Params {
		largest := maxAbs(param.Gradient)
		if param.useless() {
			largest = maxAbs(p.Params[i-1].Gradient)
		}
		got := r.machine.Grads[r.at[param.Name]:]
		d := distance(got, param.Gradient)
		if !(d <= gradientTolerance*largest) {
			diffs = append(diffs, fmt.Sprintf("the gradient of %s is %g off, its largest element is %g", param.Name, d, largest))
		}
	}
	return diffs
}

// wrongParams compares the parameters after the last step.
func (r *trainee) wrongParams(p *peer) []string {
	reach := r.train.LR * float64(len(p.Batches))
	var diffs []string
	for _, param := range p.Params {
		if param.useless() {
			continue
		}
		d := distance(r.machine.Params[r.at[param.Name]:], param.Final)
		if !(d <= finalTolerance*reach) {
			diffs = append(diffs, fmt.Sprintf("%s is %g off after the last step", param.Name, d))
		}
	}
	return diffs
}

// useless reports whether a parameter changes nothing. A bias of the keys adds the same
// number to all scores of a query, which softmax ignores, unless keys are rotated after
// it. The program's gradient of such a bias is the rounding error of the key matrix,
// which is declared before it, and Adam makes full steps of it.
func (p *peerParam) useless() bool {
	return strings.HasSuffix(p.Name, ".k.b") && maxAbs(p.Gradient) < 1e-12
}

func maxAbs(xs []float32) float64 { return distance(make([]float32, len(xs)), xs) }

// distance returns the largest difference from an element of want.
func distance(got, want []float32) float64 {
	d := 0.0
	for i, w := range want {
		d = max(d, math.Abs(float64(got[i])-float64(w)))
	}
	return d
}
