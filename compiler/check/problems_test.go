package check

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestProblemsOfAFile counts what is in files.
func TestProblemsOfAFile(t *testing.T) {
	for _, c := range []struct {
		file, separator string
		want            Problems
	}{
		{"a=1\nbb=23\n", "=", Problems{Text: "a=1\nbb=23\n", Count: 2, Lines: []int{3, 5}, Lengths: 2, Prompts: 2, Symbols: 6, Digits: 3, Run: 2}},
		{"\ufeffé 1→22\r\né 3→4", " ", Problems{Text: "é 1→22\né 3→4\n", Count: 2, Lines: []int{5, 6}, Lengths: 1, Prompts: 1, Symbols: 7, Digits: 4, Run: 2}},
		{"1\t1\n1\t2\n1\t1\n", "\t", Problems{Text: "1\t1\n1\t2\n1\t1\n", Count: 3, Lines: []int{3}, Lengths: 1, Prompts: 1, Symbols: 3, Digits: 2, Run: 1}},
		{"12==34=5\n", "==", Problems{Text: "12==34=5\n", Count: 1, Lines: []int{8}, Lengths: 1, Prompts: 1, Symbols: 6, Digits: 5, Run: 2}},
		{strings.Repeat("x", 998) + "=1\n", "=", Problems{Text: strings.Repeat("x", 998) + "=1\n", Count: 1, Lines: []int{1000}, Lengths: 1, Prompts: 1, Symbols: 3, Digits: 1, Run: 1}},
	} {
		p, f := parseProblems([]byte(c.file), c.separator)
		if f != nil {
			t.Errorf("%.20q: %v", c.file, *f)
			continue
		}
		if fmt.Sprint(*p) != fmt.Sprint(c.want) {
			t.Errorf("%.20q has\n%+v, want\n%+v", c.file, *p, c.want)
		}
	}
}

// TestFilesWithoutProblems wants the line of what is wrong, and something to do.
func TestFilesWithoutProblems(t *testing.T) {
	var every strings.Builder
	for r := range rune(maxSymbols) {
		fmt.Fprintf(&every, "%c=1\n", 0x4e00+r)
	}
	for _, c := range []struct {
		file string
		line int
		want string
	}{
		{"", 0, "the file is empty"},
		{"\ufeff", 0, "the file is empty"},
		{"a=1\nb 2\nc=3\n", 2, `the line has no "="`},
		{"a=1\n\n", 2, "the line is empty"},
		{"a=1\n=2\n", 2, `nothing stands before "="`},
		{"a=1\nb=", 2, `nothing stands behind "="`},
		{"a=\xff\n", 1, "the line is no UTF-8 text"},
		{"a=1\rb=2\n", 1, "the control character U+000D"},
		{"a=\x001\n", 1, "the control character U+0000"},
		{"a=1\n" + strings.Repeat("x", 999) + "=1\n", 2, "the line has 1001 characters, more than 1000"},
		{every.String(), 0, "the file has 1026 different characters, more than 1024"},
		{strings.Repeat("\n", MaxFile+1), 0, "the file has more than 64 MiB"},
	} {
		p, f := parseProblems([]byte(c.file), "=")
		if p != nil || f == nil || f.line != c.line || !strings.Contains(f.what, c.want) || f.help == "" {
			t.Errorf("%.20q: %+v, want %s in line %d", c.file, f, c.want, c.line)
		}
	}
}

// TestProblemsAreReadOnce wants one reading for all trainings of a sweep, and the
// program's hash to tell other problems apart, those of a stage too.
func TestProblemsAreReadOnce(t *testing.T) {
	const spec = "arith 1\ntask file { path = \"data/p.txt\" }\nmodel.loop.layers = 1\nstage first {}\nstage second { task.path = \"data/q.txt\" }\n"
	files := map[string]string{"d/a.arith": spec + "sweep { train.seed = 1..9 }\n", "d/data/p.txt": "a=1\nb=2\n", "d/data/q.txt": "a=1\nb=3\n"}
	var reads []string
	hash := func() string {
		s, list := Resolve(Options{Path: "d/a.arith", Read: func(path string) ([]byte, error) {
			reads = append(reads, path)
			text, ok := files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}})
		if list.HasErrors() {
			t.Fatal(textOf(list, files))
		}
		return s.Hash
	}
	before := hash()
	slices.Sort(reads)
	if want := []string{"d/a.arith", "d/data/p.txt", "d/data/q.txt"}; !slices.Equal(reads, want) {
		t.Errorf("read are %v, want %v", reads, want)
	}
	files["d/data/q.txt"] = "a=1\nb=4\n"
	if hash() == before {
		t.Error("other problems of a stage have the same hash")
	}
}
