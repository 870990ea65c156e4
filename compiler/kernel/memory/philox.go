package memory

import "math/bits"

// Philox is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011): four random words from a 128-bit
// counter and a 64-bit key.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	const (
		rounds       = 10
		mul0, mul1   = 0xD2511F53, 0xCD9E8D57
		weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85
	)
	c := counter
	for range rounds {
		hi0, lo0 := bits.Mul32(mul0, c[0])
		hi1, lo1 := bits.Mul32(mul1, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ key[0], lo1, hi0 ^ c[3] ^ key[1], lo0}
		key[0] += weyl0
		key[1] += weyl1
	}
	return c
}
