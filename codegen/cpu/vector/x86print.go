package vector

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/printer"
)

// An amd64 collects the functions for AVX-512 and AVX2 and their constants.
type amd64 struct {
	functions []*ir.Function
	pool      pool
	written   []*x86      // machines of the current kernel
	before    map[int]int // words of the pool before the current kernel
}

func newAMD64() *amd64 { return &amd64{pool: pool{}} }

func (a *amd64) machines(name, doc string) []func(*fn) machine {
	a.written, a.before = nil, a.pool.sizes()
	var out []func(*fn) machine
	for _, s := range []*x86isa{avx512, avx2} {
		out = append(out, func(f *fn) machine {
			x := newX86(f, s, a.pool, name, doc)
			a.written = append(a.written, x)
			return x
		})
	}
	return out
}

func (a *amd64) keep(err error) {
	if err != nil {
		a.pool.cut(a.before)
		return
	}
	for _, x := range a.written {
		a.functions = append(a.functions, x.out)
	}
}

func (a *amd64) files(pkg, header, name string) (map[string][]byte, error) {
	if len(a.functions) == 0 {
		return nil, nil
	}
	file := ir.NewFile()
	file.Includes = []string{"textflag.h"}
	var declared []string
	for _, f := range a.functions {
		file.AddSection(f)
		declared = append(declared, strings.TrimPrefix(f.Stub(), "func "))
	}
	for _, g := range a.pool.globals() {
		file.AddSection(g)
	}
	others, err := standIns(pkg, header, "amd64", declared)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{name + "_noamd64.go": others}
	cfg := printer.Config{Pkg: pkg}
	for suffix, p := range map[string]printer.Printer{"_amd64.s": printer.NewGoAsm(cfg), "_amd64.go": printer.NewStubs(cfg)} {
		text, err := p.Print(file)
		if err != nil {
			return nil, fmt.Errorf("BUG: printing vector kernels: %w", err)
		}
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		files[name+suffix] = append([]byte("// "+header+"\n"), rest...)
	}
	return files, nil
}
