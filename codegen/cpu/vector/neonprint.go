package vector

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu/arm64"
	"github.com/arithlang/mlc/codegen/gocode"
)

// neonData is the symbol of the constants.
const neonData = "vectorConstants"

// A neonPool holds the constants of a file, of four words each.
type neonPool struct {
	words []uint32
	at    map[[4]uint32]int
}

// maxPool is the last place in a pool that an instruction reaches.
const maxPool = 4095 * 16

// place returns the place of a constant, in bytes. A constant is a word for all lanes, or four
// words.
func (p *neonPool) place(f *fn, words []uint32) int {
	var key [4]uint32
	for i := range key {
		key[i] = words[i%len(words)]
	}
	at, ok := p.at[key]
	if !ok {
		at = 4 * len(p.words)
		p.at[key] = at
		p.words = append(p.words, key[:]...)
	}
	if at > maxPool {
		f.fail("the file has too many constants")
		return 0
	}
	return at
}

// cut truncates the pool to a number of words.
func (p *neonPool) cut(words int) {
	p.words = p.words[:words]
	for key, at := range p.at {
		if at >= 4*words {
			delete(p.at, key)
		}
	}
}

// An arm collects the functions for NEON and their constants.
type arm struct {
	functions []*arm64.Func
	pool      *neonPool
	written   *neonMachine // machine of the current kernel
	before    int          // words of the pool before the current kernel
}

func newARM() *arm { return &arm{pool: &neonPool{at: map[[4]uint32]int{}}} }

func (a *arm) machines(name, doc string) []func(*fn) machine {
	a.before = len(a.pool.words)
	return []func(*fn) machine{func(f *fn) machine {
		a.written = &neonMachine{fn: f, name: name, doc: doc, pool: a.pool, params: map[string]arm64.Param{}}
		return a.written
	}}
}

func (a *arm) keep(err error) {
	if err != nil {
		a.pool.cut(a.before)
		return
	}
	a.functions = append(a.functions, a.written.out)
}

func (a *arm) files(pkg, header, name string) (map[string][]byte, error) {
	if len(a.functions) == 0 {
		return nil, nil
	}
	words := a.pool.words
	if len(words) == 0 {
		words = make([]uint32, 4) // functions take its address
	}
	file := arm64.File{Package: pkg, Header: header, Funcs: a.functions, Data: []arm64.Data{{Name: neonData, Words: words}}}
	stubs, err := file.Stubs()
	if err != nil {
		return nil, err
	}
	var declared []string
	for _, f := range a.functions {
		declared = append(declared, f.Signature())
	}
	others, err := standIns(pkg, header, "arm64", declared)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		name + "_arm64.s":    file.Assembly(),
		name + "_arm64.go":   stubs,
		name + "_noarm64.go": others,
	}, nil
}

// standIns prints functions that panic on other architectures. They are declared without
// "func".
func standIns(pkg, header, architecture string, declared []string) ([]byte, error) {
	f := gocode.File{Package: pkg, Header: header, Build: "!" + architecture}
	inline := jen.Options{Open: "{", Close: "}"}
	for _, d := range declared {
		name, _, _ := strings.Cut(d, "(")
		f.Add(jen.Line(), jen.Func().Op(d).Custom(inline, jen.Panic(jen.Lit("BUG: "+name+" is assembly"))))
	}
	return f.Format()
}
