package cpu

// A Cost is what a launch has to do at least: floating-point operations, and bytes
// that are read from and written to its buffers, each element once.
type Cost struct {
	Flops, Bytes float64
	Narrow       float64 // of Flops, those of products of 16-bit factors
	Split        float64 // of Flops, those of products of halves, three for each of the factors
}

// Plus is the cost of both.
func (c Cost) Plus(o Cost) Cost {
	return Cost{c.Flops + o.Flops, c.Bytes + o.Bytes, c.Narrow + o.Narrow, c.Split + o.Split}
}

// Times is the cost of so many launches.
func (c Cost) Times(n float64) Cost { return Cost{n * c.Flops, n * c.Bytes, n * c.Narrow, n * c.Split} }

// Plain is the cost where all products are computed as those of floats are.
func (c Cost) Plain() Cost { return Cost{Flops: c.Flops, Bytes: c.Bytes} }
