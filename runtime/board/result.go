package board

import (
	"bytes"
	"image/png"
	"path/filepath"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/lock"
)

// WriteResult writes the event file of a result next to it, in dir. The means become scalars at
// the given step of training. Exact match by length has the length as its step. The grid, if
// there is one, becomes an image. Started is the start of the run. The folder is locked while
// it is written, as for the result.
func WriteResult(dir string, r *eval.Result, steps int, started time.Time) error {
	text, err := resultEvents(r, steps, started)
	if err != nil {
		return cannotWrite(err)
	}
	held, err := lock.Wait(dir) // other tests of the run may clean up there
	if err != nil {
		return cannotWrite(err)
	}
	defer held.Close()
	path := filepath.Join(dir, File)
	if there, err := damage.At(path).Read(); err == nil && slices.Equal(there, text) {
		return nil // a repeated test writes nothing
	}
	return cannotWrite(ckpt.WriteFile(path, text))
}

func resultEvents(r *eval.Result, steps int, started time.Time) ([]byte, error) {
	at := wall(started, r.SecondsTrain+r.SecondsEval)
	text := first(at)
	after := event{wall: at, step: steps}
	for _, m := range r.Means() {
		after.values = append(after.values, scalar("exact_match/"+m.Name, *m.Value))
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
