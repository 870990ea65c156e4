package diff

import (
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/scalars"
)

// A Shape is the size of a launch.
type Shape struct {
	Batch  int  // examples
	Length int  // target rows; the source has one token more, and the optimizer's ranges 64 × Length + 37 elements
	Dense  bool // a caller's tensors are contiguous, rows before heads; else other elements lie between
}

// scalars returns the scalars of a launch, with at most as many rows as the kernel's bias
// table has. Decoding computes the last row.
func (c *Case) scalars(s Shape) kernel.Scalars {
	b, l := float64(s.Batch), float64(s.Length)
	all := kernel.Samples()
	maps.Copy(all, kernel.Scalars{"B": b, "T": l, "S": l + 1, "C": l, "N": 64*l + 37})
	if c.Program == "decode" {
		all["T"], all["P"] = 1, l-1
	}
	for _, b := range c.buffers {
		if s.Dense && b.in != nil && b.in.Heads > 0 {
			d, row := scalars.Distances(b.in.Name), float64(b.in.Type.Shape[2].N/b.in.Unit())
			all[d[0]], all[d[1]], all[d[2]] = all[b.in.Type.Shape[1].Sym]*row, row, row/float64(b.in.Heads)
		}
	}
	return c.Kernel.Suited(all)
}

// env converts scalars for the tensor interpreter.
func env(s kernel.Scalars) ir.Env {
	e := ir.Env{
		Dims: map[string]int{}, Scalars: map[string]float64{}, Layer: int(s["layer"]), Step: uint32(s["step"]),
		Example: uint32(s["example"]), Seed: uint64(s["seed1"])<<32 | uint64(s["seed0"]),
	}
	for name, x := range s {
		switch t, _ := kernel.ScalarType(name); t {
		case expr.F32:
			e.Scalars[name] = float64(float32(x))
		case expr.I32:
			e.Dims[name] = int(x)
		}
	}
	return e
}

// idRange holds the integers from lo to hi-1.
type idRange struct{ lo, hi int }

// idsOf returns the range of an integer input, by the values that read it.
func idsOf(in *ir.Value, values []*ir.Value) idRange {
	for _, v := range values {
		for i, a := range v.Args {
			switch {
			case a != in:
			case v.Op == ir.Gather && i == 1:
				return idRange{0, v.Args[0].Type.Shape[0].N}
			case v.Op == ir.Scatter && i == 0:
				return idRange{0, v.Attr.Rows}
			case (v.Op == ir.CrossEntropy || v.Op == ir.CrossEntropyGrad) && i == 1:
				shape := v.Args[0].Type.Shape
				return idRange{-1, shape[len(shape)-1].N}
			case v.Attr.Attn != nil && a.Type.Rank() == 2: // positions; masks look at their neighbours
				return idRange{0, 5}
			}
		}
	}
	return idRange{0, 2}
}

// spread is the standard deviation of random inputs.
const spread = 0.5

// unwritten is a NaN of 16 bits that no kernel computes.
const unwritten = 0x7fa5

// draw makes the buffers of a launch, the same in every call. Buffers that the kernel only
// writes start as NaN, or as an integer that no kernel computes.
func (c *Case) draw(s kernel.Scalars, shapes [][]int) []kernel.Buffer {
	h := fnv.New64a()
	h.Write([]byte(c.Kernel.Name))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	bufs := make([]kernel.Buffer, len(shapes))
	for i, shape := range shapes {
		p, b, n := c.Kernel.Params[i], c.buffers[i], size(shape)
		bufs[i] = kernel.NewBuffer(p.Type, n)
		for k := range bufs[i].I {
			bufs[i].I[k] = math.MinInt32
			if p.Mode != kernel.Out {
				bufs[i].I[k] = int32(b.ids.lo + rng.IntN(b.ids.hi-b.ids.lo))
			}
		}
		for k := range bufs[i].F {
			bufs[i].F[k] = float32(math.NaN())
			if p.Mode != kernel.Out {
				bufs[i].F[k] = drawn(rng, b.arg)
			}
		}
		for k := range bufs[i].H {
			bufs[i].H[k] = unwritten
			if p.Mode != kernel.Out {
				bufs[i].H[k] = uint16(math.Float32bits(drawn(rng, b.arg)) >> 16)
			}
		}
		if b.like != i {
			bufs[i].Copy(bufs[b.like])
		}
		kernel.Pack(p.Name, bufs[i].I, c.lengths(s), nil)
	}
	return bufs
}

// gathered returns a tensor of a shape from a buffer whose places the launch gives.
func gathered(from []float64, in *lower.Buffer, shape []int, s kernel.Scalars) []float64 {
	var by [3]int
	for k, name := range scalars.Distances(in.Name) {
		by[k] = int(s[name]) * in.Unit()
	}
	var all []float64
	for b := range shape[0] {
		for row := range shape[1] {
			for h := range in.Heads {
				all = append(all, from[b*by[0]+row*by[1]+h*by[2]:][:shape[2]/in.Heads]...)
			}
		}
	}
	return all
}

// lengths returns the rows of each example of a launch, or nil if every example has T rows.
func (c *Case) lengths(s kernel.Scalars) []int32 {
	if !c.Kernel.Packed() {
		return nil
	}
	rows, _ := kernel.Lengths(s)
	return rows
}

// padded returns packed rows with each example padded by zeros to the given number of rows.
func padded[E any](packed []E, lengths []int32, rows int) []E {
	width := len(packed) / total(lengths)
	var all []E
	for _, n := range lengths {
		all = append(all, packed[:int(n)*width]...)
		all = append(all, make([]E, (rows-int(n))*width)...)
		packed = packed[int(n)*width:]
	}
	return all
}

// unpadded returns a tensor without its padding, as packed rows.
func unpadded[E any](all []E, lengths []int32) []E {
	var packed []E
	example := len(all) / len(lengths)
	rows := int(slices.Max(lengths))
	for b, n := range lengths {
		packed = append(packed, all[b*example:][:int(n)*example/rows]...)
	}
	return packed
}

func total(lengths []int32) int {
	n := 0
	for _, l := range lengths {
		n += int(l)
	}
	return n
}

// drawn returns a random element of an argument. It is normal, except for a second moment,
// which is not negative, and a parameter with a minimum, which is above it.
func drawn(rng *rand.Rand, a lower.Arg) float32 {
	x := spread * rng.NormFloat64()
	if a.Space == lower.FlatState && a.Param == "moment2" {
		return float32(math.Abs(x))
	}
	if a.Space == lower.InParams {
		for _, p := range a.Group.Params {
			if p.Name == a.Param && p.Min != nil {
				return float32(float64(*p.Min) + math.Abs(x))
			}
		}
	}
	return float32(x)
}

// nudged returns a copy of buffers with real numbers one rounding away. Neighbours move in
// opposite directions.
func nudged(bufs []kernel.Buffer) []kernel.Buffer {
	out := clone(bufs)
	for _, b := range out {
		for k := range b.F {
			b.F[k] *= 1 + float32(1-2*(k%2))*0x1p-23
		}
	}
	return out
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
