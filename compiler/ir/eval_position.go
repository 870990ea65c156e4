package ir

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/expr"
)

// firstRow returns P.
func (m *machine) firstRow() (int, error) {
	p, ok := m.env.Dims["P"]
	if !ok {
		return 0, fmt.Errorf("size P is not set")
	}
	return p, nil
}

// word returns random word e of an example.
func (m *machine) word(stream, example uint32, e int) uint32 {
	if m.env.Rand != nil {
		return m.env.Rand(stream, example, e)
	}
	return m.env.philox(stream, example, e)
}

func evalRuns(m *machine, v *Value, args []Tensor, out Tensor) error {
	first, err := m.firstRow()
	if err != nil {
		return err
	}
	rows, known := out.Shape[1], args[0].Shape[1]
	if first+rows > known {
		return fmt.Errorf("row %d of %d tokens", first+rows-1, known)
	}
	member := make([]bool, len(args[0].I))
	err = m.overIndices(v.Attr.Expr, args[0].Shape, args, func(k int, is expr.Value) { member[k] = is.I != 0 })
	for b := range out.Shape[0] {
		n := int64(0)
		for p := range first + rows {
			switch {
			case member[b*known+p]:
				n++
			case !v.Attr.Total:
				n = 0
			}
			if p >= first {
				out.I[b*rows+p-first] = n
			}
		}
	}
	return err
}

func evalDraw(m *machine, v *Value, _ []Tensor, out Tensor) error {
	each := size(out.Shape[1:])
	for k := range out.I {
		group := (m.env.Example + uint32(k/each)) / uint32(v.Attr.Group)
		out.I[k] = int64(m.word(v.Attr.Stream, group, 0) % uint32(v.Attr.Rows))
	}
	return nil
}

// evalSubset takes each number with probability wanted/remaining: Knuth, The Art of
// Computer Programming, volume 2, 3.4.2, algorithm S.
func evalSubset(m *machine, v *Value, _ []Tensor, out Tensor) error {
	for k := range out.I {
		out.I[k] = int64(k)
	}
	choices, size, taken := v.Attr.Rows, v.Attr.Size, 0
	group := m.env.Example / uint32(v.Attr.Group)
	for n := 0; n < choices && taken < len(out.I) && len(out.I) <= size; n++ {
		if int(m.word(v.Attr.Stream, group, n)%uint32(choices-n)) < size-taken {
			out.I[taken] = int64(n)
			taken++
		}
	}
	return nil
}

// evalNoise uses words p*W + d and p*W + D + d for feature d of row p, where W is 2D
// rounded up to whole blocks.
func evalNoise(m *machine, v *Value, _ []Tensor, out Tensor) error {
	first, err := m.firstRow()
	if err != nil {
		return err
	}
	words := [2]*expr.Value{{}, {}}
	code := expr.Compile64(wordBinder(words), Normal(expr.NewVar("word1", expr.U32), expr.NewVar("word2", expr.U32)))
	rows, d := out.Shape[1], out.Shape[2]
	step := int(WholeBlocks(expr.Int(int64(2 * d))).I)
	for k := range out.F {
		example, at := m.env.Example+uint32(k/(rows*d)), (first+k/d%rows)*step+k%d
		words[0].I = int64(m.word(v.Attr.Stream, example, at))
		words[1].I = int64(m.word(v.Attr.Stream, example, at+d))
		out.F[k] = code.Run().F
	}
	return nil
}

// A wordBinder provides two random words.
type wordBinder [2]*expr.Value

func (b wordBinder) Var(name string, _ expr.Type) *expr.Value {
	if name == "word1" {
		return b[0]
	}
	return b[1]
}

func (b wordBinder) Elem(string, expr.Type) func([]int) expr.Value {
	panic("BUG: noise has no elements")
}

func evalRotate(_ *machine, v *Value, args []Tensor, out Tensor) error {
	x, cos, sin := args[0], args[1].F, args[2].F
	rows, dh, r := x.Shape[1], x.Shape[2]/v.Attr.Attn.Heads, args[1].Shape[1]
	for k, f := range x.F {
		t, c := k/x.Shape[2]%rows, k%x.Shape[2]%dh
		switch angle := t*r + c%r; {
		case c < r:
			out.F[k] = float64(f*cos[angle]) - float64(x.F[k+r]*sin[angle])
		case c < 2*r:
			out.F[k] = float64(f*cos[angle]) + float64(x.F[k-r]*sin[angle])
		default:
			out.F[k] = f
		}
	}
	return nil
}
