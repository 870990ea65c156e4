package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/dsl"
)

// print returns the resolved spec: every attribute of the schema that has a value, in
// schema order and canonical form, and the definitions that it uses. For a sweep it
// prints one training.
func (c *checker) print() string {
	p := &printer{checker: c}
	p.spec()
	return p.String()
}

// printCarried is print for a run. carried maps files to paths in the run's directory.
func (c *checker) printCarried() (text string, carried map[string]string) {
	p := &printer{checker: c, carried: map[string]string{}, taken: map[string]bool{}}
	p.spec()
	return p.String(), p.carried
}

// meaning is print without differences of spelling: 10% equals 10.0%, and 4 * width
// equals 256. It is equal for equal trainings.
func (c *checker) meaning() string {
	p := &printer{checker: c, meant: true}
	p.spec()
	return p.String()
}

func (p *printer) spec() {
	p.WriteString("arith 2\n")
	for _, b := range p.lang.schema.Blocks {
		switch {
		case slices.Contains(kinds, b.Path):
			p.definitions(b.Path)
		case b.Path == "vet":
			p.switchedOff()
		case b.Path == "stage":
			p.printStages()
		case b.Path == "calibrate": // among the stages
		case strings.Contains(b.Path, "."):
		case b.Path == "attention" && p.alone(), b.Common && !p.alone():
			p.WriteByte('\n')
			p.block(b.Path, "")
		}
	}
}

type printer struct {
	*checker
	strings.Builder
	meant bool // print values as they are read, not as they are written

	carried map[string]string // paths in the directory of a run, by paths for Options.Read; nil: files stay where they are
	taken   map[string]bool   // the values of carried, in lower case
}

// A line is one attribute.
type line struct{ name, text string }

// block prints a block with its attributes and then its inner blocks.
func (p *printer) block(path, indent string) {
	head := last(path)
	if path == "task" {
		head += " " + p.kind
	}
	fmt.Fprintf(p, "%s%s {\n", indent, head)
	var lines []line
	var inner []string
	for _, name := range p.lang.schema.Names(path) {
		sub := join(path, name)
		if p.lang.blocks[sub] != nil {
			inner = append(inner, sub)
		} else if v := p.values[sub]; v != nil && !p.unsaid(sub, v) {
			lines = append(lines, line{name, p.valueText(v)})
		}
	}
	p.lines(lines, indent+"  ")
	for _, sub := range inner {
		if p.has(sub) {
			p.WriteByte('\n')
			p.block(sub, indent+"  ")
		}
	}
	fmt.Fprintf(p, "%s}\n", indent)
}

// unsaid reports whether to omit a value: a default that older specs lack.
func (p *printer) unsaid(path string, v *value) bool {
	row := p.lang.rows[path]
	for _, k := range p.lang.schema.Kinds {
		if i := slices.IndexFunc(k.Args, func(r dsl.Row) bool { return r.Path == path }); k.Name == p.kind && i >= 0 {
			return k.Args[i].Later && v.text == k.Args[i].Default
		}
	}
	return row.Later && v.text == row.Default
}

// has reports whether an attribute in a block has a value and an effect. The attention of
// an encoder without layers has none.
func (p *printer) has(block string) bool {
	if block == "model.encoder.self" && p.int("model.encoder.layers") == 0 {
		return false
	}
	for path := range p.values {
		if strings.HasPrefix(path, block+".") {
			return true
		}
	}
	return false
}

// lines prints attributes with aligned equal signs.
func (p *printer) lines(ls []line, indent string) {
	wide := 0
	for _, l := range ls {
		wide = max(wide, len(l.name))
	}
	for _, l := range ls {
		fmt.Fprintf(p, "%s%-*s = %s\n", indent, wide, l.name, l.text)
	}
}

// valueText returns a value as it is printed.
func (p *printer) valueText(v *value) string {
	switch {
	case v.expr != nil:
		return p.exprText(v.expr)
	case p.meant:
		return v.meaning()
	case v.file && p.carried != nil:
		return strconv.Quote(p.carry(v.word, ".txt"))
	}
	return v.text
}

// meaning is equal for values that are read alike.
func (v *value) meaning() string {
	text := fmt.Sprint(v.num, v.of, v.word, v.words, v.list)
	if v.expr != nil {
		text = dsl.Format(v.expr)
	}
	for _, name := range slices.Sorted(maps.Keys(v.args)) {
		text += " " + name + v.args[name].meaning()
	}
	return text
}

// settingText returns a value as the command line takes it.
func (c *checker) settingText(path string, e *dsl.Expr) string {
	if row := c.lang.meaning(path); row != nil && row.Type == dsl.FilePath && e.Kind == dsl.String {
		return strconv.Quote(c.fromSpec(c.file(e)))
	}
	return c.exprText(e)
}

// exprText prints an expression, with paths of tables relative to the spec.
func (c *checker) exprText(e *dsl.Expr) string { return c.tablesAt(e, c.fromSpec) }

