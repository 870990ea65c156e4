// Package cublaslt implements cuda.Multiplier with NVIDIA's cuBLASLt, which computes products
// instead of a model's kernels if a user asks for it. It opens the library when a program asks
// for it, and needs neither cgo nor the CUDA toolkit to build.
//
// Package cuda defines a Multiplier, and its Driver has the stream. Package libraries finds the
// library. Package world decides whether to open one. From the bottom: search.go has the library's
// names, table.go its functions by name, and api.go a method for each function, with the numbers
// of NVIDIA's headers. plan.go makes the settings of each shape, and multiplier.go implements
// package cuda's interface.
//
// Facts to know before changing it:
//
//   - The library's matrices are column-major. A row-major matrix is the transpose, and
//     (Left Right)ᵀ = Rightᵀ Leftᵀ: the factors are exchanged, and no data moves.
//   - A call reads alpha, beta and the algorithm before it returns. It queues kernels on the
//     stream, which a graph can record: their memory is allocated once, at the start.
//   - The library's heuristic assumes that addresses are multiples of 256 unless told otherwise;
//     parameters are multiples of 4.
package cublaslt
