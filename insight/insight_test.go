package insight

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/peertest"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

// resolve returns a spec with settings.
func resolve(t *testing.T, file string, set ...string) *check.Spec {
	t.Helper()
	spec, list := check.Resolve(check.Options{Path: file, Read: os.ReadFile, Set: set})
	if list.HasErrors() {
		list.Text(t.Output(), os.ReadFile, false)
		t.FailNow()
	}
	return spec
}

// weights returns random weights for all parameters of a spec.
func weights(t *testing.T, spec *check.Spec) Weights {
	t.Helper()
	p, err := model.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	w := Weights{}
	for n, g := range p.Groups {
		for l := range g.Layers {
			for k, param := range g.Params {
				values := make([]float32, param.Elems())
				for i := range values {
					word := philox.Block(philox.KeyOf(uint64(n)), [4]uint32{uint32(l), uint32(k), uint32(i), 0})[0]
					values[i] = float32(word>>8)/(1<<24) - 0.5
				}
				w[nameOf((*plan.Group)(g), l, param.Name)] = values
			}
		}
	}
	return w
}

// TestPeers compares the forward program with predictions of PyTorch, which depend on every
// call, every parameter and every run of a loop.
func TestPeers(t *testing.T) {
	const folder = "../compiler/testdata/looped"
	files, err := filepath.Glob(folder + "/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no fixtures", err)
	}
	for _, file := range full.Some(files, 16) {
		c, err := peertest.Read(folder, strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			t.Fatal(err)
		}
		w := Weights{}
		for _, p := range c.Params {
			w[p.Name] = p.Initial
			w[strings.Replace(p.Name, "loop.", "loop.0.", 1)] = p.Initial // of a single layer
		}
		m, err := New(resolve(t, folder+"/looped.arith", c.Set...), w, c.Seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range c.Tests {
			m.times = test.Times
			for b, row := range c.Target {
				r, err := m.read(t.Context(), task.Batch{B: 1, T: len(row), Target: row, Labels: c.Labels[b]})
				if err != nil {
					t.Fatal(err)
				}
				var got []int32
				for _, x := range r.buffers[tensor{model.Pred, 0}].I {
					got = append(got, int32(x))
				}
				if !slices.Equal(got, test.Pred[b]) {
					t.Errorf("%s, %d runs, example %d: %v, want %v", file, test.Times, b, got, test.Pred[b])
				}
			}
		}
	}
}

