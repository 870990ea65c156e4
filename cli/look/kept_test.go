package look

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/internal/golden"
)

// TestStagesAsKept compares stages of compilation, as they are printed, with a file. Of long texts
// only the first lines are kept, and a hash. After a change that is right, run it with -update.
func TestStagesAsKept(t *testing.T) {
	t.Setenv("MLC_PTXAS", "none")
	// Hints call this program mlc only if it is in PATH.
	bin := t.TempDir()
	for _, name := range []string{"mlc", "mlc.exe"} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var now strings.Builder
	for _, c := range []struct {
		spec   string
		set    []string
		stages string // names of stages and, behind a colon, of functions
	}{
		{"tiny", []string{"model.dropout=10%"}, "data schedule plan:head flat:head ptx:head traffic:head launches kernel:head go:head fused:update grad:head"},
		{"small/settle", []string{"model.width=16", "model.heads=2", "model.ffn=geglu(hidden = 16)", "train.precision=bf16", "sweep.train.seed=1"}, "data schedule plan:loop_layer fused:loop_layer"},
		{"successor", nil, "data schedule"},
		{"small/mixed", nil, "data"},
		{"bias/addition_abc", nil, ""},
		{"../cli/testdata/least", []string{"train.budget=2m", "model.embed.position=shifted(max_offset = 50)"}, "data launches:head go:head grad plan:decoder_layer"},
		{"../cli/testdata/least", []string{"train.budget=5TFLOP", "model.embed.position=none", "train.precision=bf16"}, "data plan:decoder_layer"},
		{"small/looped", []string{"train.budget=640examples", "model.decoder_only.times=digits", "train.loss=cross_entropy"}, ""},
	} {
		sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
		training := project.Training{Source: project.Source{Base: "../..", Name: "specs/" + c.spec + ".arith"}, Set: c.set}
		p, err := project.Compile(sh, training)
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		show := func(name string, print func(sh *shell.Shell) error) {
			for _, asJSON := range []bool{false, true} {
				var out strings.Builder
				err := print(&shell.Shell{Context: t.Context(), Out: &out, Err: &out, JSON: asJSON})
				text := out.String()
				if lines := strings.SplitAfter(text, "\n"); len(lines) > 60 || asJSON {
					text = fmt.Sprintf("%d lines, %d bytes, %x\n", len(lines), len(text), sha256.Sum256([]byte(text)))
					if !asJSON {
						text = strings.Join(lines[:30], "") + text
					}
				}
				fmt.Fprintf(&now, "== %s %s, %v\n%s", c.spec, name, err, text)
			}
		}
		if len(p.Stages) > 0 {
			show("in short", func(sh *shell.Shell) error { return SummarizeStages(sh, p, training) })
		} else {
			show("in short", func(sh *shell.Shell) error { return Summarize(sh, p, training) })
		}
		for _, s := range strings.Fields(c.stages) {
			stage, function, _ := strings.Cut(s, ":")
			show(s, func(sh *shell.Shell) error { return PrintStages(sh, p, stage, function, OnCard{}) })
		}
	}
	golden.Compare(t, "testdata/stages.txt", now.String())
}
