package cpu

// A Cost is the least work of a launch: floating-point operations, and bytes read from and
// written to its buffers, each element once.
type Cost struct {
	Flops, Bytes float64
	Products     float64 // part of Flops: matrix products
	Narrow       float64 // part of Products: with 16-bit factors
	Split        float64 // part of Products: with split factors, three products each
	Others       float64 // operations of all kinds on elements, outside of products

	Instructions Instructions // instructions for Others
}

// Instructions count the instructions that a processor executes outside of products: for
// elements, addresses and loops.
type Instructions struct{ AVX2, AVX512, NEON float64 }

// On returns the count for an instruction set; 0: unknown.
func (n Instructions) On(isa ISA) float64 {
	switch isa.vectors() {
	case AVX2:
		return n.AVX2
	case AVX512:
		return n.AVX512
	case NEON:
		return n.NEON
	}
	return 0
}

// Plus returns the sum of both costs.
func (c Cost) Plus(o Cost) Cost {
	n, m := c.Instructions, o.Instructions
	return Cost{
		c.Flops + o.Flops, c.Bytes + o.Bytes, c.Products + o.Products, c.Narrow + o.Narrow, c.Split + o.Split, c.Others + o.Others,
		Instructions{n.AVX2 + m.AVX2, n.AVX512 + m.AVX512, n.NEON + m.NEON},
	}
}

// Times returns the cost of n launches.
func (c Cost) Times(n float64) Cost {
	i := c.Instructions
	return Cost{
		n * c.Flops, n * c.Bytes, n * c.Products, n * c.Narrow, n * c.Split, n * c.Others,
		Instructions{n * i.AVX2, n * i.AVX512, n * i.NEON},
	}
}

// Plain returns the cost if all products are computed as float32 products.
func (c Cost) Plain() Cost {
	c.Narrow, c.Split = 0, 0
	return c
}
