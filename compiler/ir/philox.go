package ir

import (
	"math/bits"

	"github.com/arithlang/mlc/compiler/expr"
)

// WholeBlocks rounds n up to whole blocks of words. A row of random words that starts at
// a block boundary does not depend on other rows.
func WholeBlocks(n *expr.Expr) *expr.Expr {
	const words = 4
	blocks := bin(expr.Div, bin(expr.Add, n, expr.Int(words-1)), expr.Int(words))
	return expr.Simplify(bin(expr.Mul, blocks, expr.Int(words)))
}

// philox returns random word e of an example: lane e mod 4 of Philox4x32-10 (Salmon,
// Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), with
// the seed as key and the counter (e div 4, example, step, stream and layer).
func (env Env) philox(stream, example uint32, e int) uint32 {
	ctr := [4]uint32{uint32(e / 4), example, env.Step, stream<<16 | uint32(env.Layer)}
	key := [2]uint32{uint32(env.Seed), uint32(env.Seed >> 32)}
	return Philox(ctr, key)[e%4]
}

// Philox is the ten-round block function. It returns four words for a counter and a key.
func Philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, ctr[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, ctr[2])
		ctr = [4]uint32{hi1 ^ ctr[1] ^ key[0], lo1, hi0 ^ ctr[3] ^ key[1], lo0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return ctr
}
