package ptx

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011.
const (
	philoxRounds = 10
	philoxWords  = 4 // of a counter
)

var (
	philoxMultipliers = [2]int64{0xd2511f53, 0xcd9e8d57}
	philoxKeySteps    = [2]int64{0x9e3779b9, 0xbb67ae85}
)

// random fills a tile with random words. A thread computes the four words of a counter, and
// writes the words within the tile.
func (p *printer) random(n *kernel.Random) {
	f := p.f
	four := expr.Int(philoxWords)
	counters := func(words *expr.Expr) *expr.Expr { return expr.New(expr.Div, words, four) }
	count := counters(expr.New(expr.Add, n.Size, expr.Int(philoxWords-1)))
	even := expr.IsMultiple(n.Base, four) // then words beyond the end lie in the tile's padding
	if !even {
		last := expr.New(expr.Sub, expr.New(expr.Add, n.Base, n.Size), expr.Int(1))
		count = expr.New(expr.Add, expr.New(expr.Sub, counters(last), counters(n.Base)), expr.Int(1))
	}
	base, size := p.value(n.Base), p.value(n.Size)
	words := p.wordsOf(n)
	first := p.value(counters(n.Base))
	p.share(expr.Simplify(count), p.group.id, p.group.threads, func(i asm.Value) {
		i = f.Do("add.s32", i, first)
		words := words(i)
		e := f.Do("sub.s32", f.Do("shl.b32", i, asm.Int(2)), base)
		dst := p.slices[n.Dst]
		if even {
			f.Store(p.element(dst, e).Address, words[:]...)
			return
		}
		for j, w := range words {
			word := f.Do("add.s32", e, asm.Int(j))
			at := p.element(dst, word)
			f.Guarded(f.Do("setp.lt.u32", word, size), func() { f.Store(at.Address, w) })
		}
	})
}

// wordsOf computes the random words of each first word of a counter.
func (p *printer) wordsOf(n *kernel.Random) func(first asm.Value) [philoxWords]asm.Value {
	example := p.value(n.Example)
	stream := p.f.Do("add.s32", p.vars["layer"], asm.Int(int64(n.Stream)<<16))
	return func(first asm.Value) [philoxWords]asm.Value {
		return p.philox([philoxWords]asm.Value{first, example, p.vars["step"], stream}, [2]asm.Value{p.vars["seed0"], p.vars["seed1"]})
	}
}

// philox computes the words of a counter.
func (p *printer) philox(counter [philoxWords]asm.Value, seed [2]asm.Value) [philoxWords]asm.Value {
	f := p.f
	c, k := counter, seed
	for round := range philoxRounds {
		if round > 0 {
			for i := range k {
				k[i] = f.Do("add.s32", k[i], asm.Int(philoxKeySteps[i]))
			}
		}
		m0, m1 := asm.Int(philoxMultipliers[0]), asm.Int(philoxMultipliers[1])
		hi0, lo0 := f.Do("mul.hi.u32", c[0], m0), f.Do("mul.lo.s32", c[0], m0)
		hi1, lo1 := f.Do("mul.hi.u32", c[2], m1), f.Do("mul.lo.s32", c[2], m1)
		c = [philoxWords]asm.Value{
			f.Do("xor.b32", f.Do("xor.b32", hi1, c[1]), k[0]), lo1,
			f.Do("xor.b32", f.Do("xor.b32", hi0, c[3]), k[1]), lo0,
		}
	}
	return c
}
