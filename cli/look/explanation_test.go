package look

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
)

// TestExplainOfNoSpec returns an error for a run whose spec is none, or is missing.
func TestExplainOfNoSpec(t *testing.T) {
	dir := t.TempDir()
	sh := &shell.Shell{Context: t.Context(), Out: t.Output(), Err: t.Output()}
	for _, c := range []struct{ name, text string }{{"other", ""}, {"run.json", `{"name":"x","spec_hash":"` + strings.Repeat("ab", 32) + `"}`}, {"spec.arith", "arith 2\n\ntask unknown {}\n"}} {
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if e, err := Explain(sh, dir); err == nil {
			t.Errorf("with %s: %+v", c.name, e)
		}
	}
}
