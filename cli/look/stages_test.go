package look

import (
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestDecides lists the ops of the values that settings affect.
func TestDecides(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/tiny.arith"}, Set: []string{"model.dropout=10%"}})
	if err != nil {
		t.Fatal(err)
	}
	pl, err := model.Build(p.Spec)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]func(v *ir.Value) bool{
		"train.loss":    func(v *ir.Value) bool { return strings.HasPrefix(v.Op.String(), "cross_entropy") },
		"model.norm":    func(v *ir.Value) bool { return strings.Contains(v.Op.String(), "norm") },
		"model.dropout": func(v *ir.Value) bool { return strings.Contains(v.String(), "rate") },
	}
	found := map[string]int{}
	for _, prog := range pl.Programs {
		for _, call := range prog.Calls() {
			for _, v := range call.Func.Values {
				for _, d := range decidesTable {
					if is := want[d.path]; is != nil {
						if got := d.what(call.Func, v); got != is(v) {
							t.Errorf("%s decides about %v in %s: %v", d.path, v.Op, call.Func.Name, got)
						}
						if is(v) {
							found[d.path]++
						}
					}
				}
			}
		}
	}
	for path := range want {
		if found[path] == 0 {
			t.Errorf("%s decides about nothing", path)
		}
	}

	// The functions of a program are listed once, without those of other programs.
	for _, prog := range pl.Programs {
		var names []string
		for line := range strings.Lines(functions(pl, "", func(name string) bool { return name == prog.Name })) {
			if name, ok := strings.CutPrefix(line, "// "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		if len(names) > 1 || len(names) == 1 && !slices.Equal(names, []string{prog.Name}) {
			t.Errorf("functions of %s are of %q", prog.Name, names)
		}
	}
}

// TestFunctions prints each function of the accepted programs once, below a program that calls
// it, and no program without functions of its own.
func TestFunctions(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/tiny.arith"}})
	if err != nil {
		t.Fatal(err)
	}
	pl, err := model.Build(p.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []int{0, 1, len(pl.Programs)} {
		programs := append(slices.Clone(pl.Programs[:kept]), pl.Programs[:kept]...) // the second ones have nothing new
		want := map[string]bool{}
		for _, prog := range programs {
			for _, c := range prog.Calls() {
				want[c.Func.String()] = true
			}
		}
		got := functions(&plan.Plan{Programs: programs}, "", func(string) bool { return true })
		titles := 0
		for _, part := range strings.Split(got, "\n\n") {
			part = strings.TrimSuffix(part, "\n") + "\n"
			if strings.HasPrefix(part, "// ") {
				titles++
			} else if part != "\n" && !want[part] {
				t.Errorf("not a function of the programs, or the second time:\n%s", part)
			}
			delete(want, part)
		}
		if len(want) > 0 || titles > kept || (titles > 0) != (kept > 0) {
			t.Errorf("%d of %d programs are titles, %d functions are left out", titles, kept, len(want))
		}
		if kept == 0 && got != "" {
			t.Errorf("no program prints %q", got)
		}
	}
	if got := functions(pl, "", func(string) bool { return false }); got != "" {
		t.Errorf("of no program it prints %q", got)
	}
}
