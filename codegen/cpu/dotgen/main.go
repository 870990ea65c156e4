// Command asm writes the assembly of package cpu: the matrix product microkernels, the
// functions that pack, split, widen and pair operands, and the random words.
package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
)

func main() {
	build.ConstraintExpr("amd64")
	for _, v := range []vectors{avx2, avx512} {
		products(v)
		copyRows(v, 1)
		copyRows(v, 2)
		copyStrips(v)
		transpose(v)
		halveDown(v)
		halveAlong(v)
		widen(v)
		random(v)
		peak(v)
		start(v)
	}
	products(avx512BF16)
	pairAlong()
	pairDown()
	peak(avx512BF16)
	vecProduct()
	add()
	pass.Compile = pass.Concat(pass.Compile, pass.FunctionPass(encodePairs))
	build.Generate()
}

// products writes all microkernels.
func products(v vectors) {
	for rows := 1; rows <= v.rows[2]; rows++ {
		product(v, rows, 2, false)
		product(v, rows, 2, true)
	}
	for rows := 1; rows <= v.rows[1]; rows++ {
		product(v, rows, 1, true)
	}
}
