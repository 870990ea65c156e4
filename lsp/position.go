package lsp

import (
	"strings"
	"unicode/utf16"

	"go.lsp.dev/protocol"

	"github.com/arithlang/mlc/dsl/diag"
)

// A source is a text with the offsets of its lines. Editors count columns in UTF-16 units,
// the compiler in bytes.
type source struct {
	text  string
	lines []int
}

func newSource(text string) *source {
	s := &source{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// line returns a line without its end. Lines count from 0.
func (s *source) line(n int) string {
	if n < 0 || n >= len(s.lines) {
		return ""
	}
	line, _, _ := strings.Cut(s.text[s.lines[n]:], "\n")
	return line
}

// offset converts an editor's position to a byte offset within its line.
func (s *source) offset(p protocol.Position) int {
	n := int(p.Line)
	if n >= len(s.lines) {
		return len(s.text)
	}
	line, units := s.line(n), 0
	for i, r := range line {
		if units >= int(p.Character) {
			return s.lines[n] + i
		}
		units += utf16.RuneLen(r)
	}
	return s.lines[n] + len(line)
}

// position converts a place to an editor's position.
func (s *source) position(p diag.Pos) protocol.Position {
	line := s.line(p.Line - 1)
	line = line[:min(max(p.Col-1, 0), len(line))]
	return protocol.Position{Line: uint32(max(p.Line-1, 0)), Character: uint32(len(utf16.Encode([]rune(line))))}
}

func (s *source) span(r diag.Range) protocol.Range {
	return protocol.Range{Start: s.position(r.Start), End: s.position(r.End)}
}

// pos converts an offset to a compiler's position.
func (s *source) pos(file string, offset int) diag.Pos {
	n := strings.Count(s.text[:offset], "\n")
	return diag.Pos{File: file, Line: n + 1, Col: offset - s.lines[n] + 1}
}
