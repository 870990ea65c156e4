package check

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
	"github.com/arithlang/mlc/runtime/config"
)

// sameSpec compares specs except for places in files and the axes of a sweep. It compares
// expressions by text.
var sameSpec = cmp.Options{
	cmpopts.IgnoreFields(Spec{}, "Axes"),
	cmpopts.IgnoreUnexported(Spec{}),
	cmp.Comparer(func(a, b diag.Pos) bool { return true }),
	cmp.Comparer(func(a, b *expr.Expr) bool {
		if a == nil || b == nil {
			return a == b
		}
		return a.String() == b.String()
	}),
}

func shipped(t *testing.T, name string, set ...string) *Spec {
	t.Helper()
	spec, list := Resolve(Options{Path: "../../specs/" + name + ".arith", Read: os.ReadFile, Set: set})
	if len(list) > 0 {
		var b strings.Builder
		if err := list.Text(&b, os.ReadFile, false); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("%s:\n%s", name, b.String())
	}
	return spec
}

// TestFixedPoint: the resolved form of a spec must mean the same, have the same warnings,
// and resolve to itself.
func TestFixedPoint(t *testing.T) {
	check := func(name string, files map[string]string, main string) {
		spec, text, list := resolveAny(options(files, main))
		if spec == nil {
			t.Errorf("%s:\n%s", name, textOf(list, files))
			return
		}
		again := maps.Clone(files)
		again[main] = text
		same, _, relisted := resolveAny(options(again, main))
		if same == nil || len(relisted) > len(list) {
			t.Errorf("%s: the resolved form has findings:\n%s", name, textOf(relisted, again))
			return
		}
		if diff := cmp.Diff(spec, same, sameSpec); diff != "" {
			t.Errorf("%s: -spec +resolved again:\n%s", name, diff)
		}
	}
	files, err := filepath.Glob("../../specs/*.arith")
	if err != nil || len(files) < 4 {
		t.Fatalf("specs: %v, %v", files, err)
	}
	for _, f := range files {
		all := make(map[string]string)
		read := func(path string) ([]byte, error) {
			src, err := os.ReadFile(path)
			all[path] = string(src)
			return src, err
		}
		if _, list := Resolve(Options{Path: f, Read: read}); len(list) > 0 {
			t.Errorf("%s:\n%s", f, textOf(list, all))
		}
		check(f, all, f)
	}
	for _, c := range diag.Codes() {
		check(c.ID, example(c.Mended), "example.arith")
	}
	golden.Archives(t, "testdata/resolved/*.txtar", func(t *testing.T, a *txtar.Archive) {
		files, main := unpack(a)
		check(t.Name(), files, main)
	})
}

