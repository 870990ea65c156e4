package compiler_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/peertest"
	"github.com/arithlang/mlc/internal/full"
)

const loopedFolder = "testdata/looped"

// TestLooped compares every architecture with every position scheme to PyTorch.
func TestLooped(t *testing.T) {
	files, err := filepath.Glob(loopedFolder + "/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no fixtures", err)
	}
	if !full.Tests { // one architecture with every scheme, and every architecture with some
		files = slices.DeleteFunc(files, func(file string) bool {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			architecture, _, _ := strings.Cut(name, "_")
			return slices.Contains([]string{"ii", "lt", "st"}, architecture) && !slices.Contains([]string{"ii_abacus_fire", "lt_rope", "st_shifted"}, name)
		})
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			l := newLooped(t, name)
			for _, d := range l.peer.Compare(l) {
				t.Error(d)
			}
		})
	}
}

// TestLoopedTellsModelsApart makes sure that the comparison notices a small change of the
// model.
func TestLoopedTellsModelsApart(t *testing.T) {
	mutations := []struct{ peer, set string }{
		{"lxr_abacus", "model.decoder_only.inject = add(before = block)"},
		{"embed_abacus", "model.decoder_only.inject = none"},
		{"entry_abacus", "model.decoder_only.inject = add(before = every_layer)"},
		{"lxr_abacus", "model.decoder_only.state = embed"},
		{"lxr_abacus", "model.decoder_only.state = normal(std = 0.1001)"},
		{"embed_abacus", "model.decoder_only.state = normal(std = 0.1)"},
		{"embed_abacus", "model.decoder_only.state = normal(std = 0)"},
		{"lxr_abacus", "model.embed.position = abacus(max_offset = 5, table = 12)"},
		{"lxr_abacus", "train.microbatch = 1"},
		{"lxr_shifted", "model.embed.position = learned(max = 12)"},
		{"lxr_shifted", "model.embed.position = shifted(learned, max_offset = 1, max = 12)"},
		{"plain_shifted", "model.embed.position = sinusoidal"},
		{"plain_shifted", "model.embed.position = shifted(sinusoidal, max_offset = 39)"},
		{"lxr_learned", "model.embed.token = learned(scale = 1.001)"},
		{"lxr_nope", "model.embed.norm = layernorm(eps = 1e-4)"},
		{"lxr_nope", "model.norm = layernorm(eps = 1e-4)"},
		{"lxr_nope", "model.heads = 4"},
		{"lxr_nope", "model.decoder_only.self.mask = causal() && i - j <= 6"},
		{"lxr_nope", "model.decoder_only.self.scale = 0.49"},
		{"lxr_fire", "model.decoder_only.self.bias = fire(hidden = 4, c = 0.1, threshold = 6)"},
		{"lxr_rope", "model.decoder_only.self.rotary = rope(base = 9000)"},
		{"lxr_rope", "model.decoder_only.self.rotary = rope(fraction = 50%)"},
		{"lxr_abacus_rope", "model.decoder_only.self.rotary = none"},
		{"llama", "model.norm = rmsnorm(eps = 1e-4, place = pre)"},
		{"llama", "model.norm = rmsnorm(eps = 1e-12, place = post)"},
		{"llama", "model.decoder_only.self.rotary = rope()"},
		{"gpt", "model.ffn = relu(hidden = 8)"},
		{"swiglu", "model.ffn = geglu(hidden = 16)"},
		{"swiglu", "model.head = geglu(hidden = 16)"},
	}
	for _, m := range full.Some(mutations, 5) {
		t.Run(m.peer+", "+m.set, func(t *testing.T) {
			l := newLooped(t, m.peer, m.set)
			if len(l.peer.ComparePass(l, l.peer.Passes[0])) == 0 {
				t.Error("it agrees with its peer, which it should not")
			}
		})
	}
}

// A looped is a peertest.Model: a compiled model that the interpreter runs, with the
// parameters of its peer.
type looped struct {
	*trainee
	t    *testing.T
	peer *peertest.Case
}

// newLooped compiles the model of a fixture. set overrides the spec.
func newLooped(t *testing.T, name string, set ...string) *looped {
	t.Helper()
	p, err := peertest.Read(loopedFolder, name)
	if err != nil {
		t.Fatal(err)
	}
	var params []peerParam
	for _, x := range p.Params {
		params = append(params, peerParam{Name: x.Name, Shape: x.Shape, Initial: x.Initial})
	}
	return &looped{newTrainee(t, loopedFolder+"/looped.arith", params, slices.Concat(p.Set, set)...), t, p}
}

