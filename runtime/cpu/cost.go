package cpu

// A Cost is what a launch has to do at least: floating-point operations, and bytes
// that are read from and written to its buffers, each element once.
type Cost struct {
	Flops, Bytes float64
	Narrow       float64 // of Flops, those of products of 16-bit factors
}
