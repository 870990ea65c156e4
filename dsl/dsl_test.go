package dsl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/dsl/diag"
)

func parseExpr(t *testing.T, text string) *Expr {
	t.Helper()
	e, list := ParseSetting("test", 1, "x = "+text)
	if len(list) > 0 {
		t.Fatalf("%s: %s", text, list[0].Message)
	}
	return e.Value
}

// TestFormat checks the style of expressions, and that formatting again changes nothing.
func TestFormat(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"1+2*3", "1 + 2 * 3"},
		{"(1+2)*3", "(1 + 2) * 3"},
		{"1-(2-3)", "1 - (2 - 3)"},
		{"(1-2)-3", "1 - 2 - 3"},
		{"1-(2+3)", "1 - (2 + 3)"},
		{"1/(2*3)", "1 / (2 * 3)"},
		{"((a))", "a"},
		{"-a", "-a"},
		{"-(a+b)", "-(a + b)"},
		{"-(-a)", "-(-a)"},
		{"(-a)*b", "-a * b"},
		{"a<b&&c||d", "a < b && c || d"},
		{"a<b&&(c||d)", "a < b && (c || d)"},
		{"(a<b)==c", "(a < b) == c"},
		{"!(a<b)", "!(a < b)"},
		{"w[h,m]*x", "w[h, m] * x"},
		{"(a+b)[1]", "(a + b)[1]"},
		{"f(x=1,[2,3],)", "f(x = 1, [2, 3])"},
		{"f()", "f()"},
		{"0..H-1", "0..H - 1"},
		{"(0..3)..4", "(0..3)..4"},
		{"a.b.c", "a.b.c"},
		{"1_000", "1000"},
		{"007", "7"},
		{"0", "0"},
		{"1.50%", "1.5%"},
		{"1e-09", "1e-9"},
		{"2.5e3k", "2500.0k"},
		{"2.0*i", "2.0 * i"},
		{"1e30", "1e30"},
		{"8EFLOP", "8EFLOP"},
		{"2e3", "2000.0"},
		{`"a\"b"`, `"a\"b"`},
	} {
		got := Format(parseExpr(t, c.in))
		if got != c.want {
			t.Errorf("Format(%s) = %s, want %s", c.in, got, c.want)
		}
		if again := Format(parseExpr(t, got)); again != got {
			t.Errorf("Format(%s) = %s, not itself", got, again)
		}
	}
}

// TestRanges checks the places of all parts of an entry.
func TestRanges(t *testing.T) {
	const src = "arith 2\n\ntask successor {\n  pad = zero(to = 10%, f[1]) // ü\n}\ninclude \"a\" { b.c = -x + [1, 2] }\n"
	file, list := Parse("f", []byte(src))
	if len(list) > 0 {
		t.Fatal(list[0].Message)
	}
	lines := strings.Split(src, "\n")
	cut := func(r diag.Range) string {
		if r.Start.Line != r.End.Line {
			return "more than a line"
		}
		return lines[r.Start.Line-1][r.Start.Col-1 : r.End.Col-1]
	}
	task, inc := file.Entries[0], file.Entries[1].Include
	pad, bc := task.Block.Entries[0], inc.Body[0]
	for _, c := range []struct {
		r    diag.Range
		want string
	}{
		{task.Path[0].Range, "task"},
		{task.Block.Label.Range, "successor"},
		{pad.Range, "pad = zero(to = 10%, f[1])"},
		{pad.Value.Range, "zero(to = 10%, f[1])"},
		{pad.Value.Head, "zero"},
		{pad.Value.Args[0].Name.Range, "to"},
		{pad.Value.Arg(0).Range, "10%"},
		{pad.Value.Arg(0).Head, "%"},
		{pad.Value.Arg(1).Range, "f[1]"},
		{pad.Value.Arg(1).Arg(0).Range, "f"},
		{inc.File.Range, `"a"`},
		{bc.Path[1].Range, "c"},
		{bc.Value.Range, "-x + [1, 2]"},
		{bc.Value.Arg(0).Range, "-x"},
		{bc.Value.Arg(1).Range, "[1, 2]"},
	} {
		if got := cut(c.r); got != c.want {
			t.Errorf("the range holds %q, want %q", got, c.want)
		}
	}
}

