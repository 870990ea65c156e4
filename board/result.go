package board

import (
	"bytes"
	"image/png"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/eval"
)

// resultEvents returns the event file of a result. The means become scalars at the given step of
// training. Exact match by length has the length as its step. The grid, if there is one, becomes
// an image. Started is the start of the run.
func resultEvents(r *eval.Result, steps int, started time.Time) ([]byte, error) {
	at := wall(started, r.SecondsTrain+r.SecondsEval)
	text := first(at)
	after := event{wall: at, step: steps}
	for _, m := range r.Means() {
		after.values = append(after.values, scalar("exact_match/"+m.Name, *m.Value))
	}
	if t := r.Text; t != (eval.Text{}) {
		after.values = append(after.values, scalar("text/loss", t.Loss), scalar("text/bits", t.Bits))
	}
	if g := gridOf(r); g != nil {
		img := g.draw()
		var text bytes.Buffer
		if err := png.Encode(&text, img); err != nil {
			return nil, err
		}
		after.values = append(after.values, picture("exact_match/grid", img.Bounds().Dx(), img.Bounds().Dy(), text.Bytes()))
	}
	if len(after.values) > 0 {
		text = append(text, after.record()...)
	}
	for _, c := range slices.SortedFunc(slices.Values(r.ByCell), func(a, b eval.Cell) int { return a.I - b.I }) {
		if c.J == 0 || c.I == c.J {
			text = append(text, event{wall: at, step: c.I, values: []value{scalar("exact_match/by_length", c.Fraction())}}.record()...)
		}
	}
	return text, nil
}
