package project

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
)

// TestOfRun reads the record and the spec of a run, and says which of them is wrong.
func TestOfRun(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	const spec = "arith 2\n\ntask successor { operands = below(100) }\nmodel.width = 8\n"
	for name, c := range map[string]struct{ record, spec, want string }{
		"whole":       {`{"name":"x","spec_hash":"` + hash + `"}`, spec, ""},
		"of a stage":  {`{"name":"x/first","stage":"first","spec_hash":"` + hash + `"}`, spec, ""},
		"no name":     {`{"name":"x/first","spec_hash":"` + hash + `"}`, spec, `run.json is damaged: no spec can have its name "x/first"`},
		"no hash":     {`{"name":"x"}`, spec, "run.json is damaged: it has no spec_hash"},
		"two":         {`{"name":"x","spec_hash":"` + hash + `"}`, spec + "sweep { train.seed = 1..2 }\n", "describes several trainings, but a run has one: it has been changed"},
		"not a spec":  {`{"name":"x","spec_hash":"` + hash + `"}`, "arith 2\n\ntask unknown {}\n", shell.ErrShown.Error()},
		"not a run":   {"", spec, "is no run directory"},
		"not a field": {`{"name":7}`, spec, "run.json is damaged: name cannot be a number"},
	} {
		dir := t.TempDir()
		if put(t, dir, "spec.arith", c.spec); c.record != "" {
			put(t, dir, "run.json", c.record)
		}
		var said strings.Builder
		p, err := ProgramOfRun(&shell.Shell{Context: t.Context(), Err: &said}, dir)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q; it says %s", name, err, c.want, said.String())
		}
		if err == nil && p.Spec.Name != "x" {
			t.Errorf("%s: its program is named %s", name, p.Spec.Name)
		}
	}
}