// TestRefused parses text that would exhaust a recursive parser.
func TestRefused(t *testing.T) {
	begin := time.Now()
	for name, c := range map[string]struct{ src, code string }{
		"10 MB of brackets": {"arith 2\nx = " + strings.Repeat("(", 10<<20), "E0103"},
		"1 MB of brackets":  {"arith 2\nx = " + strings.Repeat("[", 1<<20-100), "E0103"},
		"braces":            {"arith 2\n" + strings.Repeat("a{", 65) + strings.Repeat("}", 65), "E0103"},
		"a long sum":        {"arith 2\nx = 1" + strings.Repeat("+1", 5000), "E0103"},
		"minus":             {"arith 2\nx = " + strings.Repeat("-", 5000) + "1", "E0103"},
		"a long path":       {"arith 2\na" + strings.Repeat(".a", 5000) + " = 1", "E0103"},
		"zero byte":         {"arith 2\nx = \x00", "E0106"},
		"half a rune":       {"arith 2\nx = \xc3", "E0106"},
	} {
		file, list := Parse("f", []byte(c.src))
		if file != nil || len(list) != 1 || list[0].Code != c.code {
			t.Errorf("%s: %v, want one %s", name, list, c.code)
		}
	}
	deep := strings.Repeat("f(a[(", 21) + "1" + strings.Repeat(")])", 21)
	if _, list := Parse("f", []byte("arith 2\nx = "+deep)); len(list) > 0 {
		t.Errorf("63 brackets: %s", list[0].Message)
	}
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

// TestSchema checks the schema's consistency.
func TestSchema(t *testing.T) {
	s := NewSchema()
	there := func(block string) bool {
		return slices.ContainsFunc(s.Blocks, func(b BlockRow) bool { return b.Path == block })
	}
	for _, b := range s.Blocks {
		if b.Doc == "" {
			t.Errorf("block %s has no doc", b.Path)
		}
		if i := strings.LastIndexByte(b.Path, '.'); i > 0 && !there(b.Path[:i]) {
			t.Errorf("block %s stands in none", b.Path)
		}
	}
	seen := make(map[string]bool)
	for i := range s.Rows {
		r := &s.Rows[i]
		if seen[r.Path] || s.Row(r.Path) != r {
			t.Errorf("%s is there twice", r.Path)
		}
		seen[r.Path] = true
		if !there(r.Path[:strings.LastIndexByte(r.Path, '.')]) {
			t.Errorf("%s stands in no block", r.Path)
		}
		if r.Doc == "" {
			t.Errorf("%s has no doc", r.Path)
		}
		if r.Default != "" && r.Default[0] == '=' && !seen[r.Default[1:]] {
			t.Errorf("the default of %s is %s, which comes later", r.Path, r.Default[1:])
		}
		checkRow(t, r.Path, r)
	}
}

func checkRow(t *testing.T, path string, r *Row) {
	switch r.Type {
	case Int, Real, Fraction, IntRange, IntList, RealList, Budget:
		if !(r.Min < r.Max) {
			t.Errorf("%s has no bounds", path)
		}
	case Choice:
		if len(r.Choices) == 0 {
			t.Errorf("%s has no choices", path)
		}
	}
	for _, o := range r.Choices {
		for i := range o.Args {
			checkRow(t, path+"."+o.Name+"."+o.Args[i].Path, &o.Args[i])
		}
	}
}

// FuzzParse: any text parses without a crash, has places inside the file, and formats
// stably.
func FuzzParse(f *testing.F) {
	for _, c := range diag.Codes() {
		if len(c.Broken) < 1000 {
			f.Add(c.Broken)
			f.Add(c.Mended)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, list := Parse("f", []byte(src))
		if file == nil && len(list) == 0 {
			t.Fatal("neither file nor diagnostic")
		}
		lines := strings.Split(src, "\n")
		for _, d := range list {
			if p := d.Range.Start; p.IsValid() && (p.Line > len(lines) || p.Col > len(lines[p.Line-1])+1) {
				t.Fatalf("%v is outside of the file", p)
			}
			if d.Help == "" {
				t.Fatalf("%s has no help", d.Message)
			}
		}
		if file != nil {
			checkEntries(t, file.Entries)
		}
	})
}

func checkEntries(t *testing.T, entries []*Entry) {
	for _, e := range entries {
		switch {
		case e.Include != nil:
			checkEntries(t, e.Include.Body)
		case e.Block != nil:
			checkEntries(t, e.Block.Entries)
		default:
			text := Format(e.Value)
			again, list := ParseSetting("again", 1, "x = "+text)
			if len(list) > 0 && list[0].Code != "E0103" {
				t.Fatalf("%s does not parse: %s", text, list[0].Message)
			}
			if len(list) == 0 && Format(again.Value) != text {
				t.Fatalf("%s becomes %s", text, Format(again.Value))
			}
		}
	}
}

// TestOtherEncodings: the message names the first wrong byte, and the help a remedy.
func TestOtherEncodings(t *testing.T) {
	for src, want := range map[string]string{
		"arith 2\nx = \xff":  "the byte 0xff is no character of UTF-8",
		"\xff\xfea\x00r\x00": "the byte 0xff is no character of UTF-8",
		"arith 2\nx = �":     "'\ufffd' means nothing here",
	} {
		_, list := Parse("f", []byte(src))
		if len(list) != 1 || list[0].Code != "E0106" || list[0].Message != want {
			t.Errorf("%q: %v, want %s", src, list, want)
		}
	}
}
