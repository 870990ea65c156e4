package serve

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/serve/chart"
)

// A layer is one attention, with a heat map for each head.
type layer struct {
	Name  string
	Heads []figure
}

// An attentionPart is the data of the template for attention.
type attentionPart struct {
	Layers []layer
	Of     *Attention
}

// attentionLayers groups maps by layer and run of the loop, in order of appearance.
func attentionLayers(a *Attention) (out []layer) {
	loops := slices.ContainsFunc(a.Maps, func(m Map) bool { return m.Run > 0 })
	for _, m := range a.Maps {
		name := m.Name
		if loops {
			name += fmt.Sprintf(", run %d of the loop", m.Run+1)
		}
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, layer{Name: name})
		}
		rows, cols := m.Rows, m.Cols
		if rows == nil {
			rows = a.Rows
		}
		if cols == nil {
			cols = a.Cols
		}
		l := &out[len(out)-1]
		l.Heads = append(l.Heads, headFigure(fmt.Sprintf("head %d", m.Head), name, rows, cols, m.Values))
	}
	return out
}

// headFigure draws the attention weights of a head. Rows and columns without tokens are numbered.
func headFigure(title, of string, rows, cols []string, values [][]float64) figure {
	h := &chart.Heat{
		Label: "Attention of " + of + ", " + title, Values: values, Lo: 0, Hi: 1, Small: true, Pair: "{r} → {c}",
		Y: named(rows, len(values)), X: chart.Cells{Names: nil},
		Texts: func(i, j int) string { return fmt.Sprintf("%.3f", values[i][j]) },
	}
	if len(values) > 0 {
		h.X = named(cols, len(values[0]))
	}
	if !even(values) {
		return figure{Title: title, Note: "the rows differ in length", Small: true}
	}
	return figure{Title: title, Picture: h.SVG(), Small: true}
}

// named names rows or columns by tokens if there are n tokens, and numbers them otherwise.
func named(tokens []string, n int) chart.Cells {
	if len(tokens) != n {
		return chart.Cells{}
	}
	return chart.Cells{Names: tokens}
}

func even(values [][]float64) bool {
	return !slices.ContainsFunc(values, func(row []float64) bool { return len(row) != len(values[0]) })
}

// biasFigures draws learned biases. The curves of all heads of a layer share a figure; each
// map has its own.
func biasFigures(all []Bias) (out []figure) {
	curves := map[string]*chart.Lines{}
	for _, b := range all {
		switch {
		case b.Kind == "map" && len(b.Values) > 0 && even(b.Values):
			out = append(out, biasMap(b))
		case b.Kind == "curve" && len(b.Values) == 1 && len(b.Values[0]) == len(b.X):
			c := curves[b.Name]
			if c == nil {
				c = &chart.Lines{Label: "Learned bias " + b.Name, X: chart.Axis{Label: "distance of query and key"}, Y: chart.Axis{Label: "added to scores"}}
				curves[b.Name] = c
				out = append(out, figure{Title: b.Name})
			}
			s := chart.Series{Name: fmt.Sprintf("head %d", b.Head), Style: len(c.Series)}
			for i, x := range b.X {
				s.Points = append(s.Points, chart.Point{X: x, Y: b.Values[0][i]})
			}
			c.Series = append(c.Series, s)
		}
	}
	for i := range out {
		if c := curves[out[i].Title]; c != nil && out[i].Picture == "" {
			out[i].Picture, out[i].Legend, out[i].CSV = c.SVG(), c.Legend(), curvesCSV("distance", c.Series)
		}
	}
	return out
}

// biasMap draws a bias as a heat map. If it has both signs, 0 is in the middle of the scale.
func biasMap(b Bias) figure {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range b.Values {
		for _, v := range row {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
		}
	}
	h := &chart.Heat{
		Label: fmt.Sprintf("Learned bias %s, head %d", b.Name, b.Head), Values: b.Values, Lo: lo, Hi: hi, Small: true,
		Y: chart.Cells{Label: "query"}, X: chart.Cells{Label: "key"}, Pair: "query {r}, key {c}",
		Texts: func(i, j int) string { return strings.Replace(fmt.Sprintf("%.4g", b.Values[i][j]), "-", "−", 1) },
	}
	if lo < 0 && hi > 0 {
		hi = math.Max(-lo, hi)
		h.Lo, h.Hi, h.Middle = -hi, hi, true
	}
	if !(h.Hi > h.Lo) {
		h.Hi = h.Lo + 1
	}
	return figure{Title: fmt.Sprintf("%s, head %d", b.Name, b.Head), Picture: h.SVG(), Small: true,
		Legend: chart.Bar(chart.Number(h.Lo), chart.Number(h.Hi), h.Middle)}
}
