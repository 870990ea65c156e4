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

// Files prints the assembly, its declarations, and stand-ins for other processors.
func (a *Assembly) Files(pkg, header string) (asm, stubs, other []byte, err error) {
	file := ir.NewFile()
	file.Includes = []string{"textflag.h"}
	for _, f := range a.functions {
		file.AddSection(f)
	}
	for _, g := range a.constants.globals() {
		file.AddSection(g)
	}
	asm, err = printer.NewGoAsm(printer.Config{}).Print(file)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("BUG: printing vector kernels: %w", err)
	}
	_, rest, _ := bytes.Cut(asm, []byte("\n"))
	asm = append([]byte("// "+header+"\n"), rest...)
	var decls, panics strings.Builder
	fmt.Fprintf(&decls, "// %s\n\npackage %s\n", header, pkg)
	fmt.Fprintf(&panics, "// %s\n\n//go:build !amd64\n\npackage %s\n", header, pkg)
	for _, f := range a.functions {
		doc := "// " + strings.Join(f.Doc, "\n// ")
		fmt.Fprintf(&decls, "\n%s\n//\n//go:noescape\n%s\n", doc, f.Stub())
		fmt.Fprintf(&panics, "\n%s { panic(\"BUG: %s is assembly\") }\n", f.Stub(), f.Name)
	}
	if stubs, err = format.Source([]byte(decls.String())); err == nil {
		other, err = format.Source([]byte(panics.String()))
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("BUG: printing declarations: %w", err)
	}
	return asm, stubs, other, nil
}
