package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// Names of the buffers that locate the rows of examples of several lengths. The rows of all
// examples are stored consecutively, R in total. No other buffer and no tile has these names.
const (
	RowExample    = "row_example"    // I32 [R]: the example of each row
	ExampleStart  = "example_start"  // I32 [B]: the first row of each example
	ExampleLength = "example_length" // I32 [B]: how many rows it has, 1 … T
)

// packing has the extent of each buffer that locates packed rows.
var packing = map[string]string{RowExample: "R", ExampleStart: "B", ExampleLength: "B"}

// Packing reports whether a buffer of this name locates packed rows.
func Packing(name string) bool { return packing[name] != "" }

// Packed reports whether a kernel has packed rows.
func (k *Kernel) Packed() bool {
	return slices.ContainsFunc(k.Params, func(p Param) bool { return Packing(p.Name) })
}

// packed checks the declarations of the buffers that locate packed rows.
func (c *checker) packed() {
	for _, p := range c.k.Params {
		if extent := packing[p.Name]; extent != "" {
			is := p.Type == expr.I32 && p.Mode == In && len(p.Shape) == 1 && expr.Equal(p.Shape[0], expr.NewVar(extent, expr.I32))
			c.want(is, "%s is not i32[%s] that is only read", p.Name, extent)
		}
	}
	for _, t := range c.k.Tiles() {
		c.want(packing[t.Name] == "", "a tile is called %s", t.Name)
	}
}

// Suited returns the scalars most like s that fit the kernel. Most limits them. R, if bound, is
// B * T. For packed rows, R is the sum of Lengths.
func (k *Kernel) Suited(s Scalars) Scalars {
	s = k.shortened(s)
	if _, known := s["R"]; known {
		s["R"] = s["B"] * s["T"]
	}
	if k.Packed() {
		s["R"] = 0
		for _, n := range Lengths(s) {
			s["R"] += float64(n)
		}
	}
	return s
}

// Lengths returns the lengths of the examples in a launch on packed rows. The first is T. The
// others differ if T is large enough.
func Lengths(s Scalars) []int32 {
	all := make([]int32, int(s["B"]))
	longest := int32(s["T"])
	for i := range all {
		all[i] = longest - int32(i)*5%max(longest, 1)
	}
	return all
}

// Pack fills a buffer that locates packed rows, by its name, for examples of these lengths. It
// leaves other buffers unchanged.
func Pack(name string, to, lengths []int32) {
	row := int32(0)
	for b, n := range lengths {
		switch name {
		case RowExample:
			for i := range n {
				to[row+i] = int32(b)
			}
		case ExampleStart:
			to[b] = row
		case ExampleLength:
			to[b] = n
		}
		row += n
	}
}
