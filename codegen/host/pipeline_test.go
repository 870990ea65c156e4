package host

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
)

// TestStatistic prints conditions on lines without superfluous digits, parentheses and calls.
func TestStatistic(t *testing.T) {
	for keep, want := range map[string]string{
		"value >= mean + 0.87 * std":                         "mean+0.87*std <= value",
		"value > 1e-3 && !(mean - (std - value) >= 2)":       "0.001 < value && !(2.0 <= mean-(std-value))",
		"(value - mean) / std > 3 || value / (mean / std)<1": "3.0 < (value-mean)/std || value/(mean/std) < 1.0",
		"max(abs(value), sqrt(std), 0) > -0.5":               "-0.5 < max(max(math.Abs(value), math.Sqrt(std)), 0.0)",
		"floor(log(value)) == -mean":                         "math.Floor(math.Log(value)) == -mean",
		"sigmoid(value) < exp(-std)":                         "1.0/(1.0+math.Exp(-value)) < math.Exp(-std)",
		"softplus(value) < std":                              "func(x float64) float64 {\n\treturn max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))\n}(value) < std",
		"where(std > 0, value / std, value) > 1":             "1.0 < func() float64 {\n\tif 0.0 < std {\n\t\treturn value / std\n\t}\n\treturn value\n}()",
		"true":                                               "true",
	} {
		spec := resolve(t, "task successor {}\nstage a {}\ncalibrate b {\n from = a\n self.keep = "+keep+"\n}\nstage c { model.decoder.self.bias = b.self }")
		e := spec.Stages[1].Calibration.Self.Keep
		if got := float64Text(e); got != want {
			t.Errorf("%s is printed as %s, want %s", keep, got, want)
		}
	}
}

// float64Text returns an expression as printed.
func float64Text(e *expr.Expr) string {
	return strings.TrimPrefix(fmt.Sprintf("%#v", jen.Return(gocode.Expr(e, gocode.Float64))), "return ")
}

// TestStatisticKnowsAllFunctions runs the printed code of every function that a condition may
// call, and compares it with the expression's value.
func TestStatisticKnowsAllFunctions(t *testing.T) {
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n\"fmt\"\n\"math\"\n)\n\nfunc show(x float64) { fmt.Println(math.Float64bits(x)) }\n\nfunc main() {\n")
	var names []string
	var want []float64
	lines := [][3]float64{{0.75, 0.25, 1.5}, {-2.5, 3, -0.5}, {0.3, 1.25, 4}} // value, std, mean
	for _, w := range check.Words() {
		if w.Kind != "function" || w.Name == "sum" || w.Name == "table" || w.Name == "learned" {
			continue
		}
		args := map[int]string{1: "value", 2: "value, std", 3: "value, std, mean"}[1+strings.Count(w.Args, ",")]
		switch w.Name {
		case "where":
			args = "value > std, value, mean"
		case "mod":
			args = "floor(clip(value, 0, 9)), 3"
		case "min", "max":
			args = "value, mean, std"
		}
		spec := resolve(t, "task successor {}\nstage a {}\ncalibrate b {\n from = a\n self.keep = "+w.Name+"("+args+") > mean\n}\nstage c { model.decoder.self.bias = b.self }")
		e := spec.Stages[1].Calibration.Self.Keep.Args[1] // the right side of mean < e
		for _, line := range lines {
			env := expr.Bindings{}
			for i, name := range []string{"value", "std", "mean"} {
				env[name] = expr.Value{F: line[i]}
			}
			v := expr.Eval64(e, env)
			if e.Type != expr.F32 {
				v.F = float64(v.I)
			}
			names, want = append(names, fmt.Sprint(w.Name, line)), append(want, v.F)
			fmt.Fprintf(&program, "{\nvalue, std, mean := float64(%v), float64(%v), float64(%v)\n_, _, _ = value, std, mean\nshow(float64(%s))\n}\n", line[0], line[1], line[2], float64Text(e))
		}
	}
	program.WriteString("}\n")
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, out, program.String())
	}
	lineOf := strings.Fields(string(out))
	if len(lineOf) != len(want) || len(want) < 30 {
		t.Fatalf("%d values of %d", len(lineOf), len(want))
	}
	for i, text := range lineOf {
		bits, err := strconv.ParseUint(text, 10, 64)
		got := math.Float64frombits(bits)
		if err != nil || got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) && math.Abs(got-want[i]) > 1e-12*math.Abs(want[i]) {
			t.Errorf("%s is %v as printed, want %v (%v)", names[i], got, want[i], err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an element of a parameter is printed")
		}
	}()
	gocode.Expr(expr.NewElem("parameter", expr.F32), gocode.Float64)
}

func TestPackage(t *testing.T) {
	for stage, want := range map[string]string{
		"interpolate": "interpolate", "warm2": "warm2", "main": "stagemain_", "func": "stagefunc_", "x_test": "stagex_test_",
		"_": "stage__", "internal": "stageinternal_",
	} {
		if got := Package(stage); got != want {
			t.Errorf("stage %s has the package %s, want %s", stage, got, want)
		}
	}
}

// TestPairedLines wants Paired to be printed for paired lines only.
func TestPairedLines(t *testing.T) {
	keep := expr.New(expr.Lt, expr.NewVar("mean", expr.F32), expr.NewVar("value", expr.F32))
	for _, paired := range []bool{false, true} {
		lines := linesOf(check.Lines{Directions: [][2]int{{1, -1}}, Rows: 6, Queries: 9, Keys: 17, Keep: keep, Paired: paired})
		if printed := fmt.Sprintf("%#v", jen.Return(jen.Id("Lines").Add(lines.Code()))); strings.Contains(strings.Join(strings.Fields(printed), " "), "Paired: true,") != paired {
			t.Errorf("paired %t:\n%s", paired, printed)
		}
	}
}