// TestAttention names all sites, and every row of weights is a distribution over open cells.
func TestAttention(t *testing.T) {
	for _, c := range []struct {
		file  string
		set   []string
		names string
		open  func(name string, h, i, j, keys int) bool
	}{
		{"../specs/successor.arith", nil, "decoder.0.self 0, decoder.0.cross 0, decoder.1.self 0, decoder.1.cross 0", func(name string, _, i, j, keys int) bool {
			if strings.HasSuffix(name, "self") {
				return 0 <= i-j && i-j <= 1
			}
			return 0 <= keys-1-i-j && keys-1-i-j <= 1
		}},
		{"../specs/small/looped.arith", []string{"model.decoder_only.times=2"}, "loop.0.self 0, loop.1.self 0, loop.0.self 1, loop.1.self 1", func(_ string, _, i, j, _ int) bool { return j <= i }},
		{"../specs/small/looped.arith", []string{"model.decoder_only.times=2", "model.decoder_only.layers=2", "model.decoder_only.self.mask=layer == 2 || i - j < layer + h"},
			"loop.0.self 0, loop.1.self 0, loop.0.self 1, loop.1.self 1", func(name string, h, i, j, _ int) bool { return j <= i && (name == "loop.1.self" || i-j < 1+h) }},
		{"../specs/bias/addition_vanilla.arith", []string{"model.encoder.layers=2", "model.decoder.layers=2", "task.pad=none", "model.encoder.self.mask=layer == 1 || j < 3", "model.decoder.cross.mask=j >= layer"},
			"encoder.0.self 0, encoder.1.self 0, decoder.0.self 0, decoder.0.cross 0, decoder.1.self 0, decoder.1.cross 0", func(name string, _, i, j, _ int) bool {
				switch name {
				case "encoder.1.self":
					return j < 3
				case "decoder.0.cross":
					return j >= 1
				case "decoder.1.cross":
					return j >= 2
				}
				return strings.HasPrefix(name, "encoder") || j <= i
			}},
		{"../specs/bias/addition_vanilla.arith", []string{"model.encoder.layers=1", "model.decoder.layers=1", "task.pad=none"}, "encoder.0.self 0, decoder.0.self 0, decoder.0.cross 0",
			func(name string, _, i, j, _ int) bool { return name != "decoder.0.self" || j <= i }},
	} {
		spec := resolve(t, c.file, slices.Concat(c.set, []string{"model.width=16", "model.heads=4"})...)
		m, err := New(spec, weights(t, spec), 1)
		if err != nil {
			t.Fatal(c.file, err)
		}
		problems, err := tasks.New(task.Config(spec.Task.Task), 1)
		if err != nil {
			t.Fatal(err)
		}
		a, err := m.Attend(t.Context(), problems, problems.Train(0), 0)
		if err != nil {
			t.Fatal(c.file, err)
		}
		var names []string
		for _, s := range a.Sites {
			names = append(names, fmt.Sprintf("%s %d", s.Name, s.Run))
			rows, keys := a.Target, a.Source
			if s.Self {
				keys = rows
			}
			if s.Source {
				rows, keys = a.Source, a.Source
			}
			for h, head := range s.Values {
				if len(s.Values) != 4 || len(head) != len(rows) || len(head[0]) != len(keys) {
					t.Fatalf("%s: %d heads of %d x %d", s.Name, len(s.Values), len(head), len(head[0]))
				}
				for i, row := range head {
					sum, any := 0.0, false
					for j, x := range row {
						sum += x
						open := c.open(s.Name, h, i, j, len(keys))
						any = any || open
						if x < 0 || open != (x > 0) {
							t.Fatalf("%s, head %d, (%d, %d): %g, open %v", s.Name, h, i, j, x, open)
						}
					}
					if any && math.Abs(sum-1) > 1e-12 {
						t.Errorf("%s, head %d, row %d adds up to %g", s.Name, h, i, sum)
					}
				}
			}
		}
		if got := strings.Join(names, ", "); got != c.names {
			t.Errorf("%s: %s, want %s", c.file, got, c.names)
		}
	}
}

