package irtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/ir"
)

var update = flag.Bool("update", false, "rewrite what the test compares with")

// Updating reports whether -update is set, so that tests rewrite their expected files.
func Updating() bool { return *update }

// Corpus runs every txtar file that matches pattern. run computes the contents of the
// other files from the function in in.ir. With -update it rewrites the files.
func Corpus(t *testing.T, pattern string, run func(t *testing.T, in *ir.Func) []txtar.File) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus %s (%v)", pattern, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) == 0 || a.Files[0].Name != "in.ir" {
				t.Fatalf("%s does not begin with in.ir (%v)", name, err)
			}
			out := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			out.Files = append(out.Files, run(t, Parse(t, string(a.Files[0].Data)))...)
			if *update {
				if err := os.WriteFile(name, txtar.Format(out), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(out))); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites it):\n%s", name, diff)
			}
		})
	}
}
