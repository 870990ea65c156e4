package diag

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Pos is a place in a source file. Line and Col count from 1, and Col counts bytes. The
// zero Pos is no place.
type Pos struct {
	File string
	Line int
	Col  int
}

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// ParsePos reads file:line:col, or line:col in the given file. The file's name may
// contain colons. It returns an error for other text.
func ParsePos(text, file string) (Pos, error) {
	parts := append([]string{""}, strings.Split(text, ":")...)
	n := len(parts) - 2
	line, err1 := strconv.Atoi(parts[n])
	col, err2 := strconv.Atoi(parts[n+1])
	if err1 != nil || err2 != nil || line < 1 {
		return Pos{}, fmt.Errorf("%q is no position: write file:line:column", text)
	}
	if n > 1 {
		file = strings.Join(parts[1:n], ":")
	}
	return Pos{File: file, Line: line, Col: col}, nil
}

// compare orders positions by file, line and column.
func (p Pos) compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// A Range is a span of source text. End is just after its last byte.
type Range struct {
	Start, End Pos
}