// Pass sums micro-batches as training does, here of 3 examples and of 1.
func (l *looped) Pass(free, kept int) (rows [][]float32, gradients map[string][]float32) {
	clear(l.machine.Grads)
	for _, cut := range [][2]int{{0, 3}, {3, len(l.peer.Target)}} {
		e, s := l.entry("gradients", cut[0], cut[1], kernel.Scalars{
			"step": float64(l.peer.Step), "example": float64(cut[0]), "scale": 1 / float64(l.peer.Kept()), "NoGrad": float64(free), "WithGrad": float64(kept),
		})
		copy(l.machine.Ints(e, model.Labels, 0), slices.Concat(l.peer.Labels[cut[0]:cut[1]]...))
		l.run(e, s)
		rows = slices.AppendSeq(rows, slices.Chunk(slices.Clone(l.machine.Floats(e, model.Loss, 0)), len(l.peer.Target[0])))
	}
	gradients = map[string][]float32{}
	for _, p := range l.peer.Params {
		gradients[p.Name] = l.machine.Grads[l.at[p.Name]:][:len(p.Initial)]
	}
	return rows, gradients
}

func (l *looped) Forward(times int) [][]int32 {
	e, s := l.entry("forward", 0, len(l.peer.Target), kernel.Scalars{"Times": float64(times)})
	l.run(e, s)
	return slices.Collect(slices.Chunk(l.machine.Ints(e, model.Pred, 0), len(l.peer.Target[0])))
}

func (l *looped) Decode(times int) [][]int32 {
	e, s := l.entry("decode", 0, len(l.peer.Target), kernel.Scalars{"Times": float64(times)})
	pred := make([][]int32, len(l.peer.Target))
	for _, rows := range l.peer.Launches() {
		from, to := rows[0], rows[1]
		var tokens []int32
		for _, row := range l.peer.Target {
			tokens = append(tokens, row[from:to]...)
		}
		copy(l.machine.Ints(e, model.TargetTokens, 0), tokens)
		s["P"], s["T"] = float64(from), float64(to-from)
		l.run(e, s)
		for b := range pred {
			pred[b] = append(pred[b], l.machine.Ints(e, model.Pred, 0)[b*(to-from):][:to-from]...)
		}
	}
	return pred
}

// entry prepares a program for the tokens of examples lo … hi-1 and sets the scalars s.
func (l *looped) entry(name string, lo, hi int, s kernel.Scalars) (*lower.Entry, kernel.Scalars) {
	e := l.program.Entry(name)
	rows := float64(len(l.peer.Target[0]))
	all := kernel.Scalars{"B": float64(hi - lo), "S": 0, "T": rows, "C": rows, "P": 0, "step": 0, "example": 0,
		"seed0": float64(uint32(l.peer.Seed)), "seed1": float64(l.peer.Seed >> 32)}
	maps.Copy(all, s)
	l.machine.Prepare(e, all)
	copy(l.machine.Ints(e, model.TargetTokens, 0), slices.Concat(l.peer.Target[lo:hi]...))
	return e, all
}

func (l *looped) run(e *lower.Entry, s kernel.Scalars) {
	l.t.Helper()
	if err := l.machine.Run(e, s); err != nil {
		l.t.Fatal(err)
	}
}

// TestLossesOfForward compares the losses that reports print with PyTorch's, for models
// that draw nothing in training.
func TestLossesOfForward(t *testing.T) {
	for _, name := range []string{"gpt", "llama", "plain_learned", "alone_rope"} {
		l := newLooped(t, name, "train.report = full()")
		for _, pass := range l.peer.Passes {
			e, s := l.entry("forward", 0, len(l.peer.Target), kernel.Scalars{"Times": float64(pass.NoGrad + pass.WithGrad)})
			copy(l.machine.Ints(e, model.Labels, 0), slices.Concat(l.peer.Labels...))
			l.run(e, s)
			rows := slices.Collect(slices.Chunk(l.machine.Floats(e, model.Loss, 0), len(l.peer.Target[0])))
			for _, d := range l.peer.CompareLosses(pass, rows) {
				t.Errorf("%s, %d runs: %s", name, pass.NoGrad+pass.WithGrad, d)
			}
		}
	}
}
