package project

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// points returns the points of a sweep with names.
func points(names ...string) (all []check.Point) {
	for _, n := range names {
		all = append(all, check.Point{Name: n, Slug: strings.NewReplacer("=", "-", ",", "-", "(", "", ")", "", ".", "-").Replace(n)})
	}
	return all
}

// TestChoose selects points by number, name, or some of their values.
func TestChoose(t *testing.T) {
	all := points("lr=0.1,seed=1", "lr=0.1,seed=2", "lr=0.2,seed=1", "row=f(a, 2),seed=1")
	all[3].Name = strings.ReplaceAll(all[3].Name, " ", "")
	for _, c := range []struct {
		choices []string
		want    []int // nil: refused
		says    string
	}{
		{nil, []int{0, 1, 2, 3}, ""},
		{[]string{"1"}, []int{0}, ""},
		{[]string{"4", "2"}, []int{1, 3}, ""},
		{[]string{"lr=0.1"}, []int{0, 1}, ""},
		{[]string{"seed=1, lr=0.2"}, []int{2}, ""},
		{[]string{"lr=0.1,seed=1"}, []int{0}, ""},
		{[]string{all[1].Slug}, []int{1}, ""},
		{[]string{"row=f(a,2)"}, []int{3}, ""},
		{[]string{"lr=0.1", "lr=0.2"}, []int{0, 1, 2}, ""},
		{[]string{"0"}, nil, `the sweep has no training "0"`},
		{[]string{"5"}, nil, "by number from 1"},
		{[]string{"lr=0.1", "lr=0.3"}, nil, `the sweep has no training "lr=0.3": did you mean`},
		{[]string{"lr"}, nil, `no training "lr"`},
	} {
		got, err := choose(all, c.choices)
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v, %v, want %s", c.choices, got, err, c.says)
			}
			continue
		}
		var want []string
		for _, i := range c.want {
			want = append(want, all[i].Name)
		}
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%q: %q, %v, want %q", c.choices, names, err, want)
		}
	}
	if got, want := termsOf(all), []string{"lr=0.1", "seed=1", "seed=2", "lr=0.2", "row=f(a,2)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNamesOfPoints splits the names of points and files.
func TestNamesOfPoints(t *testing.T) {
	for name, want := range map[string][]string{
		"a=1": {"a=1"}, "a=1,b=2": {"a=1", "b=2"}, "a=[1,2],b=f(3,g(4,5)),c=6": {"a=[1,2]", "b=f(3,g(4,5))", "c=6"}, "": {""},
	} {
		if got := terms(name); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"seed=1": "", "lr=1,seed=2": "lr=1", "train.seed=1,lr=1": "lr=1", "stage.a.train.init_seed=3,lr=1": "lr=1", "init_seed=1,a=f(1,2)": "a=f(1,2)", "seeds=1": "seeds=1", "seed.x=1": "seed.x=1",
	} {
		if got := Seedless(name); got != want {
			t.Errorf("%s without seeds is %q, want %q", name, got, want)
		}
	}
	for file, want := range map[string]string{"a.arith": "a", "x/y/b.c.arith": "b.c", "plain": "plain"} {
		if got := NameOf(file); got != want {
			t.Errorf("%s is of %q, want %q", file, got, want)
		}
	}
}

// TestTraining checks the options and the command line of trainings.
func TestTraining(t *testing.T) {
	s := Source{Base: t.TempDir(), Name: "dir/spec.arith"}
	for _, c := range []struct {
		name    string
		t       Training
		called  string // the compiler's name; "": the spec's
		set     []string
		command string // after the file
	}{
		{"alone", Training{Source: s}, "", nil, ""},
		{"set", Training{Source: s, Set: []string{"model.width=8", "a=b c"}}, "", []string{"model.width=8", "a=b c"}, " --set model.width=8 --set 'a=b c'"},
		{"a point", Training{Source: s, Set: []string{"x=1"}, Point: check.Point{Name: "lr=0.1", Slug: "lr-0.1", Set: []string{"lr=0.1"}}}, "spec-lr-0.1", []string{"x=1", "lr=0.1"}, " --set x=1 --point lr-0.1"},
		{"of a run", Training{Source: s, title: "old"}, "old", nil, ""},
	} {
		o := c.t.Options()
		if o.Name != c.called || o.Path != s.Name || !slices.Equal(o.Set, c.set) {
			t.Errorf("%s: the compiler is asked for %q of %s with %q", c.name, o.Name, o.Path, o.Set)
		}
		if got := c.t.Command(); !strings.HasSuffix(got, "dir/spec.arith"+c.command) {
			t.Errorf("%s: the command line is %s, want one with %s", c.name, got, c.command)
		}
	}
}

// TestNews returns an error once for all trainings of a sweep, and no warnings.
func TestNews(t *testing.T) {
	at := func(line int) diag.Range { return diag.Range{Start: diag.Pos{File: "a.arith", Line: line}} }
	one, other := &diag.Diagnostic{Code: "E0401", Range: at(3), Severity: diag.Error}, &diag.Diagnostic{Code: "E0401", Range: at(4), Severity: diag.Error}
	warning := &diag.Diagnostic{Code: "V001", Range: at(3), Severity: diag.Warning}
	of := Training{printed: map[string]bool{}}
	for i, want := range []diag.List{{one}, {other}, nil} {
		found := []diag.List{{one, warning}, {one, other}, {other, warning, one}}[i]
		if got := of.news(found); !slices.Equal(got, want) {
			t.Errorf("%d: news are %v, want %v", i, got, want)
		}
	}
}

// TestCompilePrintsOnce prints the findings of a spec once: for a sweep when its trainings
// are listed, otherwise when the spec is compiled.
func TestCompilePrintsOnce(t *testing.T) {
	const spec = "arith 2\n\ntask parity { operands = digits(1..6) }\neval {\n  digits = [9]\n  samples = 10\n}\n"
	for name, text := range map[string]string{"alone": spec, "in a sweep": spec + "sweep { train.batch = [8, 16] }\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.arith"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		sh := &shell.Shell{Context: t.Context(), Out: io.Discard, Err: &said}
		all, err := Trainings(sh, filepath.Join(dir, "a.arith"), dir, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range all {
			if _, err := Compile(sh, tr); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(said.String(), "V026"); n != 1 {
			t.Errorf("%s the finding is printed %d times:\n%s", name, n, said.String())
		}
	}
}
