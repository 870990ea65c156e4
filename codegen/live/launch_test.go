package live_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
)

// TestLaunchesDoNotMatter takes a step with launches of one example, of some and of a whole chunk.
// Problems have different lengths or are padded. Gradients and parameters have the same bits. The
// models use parameters once, twice in an encoder and a decoder, or in every run of a loop. In
// loops problems have several lengths, which may set the number of runs. Biases are learned
// through tables, also of positions that are drawn for a group.
func TestLaunchesDoNotMatter(t *testing.T) {
	const fire, byLength = "model.decoder_only.self.bias=fire(hidden = 4)", "model.decoder_only.times=2 * digits - 1"
	narrow := []string{"model.width=16", "model.heads=2", "train.batch=8", "train.microbatch=4"}
	short := append(slices.Clone(narrow[:3]), "model.ffn=relu(hidden = 16)")
	looped := append(slices.Clone(narrow), "model.ffn=geglu(hidden = 16)", "model.head=geglu(hidden = 16)", "task.operands=digits(1..4)")
	for _, c := range full.Some([]struct {
		spec string
		set  []string
		more []string
		uses bool
	}{
		{"successor", short, nil, true},
		{"small/settle", looped, []string{"model.decoder_only.times=4"}, true},
		{"small/looped", looped, nil, false},
		{"small/looped", looped, []string{"model.dropout=10%"}, false},
		{"successor", short, []string{"model.decoder.times=2"}, true},
		{"kerple", short, nil, true},
		{"small/looped", looped, []string{fire, "model.dropout=10%"}, true},
		{"small/looped", looped, []string{"model.decoder_only.self.mask=causal && i - j < 3", "model.dropout=10%"}, false},
		{"small/looped", looped, []string{"model.decoder_only.self.mask=causal && i - j < 40"}, false},
		{"small/looped", looped, []string{"model.decoder_only.self.relative=shaw(clip = 4)", "model.decoder_only.self.rotary=rope()"}, false},
		{"small/settle", looped, []string{"model.decoder_only.times=4", fire, "model.embed.position=random(learned, max = 64)"}, true},
		{"successor", short, []string{"table.ray.turn=learned([], init = 0.6)", "table.ray.value=cos(turn * n + c)", "model.embed.token=learned(value = ray)", "model.output=linear(tied = true)"}, true},
		{"successor", short, []string{"model.decoder.self.k=q", "model.decoder.self.o=transposed(v)", "model.decoder.cross.v=self.v"}, true},
		{"small/looped", looped, []string{"model.decoder_only.self.q=low(2)", "model.decoder_only.self.qk_norm=rmsnorm()"}, false},
		{"small/looped", looped, []string{"model.decoder_only.self.key_heads=1", "model.decoder_only.self.v=k"}, true},
		{"kerple", short, []string{"model.decoder.layers=4", "model.decoder.share=attention(group = 2)", "model.decoder.times=2"}, true},
		{"small/looped", looped, []string{"model.decoder_only.layers=2", "model.decoder_only.share=ffn"}, true},
		{"small/copy", narrow, []string{byLength, "task.operands=digits(1..4)", "model.decoder_only.self.mask=true"}, true},
		{"small/copy", narrow, []string{byLength, "task.operands=digits(1..4)", fire, "train.lengths=padded"}, true},
		{"small/looped", looped, []string{byLength, "train.loss=cross_entropy", "task.operands=digits(1..3)", fire, "model.dropout=10%"}, true},
	}, 3) {
		t.Run(fmt.Sprint(c.spec, c.more), func(t *testing.T) {
			m, err := live.New(compile(t, c.spec, slices.Concat(c.set, c.more)))
			if err != nil {
				t.Fatal(err)
			}
			if !m.Plan.AnyLaunch || (m.Plan.NumUses > 0) != c.uses {
				t.Fatalf("any launch %v, %d elements of further uses", m.Plan.AnyLaunch, m.Plan.NumUses)
			}
			var want []float32
			for _, l := range []launching{{examples: 4}, {examples: 1}, {examples: 4, repeats: true}, {examples: 2}}[:full.Either(3, 4)] {
				m.Train.Chunk, m.Train.MicroBatch = 4, 1
				tr := simulatedTrainer(t, m)
				l.Machine = tr.Machine
				tr.Machine = l
				if _, err := tr.Step(0.01); err != nil {
					t.Fatal(err)
				}
				n := m.Plan.NumParams
				got := make([]float32, 2*n)
				tr.Machine.Root().GetFloats(got[:n], device.Ref{Space: device.Params})
				tr.Machine.Root().GetFloats(got[n:], device.Ref{Space: device.Grads})
				if err := tr.Machine.Err(); err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("launches of %d examples, alike: %v: other gradients or parameters than with launches of 4: %s", l.examples, l.repeats, differing(got, want))
				}
			}
		})
	}
}