// exprText prints an expression, with paths of tables as the printed spec needs them.
func (p *printer) exprText(e *dsl.Expr) string {
	if p.carried == nil {
		return p.checker.exprText(e)
	}
	return p.tablesAt(e, func(file string) string { return p.carry(file, ".safetensors") })
}

// tablesAt prints an expression with the paths of its tables mapped by at.
func (c *checker) tablesAt(e *dsl.Expr, at func(file string) string) string {
	return dsl.Format(dsl.Rewrite(e, func(e *dsl.Expr) *dsl.Expr {
		if e.Kind != dsl.Call || e.Text != "table" {
			return e
		}
		call := *e
		call.Args = append([]dsl.Arg(nil), e.Args...)
		for i, a := range call.Args {
			if a.Value.Kind == dsl.String && (a.Name == nil && i == 0 || a.Name != nil && a.Name.Name == "file") {
				s := *a.Value
				s.Text = at(c.file(a.Value))
				call.Args[i].Value = &s
			}
		}
		return &call
	}))
}

// definitions prints the definitions of one kind: used ones of the prelude, then all of
// the spec in their order.
func (p *printer) definitions(kind string) {
	for _, d := range p.lang.prelude {
		if d.kind == kind && p.used[d] {
			p.definition(d)
		}
	}
	for _, d := range p.defined {
		if d.kind == kind {
			p.definition(d)
		}
	}
}

func (p *printer) definition(d *definition) {
	fresh := p.separate()
	in := fresh.newInstance(d, "", nil)
	var ls []line
	for _, n := range d.names {
		text := p.exprText(d.attrs[n].value)
		if fresh.param(in, n) != nil {
			text = in.texts[n]
		}
		ls = append(ls, line{n, text})
	}
	fmt.Fprintf(p, "\n%s %s {\n", d.kind, d.name)
	p.lines(ls, "  ")
	p.WriteString("}\n")
}

// switchedOff prints the warnings that are off.
func (p *printer) switchedOff() {
	var ls []line
	for _, name := range p.lang.schema.Names("vet") {
		if p.get("vet." + name).is("off") {
			ls = append(ls, line{name, "off"})
		}
	}
	if len(ls) > 0 {
		p.WriteString("\nvet {\n")
		p.lines(ls, "  ")
		p.WriteString("}\n")
	}
}

// printStages prints stages: calibrations in full, trainings by what they change.
func (p *printer) printStages() {
	for _, name := range p.stages {
		block := p.stageBlock(name)
		kind, prefix := kindOf(block), block+"."
		fmt.Fprintf(p, "\n%s %s {\n", kind, name)
		var ls []line
		for _, row := range p.lang.schema.Rows {
			if attr, ok := strings.CutPrefix(row.Path, kind+"."); ok && p.values[prefix+attr] != nil {
				ls = append(ls, line{attr, p.valueText(p.values[prefix+attr])})
			}
		}
		if t := p.stageOf[name]; t != nil {
			ls = append(ls, p.changes(t, prefix)...)
		}
		p.lines(ls, "  ")
		p.WriteString("}\n")
	}
}

// changes prints what a stage changes: definitions, then attributes in schema order.
func (p *printer) changes(t *checker, prefix string) (ls []line) {
	for _, attr := range p.changed(prefix) {
		if v := t.values[attr]; v != nil {
			ls = append(ls, line{attr, p.valueText(v)})
		} else if p.lang.defines(attr) {
			ls = append(ls, line{attr, p.exprText(t.settings[attr].value)})
		}
	}
	ls = append(ls, p.following(t, prefix)...)
	rank := func(l line) int {
		return slices.IndexFunc(p.lang.schema.Rows, func(r dsl.Row) bool { return r.Path == l.name })
	}
	slices.SortStableFunc(ls, func(a, b line) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name, b.name))
	})
	return ls
}

// changed lists the attributes that a stage sets, directly or by an argument.
func (p *printer) changed(prefix string) []string {
	var out []string
	for _, path := range p.order {
		if attr, ok := strings.CutPrefix(p.settings[path].attribute(path), prefix); ok {
			addNew(&out, attr)
		}
	}
	return out
}

// following prints attributes that a stage changes implicitly: their default is the value
// of an attribute that it sets. They are printed because, in the main spec, they have
// values of their own.
func (p *printer) following(t *checker, prefix string) (ls []line) {
	changed := p.changed(prefix)
	for _, attr := range slices.Sorted(maps.Keys(t.values)) {
		row := p.lang.row(attr)
		if row == nil || slices.Contains(changed, attr) || !p.has(attr[:strings.LastIndexByte(attr, '.')]) {
			continue
		}
		if of, ok := strings.CutPrefix(row.Default, "="); ok && slices.Contains(changed, of) {
			ls = append(ls, line{attr, p.valueText(t.values[attr])})
		}
	}
	return ls
}
