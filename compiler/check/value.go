package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/config"
)

// A value is an attribute's or argument's value, by type.
type value struct {
	at    diag.Range
	text  string            // in canonical form
	num   float64           // Int, Recurrences, Real, Fraction, Steps; Budget: in steps, examples, seconds, FLOP
	of    string            // Budget: the unit of num
	word  string            // name of a Choice or stage, Bool, a text, or one of the row's words
	words []string          // Names
	args  map[string]*value // of a Choice
	list  []float64         // numbers; IntRange: first and last; Grid: both ranges; Directions: pairs
	expr  *dsl.Expr         // Condition, Bias, Table, Statistic
	given bool              // the spec sets it
	file  bool              // word is the path of a file

	weight      Weight             // Weight
	recurrences config.Recurrences // Recurrences that depend on lengths
}

// is reports whether the value is the given word.
func (v *value) is(word string) bool { return v != nil && v.word == word }

// resolveValues computes the value of every attribute in the schema, in schema order.
func (c *checker) resolveValues() {
	for i := range c.lang.schema.Rows {
		row := &c.lang.schema.Rows[i]
		switch {
		case strings.HasPrefix(row.Path, "stage."), strings.HasPrefix(row.Path, "calibrate."):
		case c.like.keeps(c, row):
			if v := c.like.values[row.Path]; v != nil {
				c.values[row.Path] = v
			}
		case c.belongs(row):
			c.resolveValue(row, row.Path)
		}
	}
}

// belongs reports whether the spec's kinds of task and model have an attribute. It
// reports an attribute that is set but does not belong. An unknown task has all
// attributes.
func (c *checker) belongs(row *dsl.Row) bool {
	if strings.HasPrefix(row.Path, "attention.") || c.alone() {
		return c.alone() && ofAttention(row.Path)
	}
	if !c.hasKind(row.Kinds) {
		if set := c.settings[row.Path]; set != nil {
			c.ofKind(row.Kinds, set.name, row.Path)
		}
		return false
	}
	if strings.HasPrefix(row.Path, "model.decoder_only.") {
		return c.looped()
	}
	return !inStacks(row.Path) || !c.looped()
}

// hasKind reports whether the kind of task is among kinds. An unknown task is any of them.
func (c *checker) hasKind(kinds string) bool {
	return kinds == "" || c.kind == "" || slices.Contains(strings.Fields(kinds), c.kind)
}

// ofKind is hasKind. It reports a setting, called what, that the kind of task does not have.
func (c *checker) ofKind(kinds string, at diag.Range, what string) bool {
	if c.hasKind(kinds) {
		return true
	}
	c.report("E0214", at, "%s does not belong to task %s", what, c.kind).
		WithHelp("it is for %s", strings.Join(strings.Fields(kinds), ", "))
	return false
}

func inStacks(path string) bool {
	return strings.HasPrefix(path, "model.encoder.") || strings.HasPrefix(path, "model.decoder.")
}

// looped reports whether the model is decoder-only, which it is if the spec has that block.
func (c *checker) looped() bool { return c.loopAt().Start.IsValid() }

// loopAt returns the first place that makes the model decoder-only, or a zero range.
func (c *checker) loopAt() diag.Range {
	if r, ok := c.places["model.decoder_only"]; ok {
		return r
	}
	return c.firstOf(func(path string) bool { return strings.HasPrefix(path, "model.decoder_only.") })
}

// firstOf returns where the first of some attributes is set, or a zero range.
func (c *checker) firstOf(some func(path string) bool) diag.Range {
	if i := slices.IndexFunc(c.order, some); i >= 0 {
		return c.settings[c.order[i]].name
	}
	return diag.Range{}
}

// checkLoop reports a spec that has both a decoder-only stack and an encoder or decoder.
func (c *checker) checkLoop() {
	if !c.looped() {
		return
	}
	if r := c.firstOf(inStacks); r.Start.IsValid() {
		c.report("E0312", r, "this belongs to an encoder-decoder, but the model is decoder-only").
			WithHelp("leave out model.encoder and model.decoder, or model.decoder_only").WithNote(c.loopAt().Start, "model.decoder_only is written")
	}
}

