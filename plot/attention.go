package plot

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/runtime/calibrate"
)

// attention draws the attention of every head for the problem of o. Without a problem it
// draws the attention that each calibration read, and the bias computed from it.
func attention(runs []*Run, o Options) ([]*Figure, error) {
	var out []*Figure
	labels := map[string]int{} // how many runs have this label
	for _, r := range runs {
		labels[r.label()]++
		suffix := ""
		if len(runs) > 1 {
			suffix = "-" + inFileName(r.Name) + "-" + inFileName(strings.ReplaceAll(r.Seeds(), ",", ""))
		}
		if n := labels[r.label()]; n > 1 {
			suffix += fmt.Sprintf("-%d", n)
		}
		if o.Ask != nil {
			asked, err := o.Ask(r)
			if err != nil {
				return nil, err
			}
			for _, m := range asked.Maps {
				f, err := asked.figure(r.label(), m)
				if err != nil {
					return nil, err
				}
				f.Name += suffix
				out = append(out, f)
			}
			continue
		}
		for _, c := range r.Calibrations {
			suffix := suffix
			if len(r.Calibrations) > 1 {
				suffix += "-" + inFileName(c.Stage)
			}
			figures, err := c.figures(r.label())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name, err)
			}
			for _, f := range figures {
				f.Name += suffix
			}
			out = append(out, figures...)
		}
	}
	return out, nil
}

// figures draws a calibration: the attention that it read, and the bias of each site
// (arXiv:2310.11984, figures 10 and 11).
func (c *Calibration) figures(of string) ([]*Figure, error) {
	var out []*Figure
	for i := range c.Sites {
		s := &c.Sites[i]
		read := heads{rows: s.Rows, columns: s.Columns, counted: s.Counted, causal: s.Name == "self", values: s.Read}
		for h := range s.Heads {
			read.titles = append(read.titles, s.title(h, 0))
		}
		f, err := read.figure("attention " + strings.TrimSuffix(c.Of, "s")) // weight, logit
		if err != nil {
			return nil, err
		}
		f.Name = "attention-" + s.Name
		f.title = []string{of, fmt.Sprintf("%s attention of stage %s, decoder layer %d, mean of %d problems", s.Name, c.From, c.Layer, c.Samples)}
		out = append(out, f)
		if s.Bias == nil {
			continue
		}
		bias := heads{rows: s.Extended[0], columns: s.Extended[1], counted: s.Counted, causal: s.Name == "self", values: s.Bias, own: true}
		for h := range s.Heads {
			bias.titles = append(bias.titles, s.title(h, s.Extended[1]-s.Columns))
			bias.dark = append(bias.dark, s.Heads[h].Transparent)
		}
		if f, err = bias.figure("bias"); err != nil {
			return nil, err
		}
		f.Name = "bias-" + s.Name
		f.title = []string{of, fmt.Sprintf("bias of %s attention from stage %s, added to logits", s.Name, c.Stage)}
		out = append(out, f)
	}
	return out, nil
}

// title names a head and the lines that it keeps, see kept.
func (s *Site) title(h, wider int) string {
	return fmt.Sprintf("head %d: %s", h, strings.ReplaceAll(kept(&s.Heads[h], wider), "-", "−"))
}

// manyLines is the largest number of lines that kept lists one by one.
const manyLines = 4

// kept lists the lines that a head keeps: i+j = 61, 123; j = 52. It numbers them as in a
// matrix that has wider columns more than the matrix that was read.
func kept(h *calibrate.Head, wider int) string {
	if h.Transparent {
		return "transparent"
	}
	var all []string
	for _, f := range h.Directions {
		var numbers []string
		shift := 0
		if f.Direction[1] <= 0 { // counted from the right end
			shift = f.Direction[0] * wider
		}
		for _, l := range f.Lines {
			if l.Kept {
				numbers = append(numbers, fmt.Sprint(l.Number+shift))
			}
		}
		switch n := len(numbers); {
		case n > manyLines:
			all = append(all, fmt.Sprintf("%s = %s … %s (%d)", f.Formula, numbers[0], numbers[n-1], n))
		case n > 0:
			all = append(all, f.Formula+" = "+strings.Join(numbers, ", "))
		}
	}
	return strings.Join(all, "; ")
}
