package dsl

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/golden"
)

// TestFormatFile checks the style by examples, and by specs of version 1 that become version 2.
func TestFormatFile(t *testing.T) {
	for _, folder := range []string{"format", "version1"} {
		golden.Archives(t, "testdata/"+folder+"/*.txtar", func(t *testing.T, a *txtar.Archive) {
			if len(a.Files) != 2 {
				t.Fatalf("%d parts, want in and out", len(a.Files))
			}
			got, list := FormatFile(t.Name(), a.Files[0].Data)
			if len(list) > 0 && folder == "version1" {
				t.Error(list[0].Message)
			}
			a.Files[1].Data = got
			checkFormat(t, a.Files[0].Data)
			checkFormat(t, got)
		})
	}
}

// TestFormatCorpus formats every spec and every example of a diagnostic.
func TestFormatCorpus(t *testing.T) {
	for _, c := range diag.Codes() {
		checkFormat(t, []byte(c.Broken))
		checkFormat(t, []byte(c.Mended))
	}
	for file, src := range specs(t) {
		checkFormat(t, src)
		got, list := FormatFile(file, src)
		if len(list) > 0 {
			t.Errorf("%s: %s", file, list[0].Message)
		}
		if diff := cmp.Diff(string(src), string(got)); diff != "" {
			t.Errorf("%s is not formatted: -is +should be:\n%s", file, diff)
		}
	}
}

// TestFormatErrors: a broken file is returned unchanged, with its errors.
func TestFormatErrors(t *testing.T) {
	src := []byte("arith 2\ntask   successor { below 3 }\n")
	got, list := FormatFile("x.arith", src)
	if !bytes.Equal(got, src) || len(list) != 1 || list[0].Range.Start != (diag.Pos{File: "x.arith", Line: 2, Col: 26}) {
		t.Errorf("got %q and %v", got, list)
	}
}

// TestFormatLines accepts the line ends of other systems.
func TestFormatLines(t *testing.T) {
	got, _ := FormatFile("x", []byte("arith 2\r\n\r\n// a \r\ntrain {\r\n\tseed = 1 // b\t\r\n}"))
	if want := "arith 2\n\n// a\ntrain {\n  seed = 1 // b\n}\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// specs returns the specs that mlc ships.
func specs(t testing.TB) map[string][]byte {
	t.Helper()
	found := make(map[string][]byte)
	err := filepath.WalkDir("../specs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".arith" {
			return err
		}
		src, err := os.ReadFile(path)
		found[path] = src
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d specs: %v", len(found), err)
	}
	return found
}

// checkFormat checks that formatting keeps the tree and the comments, and that a second
// time changes nothing.
func checkFormat(t *testing.T, src []byte) {
	t.Helper()
	once, list := FormatFile("f", src)
	if len(list) > 0 {
		if !bytes.Equal(once, src) {
			t.Fatalf("a broken file changed:\n%s\nto:\n%s", src, once)
		}
		return
	}
	current, _ := Upgrade("f", src)
	before, _ := Parse("f", current)
	after, list := Parse("f", once)
	if len(list) > 0 {
		t.Fatalf("%s\nbecomes\n%s\nwhich has %s", src, once, list[0].Message)
	}
	if diff := cmp.Diff(before, after, cmpopts.IgnoreTypes(diag.Range{})); diff != "" {
		t.Fatalf("%s\nbecomes\n%s\nwhich means something else: %s", src, once, diff)
	}
	if a, b := comments(src), comments(once); !slices.Equal(a, b) {
		t.Fatalf("the comments %q become %q", a, b)
	}
	if twice, _ := FormatFile("f", once); !bytes.Equal(once, twice) {
		t.Fatalf("%s\nbecomes\n%s\nand then\n%s", src, once, twice)
	}
	if bytes.Contains(once, []byte("\n\n\n")) {
		t.Fatalf("two blank lines in\n%s", once)
	}
}

func comments(src []byte) []string {
	var out []string
	for _, w := range scan(string(src)) {
		if w.comment() {
			out = append(out, w.text)
		}
	}
	return out
}

// FuzzFormatFile: formatting never changes the meaning.
func FuzzFormatFile(f *testing.F) {
	examples, err := filepath.Glob("testdata/format/*.txtar")
	if err != nil || len(examples) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.Files[0].Data)
	}
	for _, src := range specs(f) {
		f.Add(src)
	}
	for _, c := range diag.Codes() {
		if len(c.Mended) < 1000 {
			f.Add([]byte(c.Mended))
		}
	}
	f.Fuzz(checkFormat)
}
