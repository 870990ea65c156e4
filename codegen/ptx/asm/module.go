package asm

import (
	"fmt"
	"strings"
)

// dynamicShared is the name of the dynamic shared memory.
const dynamicShared = "room"

// A Module is the text of a module under construction.
type Module struct {
	Header string // of the first line, a comment
	files  []string
	funcs  []*Func
}

// File is the number of a source file, for Func.Loc.
func (m *Module) File(name string) int {
	for i, f := range m.files {
		if f == name {
			return i + 1
		}
	}
	m.files = append(m.files, name)
	return len(m.files)
}

// Add puts a finished entry into the module.
func (m *Module) Add(f *Func) { m.funcs = append(m.funcs, f) }

// Text is the module. Version 7.8 and sm_80 are what it needs: later drivers and
// GPUs take it too.
func (m *Module) Text() []byte {
	var b strings.Builder
	if m.Header != "" {
		fmt.Fprintf(&b, "// %s\n\n", m.Header)
	}
	b.WriteString(".version 7.8\n.target sm_80\n.address_size 64\n")
	for i, f := range m.files {
		fmt.Fprintf(&b, ".file %d %q\n", i+1, f)
	}
	fmt.Fprintf(&b, "\n.extern .shared .align 16 .b8 %s[];\n", dynamicShared)
	for _, f := range m.funcs {
		b.WriteByte('\n')
		f.write(&b)
	}
	return []byte(b.String())
}

// write writes an entry with its declarations.
func (f *Func) write(b *strings.Builder) {
	fmt.Fprintf(b, ".visible .entry %s(\n\t%s\n)\n.reqntid %d\n{\n", f.Name, strings.Join(f.params, ",\n\t"), f.Threads)
	for _, c := range []Class{Pred, Word, Float, Wide} {
		if n := f.count[c]; n > 0 {
			fmt.Fprintf(b, "\t.reg .%s %s<%d>;\n", classes[c].typ, classes[c].prefix, n+1)
		}
	}
	for _, s := range f.shared {
		fmt.Fprintf(b, "\t%s\n", s)
	}
	b.WriteByte('\n')
	b.WriteString(f.body.String())
	b.WriteString("}\n")
}
