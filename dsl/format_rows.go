package dsl

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// A fragment is a run of words to be formatted into rows: the value of an attribute, or
// the head or end of a block.
type fragment struct {
	*formatter
	level int // of the entry
	row   row // the current row
	open  []bracket
}

// A bracket is an open bracket of a value.
type bracket struct {
	level  int  // of its row
	broken bool // a line break follows it, so one precedes its end
}

// fragment formats the words before end. They start and end a row.
func (f *formatter) fragment(level, end int) {
	p := &fragment{formatter: f, level: level, row: row{level: level}}
	for begin := f.n; f.n < end; f.n++ {
		w := f.words[f.n]
		switch {
		case w.comment() && w.lines == 0:
			p.row.comment = w.text
			continue
		case w.is(",") && f.words[f.n+1].is(")", "]") && !p.top().broken:
			continue // needless
		case f.n > begin && p.breaks(w):
			p.flush(w)
		case f.n > begin && p.spaced(w):
			p.row.text += " "
		}
		p.row.text += w.text
		p.bracket(w)
	}
	f.rows = append(f.rows, p.row)
}

// top returns the innermost open bracket.
func (p *fragment) top() bracket { return p.open[len(p.open)-1] }

// bracket records a bracket that w opens or closes.
func (p *fragment) bracket(w word) {
	switch {
	case w.is("(", "["):
		next := p.words[p.n+1]
		broken := next.comment() || next.lines > 0 && !next.is(")", "]")
		p.open = append(p.open, bracket{p.row.level, broken})
	case w.is(")", "]"):
		p.open = p.open[:len(p.open)-1]
	}
}

// flush ends a row before w.
func (p *fragment) flush(w word) {
	p.rows = append(p.rows, p.row)
	p.row = row{level: p.level + 1}
	if len(p.open) > 0 {
		p.row.level = p.top().level + 1
		if w.is(")", "]") {
			p.row.level--
		}
	}
}

// breaks reports whether a line break goes before w, the next word. Breaks stay where
// they were if they are harmless, and comments need them. A break before an operator
// moves after it.
func (p *fragment) breaks(w word) bool {
	prev := p.words[p.n-1]
	switch {
	case prev.comment() || w.comment():
		return true
	case w.is(")", "]"):
		return p.top().broken
	case p.binary(p.n - 1):
		return w.lines > 0 || prev.lines > 0 && !p.words[p.n-2].comment()
	}
	return w.lines > 0 && prev.is("(", "[", ",")
}

// binary reports whether word n is an operator of two operands at which a line may end.
func (p *fragment) binary(n int) bool {
	if !p.words[n].is("+", "-", "*", "/", "==", "!=", "<=", ">=", "<", ">", "&&", "||") {
		return false
	}
	for n--; p.words[n].comment(); n-- {
	}
	return p.words[n].ends()
}

// spaced reports whether a space goes before w, the next word, on the same row.
func (p *fragment) spaced(w word) bool {
	prev := p.words[p.n-1]
	switch {
	case w.is(")", "]", ",", ".", ".."), prev.is("(", "[", ".", ".."):
		return false
	case prev.is("-", "!") && !p.binary(p.n-1): // a sign
		return false
	case w.is("(", "[") && prev.ends(): // of a call or an index
		return false
	}
	return !prev.is("{") || !w.is("}")
}

// layout prints rows.
func layout(rows []row) []byte {
	for run := range runs(rows, func(r row) bool { return r.name != "" }) {
		wide := widest(run, func(r row) string { return r.name })
		for i, r := range run {
			run[i].text = strings.TrimRight(fmt.Sprintf("%-*s = %s", wide, r.name, r.text), " ")
		}
	}
	for run := range runs(rows, func(r row) bool { return r.comment != "" }) {
		wide := widest(run, func(r row) string { return r.text })
		for i, r := range run {
			run[i].text = fmt.Sprintf("%-*s %s", wide, r.text, r.comment)
		}
	}
	var b strings.Builder
	for _, r := range rows {
		if r.blank {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat("  ", r.level) + r.text + "\n")
	}
	return []byte(b.String())
}

// runs returns the runs of neighboring rows on one level for which has holds.
func runs(rows []row, has func(row) bool) iter.Seq[[]row] {
	return func(yield func([]row) bool) {
		for i := 0; i < len(rows); {
			j := i + 1
			for has(rows[i]) && j < len(rows) && has(rows[j]) && !rows[j].blank && rows[j].level == rows[i].level {
				j++
			}
			if has(rows[i]) && !yield(rows[i:j]) {
				return
			}
			i = j
		}
	}
}

func widest(run []row, part func(row) string) int {
	wide := 0
	for _, r := range run {
		wide = max(wide, utf8.RuneCountInString(part(r)))
	}
	return wide
}
