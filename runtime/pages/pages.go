// Package pages allocates arenas in large pages, which let a processor's TLB cover more memory.
// Package processor uses it for the arenas of its workers.
package pages

// Large is the size of a large page in bytes, on amd64, and on ARM64 with pages of 4 KiB.
const Large = 2 << 20

// Floats returns n zeros, in large pages if the system has them.
func Floats(n int) []float32 {
	x := make([]float32, n)
	advise(x)
	return x
}
