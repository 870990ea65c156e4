package continuing_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/config"
	. "github.com/arithlang/mlc/runtime/continuing"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/philox"
	"github.com/arithlang/mlc/runtime/task"
)

// A bigram is a model whose logits depend on the last token alone. It notes the rows of launches.
type bigram struct {
	device.Machine
	device.Worker
	logits func(last int32, next int) float32
	vocab  int
	env    device.Env
	target []int32
	labels []int32
	rows   []int
}

const (
	atTarget = iota
	atLabels
	atPred
	atLoss
	atLogits = 1 << 20
)

func (m *bigram) Err() error                                              { return nil }
func (m *bigram) Repeats() bool                                           { return false }
func (m *bigram) Examples(least, _ int, _ func(examples int) float64) int { return least }
func (m *bigram) Each(n int, f func(w device.Worker, i int))              { f2(n, m, f) }
func (m *bigram) Queue() device.Queue                                     { return device.NewQueue(nil) }
func (m *bigram) Env() *device.Env                                        { return &m.env }
func (m *bigram) Fit(int, int)                                            {}
func (m *bigram) GetInts([]int32, device.Ref)                             {}
func (m *bigram) PutFloats(device.Ref, []float32)                         {}

func f2(n int, m *bigram, f func(w device.Worker, i int)) {
	for i := range n {
		f(m, i)
	}
}

func (m *bigram) PutInts(r device.Ref, x []int32) {
	switch r.Off {
	case atTarget:
		m.target = slices.Clone(x)
		m.rows = append(m.rows, len(x))
	case atLabels:
		m.labels = slices.Clone(x)
	}
}

// all are the logits after a token.
func (m *bigram) all(last int32) []float64 {
	out := make([]float64, m.vocab)
	for i := range out {
		out[i] = float64(m.logits(last, i))
	}
	return out
}

