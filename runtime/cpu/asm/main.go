// Command asm writes the assembly of package cpu: the matrix product
// microkernels, what packs and splits operands, and the random words.
package main

import "github.com/mmcloughlin/avo/build"

func main() {
	build.ConstraintExpr("amd64")
	for _, v := range []vectors{avx2, avx512} {
		for rows := 1; rows <= v.rows[2]; rows++ {
			product(v, rows, 2, false)
			product(v, rows, 2, true)
		}
		for rows := 1; rows <= v.rows[1]; rows++ {
			product(v, rows, 1, true)
		}
		copyRows(v, 1)
		copyRows(v, 2)
		copyStrips(v)
		transpose(v)
		halveDown(v)
		halveAlong(v)
		random(v)
		peak(v)
	}
	vecProduct()
	add()
	build.Generate()
}
