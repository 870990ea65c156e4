// Package cublaslt is NVIDIA's cuBLASLt as a cuda.Multiplier: products by the vendor's
// library in the place of a model's kernels, where a user asks for them. It opens the
// library when a program asks for it, and needs neither cgo nor the CUDA toolkit to build.
//
// Package cuda, before it, says what a Multiplier does, and gives the stream of its Driver;
// package libraries says where the library may be; package world, after it, decides whether
// to open one. From the bottom: search.go has the library's names, table.go its functions by
// name, api.go one method a function with the numbers of NVIDIA's headers, plan.go what is
// decided once for each shape, and multiplier.go the rules of package cuda on top.
//
// What one has to know to change it:
//
//   - The library sees matrices column by column. Row by row, a matrix is its transpose, and
//     (Left Right)ᵀ = Rightᵀ Leftᵀ: the factors change places, and none is moved.
//   - A call reads alpha, beta and the algorithm before it returns. It queues kernels on the
//     stream, which a graph can record: memory for them is allocated once, at the start.
//   - The heuristic of the library takes addresses to be multiples of 256 if nobody says what
//     they are; parameters are multiples of 4.
package cublaslt
