package plot

import (
	"encoding/json"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
)

// The colours of tokens that are right and of those that are not.
var (
	rightToken = color.RGBA{0xc7, 0xe9, 0xc0, 0xff}
	wrongToken = color.RGBA{0xfc, 0xbb, 0xa1, 0xff}
)

// LoadThinking reads what solve --thinking --json has printed.
func LoadThinking(path string) (*eval.Thinking, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := new(eval.Thinking)
	if json.Unmarshal(text, t) != nil || len(t.After) == 0 {
		return nil, fmt.Errorf("%s is neither a run directory nor what solve --thinking --json prints for one problem: %s", path, passRun)
	}
	return t, nil
}

// perLine is how many tokens of an answer stand side by side in the picture.
const perLine = 105

// Thinking draws the answer after each run of the loop, a line a run, right tokens
// on green (McLeish et al., arXiv:2405.17399, figure 15).
func Thinking(t *eval.Thinking) *Figure {
	tokens := min(len(t.After[0]), perLine)
	p := plot.New()
	p.Title.Text = fmt.Sprintf("settled after %d of %d runs", t.Settled, len(t.After))
	p.X.Label.Text, p.Y.Label.Text = "token of the answer", "runs of the loop"
	p.X.Min, p.X.Max = 0.5, float64(tokens)+0.5
	p.Y.Min, p.Y.Max = -float64(len(t.After))-0.5, -0.5
	p.X.Tick.Marker, p.Y.Tick.Marker = lengths{1}, lengths{-1}
	p.Add(thinking{t, tokens})
	width := vg.Length(tokens)*vg.Points(9) + 3*vg.Centimeter
	height := vg.Length(len(t.After))*vg.Points(14) + 2.5*vg.Centimeter
	return single("thinking", p, max(width, 8*vg.Centimeter), height)
}

// thinking is a table of tokens as a plot.Plotter.
type thinking struct {
	*eval.Thinking
	tokens int
}

// Plot implements plot.Plotter.
func (t thinking) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := plotter.DefaultFont
	style.Size = vg.Points(9)
	text := draw.TextStyle{Color: color.Black, Font: style, XAlign: draw.XCenter, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	for r, line := range t.After {
		for i, s := range line[:min(t.tokens, len(line))] {
			at, row := float64(i+1), -float64(r+1)
			fill := wrongToken
			if s.Right {
				fill = rightToken
			}
			c.FillPolygon(fill, []vg.Point{
				{X: x(at - 0.5), Y: y(row - 0.5)}, {X: x(at + 0.5), Y: y(row - 0.5)},
				{X: x(at + 0.5), Y: y(row + 0.5)}, {X: x(at - 0.5), Y: y(row + 0.5)},
			})
			c.FillText(text, vg.Point{X: x(at), Y: y(row)}, s.Token)
		}
	}
}
