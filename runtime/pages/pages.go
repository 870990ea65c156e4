// Package pages makes arenas of large pages, of which a processor remembers more memory.
// Package runtime asks it for the arenas of its workers.
package pages

// Large is the size of a large page in bytes: that of amd64, and of ARM64 with pages of 4 KiB.
const Large = 2 << 20

// Floats are n float32 that are 0, in large pages where the system has them.
func Floats(n int) []float32 {
	x := make([]float32, n)
	advise(x)
	return x
}
