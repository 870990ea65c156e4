package cpu

// A Cost is what a launch has to do at least: floating-point operations, and bytes
// that are read from and written to its buffers, each element once.
type Cost struct {
	Flops, Bytes float64
	Products     float64 // of Flops, those of matrix products
	Narrow       float64 // of Products, those of 16-bit factors
	Split        float64 // of Products, those of halves, three for each of the factors
	Others       float64 // operations of all kinds, on elements, that are no products
}

// Plus is the cost of both.
func (c Cost) Plus(o Cost) Cost {
	return Cost{c.Flops + o.Flops, c.Bytes + o.Bytes, c.Products + o.Products, c.Narrow + o.Narrow, c.Split + o.Split, c.Others + o.Others}
}

// Times is the cost of so many launches.
func (c Cost) Times(n float64) Cost {
	return Cost{n * c.Flops, n * c.Bytes, n * c.Products, n * c.Narrow, n * c.Split, n * c.Others}
}

// Plain is the cost where all products are computed as those of floats are.
func (c Cost) Plain() Cost {
	c.Narrow, c.Split = 0, 0
	return c
}
