package insight

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// A Bias is the bias that a head adds to its attention scores.
type Bias struct {
	Name   string // name of the site: decoder.0.self
	Head   int
	Mask   [][]bool    // true at open cells
	Values [][]float64 // by query and key; 0 at closed cells
}

// Distances returns the bias by distance, key minus query, from the least distance of an
// open cell to the greatest. A distance without an open cell has NaN. ok is false if cells
// at one distance differ.
func (b *Bias) Distances() (least int, values []float64, ok bool) {
	rows, keys := len(b.Values), len(b.Values[0])
	values = make([]float64, rows+keys-1)
	for d := range values {
		values[d] = math.NaN()
	}
	for i, row := range b.Values {
		for j, x := range row {
			d := j - i + rows - 1
			switch {
			case !b.Mask[i][j]:
			case math.IsNaN(values[d]):
				values[d] = x
			case math.Abs(values[d]-x) > 1e-9*max(1, math.Abs(x)):
				return 0, nil, false
			}
		}
	}
	lo, hi := 0, len(values)
	for lo < hi && math.IsNaN(values[lo]) {
		lo++
	}
	for hi > lo && math.IsNaN(values[hi-1]) {
		hi--
	}
	return lo - rows + 1, values[lo:hi], true
}

// Biases returns the biases with parameters of all sites, at length rows and keys. A bias
// that is equal in all layers is returned once, as decoder.*.self. It returns an error if a
// bias depends on positions drawn for each batch.
func (m *Model) Biases(length int) (all []Bias, err error) {
	defer func() { all = once(all) }()
	for _, s := range m.forward.Body {
		loop, ok := s.(*plan.Loop)
		if !ok {
			continue
		}
		for l := range loop.N {
			for _, c := range loop.Body {
				of, err := m.biasesOf(c, l, length)
				if err != nil {
					return nil, err
				}
				all = append(all, of...)
			}
		}
	}
	return all, nil
}

// once merges the biases that are equal in every layer.
func once(all []Bias) []Bias {
	var kept []Bias
	shared := map[string]int{} // number of layers, by key; negative: the layers differ
	key := func(b Bias) string {
		group, rest, _ := strings.Cut(b.Name, ".")
		_, site, _ := strings.Cut(rest, ".")
		return fmt.Sprintf("%s.*.%s %d", group, site, b.Head)
	}
	first := map[string]Bias{}
	for _, b := range all {
		k := key(b)
		if f, seen := first[k]; !seen {
			first[k] = b
		} else if !slices.EqualFunc(f.Values, b.Values, slices.Equal) {
			shared[k] = -len(all)
		}
		shared[k]++
	}
	for _, b := range all {
		k := key(b)
		name, _, _ := strings.Cut(k, " ")
		switch {
		case shared[k] <= 1: // a single layer, or layers that differ
			kept = append(kept, b)
		case b.Name == first[k].Name:
			b.Name = name
			kept = append(kept, b)
		}
	}
	return kept
}

// biasesOf returns the biases in a layer's call.
func (m *Model) biasesOf(c *plan.Call, l, length int) (all []Bias, err error) {
	for _, v := range c.Func.Values {
		if v.Op != ir.Attention {
			continue
		}
		_, from, params := v.SiteArgs()
		if from == nil {
			from = v
		} else {
			params = from.Args
		}
		attn := *from.Attr.Attn
		if attn.Bias == nil || len(params) == 0 {
			continue
		}
		values, err := m.table(c, attn, params, l, length)
		if err != nil {
			return nil, err
		}
		open := attn
		open.Mask, open.Params, open.Bias = nil, nil, expr.F(1)
		if mask := v.Attr.Attn.Mask; mask != nil {
			open.Bias = expr.New(expr.Where, mask, expr.F(1), expr.F(0))
		}
		cells, err := m.table(c, open, nil, l, length)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s.%d.%s", c.Group, l, siteOf(v))
		for h := range attn.Heads {
			all = append(all, headOf(name, h, length, values.F, cells.F))
		}
	}
	return all, nil
}

// headOf returns the bias of a head. values and open are tables [H, length, length]; open
// is not 0 at open cells.
func headOf(name string, h, length int, values, open []float64) Bias {
	b := Bias{Name: name, Head: h}
	for i := range length {
		at := (h*length + i) * length
		value, is := make([]float64, length), make([]bool, length)
		for j := range length {
			if is[j] = open[at+j] != 0; is[j] {
				value[j] = values[at+j]
			}
		}
		b.Values, b.Mask = append(b.Values, value), append(b.Mask, is)
	}
	return b
}

// table computes a bias at all cells [H, length, length].
func (m *Model) table(c *plan.Call, attn ir.AttnAttr, params []*ir.Value, l, length int) (ir.Tensor, error) {
	b := ir.NewBuilder("bias", c.Func.Pos)
	var own []*ir.Value
	var args []ir.Tensor
	for _, p := range params {
		if p.Op != ir.Param {
			return ir.Tensor{}, fmt.Errorf("a bias of %s depends on positions that are drawn for each batch", c.Func.Name)
		}
		t, err := m.parameter(c.Group, p.Attr.Name, l)
		if err != nil {
			return t, err
		}
		own, args = append(own, b.Param(p.Attr.Name, p.Type, ir.Weight)), append(args, t)
	}
	attn.Relative, attn.Table = 0, false
	b.Result("y", b.BiasTable(attn, ir.N(length), ir.N(length), own...), false)
	f, err := b.Func()
	if err != nil {
		return ir.Tensor{}, err
	}
	out, err := ir.Eval(f, ir.Env{Dims: map[string]int{"B": 1, "T": length, "S": length, "C": length, "P": 0}, Layer: l, Seed: m.seed}, args)
	if err != nil {
		return ir.Tensor{}, err
	}
	return out[0], nil
}