// resolveValue computes the value of one attribute. In stages, path differs from the
// row's.
func (c *checker) resolveValue(row *dsl.Row, path string) {
	set := c.settings[path]
	switch {
	case set != nil:
		v := c.value(row, path, set.value)
		if v == nil {
			return
		}
		v.given = true
		c.values[path] = v
	case row.Default == "" || c.replaced(row):
	case row.Default[0] == '=':
		c.values[path] = c.values[row.Default[1:]]
	default:
		c.values[path] = c.value(row, path, c.defaultOf(row))
	}
}

// replaced reports whether another attribute replaces a row's default.
func (c *checker) replaced(row *dsl.Row) bool {
	return slices.ContainsFunc(strings.Fields(row.Unless), func(p string) bool {
		return c.settings[p] != nil && !c.values[p].is("none")
	})
}

// defaultOf returns the default of a row for the kind of task.
func (c *checker) defaultOf(row *dsl.Row) *dsl.Expr {
	for _, k := range c.lang.schema.Kinds {
		if k.Name != c.kind {
			continue
		}
		for i := range k.Args {
			if k.Args[i].Path == row.Path {
				return c.lang.defaults[&k.Args[i]]
			}
		}
	}
	return c.lang.defaults[row]
}

// value checks an expression against a row of the schema. path names it in messages. It
// returns nil after an error.
func (c *checker) value(row *dsl.Row, path string, e *dsl.Expr) *value {
	v := c.typed(row, path, e)
	if v == nil {
		return nil
	}
	v.at = e.Range
	return v
}

func (c *checker) typed(row *dsl.Row, path string, e *dsl.Expr) *value {
	if e.Kind == dsl.Name && row.Type != dsl.Weight && row.Type != dsl.Recurrences && slices.Contains(strings.Fields(row.Words), e.Text) {
		return &value{text: e.Text, word: e.Text}
	}
	switch row.Type {
	case dsl.Int, dsl.Real, dsl.Fraction, dsl.Budget, dsl.Steps:
		return c.numeric(row, path, e)
	case dsl.Bool:
		return c.boolean(path, e)
	case dsl.Text, dsl.FilePath:
		return c.text(row, path, e)
	case dsl.IntRange:
		return c.interval(row, path, e)
	case dsl.IntList, dsl.RealList, dsl.ShareList:
		return c.numbers(row, path, e)
	case dsl.Grid:
		return c.grid(row, path, e)
	case dsl.Names:
		return c.nameList(row, path, e)
	case dsl.Choice:
		return c.choice(row, path, e)
	case dsl.StageName:
		return c.stageName(path, e)
	case dsl.Weight:
		return c.weight(path, e)
	case dsl.Recurrences:
		return c.recurrences(row, path, e)
	case dsl.Directions:
		return c.directions(path, e)
	}
	return &value{text: dsl.Format(e), expr: e}
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func (c *checker) boolean(path string, e *dsl.Expr) *value {
	if e.Kind != dsl.Name || e.Text != "true" && e.Text != "false" {
		c.report("E0206", e.Range, "%s is true or false, not %s", path, text(e)).WithHelp("write %s = true", last(path))
		return nil
	}
	return &value{text: e.Text, word: e.Text}
}

func (c *checker) numeric(row *dsl.Row, path string, e *dsl.Expr) *value {
	x, of, ok := c.number(row, path, e)
	if !ok {
		return nil
	}
	v := &value{text: dsl.Format(e), num: x, of: of}
	if b, ok := budgets[of]; ok && row.Type == dsl.Budget {
		row = &b
	}
	if !(x >= row.Min && x <= row.Max) || row.Above && x == row.Min {
		c.outside(row, path, e)
		return nil
	}
	whole := row.Type == dsl.Int || row.Type == dsl.Recurrences || of == "steps" || of == "examples"
	if whole && x != math.Trunc(x) {
		c.report("E0206", e.Range, "%s takes a whole number, not %s", path, text(e)).WithHelp("write %.0f or %.0f", math.Floor(x), math.Ceil(x))
		return nil
	}
	return v
}

// budgets are the bounds of each unit, so that float64 holds the counts and time.Duration
// the seconds.
var budgets = map[string]dsl.Row{
	"steps":    {Path: "steps", Type: dsl.Budget, Min: 1, Max: 1e15},
	"examples": {Path: "examples", Type: dsl.Budget, Min: 1, Max: 1e15},
	"epochs":   {Path: "epochs", Type: dsl.Budget, Min: 1e-6, Max: 1e9},
	"seconds":  {Path: "s", Type: dsl.Budget, Min: 1e-9, Max: 1 << 33},
	"FLOP":     {Path: "FLOP", Type: dsl.Budget, Min: 1, Max: 1e24},
}

func (c *checker) outside(row *dsl.Row, path string, e *dsl.Expr) {
	unit, factor := "", 1.0
	switch row.Type {
	case dsl.Fraction:
		unit, factor = "%", 100
	case dsl.Budget:
		unit = row.Path
	case dsl.Steps:
		unit = "steps"
	}
	show := func(x float64) string {
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatFloat(x*factor, 'f', 0, 64) + unit
		}
		return strconv.FormatFloat(x*factor, 'g', 12, 64) + unit
	}
	help := fmt.Sprintf("it lies between %s and %s", show(row.Min), show(row.Max))
	if row.Above {
		help = fmt.Sprintf("it is above %s and at most %s", show(row.Min), show(row.Max))
	}
	c.report("E0207", e.Range, "%s = %s is out of range", path, text(e)).WithHelp("%s", help)
}

