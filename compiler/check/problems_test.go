package check

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/tokens"
)

var characters, words = tokens.Rule{}, tokens.Rule{Words: true}

// TestProblemsOfAFile checks the counts of files.
func TestProblemsOfAFile(t *testing.T) {
	split := strings.Fields
	for _, c := range []struct {
		file, separator string
		rule            tokens.Rule
		want            Problems
	}{
		{"a=1\nbb=23\n", "=", characters, Problems{Text: "a=1\nbb=23\n", Count: 2, Lines: []int{3, 5}, Lengths: 2, Prompts: 2, Symbols: split("1 2 3 = a b"), Digits: 3, Run: 2}},
		{"\ufeffé 1→22\r\né 3→4", " ", characters, Problems{Text: "é 1→22\né 3→4\n", Count: 2, Lines: []int{5, 6}, Lengths: 1, Prompts: 1, Symbols: []string{"1", "2", "3", "4", " ", "é", "→"}, Digits: 4, Run: 2}},
		{"1\t1\n1\t2\n1\t1\n", "\t", characters, Problems{Text: "1\t1\n1\t2\n1\t1\n", Count: 3, Lines: []int{3}, Lengths: 1, Prompts: 1, Symbols: []string{"1", "2", "\t"}, Digits: 2, Run: 1}},
		{"12==34=5\n", "==", characters, Problems{Text: "12==34=5\n", Count: 1, Lines: []int{8}, Lengths: 1, Prompts: 1, Symbols: split("1 2 3 4 5 ="), Digits: 5, Run: 2}},
		{strings.Repeat("x", 998) + "=1\n", "=", characters, Problems{Text: strings.Repeat("x", 998) + "=1\n", Count: 1, Lines: []int{1000}, Lengths: 1, Prompts: 1, Symbols: split("1 = x"), Digits: 1, Run: 1}},
		{" two  plus\tone ->  three \n2 -> two\n", " -> ", words, Problems{Text: "two plus one -> three\n2 -> two\n", Count: 2, Lines: []int{3, 5}, Lengths: 2, Prompts: 2,
			Symbols: []string{"2", " -> ", "one", "plus", "three", "two"}, Digits: 1, Run: 1}},
		{"2+1=0\n", "=", tokens.Rule{Numbers: 3}, Problems{Text: "2 + 1=0\n", Count: 1, Lines: []int{5}, Lengths: 1, Prompts: 1, Symbols: split("0 1 2 + ="), Digits: 3, Run: 1}},
	} {
		p, f := parseProblems([]byte(c.file), c.separator, c.rule)
		if f != nil {
			t.Errorf("%.20q: %v", c.file, *f)
			continue
		}
		if fmt.Sprint(*p) != fmt.Sprint(c.want) {
			t.Errorf("%.20q has\n%+v, want\n%+v", c.file, *p, c.want)
		}
	}
}

// TestFilesWithoutProblems: a fault names its line and a remedy.
func TestFilesWithoutProblems(t *testing.T) {
	var every strings.Builder
	for r := range rune(maxSymbols) {
		fmt.Fprintf(&every, "%c=1\n", 0x4e00+r)
	}
	for _, c := range []struct {
		file string
		rule tokens.Rule
		line int
		want string
	}{
		{"", characters, 0, "the file is empty"},
		{"\ufeff", characters, 0, "the file is empty"},
		{"a=1\nb 2\nc=3\n", characters, 2, `the line has no "="`},
		{"a=1\n\n", characters, 2, "the line is empty"},
		{"a=1\n=2\n", characters, 2, `nothing stands before "="`},
		{"a=1\nb=", characters, 2, `nothing stands after "="`},
		{"a=\xff\n", characters, 1, "the line is no UTF-8 text"},
		{"a=1\rb=2\n", characters, 1, "a carriage return"},
		{"a=\x001\n", characters, 1, "the control character U+0000"},
		{"a=1\n" + strings.Repeat("x", 999) + "=1\n", characters, 2, "the line has 1001 characters, more than 1000"},
		{every.String(), characters, 0, "the file has 1026 different tokens, more than 1024"},
		{"1 = 2\n = 1\n", words, 2, `nothing stands before "="`},
		{"1=2\n1+5=3\n", tokens.Rule{Numbers: 5}, 2, "5 is no whole number below 5"},
		{strings.Repeat("\n", MaxFile+1), characters, 0, "the file has more than 64 MiB"},
	} {
		p, f := parseProblems([]byte(c.file), "=", c.rule)
		if p != nil || f == nil || f.line != c.line || !strings.Contains(f.what, c.want) || f.help == "" {
			t.Errorf("%.20q: %+v, want %s in line %d", c.file, f, c.want, c.line)
		}
	}
}

