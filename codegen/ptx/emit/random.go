package emit

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011.
const (
	philoxRounds = 10
	PhiloxWords  = 4 // of a counter
)

var (
	philoxMultipliers = [2]int64{0xd2511f53, 0xcd9e8d57}
	philoxKeySteps    = [2]int64{0x9e3779b9, 0xbb67ae85}
)

// WordsOf computes the random words of each first word of a counter.
func (p *Builder) WordsOf(n *kernel.Random) func(first asm.Value) [PhiloxWords]asm.Value {
	example := p.Value(n.Example)
	stream := p.F.Do("add.s32", p.Vars["layer"], asm.Int(int64(n.Stream)<<16))
	return func(first asm.Value) [PhiloxWords]asm.Value {
		return p.philox([PhiloxWords]asm.Value{first, example, p.Vars["step"], stream}, [2]asm.Value{p.Vars["seed0"], p.Vars["seed1"]})
	}
}

// Four returns the random words of the four elements from first on, a multiple of four.
func (p *Builder) Four(n *kernel.Random, first asm.Value) []asm.Value {
	counter := p.F.Do("add.s32", p.Value(expr.New(expr.Div, n.Base, expr.Int(PhiloxWords))), p.F.Do("shr.u32", first, asm.Int(2)))
	words := p.WordsOf(n)(counter)
	return words[:]
}

// philox computes the words of a counter.
func (p *Builder) philox(counter [PhiloxWords]asm.Value, seed [2]asm.Value) [PhiloxWords]asm.Value {
	f := p.F
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
		c = [PhiloxWords]asm.Value{
			f.Do("xor.b32", f.Do("xor.b32", hi1, c[1]), k[0]), lo1,
			f.Do("xor.b32", f.Do("xor.b32", hi0, c[3]), k[1]), lo0,
		}
	}
	return c
}
