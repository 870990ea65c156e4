package check

import (
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/golden"
)

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

// setWant sets the file "want" of an archive, which is the last.
func setWant(a *txtar.Archive, text string) {
	others := slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	a.Files = append(others, txtar.File{Name: "want", Data: []byte(text)})
}

// TestDiagnostics checks the exact text of findings in broken specs.
func TestDiagnostics(t *testing.T) {
	golden.Archives(t, "testdata/diag/*.txtar", func(t *testing.T, a *txtar.Archive) {
		files, main := unpack(a)
		list := withLimits(resolve(files, main))
		if strings.HasPrefix(path.Base(t.Name()), "attention") {
			_, list = ResolveAttention(options(files, main))
		}
		var b strings.Builder
		if err := list.Text(&b, reader(files), false); err != nil {
			t.Fatal(err)
		}
		setWant(a, b.String())
	})
}

// TestResolved checks the text of resolved specs.
func TestResolved(t *testing.T) {
	golden.Archives(t, "testdata/resolved/*.txtar", func(t *testing.T, a *txtar.Archive) {
		files, main := unpack(a)
		_, text, list := resolveAny(options(files, main))
		if len(list) > 0 {
			t.Fatal(textOf(list, files))
		}
		setWant(a, text)
	})
}

func textOf(list diag.List, files map[string]string) string {
	var b strings.Builder
	if err := list.Text(&b, reader(files), false); err != nil {
		return err.Error()
	}
	return b.String()
}
