package look

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// TestCompareAll has a line for each training, and below it a line for each stage.
func TestCompareAll(t *testing.T) {
	dir := t.TempDir()
	spec := "arith 2\n\ntask successor { operands = below(100) }\nmodel.width = 16\nsweep { model.heads = [1, 2] }\n"
	stages := "stage first {}\nstage second { from = first }\n"
	for name, c := range map[string]struct {
		text  string
		names []string // first words of the lines
		json  int      // number of objects
	}{
		"plain":  {spec, []string{"heads=1", "heads=2"}, 2},
		"staged": {spec + stages, []string{"heads=1", "  first", "  second", "heads=2", "  first", "  second"}, 4},
	} {
		file := filepath.Join(dir, name+".arith")
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			sh := &shell.Shell{Context: t.Context(), Out: &out, Err: t.Output(), JSON: asJSON}
			all, err := project.Trainings(sh, file, dir, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := CompareAll(sh, all); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if asJSON {
				if len(lines) != c.json {
					t.Errorf("%s as JSON:\n%s", name, out.String())
				}
				for _, line := range lines {
					var of struct{ Params int }
					if err := json.Unmarshal([]byte(line), &of); err != nil || of.Params == 0 {
						t.Errorf("%s: %v: %s", name, err, line)
					}
				}
				continue
			}
			if want := "training     parameters  step (FLOP)     memory  per thread  kernels"; lines[0] != want {
				t.Errorf("%s:\n%s, want\n%s", name, lines[0], want)
			}
			var names []string
			for _, line := range lines[1:] {
				numbers := regexp.MustCompile(`^(.*?) +[\d,]+ +[\d.]+ [kMG]? *[\d.]+ [KM]iB +[\d.]+ [KM]iB +\d+$`).FindStringSubmatch(line)
				if numbers != nil && len(line) == len(lines[0]) {
					line = numbers[1]
				}
				names = append(names, line)
			}
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Errorf("%s: %s\n%s", name, diff, out.String())
			}
		}
	}
}
