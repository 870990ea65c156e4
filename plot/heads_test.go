package plot

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// texts returns the texts of a figure's SVG.
func texts(t *testing.T, f *Figure) (all []string) {
	t.Helper()
	file, err := os.Open(saved(t, f, "svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, is := token.(xml.CharData); is && strings.TrimSpace(string(text)) != "" {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
}

// TestAsked draws the attention for one problem: each weight in its colour in one scale, with
// the tokens of rows and columns, and numbers where tokens have no room.
func TestAsked(t *testing.T) {
	m := Map{Layer: "decoder layer 2", Site: "cross", Rows: []string{"^", "0", "3"}, Columns: []string{"^", "2", "9", "$"}}
	weight := func(h, i, j int) float64 { return float64(1+(5*h+3*i+j)%7) / 8 }
	for h := range 5 {
		var head [][]float64
		for i := range m.Rows {
			var row []float64
			for j := range m.Columns {
				row = append(row, weight(h, i, j))
			}
			head = append(head, row)
		}
		m.Heads = append(m.Heads, head)
	}
	asked := &Asked{Problem: "29", Answer: "30", Expected: "30", Maps: []Map{m}}
	figures, err := attention([]*Run{{Name: "a", Seed: 1}}, Options{Ask: func(*Run) (*Asked, error) { return asked, nil }})
	if err != nil || figureNames(figures) != "attention-decoder-layer-2-cross" {
		t.Fatalf("%q, %v", figureNames(figures), err)
	}
	scale, err := colours(0, 7./8)
	if err != nil {
		t.Fatal(err)
	}
	d := drawn(t, figures[0])
	for h := range m.Heads {
		d.check(t, h/4, h%4, 3, 4, func(i, j int) color.Color { return colourOf(scale, weight(h, i, j)) })
	}
	said := texts(t, figures[0])
	for _, want := range []string{"a, seed 1", "cross attention of decoder layer 2 for 29: right answer", "^", "9", "$"} {
		if !slices.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	m.Causal, m.Columns = true, m.Rows
	for h := range m.Heads {
		for i := range m.Rows {
			m.Heads[h][i] = m.Heads[h][i][:3]
		}
	}
	asked.Answer = "29"
	f, err := asked.figure("a", m)
	if err != nil {
		t.Fatal(err)
	}
	drawn(t, f).check(t, 0, 0, 3, 3, func(i, j int) color.Color {
		if j > i {
			return future
		}
		return colourOf(f.bar.ColorMap, weight(0, i, j))
	})
	if said := texts(t, f); !slices.Contains(said, "cross attention of decoder layer 2 for 29: answer 29, right is 30") {
		t.Errorf("%q", said)
	}
	wide := heads{titles: []string{"head 0"}, rows: 1, columns: mostNamed + 1, values: make([]float32, mostNamed+1), counted: 1,
		names: [2][]string{{"x"}, slices.Repeat([]string{"x"}, mostNamed+1)}}
	if f, err = wide.figure("attention weight"); err != nil {
		t.Fatal(err)
	}
	if said := texts(t, f); slices.Contains(said, "x") || !slices.Contains(said, "10") {
		t.Errorf("the axes of a wide matrix: %q", said)
	}
}