// number evaluates a numeric value: digits with a unit of the row's type or, if the type
// has no unit, arithmetic on numbers, width and heads.
func (c *checker) number(row *dsl.Row, path string, e *dsl.Expr) (x float64, of string, ok bool) {
	_, must := row.Type.Units()
	switch {
	case e.Kind == dsl.Number:
		return c.literal(row, path, e)
	case e.Kind == dsl.Unary && e.Text == "-":
		x, of, ok = c.number(row, path, e.Arg(0))
		return -x, of, ok
	case must:
	case e.Kind == dsl.Binary && strings.Contains("+-*/", e.Text):
		a, _, ok1 := c.number(row, path, e.Arg(0))
		b, _, ok2 := c.number(row, path, e.Arg(1))
		return map[string]float64{"+": a + b, "-": a - b, "*": a * b, "/": a / b}[e.Text], "", ok1 && ok2
	case e.Kind == dsl.Call && e.Text == "sqrt" && len(e.Args) == 1:
		x, _, ok = c.number(row, path, e.Arg(0))
		return math.Sqrt(x), "", ok
	case e.Kind == dsl.Name && slices.Contains([]string{"width", "heads", "model.width", "model.heads"}, e.Text):
		for _, block := range []string{"model.", "attention."} {
			if v := c.values[block+last(e.Text)]; v != nil {
				return v.num, "", true
			}
		}
		if !c.list.HasErrors() { // else width or heads may have an error itself
			c.report("E0206", e.Range, "%s cannot depend on %s, which is not known yet", path, e.Text).WithHelp("write a number")
		}
		return 0, "", false
	}
	help := "write a number, or arithmetic on numbers, width and heads"
	if must {
		help = "write a number with its unit; " + unitHelp(row.Type)
	}
	if row.Words != "" {
		help += "; or " + strings.Join(strings.Fields(row.Words), ", ")
	}
	c.report("E0206", e.Range, "%s takes a number, not %s", path, text(e)).WithHelp("%s", help)
	return 0, "", false
}

func (c *checker) literal(row *dsl.Row, path string, e *dsl.Expr) (float64, string, bool) {
	units, must := row.Type.Units()
	if e.Unit == "" && !must {
		return dsl.Unit{Factor: 1}.Value(e.Text), "", true
	}
	names := make([]string, len(units))
	for i, u := range units {
		if u.Name == e.Unit {
			return u.Value(e.Text), u.Of, true
		}
		names[i] = u.Name
	}
	switch {
	case e.Unit == "":
		c.report("E0205", e.Range, "%s needs a unit", path).WithHelp("%s", unitHelp(row.Type))
	case len(names) == 0:
		c.report("E0205", e.Head, "%s has no unit", path).WithHelp("write %s", e.Text)
	default:
		help := unitHelp(row.Type)
		if n := diag.Nearest(e.Unit, names); n != "" {
			help = "did you mean \"" + n + "\"?"
		}
		c.report("E0205", e.Head, "%q is not a unit of %s", e.Unit, path).WithHelp("%s", help)
	}
	return 0, "", false
}

// unitHelp lists the units of a type, with the prefixes of counts combined.
func unitHelp(t dsl.Type) string {
	if t == dsl.Budget {
		return "units here are steps and examples, also with k, M or G in front, epochs, s, m, h, d, and FLOP"
	}
	units, _ := t.Units()
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.Name
	}
	return "units here are " + strings.Join(names, ", ")
}

func plural(n int, what string) string {
	switch n {
	case 0:
		return what + "s"
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
