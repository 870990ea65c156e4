package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// wellBehaved checks that every finding has help and a place, that findings and documents
// print, and that the resolved form resolves to itself.
func wellBehaved(t *testing.T, files map[string]string, set ...string) {
	opts := Options{Path: "a.arith", Set: set, Read: reader(files)}
	spec, text, list := resolveAny(opts)
	if (spec == nil) != list.HasErrors() {
		t.Fatalf("spec is nil: %v, errors: %v", spec == nil, list.HasErrors())
	}
	for _, d := range list {
		if d.Help == "" {
			t.Fatalf("%s has no help", d.Message)
		}
		if !d.Range.Start.IsValid() {
			t.Fatalf("%s has no place", d.Message)
		}
	}
	textOf(list, files)
	Resolve(opts) // also refuses attention alone
	Inspect(opts)
	if spec == nil {
		return
	}
	again := maps.Clone(files)
	again["a.arith"] = text
	same, _, list := resolveAny(options(again, "a.arith"))
	if list.HasErrors() {
		t.Fatalf("the resolved form has errors: %s\n%s", list[0].Message, text)
	}
	if diff := cmp.Diff(spec, same, sameSpec); diff != "" {
		t.Fatal(diff)
	}
}

// corpus adds the examples of all codes and the specs of testdata.
func corpus(f *testing.F, add func(src string)) {
	for _, c := range diag.Codes() {
		if len(c.Broken) < 1000 {
			add(c.Broken)
			add(c.Mended)
		}
	}
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no testdata")
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if src := string(a.Files[0].Data); len(src) < 4000 {
			add(src)
		}
	}
}

// FuzzResolve checks arbitrary specs.
func FuzzResolve(f *testing.F) {
	var all []string
	corpus(f, func(src string) { all = append(all, src) })
	for _, src := range full.Some(all, len(all)/2) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		wellBehaved(t, map[string]string{"a.arith": src})
	})
}

// FuzzInclude checks three files that may include each other.
func FuzzInclude(f *testing.F) {
	f.Add("arith 2\ninclude \"b/b.arith\" { train.batch = 2 }\n", "arith 2\ninclude \"../c.arith\"\ntask successor {}\n", "arith 2\nmodel.heads = 2\n")
	f.Add("arith 2\ninclude \"b/b.arith\"\ninclude \"c.arith\"", "arith 2\ninclude \"../a.arith\"", "arith 2\ninclude \"./c.arith\"")
	var all []string
	corpus(f, func(src string) { all = append(all, src) })
	for _, src := range full.Some(all, len(all)/8) {
		head, body, _ := strings.Cut(src, "\n")
		f.Add(head+"\ninclude \"b/b.arith\" { include \"c.arith\" }\n", src, head+"\ntask addition {}\n"+body)
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		wellBehaved(t, map[string]string{"a.arith": a, "b/b.arith": b, "c.arith": c})
	})
}

// FuzzSet checks two arbitrary --set options.
func FuzzSet(f *testing.F) {
	const base = `arith 2
task addition {}
bias b { c = 1  w = learned([H])  value = c * w[h] }
model.encoder.layers = 1
model.decoder.self.bias = b + kerple
sweep { arch one { model.width = 32 }  arch two {}  train.seed = 1..2 }
`
	f.Add("train.seed=2", "sweep.arch=two")
	f.Add("bias.kerple.r1.init.high=3", "sweep.model.decoder.self.bias.c=[1, 2]")
	f.Add("mask.window.left=3", "stage.x.train.optimizer.lr=3")
	f.Add("bias.b.c=3", "model.decoder.self.mask=window(1)")
	f.Add("stage.x.from=none", "stage.x.train.batch=3")
	rows := newLanguage().schema.Rows
	for _, row := range full.Some(rows, len(rows)/32) {
		f.Add(row.Path+"="+row.Default, row.Path+"=1..2")
		for _, o := range row.Choices {
			for _, a := range o.Args {
				f.Add(row.Path+"="+o.Name, row.Path+"."+a.Path+"="+a.Default)
			}
		}
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		wellBehaved(t, map[string]string{"a.arith": base}, one, two)
	})
}

// FuzzProblems checks arbitrary files of problems.
func FuzzProblems(f *testing.F) {
	f.Add("1 = 2\n3 = 4\n", " = ", "holdout = 50%")
	f.Add("\ufeffone -> two\r\nten -> \xff\n", " -> ", "")
	f.Add("12=3\n\n=\n12=4", "=", "")
	f.Fuzz(func(t *testing.T, problems, separator, more string) {
		src := fmt.Sprintf("arith 2\ntask file {\n  path = \"p.txt\"\n  separator = %q\n%s\n}\nmodel.decoder_only.layers = 1\n", separator, more)
		wellBehaved(t, map[string]string{"a.arith": src, "p.txt": problems})
	})
}
