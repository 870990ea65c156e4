package serve

import (
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/damage"
)

// overviewSpec lists the settings of a spec that docs/figures/overview.svg shows.
var overviewSpec = []struct{ text, path, value string }{
	{"task addition {", "task", "addition"},
	{"  operands = digits(1..10)", "task.operands.range", "1..10"},
	{"}", "", ""},
	{"model {", "", ""},
	{"  width = 128", "model.width", "128"},
	{"  embed { position = abacus(max_offset = 16, …) }", "model.embed.position.max_offset", "16"},
	{"  decoder_only { layers = 2  times = 2 }", "model.decoder_only.times", "2"},
	{"}", "", ""},
	{"train {", "", ""},
	{"  budget = 6000steps", "train.budget", "6000steps"},
	{"}", "", ""},
	{"eval {", "", ""},
	{"  grid = [1..20, 1..20]", "eval.grid", "[1..20, 1..20]"},
	{"}", "", ""},
}

// TestOverview draws docs/figures/overview.svg from a run of testdata and compares it with
// the committed file. The settings shown must be the run's.
func TestOverview(t *testing.T) {
	v := load(damage.At(filepath.Join("testdata/runs/embeddings/abacus-2")), &Config{})
	var b strings.Builder
	const width, height = 1000, 330
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="A spec, the training of its model, and the grid of exact match at lengths up to twice those of training"><style>%s</style>`, width, height, pictureStyle())
	title := func(x int, text string) { fmt.Fprintf(&b, `<text class="title" x="%d" y="16">%s</text>`, x, text) }
	title(0, "a spec …")
	for i, l := range overviewSpec {
		if l.path != "" && !strings.HasPrefix(v.Settings[l.path], l.value) {
			t.Errorf("the run has %s = %s, and the picture %s", l.path, v.Settings[l.path], l.value)
		}
		fmt.Fprintf(&b, `<text class="code" x="0" y="%d" xml:space="preserve">%s</text>`, 48+19*i, html.EscapeString(l.text))
	}
	title(375, "… is trained, by one Go program …")
	title(718, "… and tested at twice the length")
	curve, heat := v.Curves()[1], v.Grid()[0]
	place := func(svg string, x, y, w, h int) {
		svg = regexp.MustCompile(` tabindex="0" data-hover="[^"]*"`).ReplaceAllString(svg, "")
		b.WriteString(strings.Replace(svg, "<svg ", fmt.Sprintf(`<svg x="%d" y="%d" width="%d" height="%d" preserveAspectRatio="xMinYMin" `, x, y, w, h), 1))
	}
	b.WriteString(`<text class="note" x="375" y="44">exact match of held-out problems, %</text>`)
	place(strings.Replace(string(curve.Picture), `<text class="name" x="0" y="12">%</text>`, "", 1), 375, 34, 310, 290)
	place(string(heat.Picture), 718, 34, 282, 290)
	b.WriteString("</svg>\n")
	golden.Compare(t, "../docs/figures/overview.svg", b.String())
}

// pictureStyle returns the rules of the style sheet that a separate picture needs.
func pictureStyle() string {
	var b strings.Builder
	css := asset("style.css")
	for _, m := range regexp.MustCompile(`(?m)^(?:@media \(prefers-color-scheme: dark\) \{\n  )?:root \{(?s:.*?)\n(?:  \}\n)?\}\n`).FindAllString(css, -1) {
		b.WriteString(m)
	}
	for line := range strings.Lines(css) {
		if regexp.MustCompile(`^\.(end|grid|axis|line|dot|s0|outline|square|cells|v\d+|none) ?`).MatchString(line) {
			b.WriteString(line)
		}
	}
	return b.String() + `text { fill: var(--dim); font: 11px system-ui, sans-serif } .title { fill: var(--ink); font-size: 15px; font-weight: 600 } .code { fill: var(--ink); font: 12.5px ui-monospace, monospace } .note { font-size: 12px } .cursor { fill: none }`
}
