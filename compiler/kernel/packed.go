package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// Names of the buffers that say where the rows of examples are which have several
// lengths: R rows, those of one example behind those of the one before. No other buffer
// and no tile is called so.
const (
	RowExample    = "row_example"    // I32 [R]: the example of each row
	ExampleStart  = "example_start"  // I32 [B]: the first row of each example
	ExampleLength = "example_length" // I32 [B]: how many rows it has, 1 … T
)

// packing are the extents of the buffers of packed rows.
var packing = map[string]string{RowExample: "R", ExampleStart: "B", ExampleLength: "B"}

// Packing reports whether a buffer of that name says where packed rows are.
func Packing(name string) bool { return packing[name] != "" }

// Packed reports whether a kernel reads where rows of examples are.
func (k *Kernel) Packed() bool {
	return slices.ContainsFunc(k.Params, func(p Param) bool { return Packing(p.Name) })
}

// packed wants the buffers of packed rows to be what their names say.
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

// Suited is the launch that a kernel is for and that is most like s: with no more rows
// and keys than there are in a table of constant extents, and, of a kernel that reads
// where packed rows are, with examples of Lengths, or as many rows as examples of one
// length have.
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

// Lengths are the rows of the examples of a launch on packed rows: of the first one T,
// and of the others, if they are long enough, numbers that differ.
func Lengths(s Scalars) []int32 {
	all := make([]int32, int(s["B"]))
	longest := int32(s["T"])
	for i := range all {
		all[i] = longest - int32(i)*5%max(longest, 1)
	}
	return all
}

// Pack fills a buffer that says where packed rows are, by its name, for examples of
// these lengths. It does nothing to another buffer.
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
