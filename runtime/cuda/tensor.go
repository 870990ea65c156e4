package cuda

// A Tensor is memory as the copy engine of compute capability 9.0 sees it: an array of rows. A
// copy takes a box of the array.
type Tensor struct {
	Address Ptr         // a multiple of 16
	Element ElementType // of the array
	Size    [2]int      // elements in a row, rows
	Stride  int         // bytes from row to row, a multiple of 16
	Box     [2]int      // row elements and rows that a copy takes, at most 256 each
	Swizzle int         // bytes of the pattern in shared memory: 0 for none, or 32, 64 or 128, at least a row of the box
}

// ElementType is a type of elements by its number in cuda.h.
type ElementType int

// TensorBF16 is bf16.
const TensorBF16 ElementType = 9

// A Describer is a Driver that writes the descriptor of a tensor. Kernels read descriptors at a
// multiple of 64 bytes in global memory. NVIDIA does not publish their format. Elements outside
// the tensor are copied as zeros.
type Describer interface {
	Describe(Tensor) (descriptor [128]byte, err error)
}
