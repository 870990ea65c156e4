//go:build !amd64 && !arm64

package cpu

import "github.com/arithlang/mlc/runtime/philox"

var productsOf = [numISA]products{Go: goProducts}

// randomGroup is how many words randomWords makes at a time.
var randomGroup = [numISA]int{Go: 4}

// randomWords fills dst, whole groups of words, with the words of counters from ctr.
func randomWords(_ ISA, dst []uint32, key *philox.Key, ctr *[4]uint32) {
	randomWordsGo(dst, key, ctr)
}

func pairsAsDefined() bool { return false }

func pairProducts() products { return products{} }

func addBlocks(_, _ []float32) int { return 0 }

func saturate(ISA, int) bool { return false }

func begin(ISA, int) bool { return false }

func saturatePairs(ISA, int) bool { return false }
