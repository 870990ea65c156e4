// Command dotgen writes the assembly of package cpu: the matrix product microkernels, kernels
// that pack operands, and the random words. With -kernels it writes the assembly of a package
// below, which lays out other factors.
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
)

// sets are the kernels of each package.
var sets = map[string]func(){
	"cpu": func() {
		for _, v := range []vectors{avx2, avx512} {
			products(v)
			copyRows(v, 1)
			copyRows(v, 2)
			copyStrips(v)
			transpose(v)
			random(v)
			peak(v)
			start(v)
		}
		products(avx512BF16)
		peak(avx512BF16)
		vecProduct()
		add()
	},
	"bf16": func() {
		widen(avx2)
		widen(avx512)
		pairAlong()
		pairDown()
	},
	"split": func() {
		for _, v := range []vectors{avx2, avx512} {
			halveDown(v)
			halveAlong(v)
		}
	},
}

func main() {
	log.SetFlags(0)
	name := flag.String("kernels", "cpu", "the package whose kernels are written: cpu, bf16 or split")
	flag.Parse()
	write := sets[*name]
	if write == nil {
		log.Fatalf("-kernels %s: want cpu, bf16 or split", *name)
	}
	build.ConstraintExpr("amd64")
	write()
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
