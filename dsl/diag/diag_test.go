package diag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func at(line, col, end int) Range {
	return Range{Pos{"f", line, col}, Pos{"f", line, end}}
}

func noFile(string) ([]byte, error) { return nil, errors.New("none") }

// TestSort checks the order of places, and that each finding appears once.
func TestSort(t *testing.T) {
	l := List{
		New("E0202", at(3, 1, 2), "c"), New("E0201", at(1, 5, 6), "b"), New("V001", at(1, 2, 3), "a"),
		New("E0202", at(3, 1, 2), "c"), New("E0101", Range{Start: Pos{File: "e"}}, "first"),
	}.Sort()
	var got []string
	for _, d := range l {
		got = append(got, d.Message)
	}
	if s := strings.Join(got, " "); s != "first a b c" {
		t.Errorf("sorted: %s", s)
	}
}

// TestLimit: errors are shown before warnings, and their order stays.
func TestLimit(t *testing.T) {
	var l List
	for i := range 30 {
		code := "V001"
		if i%2 == 1 {
			code = "E0202"
		}
		l = append(l, New(code, at(i+1, 1, 2), "n%d", i))
	}
	shown, more := l.shown()
	if len(shown) != Limit || more != 10 {
		t.Fatalf("%d shown, %d more", len(shown), more)
	}
	errs := 0
	for i, d := range shown {
		if d.Severity == Error {
			errs++
		}
		if i > 0 && d.Range.Start.compare(shown[i-1].Range.Start) <= 0 {
			t.Error("out of order")
		}
	}
	if errs != 15 {
		t.Errorf("%d of 15 errors shown", errs)
	}
	if !l.HasErrors() || (List{l[0]}).HasErrors() {
		t.Error("HasErrors is wrong")
	}
}

// TestText checks the two forms of one diagnostic.
func TestText(t *testing.T) {
	l := List{New("E0202", at(2, 4, 7), "no %q", "a<b").WithHelp("do %d", 1).WithNote(Pos{"g", 1, 2}, "seen")}
	read := func(path string) ([]byte, error) {
		if path != "f" {
			return nil, errors.New("none")
		}
		return []byte("one\nü\tabc\r\nthree"), nil
	}
	var b strings.Builder
	if err := l.Text(&b, read, false); err != nil {
		t.Fatal(err)
	}
	const want = "f:2:4: error[E0202]: no \"a<b\"\n   2 | ü abc\n     |   ^^^\n     = help: do 1\n     = note: seen at g:1:2\n"
	if b.String() != want {
		t.Errorf("text:\n%s\nwant:\n%s", b.String(), want)
	}
	b.Reset()
	if err := l.JSON(&b); err != nil {
		t.Fatal(err)
	}
	const json = `{"code":"E0202","severity":"error","file":"f","line":2,"col":4,"end_line":2,"end_col":7,"message":"no \"a<b\"","help":"do 1","notes":[{"file":"g","line":1,"col":2,"message":"seen"}]}` + "\n"
	if b.String() != json {
		t.Errorf("JSON:\n%s\nwant:\n%s", b.String(), json)
	}
	b.Reset()
	if err := l.Text(&b, noFile, true); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "\x1b[1;31merror[E0202]:\x1b[0m") || strings.Contains(s, "|") {
		t.Errorf("colored: %q", s)
	}
}

// TestEscapes: the name or text of a file cannot send control sequences to the terminal.
func TestEscapes(t *testing.T) {
	const evil = "a\x1b[2J\x1b]0;title\x07\u009b1m\nb"
	r := Range{Pos{evil, 1, 1}, Pos{evil, 1, 2}}
	l := List{New("E0107", r, "cannot read %s", evil).WithHelp("open %s", evil).WithNote(Pos{evil, 1, 1}, "%s", evil)}
	var b strings.Builder
	if err := l.Text(&b, func(string) ([]byte, error) { return []byte(evil), nil }, false); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.ContainsAny(s, "\x1b\x07\u009b") || strings.Count(s, "\n") != 5 || !strings.Contains(s, "cannot read a?[2J?]0;title??1m?b") {
		t.Errorf("%q", s)
	}
}

// TestCaret checks the caret's place and bounds for odd ranges.
func TestCaret(t *testing.T) {
	long := strings.Repeat("x", 500)
	for _, c := range []struct {
		line  string
		r     Range
		caret string
	}{
		{"abc", at(1, 1, 4), "^^^"},
		{"abc", at(1, 4, 4), "   ^"},
		{"abc", at(1, 9, 12), "   ^"},
		{"", at(1, 1, 1), "^"},
		{"abc", Range{Pos{"f", 1, 2}, Pos{"f", 2, 2}}, " ^^"},
		{long, at(1, 301, 303), strings.Repeat(" ", 61) + "^^"},
		{long, at(1, 301, 501), strings.Repeat(" ", 61) + strings.Repeat("^", 100)},
	} {
		text, caret := snippet(c.line, c.r)
		if caret != c.caret {
			t.Errorf("%q under %q", caret, text)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"width", "heads", "dropout", "bias", "self", "cross"}
	for in, want := range map[string]string{
		"haeds": "heads", "widht": "width", "droput": "dropout", "Bias": "bias", "crss": "cross",
		"": "", "x": "", "depth": "", "selfish": "", "hidden": "", "biases": "bias",
	} {
		if got := Nearest(in, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
	if got := DidYouMean("x", names[:2], "one of"); got != "one of width, heads" {
		t.Error(got)
	}
}

// TestDistance checks distances of short words.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%s, %s) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("distance(%s, %s) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// TestUnknownCode: a bug of the compiler panics.
func TestUnknownCode(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "BUG: ") {
			t.Errorf("recovered %v", r)
		}
	}()
	New("E9999", Range{}, "")
}

// TestPages refuses pages that lack a part.
func TestPages(t *testing.T) {
	const whole = "a title\n\nOne\nparagraph.\n\n-- broken --\nx\n-- mended --\ny\n"
	got, err := parseCode("E0999", []byte(whole))
	if want := (Code{"E0999", "", "a title", "One paragraph.", "x\n", "y\n"}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, part := range []string{"a title", "One\nparagraph.\n", "-- broken --\n", "-- mended --\ny\n"} {
		if _, err := parseCode("E0999", []byte(strings.Replace(whole, part, "", 1))); err == nil {
			t.Errorf("accepted without %q", part)
		}
	}
}
