// Package continuing tests models of text, and continues texts by sampling. Only programs of such
// models link it.
package continuing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/elementary"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/philox"
)

// Reader is an eval.Reader.
type Reader struct{}

// The parts of a text that a test reads.
const (
	HeldOut = "the held-out text"
	Trained = "the text of training"
)

// portion is how many windows of a test are in memory at a time.
const portion = 1 << 12

// Test returns the mean loss over all windows that follow each other. If no text is held out,
// these are windows of the text of training.
func (Reader) Test(ctx context.Context, m *eval.Model) (eval.Text, error) {
	length, _ := m.Task.Extent()
	out := eval.Text{Of: Trained}
	if m.Task.HoldsOut() {
		out.Of = HeldOut
	}
	sum := 0.0
	for some := range chunks(m.Task.Each(length, 0, math.MaxInt32)) {
		answers, err := m.Losses(ctx, some)
		if err != nil {
			return eval.Text{}, err
		}
		for _, a := range answers { // in this order, so that the sum does not depend on launches
			sum += a.Loss
			out.Tokens += a.Labels
		}
	}
	out.Loss = sum / float64(out.Tokens)
	out.Bits = out.Loss / math.Ln2
	return out, nil
}

// chunks yields the values of a sequence, a portion at a time.
func chunks[T any](all func(yield func(T) bool)) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		var some []T
		for x := range all {
			if some = append(some, x); len(some) == portion {
				if !yield(some) {
					return
				}
				some = some[:0]
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}

// Default is the number of characters that a prompt gets unless the sampling says otherwise.
const Default = 200

// Continue writes a prompt and characters after it, as they come, or as JSON. The model reads as
// many of the last ones as it has positions. The draw of a character depends only on the seed and
// its number, so the text is the same on any number of threads.
func (Reader) Continue(ctx context.Context, m *eval.Model, prompt string, how config.Sampling, asJSON bool, out io.Writer) error {
	if !(how.Temperature >= 0) { // also not a number
		return fmt.Errorf("a temperature of %g: want 0 or more", how.Temperature)
	}
	said, err := strings.Builder{}, error(nil)
	if !asJSON {
		_, err = io.WriteString(out, prompt)
	}
	each := func(more string) {
		said.WriteString(more)
		if !asJSON && err == nil {
			_, err = io.WriteString(out, more)
		}
	}
	if err := extend(ctx, m, prompt, how, each); err != nil {
		return err
	}
	if !asJSON && err == nil {
		_, err = io.WriteString(out, "\n")
	} else if err == nil {
		line, _ := json.Marshal(map[string]string{"problem": prompt, "answer": said.String()}) // cannot fail for texts
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	return err
}

// extend calls say with each character after a prompt.
func extend(ctx context.Context, m *eval.Model, prompt string, how config.Sampling, say func(more string)) error {
	symbols := m.Task.Vocabulary()
	number := map[rune]int32{}
	for id, symbol := range symbols {
		r, _ := utf8.DecodeRuneInString(symbol)
		number[r] = int32(id)
	}
	var text []int32
	for _, r := range prompt {
		text = append(text, number[r])
	}
	length, _ := m.Task.Extent()
	for n := range cmp.Or(how.Tokens, Default) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		logits, err := Logits(m, text[max(0, len(text)-length):])
		if err != nil {
			return err
		}
		id := Draw(logits, how, philox.NewSource(how.DrawSeed, philox.Sampled, uint64(n), 0))
		text = append(text, id)
		say(symbols[id])
	}
	return nil
}

// Logits returns the logits of the token after some tokens.
func Logits(m *eval.Model, tokens []int32) ([]float32, error) {
	logits := make([]float32, m.Task.Vocab())
	m.Machine.Each(1, func(w device.Worker, _ int) {
		e := w.Env()
		*e = device.Env{B: 1, T: len(tokens), C: len(tokens), Times: max(m.Runs, 1), Seed: m.Seed}
		lay := m.Plan.Forward.Layout(e)
		w.Fit(lay.Work, lay.Ints)
		w.PutInts(lay.Target, tokens)
		w.PutInts(lay.Labels, tokens) // their losses are not read
		m.Plan.Forward.Run(w.Queue(), e)
		w.GetFloats(logits, lay.Logits.Plus((len(tokens)-1)*len(logits)))
	})
	return logits, m.Machine.Err()
}

// Draw draws a token from the softmax of logits divided by the temperature, among the likeliest if
// TopK says so. At temperature 0 it is the likeliest token. Among equals, the first comes first.
//
// It adds to each quotient a number of a Gumbel distribution, and takes the largest sum: this draws
// from the softmax (Gumbel 1954), and needs no function whose bits differ between processors.
func Draw(logits []float32, how config.Sampling, src *philox.Source) int32 {
	order := make([]int32, len(logits))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(logits[b], logits[a]) })
	if how.TopK > 0 {
		order = order[:min(how.TopK, len(order))]
	}
	best, most := order[0], math.Inf(-1)
	if how.Temperature == 0 {
		return best
	}
	for _, id := range order {
		u := (float64(src.Uint32()) + 0.5) / (1 << 32)
		if sum := float64(logits[id])/how.Temperature - elementary.Log(-elementary.Log(u)); sum > most {
			best, most = id, sum
		}
	}
	return best
}
