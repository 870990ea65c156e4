package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestChanges lists the changes of a small file.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(path, []byte(`package a

const size = 4

func f(x []int) (n int) {
	var y [3]int
	z := make(chan int, 1)
	w := math.Inf(-1)
	for _, v := range x {
		if v < 10 {
			n += v
		}
	}
	g(y)
	return n
}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := changesOf(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range all {
		got = append(got, strings.TrimPrefix(c.String(), path+":"))
	}
	want := []string{"14: without g(y)", "10: without if v < 10 {", "10: >= instead of <", "10: <= instead of <", "10: 11 instead of 10", "11: without n += v"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if text := string(all[2].text); !strings.Contains(text, "if v >= 10 {\n") || strings.Count(text, "\n") != 16 {
		t.Errorf("the changed file is\n%s", text)
	}
}

// TestTry detects a change by the tests of its package or of an importing one, and reports the
// change that no test detects.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module m\n\ngo 1.26\n",
		"a/a.go":      "package a\n\nfunc Double(x int) int { return x + x }\n\nfunc Sum(x, y int) int { return x + y }\n\nfunc Idle(x, y int) int { return x + y }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Error()\n\t}\n}\n",
		"b/b_test.go": "package b\n\nimport (\n\t\"testing\"\n\n\t\"m/a\"\n)\n\nfunc TestSum(t *testing.T) {\n\tif a.Sum(2, 1) != 3 {\n\t\tt.Error()\n\t}\n}\n",
		"b/b.go":      "package b\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var said strings.Builder
	if err := run(&said, "", "", 10, 0, 1, time.Minute, []string{"./a"}); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); !strings.HasSuffix(got, "m/a: 2 of 3 changes are noticed, 66.7 %\n2 of 3 changes are noticed, 66.7 %\n") || !strings.Contains(got, "a.go:7: - instead of +") ||
		!strings.Contains(got, "noticed by m/a: ") || !strings.Contains(got, "noticed by m/b: ") {
		t.Error(got)
	}

	said.Reset()
	if err := run(&said, `a\.go:5: `, "", 10, 0, 1, time.Minute, []string{"./a"}); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); !strings.HasSuffix(got, "\n1 of 1 changes are noticed, 100.0 %\n") {
		t.Errorf("of one line: %s", got)
	}

	said.Reset()
	if err := run(&said, "", "/b$", 10, 0, 1, time.Minute, []string{"./a"}); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); !strings.HasSuffix(got, "\n1 of 3 changes are noticed, 33.3 %\n") || strings.Contains(got, "noticed by m/a: ") {
		t.Errorf("by one package: %s", got)
	}
}
