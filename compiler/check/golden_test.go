package check

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// unpack returns the files of an archive and the name of the first, which is the spec.
// The expected text, "want", is not among them.
func unpack(a *txtar.Archive) (files map[string]string, main string) {
	files = make(map[string]string)
	for _, f := range a.Files {
		if f.Name == "want" {
			continue
		}
		if main == "" {
			main = f.Name
		}
		files[f.Name] = string(f.Data)
	}
	return files, main
}

// golden compares got with the file "want" of an archive, or updates it.
func golden(t *testing.T, file string, a *txtar.Archive, got string) {
	t.Helper()
	want := ""
	n := len(a.Files)
	for i, f := range a.Files {
		if f.Name == "want" {
			want, n = string(f.Data), i
		}
	}
	if *update {
		a.Files = append(a.Files[:n], txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", file, diff)
	}
}

func archives(t *testing.T, pattern string, run func(t *testing.T, file string, a *txtar.Archive)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			run(t, file, a)
		})
	}
}

// TestDiagnostics checks the exact text of findings in broken specs.
func TestDiagnostics(t *testing.T) {
	archives(t, "testdata/diag/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		files, main := unpack(a)
		list := withLimits(resolve(files, main))
		if strings.HasPrefix(filepath.Base(file), "attention") {
			_, list = ResolveAttention(options(files, main))
		}
		var b strings.Builder
		if err := list.Text(&b, reader(files), false); err != nil {
			t.Fatal(err)
		}
		golden(t, file, a, b.String())
	})
}

// TestResolved checks the text of resolved specs.
func TestResolved(t *testing.T) {
	archives(t, "testdata/resolved/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		files, main := unpack(a)
		_, text, list := resolveAny(options(files, main))
		if len(list) > 0 {
			t.Fatal(textOf(list, files))
		}
		golden(t, file, a, text)
	})
}

func textOf(list diag.List, files map[string]string) string {
	var b strings.Builder
	if err := list.Text(&b, reader(files), false); err != nil {
		return err.Error()
	}
	return b.String()
}
