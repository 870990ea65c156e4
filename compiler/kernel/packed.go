package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// Names of the buffers that locate the rows of examples of several lengths. The rows of all
// examples are stored consecutively, R in total. Keys with lengths of their own have RK rows.
// No other buffer and no tile has these names.
const (
	RowExample    = "row_example"    // I32 [R]: the example of each row
	ExampleStart  = "example_start"  // I32 [B]: the first row of each example
	ExampleLength = "example_length" // I32 [B]: how many rows it has, 1 … T
	KeyStart      = "key_start"      // I32 [B]: the first row of each example's keys
	KeyLength     = "key_length"     // I32 [B]: how many keys it has, 1 … S
)

// packing has the extent of each buffer that locates packed rows.
var packing = map[string]string{RowExample: "R", ExampleStart: "B", ExampleLength: "B", KeyStart: "B", KeyLength: "B"}

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
// B * T, and RK is B * S. For packed rows, they are the sums of Lengths.
func (k *Kernel) Suited(s Scalars) Scalars {
	s = k.shortened(s)
	var rows, keys []int32
	if k.Packed() {
		rows, keys = Lengths(s)
	}
	for _, of := range []struct {
		total, longest string
		lengths        []int32
	}{{"R", "T", rows}, {"RK", "S", keys}} {
		if _, known := s[of.total]; known {
			s[of.total] = s["B"] * s[of.longest]
		}
		if of.lengths != nil {
			s[of.total] = 0
			for _, n := range of.lengths {
				s[of.total] += float64(n)
			}
		}
	}
	return s
}

// Lengths returns the numbers of rows and of keys of the examples in a launch on packed rows. The
// first example has T and S of them. The others differ if T and S are large enough.
func Lengths(s Scalars) (rows, keys []int32) {
	several := func(longest, less int32) []int32 {
		all := make([]int32, int(s["B"]))
		for i := range all {
			all[i] = longest - int32(i)*less%max(longest, 1)
		}
		return all
	}
	return several(int32(s["T"]), 5), several(int32(s["S"]), 3)
}

// Pack fills a buffer that locates packed rows, by its name, for examples with these numbers of rows
// and of keys. It leaves other buffers unchanged.
func Pack(name string, to, rows, keys []int32) {
	row, lengths := int32(0), rows
	if name == KeyStart || name == KeyLength {
		lengths = keys
	}
	for b, n := range lengths {
		switch name {
		case RowExample:
			for i := range n {
				to[row+i] = int32(b)
			}
		case ExampleStart, KeyStart:
			to[b] = row
		case ExampleLength, KeyLength:
			to[b] = n
		}
		row += n
	}
}
