package check

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
)

// item returns the row for one entry of a list, or for one end of a range.
func item(row *dsl.Row) *dsl.Row {
	r := dsl.Row{Type: dsl.Int, Min: row.Min, Max: row.Max}
	switch row.Type {
	case dsl.RealList:
		r.Type = dsl.Real
	case dsl.ShareList:
		r.Type = dsl.Fraction
	}
	return &r
}

func isRange(e *dsl.Expr) bool { return e.Kind == dsl.Binary && e.Text == ".." }

func (c *checker) interval(row *dsl.Row, path string, e *dsl.Expr) *value {
	ends := []*dsl.Expr{e, e}
	if isRange(e) {
		ends = []*dsl.Expr{e.Arg(0), e.Arg(1)}
	}
	lo, hi := c.numeric(item(row), path, ends[0]), c.numeric(item(row), path, ends[1])
	if lo == nil || hi == nil {
		return nil
	}
	if lo.num > hi.num {
		c.report("E0207", e.Range, "%s = %s is empty", path, text(e)).WithHelp("write %s..%s", hi.text, lo.text)
		return nil
	}
	return &value{text: dsl.Format(e), list: []float64{lo.num, hi.num}}
}

func (c *checker) numbers(row *dsl.Row, path string, e *dsl.Expr) *value {
	if isRange(e) && row.Type == dsl.IntList {
		v := c.interval(row, path, e)
		if v == nil {
			return nil
		}
		lo, hi := v.list[0], v.list[1]
		v.list = nil
		for x := lo; x <= hi; x++ {
			v.list = append(v.list, x)
		}
		return v
	}
	if e.Kind != dsl.List {
		c.report("E0206", e.Range, "%s takes a list, not %s", path, text(e)).WithHelp("write %s = [%s]", last(path), text(e))
		return nil
	}
	if len(e.Args) == 0 || row.Len > 0 && len(e.Args) != row.Len {
		c.report("E0210", e.Range, "%s takes %s, not %d", path, plural(row.Len, "number"), len(e.Args)).WithHelp("write %s = %s", last(path), row.Default)
		return nil
	}
	v := &value{text: dsl.Format(e)}
	for _, a := range e.Args {
		x := c.numeric(item(row), path, a.Value)
		if x == nil {
			return nil
		}
		if row.Type == dsl.IntList && slices.Contains(v.list, x.num) {
			c.report("E0204", a.Value.Range, "%s has %s twice", path, x.text).WithHelp("leave one out")
			return nil
		}
		v.list = append(v.list, x.num)
	}
	return v
}

// grid checks a pair of ranges.
func (c *checker) grid(row *dsl.Row, path string, e *dsl.Expr) *value {
	if e.Kind != dsl.List || len(e.Args) != 2 {
		c.report("E0206", e.Range, "%s is a pair of ranges, not %s", path, text(e)).WithHelp("write %s = [1..100, 1..100]", last(path))
		return nil
	}
	v := &value{text: dsl.Format(e)}
	for _, a := range e.Args {
		r := c.interval(row, path, a.Value)
		if r == nil {
			return nil
		}
		v.list = append(v.list, r.list...)
	}
	return v
}

// nameList checks a list of the row's choices.
func (c *checker) nameList(row *dsl.Row, path string, e *dsl.Expr) *value {
	if e.Kind != dsl.List || len(e.Args) == 0 {
		c.report("E0206", e.Range, "%s takes a list of names, not %s", path, text(e)).WithHelp("write %s = [%s, %s]", last(path), row.Choices[0].Name, row.Choices[1].Name)
		return nil
	}
	v := &value{text: dsl.Format(e)}
	for _, a := range e.Args {
		x := c.choice(row, path, a.Value)
		if x == nil {
			return nil
		}
		if slices.Contains(v.words, x.word) {
			c.report("E0204", a.Value.Range, "%s names %s twice", path, x.word).WithHelp("leave one out")
			return nil
		}
		v.words = append(v.words, x.word)
	}
	return v
}

// mostSlope is the most columns in a step of a line.
const mostSlope = 100

// directions checks one direction or a list of them.
func (c *checker) directions(path string, e *dsl.Expr) *value {
	pairs := []*dsl.Expr{e}
	if e.Kind == dsl.List && len(e.Args) > 0 && e.Arg(0).Kind == dsl.List {
		pairs = pairs[:0]
		for _, a := range e.Args {
			pairs = append(pairs, a.Value)
		}
	}
	v := &value{text: dsl.Format(e)}
	row := &dsl.Row{Type: dsl.Int, Min: -mostSlope, Max: mostSlope}
	for _, p := range pairs {
		if p.Kind != dsl.List || len(p.Args) != 2 {
			c.report("E0206", p.Range, "a direction is a step in rows and a step in columns, not %s", text(p)).WithHelp("write %s = [1, -1]", last(path))
			return nil
		}
		rows, columns := c.numeric(row, path, p.Arg(0)), c.numeric(row, path, p.Arg(1))
		if rows == nil || columns == nil {
			return nil
		}
		if rows.num != 1 {
			c.report("E0207", p.Range, "the direction %s does not go down row by row", text(p)).WithHelp("write [1, 0] (down), [1, 1] (diagonal), [1, -1] (antidiagonal), or [1, -2] where a row goes on by two columns")
			return nil
		}
		v.list = append(v.list, rows.num, columns.num)
	}
	return v
}

// text checks a text. A file path becomes relative to the directory of the spec, even if
// an included file sets it.
func (c *checker) text(row *dsl.Row, path string, e *dsl.Expr) *value {
	if e.Kind != dsl.String {
		c.report("E0206", e.Range, "%s takes a text in quotes, not %s", path, text(e)).WithHelp("write %s = \"…\"", last(path))
		return nil
	}
	if row.Type == dsl.Text {
		return &value{text: dsl.Format(e), word: e.Text}
	}
	file := c.file(e)
	return &value{text: strconv.Quote(c.fromSpec(file)), word: file, file: true}
}

// file returns a path for Options.Read from a text that is relative to the file that
// contains it.
func (c *checker) file(e *dsl.Expr) string {
	from := e.Range.Start.File
	if from == setFile || from == "" {
		from = c.main
	}
	return beside(from, e.Text)
}

// fromSpec returns the path relative to the directory of the spec.
func (c *checker) fromSpec(file string) string {
	if rel, err := filepath.Rel(filepath.FromSlash(path.Dir(c.main)), filepath.FromSlash(file)); err == nil && !rooted(file) {
		return filepath.ToSlash(rel)
	}
	return file
}

// stageName checks the name of an earlier stage.
func (c *checker) stageName(path string, e *dsl.Expr) *value {
	if e.Kind != dsl.Name {
		c.report("E0206", e.Range, "%s is the name of a stage, not %s", path, text(e)).WithHelp("write %s = none, or the name of an earlier stage", last(path))
		return nil
	}
	if !slices.Contains(c.earlier, e.Text) {
		known := append([]string{"none"}, c.earlier...)
		c.report("E0209", e.Range, "there is no stage %q before this one", e.Text).WithHelp("%s", diag.DidYouMean(e.Text, known, "write "+last(path)+" ="))
		return nil
	}
	return &value{text: e.Text, word: e.Text}
}