// TestProblemsAreReadOnce: all trainings of a sweep share one reading. The spec's hash
// depends on the problems, also of stages.
func TestProblemsAreReadOnce(t *testing.T) {
	const spec = "arith 2\ntask file { path = \"data/p.txt\" }\nmodel.decoder_only.layers = 1\nstage first {}\nstage second { task.path = \"data/q.txt\" }\n"
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

// TestSeparatorWithin: the separator must not appear in a prompt whose tokens are joined
// by one space.
func TestSeparatorWithin(t *testing.T) {
	_, f := parseProblems([]byte("12+ + 3\n"), " + ", tokens.Rule{Numbers: 20})
	if f == nil || f.line != 1 || !strings.Contains(f.what, `the prompt, with one space between tokens, has " + " in it`) {
		t.Errorf("got %+v", f)
	}
}

// TestTestFile checks that lengths, hash and problems of both files are used.
func TestTestFile(t *testing.T) {
	const spec = "arith 2\ntask file {\n  path = \"p.txt\"\n  test = \"q.txt\"\n  tokens = words\n}\nmodel.decoder_only.layers = 1\n"
	files := map[string]string{"a.arith": spec, "p.txt": "a b=b\nb=a\n", "q.txt": "a a a=b b\n"}
	s, list := resolve(files, "a.arith")
	if list.HasErrors() {
		t.Fatal(textOf(list, files))
	}
	if got, want := s.evaluated(), []lengths{{Source: 0, Target: 6}}; !slices.Equal(got, want) {
		t.Errorf("tested are %v, want %v", got, want)
	}
	if _, rows := s.TrainedShape(); rows != 4 || s.problems() != 1 || s.Task.Vocab() != 5 {
		t.Errorf("%d rows, %g problems, %d tokens", rows, s.problems(), s.Task.Vocab())
	}
	before := s.Hash
	for name, text := range map[string]string{"p.txt": "a b=a\nb=a\n", "q.txt": "a a a=b a\n"} {
		was := files[name]
		files[name] = text
		if s, _ := resolve(files, "a.arith"); s.Hash == before {
			t.Errorf("another %s has the same hash", name)
		}
		files[name] = was
	}
}

// TestCarried resolves a run's copy of a spec away from the original files. It must be
// the same spec with the same hash.
func TestCarried(t *testing.T) {
	const lines = "a=1\nb=2\n"
	files := map[string]string{
		"d/a.arith": "arith 2\ntask file {\n  path = \"../P.tsv\"\n  test = \"/far/p.tsv.txt\"\n  separator = \"=\"\n}\nmodel.decoder_only {\n  layers = 1\n  self.bias = table(\"x/t\")\n}\nmodel.heads = 1\n" +
			"stage first {}\nstage second {\n  task.path = \"p.tsv.txt\"\n  task.test = \"q.txt\"\n}\n",
		"P.tsv": "\ufeffa=1\r\nb=2", "/far/p.tsv.txt": "a=2\n", "d/p.tsv.txt": lines, "d/q.txt": lines, "d/x/t": safetensors(`{"t":{"dtype":"F32","shape":[2,2]}}`),
	}
	before, list := resolve(files, "d/a.arith")
	if list.HasErrors() {
		t.Fatal(textOf(list, files))
	}
	moved := map[string]string{"run/spec.arith": before.Carried}
	for _, stage := range before.Stages {
		for _, f := range stage.Spec.Files() {
			if f.Problems != nil {
				moved["run/"+f.Path] = f.Problems.Text
			} else {
				moved["run/"+f.Path] = files["d/x/t"]
			}
		}
	}
	var names []string
	for name := range moved {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"run/spec-files/P.tsv.txt", "run/spec-files/p.tsv-2.txt", "run/spec-files/p.tsv-3.txt", "run/spec-files/q.txt", "run/spec-files/t.safetensors", "run/spec.arith"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	after, list := Resolve(Options{Path: "run/spec.arith", Name: "a", Read: reader(moved)})
	if list.HasErrors() {
		t.Fatalf("%s\n%s", textOf(list, moved), before.Carried)
	}
	if after.Hash != before.Hash || after.Carried != before.Carried || after.Carried != after.Resolved {
		t.Errorf("it is another spec where it was moved:\n%s\nwas\n%s", after.Carried, before.Carried)
	}
}
