package cpu

// A Cost is what a launch has to do at least: floating-point operations, and bytes
// that are read from and written to its buffers, each element once.
type Cost struct {
	Flops, Bytes float64
	Products     float64 // of Flops, those of matrix products
	Narrow       float64 // of Products, those of 16-bit factors
	Split        float64 // of Products, those of halves, three for each of the factors
	Others       float64 // operations of all kinds, on elements, that are no products

	Instructions Instructions // that compute Others
}

// Instructions are how many a processor executes for what is no product: on elements, for
// addresses and loops.
type Instructions struct{ AVX2, AVX512, NEON float64 }

// On is how many there are on an instruction set; 0: nobody has counted.
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

// Plus is the cost of both.
func (c Cost) Plus(o Cost) Cost {
	n, m := c.Instructions, o.Instructions
	return Cost{
		c.Flops + o.Flops, c.Bytes + o.Bytes, c.Products + o.Products, c.Narrow + o.Narrow, c.Split + o.Split, c.Others + o.Others,
		Instructions{n.AVX2 + m.AVX2, n.AVX512 + m.AVX512, n.NEON + m.NEON},
	}
}

// Times is the cost of so many launches.
func (c Cost) Times(n float64) Cost {
	i := c.Instructions
	return Cost{
		n * c.Flops, n * c.Bytes, n * c.Products, n * c.Narrow, n * c.Split, n * c.Others,
		Instructions{n * i.AVX2, n * i.AVX512, n * i.NEON},
	}
}

// Plain is the cost where all products are computed as those of floats are.
func (c Cost) Plain() Cost {
	c.Narrow, c.Split = 0, 0
	return c
}
