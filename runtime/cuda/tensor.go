package cuda

// A Tensor is memory as the copy engine of compute capability 9.0 sees it: an array
// of elements in rows, of which a copy takes a box.
type Tensor struct {
	Address Ptr         // a multiple of 16
	Element ElementType // of the array
	Size    [2]int      // elements in a row, rows
	Stride  int         // bytes from row to row, a multiple of 16
	Box     [2]int      // elements of a row and rows that a copy takes, at most 256 each
	Swizzle int         // bytes of the pattern in shared memory: 0, 32, 64 or 128, no fewer than a row of the box
}

// ElementType is a type of elements, by its number in cuda.h.
type ElementType int

// TensorBF16 is bf16.
const TensorBF16 ElementType = 9

// A Describer is a Driver that writes the descriptor of a tensor, which kernels read at a
// multiple of 64 bytes of global memory. What is in it is NVIDIA's secret. What lies outside
// of the tensor is copied as zeros.
type Describer interface {
	Describe(Tensor) (descriptor [128]byte, err error)
}