// TestSuccessor checks the whole spec of the quick start.
func TestSuccessor(t *testing.T) {
	spec := shipped(t, "successor",
		"train.optimizer=adam(lr=2e-3,betas=[0.9,0.98],eps=1e-9)", "train.schedule=cosine(20%)", "train.clip=1",
		"train.batch=100", "train.budget=90m", "train.seed=7", "model.dropout=10%")
	want := &Spec{
		Name: "successor", Hash: spec.Hash, Resolved: spec.Resolved, Carried: spec.Resolved,
		Task: Task{Task: config.Task{Kind: "successor", Below: 1 << 20, Base: 10, Reversed: true, Pad: config.Pad{To: 7, Step: 3}, Holdout: 0.125}},
		Model: Model{
			Width: 64, Heads: 4, Act: "relu", Hidden: 256, HeadAct: "none", Gain: "own", NormEps: 1e-5, NormPost: true,
			Norm: "layernorm", Dropout: 0.1, Bias: true, Init: "xavier", TokenScale: 8, EmbedNorm: "none",
			Position: Position{Kind: "cyclic", Inner: "sinusoidal", Period: 3},
			Encoder:  Stack{Times: 1},
			Decoder: Stack{
				Layers: 2, Times: 1,
				Self:  &Site{Mask: parsed(t, "j <= i && (1 * i + 0 - 1 <= j && j <= 1 * i + 0 + 1 - 1 + 0)"), Scale: 0.25, Dropout: 0.1},
				Cross: &Site{Mask: parsed(t, "J - 2 - 0 - 1 * i - 1 + 1 - 0 <= j && j <= J - 2 - 0 - 1 * i + 1"), Scale: 0.25, Dropout: 0.1},
			},
		},
		Train: Train{Optimizer: "adam", Train: config.Train{
			Times: 1, Backprop: 1, LR: 2e-3, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Schedule: "cosine", Warmup: 0.2, Clip: 1,
			Batch: 100, Report: config.Report{Problems: 64}, Budget: config.Budget{Time: 90 * time.Minute}, Precision: "f32", Seed: 7,
		}},
		Eval: Eval{Eval: config.Eval{Digits: []int{6, 10, 15, 20, 60}, Samples: 2000, Pad: config.Pad{To: 61, Step: 3}}},
	}
	if diff := cmp.Diff(want, spec, sameSpec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if spec.Model.Decoder.Cross.Pos.Line == 0 || !strings.HasSuffix(spec.Model.Decoder.Cross.Pos.File, "successor.arith") {
		t.Errorf("the cross attention stands at %v", spec.Model.Decoder.Cross.Pos)
	}
}

func parsed(t *testing.T, text string) *expr.Expr {
	t.Helper()
	e, err := expr.Parse(text, func(name string) (expr.Type, bool) {
		if strings.Contains(name, ".") {
			return expr.F32, true
		}
		return expr.I32, true
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestKerple checks the parameters of a bias that a spec defines.
func TestKerple(t *testing.T) {
	site := shipped(t, "kerple", "model.heads=8").Model.Decoder.Self
	if want := parsed(t, "-kerple.r1[h] * log(1.0 + kerple.r2[h] * f32(abs(i - j)))"); !expr.Equal(site.Bias, want) {
		t.Errorf("bias %v", site.Bias)
	}
	zero := 0.0
	want := []BiasParam{
		{Name: "kerple.r1", Shape: []int{8}, Init: Init{Kind: "uniform", A: 0, B: 2}, Min: &zero},
		{Name: "kerple.r2", Shape: []int{8}, Init: Init{Kind: "uniform", A: 0, B: 1}, Min: &zero},
	}
	if diff := cmp.Diff(want, site.Params, sameSpec); diff != "" {
		t.Errorf("parameters, -want +got:\n%s", diff)
	}
}

// TestGeometry draws small windows, where 0 is open: successor's as in the paper's code,
// addition's as in its figure 8.
func TestGeometry(t *testing.T) {
	for _, c := range []struct {
		spec string
		rows int
		keys int
		want string
	}{
		{"successor", 4, 5, "---00 --00- -00-- 00---"},
		{"addition", 4, 9, "-----0000 ---0000-- -0000---- 000------"},
	} {
		spec := shipped(t, c.spec)
		if got := draw(spec, spec.Model.Decoder.Cross.Mask, c.rows, c.keys); got != c.want {
			t.Errorf("%s: cross window %s, want %s", c.spec, got, c.want)
		}
		if got := draw(spec, spec.Model.Decoder.Self.Mask, 4, 4); got != "0--- 00-- -00- --00" {
			t.Errorf("%s: self window %s", c.spec, got)
		}
	}
}

func draw(spec *Spec, mask *expr.Expr, rows, keys int) string {
	m := newMaskRun(spec, mask)
	m.vars["I"].I, m.vars["J"].I = int64(rows), int64(keys)
	var lines []string
	for i := range rows {
		line := ""
		for j := range keys {
			m.vars["i"].I, m.vars["j"].I = int64(i), int64(j)
			line += map[int64]string{0: "-", 1: "0"}[m.code.Run().I]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ")
}

// TestExpressions checks the translation of biases and masks.
func TestExpressions(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"i / 2 + 1", "f32(i) / 2.0 + 1.0"},
		{"1 / 3", "1.0 / 3.0"},
		{"where(i < j, 1, 0.5)", "where(i < j, 1.0, 0.5)"},
		{"where(i > 1.5, i, j)", "f32(where(1.5 < f32(i), i, j))"},
		{"clip(i - j, -3, 3)", "f32(min(max(i - j, -3), 3))"},
		{"relu(-0.5 * i)", "max(-0.5 * f32(i), 0.0)"},
		{"min(i, j, H)", "f32(min(min(i, j), H))"},
		{"sqrt(pi) + floor(0.5 * pj)", "sqrt(f32(pi)) + floor(0.5 * f32(pj))"},
		{"exp(h) + tanh(1) + sigmoid(0)", "exp(f32(h)) + tanh(1.0) + sigmoid(0.0)"},
		{"sum(m = 1..3, m * i)", "f32(1 * i + 2 * i + 3 * i)"},
		{"sum(m = 0..H - 3, sum(n = m..m + 1, m + 0.5 * n))", "f32(0) + 0.5 * f32(0) + (f32(0) + 0.5 * f32(1)) + (f32(1) + 0.5 * f32(1) + (f32(1) + 0.5 * f32(2)))"},
		{"where(i >= j && !(i != 3) || true, 1, 2)", "f32(where(j <= i && !(i != 3) || true, 1, 2))"},
		{"4_000_000_000 * i", "4e+09 * f32(i)"},
		{"-2147483647 + i", "f32(-2147483647 + i)"}, // whole numbers that may not fit become real
		{"-2147483647 - i", "-2147483647.0 - f32(i)"},
		{"127 * i - j * j", "f32(127 * i) - f32(j) * f32(j)"},
		{"128 * i", "128.0 * f32(i)"},
		{"sum(m = 1..128, i)", "f32(" + strings.Repeat("i + ", 126) + "i) + f32(i)"},
		{"where(i * i <= j * j, h * h, 100000 * 100000)", "where(f32(i) * f32(i) <= f32(j) * f32(j), f32(h * h), 1e10)"},
	} {
		spec, list := resolve(map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.decoder.cross.bias = " + c.in}, "a.arith")
		if len(list) > 0 {
			t.Errorf("%s: %s", c.in, list[0].Message)
			continue
		}
		got := expr.Simplify(spec.Model.Decoder.Cross.Bias)
		if want := expr.Simplify(parsed(t, c.want)); !expr.Equal(got, want) {
			t.Errorf("%s becomes %v, want %v", c.in, got, want)
		}
	}
}

// TestFire resolves the bias of Li et al. 2023, written in the language.
func TestFire(t *testing.T) {
	spec, list := resolve(map[string]string{"a.arith": `arith 2
task successor {}
bias fire {
  w1    = learned([32], init = xavier())
  b1    = learned([32])
  w2    = learned([H, 32], init = xavier())
  b2    = learned([H])
  c     = learned([], init = 0.1)
  l     = learned([], init = 1)
  z     = log(abs(c * (pi - pj)) + 1) / (log(abs(c * max(pi, abs(512 * l))) + 1) + 1e-6)
  value = b2[h] + sum(m = 0..31, w2[h, m] * relu(w1[m] * z + b1[m]))
}
model.decoder.self.bias = fire + 0.5 * fire
`}, "a.arith")
	if len(list) > 0 {
		t.Fatal(list[0].Message)
	}
	var names []string
	shapes := make(map[string][]int)
	for _, l := range spec.Model.Decoder.Self.Params {
		names = append(names, l.Name)
		shapes[l.Name] = l.Shape
	}
	if got := strings.Join(names, " "); got != "fire.b2 fire.w2 fire.w1 fire.c fire.l fire.b1" {
		t.Errorf("parameters %s", got)
	}
	if diff := cmp.Diff([]int{4, 32}, shapes["fire.w2"]); diff != "" {
		t.Error(diff)
	}
	if s := shapes["fire.c"]; s == nil || len(s) != 0 {
		t.Errorf("shape of a scalar: %v", s)
	}
}

// TestHostile: hostile specs end with a finding and do not exhaust the machine.
func TestHostile(t *testing.T) {
	begin := time.Now()
	doubling := "arith 2\ntask successor {}\nmodel.decoder.self.bias = b\nbias b {\nvalue = x199\nx0 = i - j\n"
	for n := 1; n < 200; n++ {
		doubling += fmt.Sprintf("x%d = x%d + x%d\n", n, n-1, n-1)
	}
	bomb := map[string]string{"a.arith": "arith 2\n"}
	for n := range 20 {
		bomb[fmt.Sprintf("f%d.arith", n)] = "arith 2\n" + strings.Repeat(fmt.Sprintf("include \"f%d.arith\"\n", n+1), 9)
	}
	bomb["f20.arith"] = "arith 2\n"
	bomb["a.arith"] = "arith 2\ninclude \"f0.arith\"\n"
	stages, cases, calls := "", "", ""
	for n := range 2000 {
		stages += fmt.Sprintf("stage s%d { from = none }\n", n)
		cases += fmt.Sprintf("kind k%d { train.batch = %d }\n", n, n+1)
		if n < 150 {
			calls += fmt.Sprintf(" + t5(max = %d)", n+40)
		}
	}
	whole := "w = learned([9])\nvalue = w[clip(x199, 0, 8)]\nx0 = floor(0.5 * i)\n"
	chain := "value = y9999\ny0 = i - j\n"
	for n := 1; n < 10000; n++ {
		if n < 200 {
			whole += fmt.Sprintf("x%d = x%d + x%d\n", n, n-1, n-1)
		}
		chain += fmt.Sprintf("y%d = y%d + 1\n", n, n-1)
	}
	nested := "sum(a = 1..4096, sum(b = 1..4096, sum(c = 1..4096, i)))"
	for name, c := range map[string]struct {
		files map[string]string
		code  string
	}{
		"doubling":         {map[string]string{"a.arith": doubling + "}\n"}, "E0309"},
		"nested sums":      {map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.decoder.self.bias = " + nested}, "E0309"},
		"whole doubling":   {map[string]string{"a.arith": "arith 2\ntask successor {}\nbias b {\n" + whole + "}\n"}, "E0309"},
		"long chain":       {map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.decoder.self.bias = b\nbias b {\n" + chain + "}\n"}, ""},
		"many stages":      {map[string]string{"a.arith": "arith 2\ntask successor {}\n" + stages}, "E0315"},
		"many cases":       {map[string]string{"a.arith": "arith 2\ntask successor {}\nsweep {\n" + cases + "}\n"}, "E0315"},
		"many calls":       {map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.decoder.cross.bias = 1" + calls}, ""},
		"include bomb":     {bomb, "E0108"},
		"brackets":         {map[string]string{"a.arith": strings.Repeat("[", full.Either(2<<20, 10<<20))}, "E0103"},
		"long evaluations": {map[string]string{"a.arith": "arith 2\ntask successor {}\nmodel.decoder.cross.mask = i < 0\neval.digits = 1..1000"}, "V002"},
	} {
		_, list := resolve(c.files, "a.arith")
		if len(list) == 0 && c.code != "" || len(list) > 0 && list[0].Code != c.code {
			t.Errorf("%s: %v, want %s", name, list, c.code)
		}
	}
	if d := time.Since(begin); d > 5*time.Minute { // a hang, not a measurement
		t.Errorf("took %v", d)
	}
}

// TestIncludeWithoutExtension: the help names the file if only the extension is missing.
func TestIncludeWithoutExtension(t *testing.T) {
	for name, want := range map[string]string{"base": "there is a base.arith: name that", "bass": "file does not exist"} {
		_, list := resolve(map[string]string{"a.arith": "arith 2\ninclude \"" + name + "\"\ntask successor {}\n", "base.arith": "arith 2\n"}, "a.arith")
		if len(list) == 0 || list[0].Code != "E0107" || !strings.Contains(fmt.Sprint(list[0].Help), want) {
			t.Errorf("%s: %+v, want %q", name, list, want)
		}
	}
}

// TestRotatedShare: a share of a head is allowed if it is an even number of elements,
// which for 50 elements is every fourth percentage.
func TestRotatedShare(t *testing.T) {
	for percent := 1; percent <= 100; percent++ {
		files := map[string]string{"a.arith": fmt.Sprintf(`arith 2
task successor {}
model {
  width = 100
  heads = 2
  decoder.self.rotary = rope(fraction = %d%%)
}
`, percent)}
		if _, list := resolve(files, "a.arith"); list.HasErrors() == (percent%4 == 0) {
			t.Errorf("%d%%: %s", percent, textOf(list, files))
		}
	}
}

// TestTakenBack: the value none acts as if the attribute had not been set.
func TestTakenBack(t *testing.T) {
	for want, have := range map[string]string{
		"task addition { operands = below(1k) }":      "task addition {\n  operands = below(1k)\n}",
		"task addition { operands = digits(1..3) }":   "task addition {\n  operands = digits(1..3)\n}",
		"task successor { operands = digits(1..20) }": "task successor { operands = digits(1..20) }",
	} {
		if a, b := one(t, want), one(t, have); a.Hash != b.Hash {
			t.Errorf("%s is\n%s\nand not\n%s", have, b.Resolved, a.Resolved)
		}
	}
}

// TestHintedPlaces checks how many letters the longest training number needs.
func TestHintedPlaces(t *testing.T) {
	for text, want := range map[string]int{
		"task addition { operands = digits(1..20) }":                                             21,
		"task subtraction { operands = digits(1..20) }":                                          20,
		"task multiplication { operands = digits(1..20) }":                                       40,
		"task mixed {\n of = [addition, multiplication]\n operands = digits(1..9)\n }":           18,
		"task addition {\n operands = digits(1..20)\n pad = zero(to = 102)\n }":                  102,
		"task addition {\n operands = digits(1..20)\n pad = zero(to = 7, step = 10)\n }":         27,
		"task addition {\n operands = digits(1..20)\n pad = zero(to = 9, step=12, answer=6)\n }": 33,
		"task or { operands = digits(1..20) }":                                                   20,
	} {
		s, list := resolve(map[string]string{"a.arith": "arith 2\n\n" + text + "\n\nmodel.decoder_only { layers = 2 }\ntask.hints = fixed\n"}, "a.arith")
		if s == nil || len(list) > 0 {
			t.Errorf("%s: %v", text, list)
			continue
		}
		if got := s.Task.hintedPlaces(); got != want {
			t.Errorf("%s: %d places, want %d", text, got, want)
		}
	}
}
