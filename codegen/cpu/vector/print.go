package vector

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/printer"
)

// globals are the sections of the constants.
func (p pool) globals() []*ir.Global {
	var out []*ir.Global
	for _, size := range slices.Sorted(maps.Keys(p)) {
		g := ir.NewGlobal(sections[size])
		g.Attributes = attr.RODATA | attr.NOPTR
		for words := range slices.Chunk(p[size].words, min(size, 2)) {
			if size == 1 {
				g.Append(operand.U32(words[0]))
			} else {
				g.Append(operand.U64(uint64(words[0]) | uint64(words[1])<<32))
			}
		}
		out = append(out, g)
	}
	return out
}

// Files prints the assembly, its declarations, and stand-ins for other processors, by
// names that begin with one; without code there are none.
func (a *Assembly) Files(pkg, header, name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	if len(a.functions) == 0 {
		return files, nil
	}
	file := ir.NewFile()
	file.Includes = []string{"textflag.h"}
	var panics strings.Builder
	fmt.Fprintf(&panics, "// %s\n\n//go:build !amd64\n\npackage %s\n", header, pkg)
	for _, f := range a.functions {
		file.AddSection(f)
		fmt.Fprintf(&panics, "\n%s { panic(\"BUG: %s is assembly\") }\n", f.Stub(), f.Name)
	}
	for _, g := range a.constants.globals() {
		file.AddSection(g)
	}
	cfg := printer.Config{Pkg: pkg}
	for suffix, p := range map[string]printer.Printer{"_amd64.s": printer.NewGoAsm(cfg), "_amd64.go": printer.NewStubs(cfg)} {
		text, err := p.Print(file)
		if err != nil {
			return nil, fmt.Errorf("BUG: printing vector kernels: %w", err)
		}
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		files[name+suffix] = append([]byte("// "+header+"\n"), rest...)
	}
	other, err := format.Source([]byte(panics.String()))
	if err != nil {
		return nil, fmt.Errorf("BUG: printing stand-ins: %w", err)
	}
	files[name+"_other.go"] = other
	return files, nil
}