// TestAnyLaunch checks which models may split sums into launches of any size, and why others may
// not.
func TestAnyLaunch(t *testing.T) {
	const length = "a mask or bias reads the length of texts"
	for _, c := range []struct {
		spec string
		set  []string
		why  string // why not
	}{
		{"successor", nil, ""},
		{"successor", []string{"model.decoder.self.bias=kerple / I"}, "the gradient of decoder.self.kerple.r1 is no sum over the rows of a launch"},
		{"kerple", nil, ""},
		{"small/looped", []string{"model.decoder_only.self.bias=fire()"}, ""},
		{"small/looped", []string{"model.decoder_only.self.bias=kerple / I"}, length},
		{"small/looped", nil, ""},
		{"small/looped", []string{"model.dropout=10%"}, ""},
		{"small/looped", []string{"model.decoder_only.self.bias=(i - j) / J"}, length},
		{"small/looped", []string{"model.decoder_only.self.k=q"}, ""},
		{"small/settle", []string{"model.decoder_only.self.k=q"}, "loop.self.q.w is used several times in a run of a loop"},
		{"successor", []string{"model.norm=layernorm(gain = shared)"}, "shared.norms.gamma is used several times in a run of a loop"},
	} {
		p := compile(t, c.spec, c.set).Lowered
		if why := p.WhyMicroBatches(); why != c.why || p.AnyLaunch != (why == "") {
			t.Errorf("%s, %v: any launch %v, %q", c.spec, c.set, p.AnyLaunch, why)
		}
	}
}

// TestTestsDoNotDependOnLaunches decodes and verifies problems of several lengths, with launches
// of one problem and of more. Replies and losses of labels are the same.
func TestTestsDoNotDependOnLaunches(t *testing.T) {
	if full.Tests {
		t.Run("equal runs", func(t *testing.T) { testsDoNotDepend(t, 2) })
	}
	t.Run("runs by length", func(t *testing.T) {
		testsDoNotDepend(t, 0, "train.loss=cross_entropy", "model.decoder_only.times=digits - 4")
	})
}

func testsDoNotDepend(t *testing.T, runs int, set ...string) {
	m, err := live.New(compile(t, "small/looped", append([]string{"model.width=16", "model.heads=2", "model.ffn=geglu(hidden = 16)", "model.head=geglu(hidden = 16)", "train.report=full"}, set...)))
	if err != nil {
		t.Fatal(err)
	}
	if !m.Plan.AnyLength {
		t.Fatal("a launch's length matters to a causal model")
	}
	tr := simulatedTrainer(t, m)
	var problems []task.Problem
	for _, p := range full.Some([][2]int{{2, 9}, {5, 6}, {7, 5}, {6, 6}, {10, 1}}, 2) {
		problems = append(problems, tr.Task.Cell(p[0], p[1], 2)...)
	}
	asked := eval.Model{Plan: &m.Plan, Task: tr.Task, Seed: 1, Runs: runs}
	ctx := context.Background()
	var replies [][]int32
	var score eval.Score
	for _, room := range full.Some([]int{1, 3, 10}, 2) {
		asked.Machine = launching{Machine: tr.Machine, examples: room}
		got, err := asked.Decode(ctx, problems)
		if err != nil {
			t.Fatal(err)
		}
		verified, err := asked.Score(ctx, problems)
		if err != nil {
			t.Fatal(err)
		}
		if replies == nil {
			replies, score = got, verified
		}
		if verified != score || score.Loss == 0 {
			t.Errorf("launches of %d problems: %+v, and %+v of one", room, verified, score)
		}
		if diff := cmp.Diff(replies, got); diff != "" {
			t.Errorf("launches of %d problems (-of one +of these):\n%s", room, diff)
		}
	}
}

// launching is a machine for launches of a number of examples. With repeats, it asks for identical
// launches.
type launching struct {
	device.Machine
	examples int
	repeats  bool
}

func (l launching) Repeats() bool { return l.repeats }

func (l launching) Examples(int, int, func(int) float64) int { return l.examples }

// differing returns the number of elements that differ, and the first.
func differing(a, b []float32) string {
	n, first := 0, -1
	for i := range a {
		if a[i] != b[i] {
			if n++; first < 0 {
				first = i
			}
		}
	}
	return fmt.Sprintf("%d of %d, the first at %d", n, len(a), first)
}

// TestSharedLayersAreRuns compares layers that share all parameters with as many runs of one
// layer. Their bits are the same.
func TestSharedLayersAreRuns(t *testing.T) {
	var trained [2][]float32
	for i, set := range [][]string{
		{"model.decoder.layers=3", "model.decoder.share=all"},
		{"model.decoder.layers=1", "model.decoder.times=3"},
	} {
		set = append(set, "model.width=16", "model.heads=2", "model.ffn=relu(hidden = 16)", "train.batch=8", "model.dropout=10%", "train.seed=3")
		m, err := live.New(compile(t, "successor", set))
		if err != nil {
			t.Fatal(err)
		}
		tr := simulatedTrainer(t, m)
		for range 2 {
			if _, err := tr.Step(0.01); err != nil {
				t.Fatal(err)
			}
		}
		trained[i] = make([]float32, m.Plan.NumParams)
		tr.Machine.Root().GetFloats(trained[i], device.Ref{Space: device.Params})
		if err := tr.Machine.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(trained[0], trained[1]) {
		t.Errorf("shared layers and runs of one: %s", differing(trained[0], trained[1]))
	}
}
