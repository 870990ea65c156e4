package plot

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/thinking"
)

// The colours of right and wrong tokens: tints of blue and orange, which the colour-blind
// can tell apart.
var (
	rightToken = color.RGBA{0xbd, 0xd9, 0xee, 0xff}
	wrongToken = color.RGBA{0xf5, 0xb3, 0x66, 0xff}
)

// maxThinking is the largest part of a file that is read, in bytes: a named pipe may have no end.
const maxThinking = 64 << 20

// LoadThinking reads a file that solve --thinking --json has printed.
func LoadThinking(path string) (*thinking.Thinking, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxThinking))
	if err != nil {
		return nil, err
	}
	t := new(thinking.Thinking)
	if json.Unmarshal(text, t) != nil || t.Expected == "" || len(t.After) == 0 || len(t.After[0]) == 0 {
		return nil, fmt.Errorf("%s is neither a run directory nor what solve --thinking --json prints for one problem", path)
	}
	return t, nil
}

// answerWidth is the room for the tokens of an answer. Further tokens are not drawn.
const answerWidth = 36 * vg.Centimeter

// Thinking draws the answer after each run of the loop, one line a run, with right tokens
// on blue (McLeish et al., arXiv:2405.17399, figure 15).
func Thinking(t *thinking.Thinking) *Figure {
	widest := vg.Points(6)
	for _, s := range t.After[0] {
		widest = max(widest, letters(labelSize).Width(s.Token))
	}
	width := roomy(max(widest+vg.Points(4), vg.Points(70)/vg.Length(len(t.After[0])))) // of a cell
	height := roomy(max(vg.Points(13), vg.Points(56)/vg.Length(len(t.After))))
	tokens := min(len(t.After[0]), int(answerWidth/width))
	p := newAxes("token of the answer", "run of the loop")
	p.X.Tick.Marker, p.Y.Tick.Marker = cells{least: 1}, cells{least: 1, down: true}
	p.Add(&matrix{Pair: eval.Pair{I: 1, J: 1}, rows: len(t.After), columns: tokens, colour: func(i, j int) color.Color {
		switch line := t.After[i]; {
		case j >= len(line):
			return color.White
		case line[j].Right:
			return rightToken
		}
		return wrongToken
	}})
	p.Add(said{t, tokens}, frame{})
	title := fmt.Sprintf("%s = %s: settled after %d of %d runs", shortened(t.Problem), shortened(t.Expected), t.Settled, len(t.After))
	if n := len(t.After[0]); n > tokens {
		title += fmt.Sprintf("; the first %d of %d tokens", tokens, n)
	}
	return &Figure{
		Name:   "thinking",
		title:  []string{title},
		panels: [][]*panel{{{Plot: p, width: width * vg.Length(tokens), height: height * vg.Length(len(t.After))}}},
		foot:   []entry{{"right token", swatch(rightToken)}, {"wrong token", swatch(wrongToken)}},
	}
}

// shortened leaves out the middle of a long text.
func shortened(text string) string {
	const most = 40 // characters
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most/2]) + "…" + string(r[len(r)-most/2:])
}

// said draws the tokens.
type said struct {
	*thinking.Thinking
	tokens int
}

// Plot implements plot.Plotter.
func (t said) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := letters(labelSize)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for r, line := range t.After {
		for i, s := range line[:min(t.tokens, len(line))] {
			c.FillText(style, vg.Point{X: x(float64(i + 1)), Y: y(-float64(r+1)) + style.FontExtents().Descent}, s.Token)
		}
	}
}
