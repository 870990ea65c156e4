package compiler_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/cli"
	"github.com/arithlang/mlc/internal/golden"
)

// tour lists the files of testdata/tour.txtar after the spec. Each shows a stage, for one
// function or, if function is empty, for all.
var tour = []struct{ stage, function string }{
	{"resolved", ""},
	{"ir", ""},
	{"grad", "head"},
	{"fused", "head"},
	{"kernel", "head"},
	{"flat", "head"},
	{"schedule", "head"},
	{"plan", "head"},
	{"go", "head"},
	{"ptx", "head"},
}

// TestTour compiles the spec of the tour and compares every stage with its text in the
// archive.
func TestTour(t *testing.T) {
	const specFile = "tour.arith"
	path, err := filepath.Abs("testdata/tour.txtar")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 || archive.Files[0].Name != specFile {
		t.Fatalf("%s does not begin with %s", path, specFile)
	}
	archive.Files = archive.Files[:1]
	stagesOf(t, archive)
	golden.Compare(t, path, string(txtar.Format(archive)))
}

// stagesOf appends the stages of the tour, as mlc explain prints them, to an archive that
// holds the spec.
func stagesOf(t *testing.T, archive *txtar.Archive) {
	t.Helper()
	t.Setenv("MLC_PTXAS", "none") // even if PATH has one
	t.Chdir(t.TempDir())
	spec := archive.Files[0]
	if err := os.WriteFile(spec.Name, spec.Data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range tour {
		var out, errs bytes.Buffer
		if code := cli.Run(os.DirFS(".."), []string{"explain", spec.Name, "--stage", s.stage, "--func", s.function}, &out, &errs); code != 0 {
			t.Fatalf("mlc explain --stage %s: exit code %d\n%s", s.stage, code, errs.String())
		}
		text := out.Bytes()
		if s.stage == "ptx" {
			text = firstEntry(t, text)
		}
		archive.Files = append(archive.Files, txtar.File{Name: s.stage, Data: text})
	}
}

// firstEntry returns a module up to the end of its first entry. It cuts the table before
// the module, which has more columns if there is an assembler.
func firstEntry(t *testing.T, module []byte) []byte {
	t.Helper()
	begin := bytes.Index(module, []byte("\n.version"))
	end := bytes.Index(module, []byte("\n}\n"))
	if begin < 0 || end < begin {
		t.Fatalf("no module:\n%s", module)
	}
	return append(module[begin+1:end:end], "\n}\n"...)
}