func softmax(logits []float64) []float64 {
	out, sum := make([]float64, len(logits)), 0.0
	for i, x := range logits {
		out[i] = math.Exp(x)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func (m *bigram) GetFloats(dst []float32, r device.Ref) {
	if r.Off == atLoss {
		for i := range dst {
			if m.labels[i] >= 0 {
				dst[i] = float32(-math.Log(softmax(m.all(m.target[i]))[m.labels[i]]))
			}
		}
		return
	}
	row := (r.Off - atLogits) / m.vocab
	for i, x := range m.all(m.target[row]) {
		dst[i] = float32(x)
	}
}

func newBigram(t *testing.T, cfg task.Config, logits func(last int32, next int) float32) (*bigram, *eval.Model) {
	t.Helper()
	problems, err := tasks.New(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &bigram{logits: logits, vocab: problems.Vocab()}
	at := func(off int) device.Ref { return device.Ref{Space: device.Work, Off: off} }
	plan := &device.Plan{Forward: device.Program{Run: func(device.Queue, *device.Env) {}, Layout: func(*device.Env) device.Layout {
		return device.Layout{Target: at(atTarget), Labels: at(atLabels), Pred: at(atPred), Loss: at(atLoss), Logits: at(atLogits)}
	}}}
	return m, &eval.Model{Machine: m, Plan: plan, Task: problems, Runs: 1}
}

var text = strings.Repeat("the cat sat on the mat; ", 20) + "on that hat."

func config8(holdout float64) task.Config {
	return task.Config{Kind: "text", Sequence: true, Padded: true, LossOnAll: true, Problems: text, LengthLo: 8, LengthHi: 8, Holdout: holdout}
}

// TestUniform wants a model that knows nothing to lose ln V nats, and log2 V bits.
func TestUniform(t *testing.T) {
	for _, holdout := range []float64{0, 0.25} {
		_, m := newBigram(t, config8(holdout), func(int32, int) float32 { return 3 })
		got, err := Reader{}.Test(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(m.Task.Vocab())
		tested, of := len(text), Trained
		if holdout > 0 {
			tested, of = 123, HeldOut
		}
		if math.Abs(got.Loss-math.Log(v)) > 1e-6 || math.Abs(got.Bits-math.Log2(v)) > 1e-6 || got.Tokens != tested-1 || got.Of != of {
			t.Errorf("%+v, want %g nats and %g bits on %d characters of %s", got, math.Log(v), math.Log2(v), tested-1, of)
		}
	}
}

// TestLoss compares with a sum over the held-out text, character by character.
func TestLoss(t *testing.T) {
	b, m := newBigram(t, config8(0.25), func(last int32, next int) float32 { return float32((3*int(last)+5*next)%7) / 2 })
	symbols := m.Task.Vocabulary()
	tail := text[len(text)-123:]
	sum := 0.0
	for i := 1; i < len(tail); i++ {
		last, next := slices.Index(symbols, tail[i-1:i]), slices.Index(symbols, tail[i:i+1])
		sum -= math.Log(softmax(b.all(int32(last)))[next])
	}
	got, err := Reader{}.Test(t.Context(), m)
	if want := sum / float64(len(tail)-1); err != nil || math.Abs(got.Loss-want) > 1e-6 || math.Abs(got.Bits-want/math.Ln2) > 1e-6 {
		t.Errorf("%+v: %v, want %g nats", got, err, want)
	}
}

func continued(t *testing.T, m *eval.Model, prompt string, how config.Sampling) string {
	t.Helper()
	var b strings.Builder
	if err := (Reader{}).Continue(t.Context(), m, prompt, how, false, &b); err != nil {
		t.Fatal(err)
	}
	more, found := strings.CutPrefix(b.String(), prompt)
	if !found {
		t.Errorf("%q does not begin with %q", b.String(), prompt)
	}
	return strings.TrimSuffix(more, "\n")
}

// TestContinue wants a sliding window, the same text for the same seed, and the likeliest text at
// temperature 0 and near it.
func TestContinue(t *testing.T) {
	b, m := newBigram(t, config8(0.25), func(last int32, next int) float32 { return float32((3*int(last)+5*next)%11) + float32(next)/100 })
	symbols := m.Task.Vocabulary()
	greedy, last := "", slices.Index(symbols, "e")
	for range 30 {
		all := b.all(int32(last))
		last = slices.Index(all, slices.Max(all))
		greedy += symbols[last]
	}
	b.rows = nil
	if got := continued(t, m, "the", config.Sampling{Tokens: 30}); got != greedy {
		t.Errorf("greedily %q, want %q", got, greedy)
	}
	if want := []int{3, 4, 5, 6, 7, 8, 8, 8}; !slices.Equal(b.rows[:8], want) || slices.Max(b.rows) != 8 {
		t.Errorf("the model reads %v characters", b.rows)
	}
	for _, how := range []config.Sampling{{Tokens: 30, Temperature: 1e-3}, {Tokens: 30, Temperature: 5, TopK: 1}} {
		if got := continued(t, m, "the", how); got != greedy {
			t.Errorf("%+v gives %q, want %q", how, got, greedy)
		}
	}
	free := config.Sampling{Tokens: 300, Temperature: 2, DrawSeed: 5}
	one, again := continued(t, m, "the", free), continued(t, m, "the", free)
	free.DrawSeed = 6
	if one != again || one == continued(t, m, "the", free) {
		t.Error("the text does not depend on the seed alone")
	}
	if got := continued(t, m, "t", config.Sampling{Temperature: 1}); len(got) != Default {
		t.Errorf("%d characters, want %d", len(got), Default)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Reader{}).Continue(ctx, m, "t", config.Sampling{}, false, io.Discard); err == nil {
		t.Error("an interrupted text ends without an error")
	}
	if err := (Reader{}).Continue(t.Context(), m, "t", config.Sampling{Temperature: math.NaN()}, false, io.Discard); err == nil {
		t.Error("a temperature is not a number")
	}
	var line strings.Builder
	if err := (Reader{}).Continue(t.Context(), m, "the", config.Sampling{Tokens: 3}, true, &line); err != nil || line.String() != fmt.Sprintf(`{"answer":%q,"problem":"the"}`+"\n", greedy[:3]) {
		t.Errorf("%s: %v", line.String(), err)
	}
}

// TestDraw compares the frequencies of draws with the softmax. Chi-square of 4 degrees of freedom
// is below 18.5 with probability 0.999.
func TestDraw(t *testing.T) {
	logits := []float32{0.5, -1, 2, 0, 1.25}
	const draws = 20000
	for _, how := range []config.Sampling{{Temperature: 1}, {Temperature: 2}, {Temperature: 0.7, TopK: 3}, {Temperature: 1, TopK: 9}} {
		scaled := make([]float64, len(logits))
		for i, x := range logits {
			scaled[i] = float64(x) / how.Temperature
			if how.TopK == 3 && x < 0.5 {
				scaled[i] = math.Inf(-1)
			}
		}
		counts := make([]float64, len(logits))
		for n := range uint64(draws) {
			counts[Draw(logits, how, philox.NewSource(9, philox.Sampled, n, 0))]++
		}
		chi := 0.0
		for i, p := range softmax(scaled) {
			if want := p * draws; want > 0 {
				chi += (counts[i] - want) * (counts[i] - want) / want
			} else if counts[i] > 0 {
				t.Errorf("%+v draws token %d", how, i)
			}
		}
		if chi > 18.5 {
			t.Errorf("%+v: chi-square is %.1f, of %v", how, chi, counts)
		}
	}
	if got := Draw([]float32{1, 3, 3, 2}, config.Sampling{}, nil); got != 1 {
		t.Errorf("the first of the likeliest is token %d, want 1", got)
	}
}
