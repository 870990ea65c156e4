package peers

import (
	"encoding/json"
	"fmt"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// A Case is a model that the scripts know.
type Case struct {
	Name    string
	Title   string
	Kind    string // name in models.py, which has the spec's masks
	Spec    string // path in the repository
	Set     []string
	Kernels bool // command bench lists its kernels one by one

	// Certain are settings, for both sides, of a step to compare. They remove randomness.
	Certain []string
	Torch   bool // only PyTorch runs it
	GPU     bool // a step is too large for a processor, so it is not compared
}

// paper are the problems, batches and learning rate of arXiv:2310.11984.
var paper = []string{"task.pad=zero(to = 61)", "train.batch=512",
	"train.optimizer=adam(lr = 1e-4, betas = [0.9, 0.98], eps = 1e-9)", "train.schedule=constant"}

var (
	// simple are settings of a loop that the scripts support: no weight decay and no clipping.
	simple = []string{"train.optimizer=adam(lr = 1e-3, betas = [0.9, 0.98], eps = 1e-9)", "train.clip=none"}
	// certain turns off offsets, noise and random recurrences.
	certain = []string{"train.loss=cross_entropy", "model.embed.position=abacus(max_offset = 0, table = 128)", "model.decoder_only.state=normal(std = 0)", "train.microbatch=8"}
	// large is one group of draws, in chunks that are launches of a GPU.
	large = []string{"train.batch=512", "train.chunk=512"}
)

// Cases returns all cases.
func Cases() []Case {
	return []Case{
		{Name: "abs", Kind: "abs", Spec: "specs/bias/addition_abs.arith", Set: append([]string{"model.dropout=30%"}, paper...), Kernels: true,
			Title: "addition with attention bias scaffolding, dropout 0.3"},
		{Name: "abs-no-dropout", Kind: "abs", Spec: "specs/bias/addition_abs.arith", Set: append([]string{"model.dropout=0%"}, paper...),
			Title: "the same without dropout"},
		{Name: "abs-bf16", Kind: "abs", Spec: "specs/bias/addition_abs.arith", Set: append([]string{"model.dropout=30%", "train.precision=bf16"}, paper...), GPU: true,
			Title: "addition with attention bias scaffolding in bf16, dropout 0.3"},
		{Name: "successor", Kind: "successor", Spec: "specs/successor.arith",
			Title: "the quick start"},
		{Name: "fire-40", Kind: "fire", Spec: "bench/specs/fire.arith",
			Title: "decoder with FIRE, 40 rows"},
		{Name: "looped", Kind: "looped", Spec: "specs/small/looped.arith", Set: append([]string{"train.microbatch=128"}, simple...), Certain: certain, Torch: true, Kernels: true,
			Title: "a small looped transformer, one draw a step"},
		{Name: "looped8x2", Kind: "looped", Spec: "specs/looped8x2.arith", Set: append(large[:len(large):len(large)], simple...), Torch: true, GPU: true,
			Title: "8 layers applied twice, 512 examples"},
		{Name: "looped8x2-bf16", Kind: "looped", Spec: "specs/looped8x2.arith", Set: append(append(large[:len(large):len(large)], "train.precision=bf16"), simple...), Torch: true, GPU: true,
			Title: "the same in bf16"},
		{Name: "gpt", Kind: "gpt", Spec: "cli/build/starter/gpt.arith", Set: []string{"train.schedule=constant"}, Torch: true, Kernels: true,
			Title: "nanoGPT's character-level model for a processor, 12 windows of 64"},
		{Name: "fire-80", Kind: "fire", Spec: "bench/specs/fire.arith", Set: []string{"task.pad=zero(to = 79)"}, Kernels: true,
			Title: "decoder with FIRE, 80 rows"},
	}
}

// A Problem describes a model to the scripts; models.py reads it.
type Problem struct {
	Kind    string             `json:"kind"`
	Width   int                `json:"width"`
	Heads   int                `json:"heads"`
	Hidden  int                `json:"hidden"`
	Layers  int                `json:"layers"`
	Vocab   int                `json:"vocab"`
	Dropout float64            `json:"dropout"`
	Adam    map[string]float64 `json:"adam"`
	Loop    *Loop              `json:"loop,omitempty"`
	Tensors map[string][]int   `json:"tensors"`
	Batches []Batch            `json:"batches"`
}

// A Loop describes a looped model to the scripts.
type Loop struct {
	Layers    int     `json:"layers"`
	Times     int     `json:"times"`
	WithGrad  int     `json:"with_grad"` // recurrences with gradients, at most; 0 for all
	Noise     float64 `json:"noise"`     // standard deviation of the loop's initial state
	MaxOffset int     `json:"max_offset"`
	Table     int     `json:"table"` // number of rows of the position table
	NormEps   float64 `json:"norm_eps"`
}

// A Batch is tokens, one example a row.
type Batch struct {
	Source [][]int32 `json:"source"`
	Target [][]int32 `json:"target"`
	Labels [][]int32 `json:"labels"`
}

// NewProblem returns the problem of a case's resolved spec and the shapes of its parameters,
// without batches.
func NewProblem(kind string, spec *check.Spec, tensors map[string][]int) Problem {
	m, o := &spec.Model, &spec.Train
	p := Problem{Kind: kind, Width: m.Width, Heads: m.Heads, Hidden: m.Hidden, Dropout: m.Dropout,
		Adam:    map[string]float64{"lr": o.LR, "beta1": o.Beta1, "beta2": o.Beta2, "eps": o.Eps, "decay": o.Decay, "clip": o.Clip},
		Tensors: tensors}
	if l := m.Loop; l != nil {
		p.Loop = &Loop{Layers: l.Layers, Times: l.Times, WithGrad: o.Backprop, Noise: l.Std, MaxOffset: m.Position.MaxOffset,
			Table: tensors["embed.position"][0], NormEps: m.NormEps}
	} else {
		p.Layers = m.Decoder.Layers
	}
	for _, name := range []string{"embed.token", "shared.token"} { // a tied table is shared
		if shape := tensors[name]; len(shape) > 0 {
			p.Vocab = shape[0]
		}
	}
	return p
}

// Write writes the problem file.
func (p *Problem) Write(path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return ckpt.WriteFile(path, text)
}

// Batches returns the n batches that a spec's program trains on after so many steps.
func Batches(s *check.Spec, after, n int) ([]Batch, error) {
	problems, err := tasks.New(task.Config(s.Task.Task), s.Train.Seed)
	if err != nil {
		return nil, err
	}
	problems = problems.Over((*train.Config)(&s.Train.Train).Length())
	var all []Batch
	for step := range n {
		drawn := make([]task.Problem, s.Train.Batch)
		for i := range drawn {
			drawn[i] = problems.Train(int64((after+step)*s.Train.Batch + i))
		}
		b, err := problems.Batch(drawn)
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", after+step, err)
		}
		all = append(all, Batch{rows(b.Source, b.S), rows(b.Target, b.T), rows(b.Labels, b.T)})
	}
	return all, nil
}

// rows splits tokens into examples of n tokens.
func rows(tokens []int32, n int) [][]int32 {
	var all [][]int32
	for ; len(tokens) > 0; tokens = tokens[n:] {
		all = append(all, tokens[:n])
	}
	return all
}