// TestOwnAnswer compares the answer of Attend with one decoded token by token, where later
// rows of the target keep their content.
func TestOwnAnswer(t *testing.T) {
	for file, set := range map[string][]string{
		"../specs/successor.arith":             {"task.pad=none"},
		"../specs/small/looped.arith":          {"model.decoder_only.times=2"},
		"../specs/bias/addition_vanilla.arith": {"model.encoder.layers=1", "model.decoder.layers=1", "task.pad=none"},
	} {
		spec := resolve(t, file, slices.Concat(set, []string{"model.width=16", "model.heads=4"})...)
		m, err := New(spec, weights(t, spec), 1)
		if err != nil {
			t.Fatal(file, err)
		}
		problems, err := tasks.New(task.Config(spec.Task.Task), 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range int64(2) {
			p := problems.Train(k)
			a, err := m.Attend(t.Context(), problems, p, 0)
			if err != nil {
				t.Fatal(file, err)
			}
			batch, err := problems.One(p)
			if err != nil {
				t.Fatal(err)
			}
			var reply []int32
			row := max(problems.Prompt(p)-1, 0)
			for ; row < batch.T && batch.Labels[row] >= 0; row++ {
				r, err := m.read(t.Context(), batch)
				if err != nil {
					t.Fatal(err)
				}
				reply = append(reply, int32(r.buffers[tensor{model.Pred, 0}].I[row]))
				if reply[len(reply)-1] == problems.EOS() {
					row++
					break
				}
				if row+1 < batch.T {
					batch.Target[row+1] = reply[len(reply)-1]
				}
			}
			if got, want := a.Answer, problems.Decode(p, reply); got != want || len(a.Target) != row {
				t.Errorf("%s, problem %s: %q in %d rows, want %q in %d", file, problems.Text(p), got, len(a.Target), want, row)
			}
			if a.Answer == p.Answer {
				t.Errorf("%s: random weights are right about %s", file, problems.Text(p))
			}
		}
	}
}

// TestBiases computes the biases of KERPLE and FIRE by hand.
func TestBiases(t *testing.T) {
	spec := resolve(t, "../specs/kerple.arith", "model.width=16")
	w := weights(t, spec)
	m, err := New(spec, w, 1)
	if err != nil {
		t.Fatal(err)
	}
	const length = 5
	biases, err := m.Biases(length)
	if err != nil {
		t.Fatal(err)
	}
	if len(biases) != 2*spec.Model.Heads || biases[1].Name != "decoder.0.self" || biases[1].Head != 1 {
		t.Fatalf("%d biases", len(biases))
	}
	least, values, ok := biases[1].Distances()
	if !ok || len(values) == 0 {
		t.Fatal("no bias by distance")
	}
	r1, r2 := float64(w["decoder.0.self.kerple.r1"][1]), float64(w["decoder.0.self.kerple.r2"][1])
	for k, got := range values {
		want := -r1 * math.Log(1+r2*math.Abs(float64(least+k)))
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("at distance %d: %g, want %g", least+k, got, want)
		}
	}
	for i, row := range biases[1].Mask {
		for j, open := range row {
			if open != (j <= i) {
				t.Errorf("(%d, %d) open: %v", i, j, open)
			}
		}
	}
}

// TestOnce merges a bias that all layers share.
func TestOnce(t *testing.T) {
	b := func(name string, head int, x float64) Bias {
		return Bias{Name: name, Head: head, Values: [][]float64{{x}}}
	}
	got := once([]Bias{b("decoder.0.self", 0, 1), b("decoder.0.self", 1, 2), b("decoder.0.cross", 0, 5), b("decoder.1.self", 0, 1), b("decoder.1.self", 1, 3), b("encoder.0.self", 0, 4)})
	var names []string
	for _, x := range got {
		names = append(names, fmt.Sprint(x.Name, " ", x.Head, " ", x.Values[0][0]))
	}
	want := []string{"decoder.*.self 0 1", "decoder.0.self 1 2", "decoder.0.cross 0 5", "decoder.1.self 1 3", "encoder.0.self 0 4"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// TestDistances refuses a bias that does not depend on the distance alone.
func TestDistances(t *testing.T) {
	b := Bias{Values: [][]float64{{1, 2}, {3, 4}}, Mask: [][]bool{{true, true}, {true, true}}}
	if _, _, ok := b.Distances(); ok {
		t.Error("1 and 4 are at the same distance")
	}
	b.Mask[1][1] = false
	if least, values, ok := b.Distances(); !ok || least != -1 || !slices.Equal(values, []float64{3, 1, 2}) {
		t.Error(least, values, ok)
	}
}

// TestMisfits names the parameter that a checkpoint lacks, and stops when the context ends.
func TestMisfits(t *testing.T) {
	spec := resolve(t, "../specs/successor.arith", "model.width=16")
	w := weights(t, spec)
	m, err := New(spec, w, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.read(ctx, task.Batch{B: 1, T: 1, S: 1, Source: []int32{0}, Target: []int32{0}, Labels: []int32{0}}); err != context.Canceled {
		t.Error(err)
	}
	w["head.out.w"] = w["head.out.w"][1:]
	if _, err := New(spec, w, 1); err == nil || !strings.Contains(err.Error(), "no head.out.w of shape [16 17]") {
		t.Error(err)
	}
}
