package bf16

import (
	"math"

	"github.com/arithlang/mlc/runtime/cpu"
)

var (
	onAVX2   = form{1, layWide(widener{8, widenAVX2}.widen)}
	onAVX512 = form{1, layWide(widener{16, widenAVX512}.widen)}
	inPairs  = form{2, layPairs}
)

// formOf returns the form of a Worker's instruction set: pairs if it multiplies them.
func formOf(w *cpu.Worker) *form {
	switch {
	case w.HasPairs():
		return &inPairs
	case w.ISA() == cpu.AVX512:
		return &onAVX512
	case w.ISA() == cpu.AVX2:
		return &onAVX2
	}
	return &plain
}

// Sizes in bytes, and the number of pairs in a register.
const (
	half      = 2
	size      = 4
	pairLanes = 16
)

// layPairs lays two numbers in a word.
func layPairs(to []float32, x matrix[uint16], m, k int, rest uint16) matrix[float32] {
	words, whole := (k+1)/2, k/2
	y := matrix[float32]{to, words, 1}
	switch {
	case x.cs == 1 && whole > 0:
		pairAlongAVX512(&to[0], words*size, &x.data[0], x.rs*half, m, (whole+pairLanes-1)/pairLanes, (whole-1)%pairLanes+1)
	case x.rs == 1 && whole > 0:
		y.rs, y.cs = 1, m
		pairDownAVX512(&to[0], m*size, &x.data[0], x.cs*half, whole, (m+pairLanes-1)/pairLanes, (m-1)%pairLanes+1)
	default:
		for i := range m {
			for l := range whole {
				to[i*words+l] = pair(x.at(i, 2*l), x.at(i, 2*l+1))
			}
		}
	}
	if whole < words {
		for i := range m {
			to[i*y.rs+whole*y.cs] = pair(x.at(i, k-1), rest)
		}
	}
	return y
}

// pair packs two numbers in a word.
func pair(first, second uint16) float32 {
	return math.Float32frombits(uint32(first)<<16 | uint32(second))
}
