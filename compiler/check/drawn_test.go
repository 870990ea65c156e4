package check

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
)

// drawnFile has a row for each drawn spec: a number, the codes of the findings, and a hash of the
// findings and of the Spec.
const drawnFile = "testdata/drawn.txt"

// TestDrawn draws specs and compares what is found with a list. A spec has few settings, most of
// them at a bound, beside a default or with a drawn expression, so that few have many errors.
func TestDrawn(t *testing.T) {
	const all = 2000
	specs := full.Either(700, all)
	if golden.Updating() {
		specs = all
	}
	text, err := os.ReadFile(drawnFile)
	if err != nil {
		t.Fatal(err)
	}
	want := append(strings.Split(string(text), "\n"), make([]string, specs)...)
	rows := newLanguage().schema.Rows
	var now strings.Builder
	for n := range specs {
		d := drawn{rand.New(rand.NewPCG(uint64(n), 52)), rows}
		src := d.spec()
		row := fmt.Sprint(n, verdict(src))
		if fmt.Fprintln(&now, row); row != want[n] && !golden.Updating() {
			files := map[string]string{"a.arith": src}
			_, resolved, list := resolveAny(options(files, "a.arith"))
			t.Fatalf("row %d is %q, and %s has %q (-update if that is right) for the spec\n%s\nwhich gives\n%s%s", n, row, drawnFile, want[n], src, textOf(list, files), resolved)
		}
	}
	if specs == all {
		golden.Compare(t, drawnFile, now.String())
	}
}

// verdict is the end of a spec's row.
func verdict(src string) string {
	files := map[string]string{"a.arith": src}
	spec, resolved, list := resolveAny(options(files, "a.arith"))
	h := sha256.New()
	fmt.Fprint(h, textOf(list, files), resolved)
	var codes []string
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	if s, ok := spec.(*Spec); ok && s != nil {
		write(h, reflect.ValueOf(s))
		fmt.Fprint(h, textOf(withLimits(s, nil), files), s.shapes)
	}
	slices.Sort(codes)
	return fmt.Sprintf(" %s %x", strings.Join(slices.Compact(codes), ","), h.Sum(nil)[:4])
}

// write prints what a value contains, without places in files.
func write(w io.Writer, v reflect.Value) {
	switch x := v.Interface().(type) {
	case *expr.Expr:
		fmt.Fprintf(w, "%v ", x)
		return
	case diag.Pos, diag.Range:
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			write(w, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fmt.Fprint(w, f.Name, " ")
				write(w, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(w, v.Len(), " ")
		for i := range v.Len() {
			write(w, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			fmt.Fprint(w, k, " ")
			write(w, v.MapIndex(k))
		}
	case reflect.Func:
	default:
		fmt.Fprint(w, v, " ")
	}
}

// A drawn draws parts of specs.
type drawn struct {
	*rand.Rand
	rows []dsl.Row
}

func (d *drawn) of(choices ...string) string { return choices[d.IntN(len(choices))] }

func (d *drawn) spec() string {
	var b strings.Builder
	tasks := []string{
		"successor { operands = digits(1..5) }", "successor { operands = below(1000)  pad = zero(to = 5) }", "successor {}",
		"addition { operands = digits(1..4)  order = reversed }", "addition { operands = digits(1..3)  interleave = true }", "addition {}",
		"multiplication { operands = digits(1..3) }", "parity {}", "nx1 {}", "sort {}", "or {}",
	}
	fmt.Fprintf(&b, "arith 2\ntask %s\n", d.of(tasks...))
	stack := d.of("decoder", "decoder", "decoder_only", "decoder_only", "encoder")
	fmt.Fprintf(&b, "model.%s.layers = %d\n", stack, 1+d.IntN(2))
	if stack == "decoder_only" && d.IntN(2) == 0 {
		fmt.Fprintf(&b, "model.decoder_only.times = %s\n", d.of("2", "4", "2 * digits - 1"))
	}
	site := "model." + stack + ".self"
	if stack == "decoder" && d.IntN(3) == 0 {
		site = "model.decoder.cross"
	}
	fits := func(row dsl.Row) bool {
		of := strings.Split(row.Path, ".")
		return of[0] != "attention" && (of[0] != "model" || len(of) == 2 || of[1] == stack || !strings.Contains("encoder decoder decoder_only", of[1])) || d.IntN(20) == 0
	}
	var all []dsl.Row
	for _, row := range d.rows {
		if fits(row) {
			all = append(all, row)
		}
	}
	for range 1 + d.IntN(2) {
		switch d.IntN(10) {
		case 0, 1:
			fmt.Fprintf(&b, "%s.mask = %s\n", site, d.condition(2))
		case 2, 3:
			fmt.Fprintf(&b, "%s.bias = %s\n", site, d.number(3))
		case 4:
			fmt.Fprintf(&b, "bias own { w = learned([%s]%s)  value = w[%s] * %s }\n%s.bias = own\n", d.of("H", "4", "H, 9", "9", "0"),
				d.of("", ", init = 0.5", ", init = normal(0.1)", ", decay = true", ", init = xavier()"), d.of("h", "0", "clip(i - j, 0, 3)", "h, clip(i - j, 0, 8)", "i"), d.number(1), site)
		case 5:
			one := d.of("q", "k", "v", "o")
			fmt.Fprintf(&b, "%s.%s = %s\n", site, one, d.value(dsl.Row{Type: dsl.Weight}))
			if two := d.of("q", "k", "v", "o", "width", "key_heads"); two != one {
				fmt.Fprintf(&b, "%s.%s = %s\n", site, two, d.of("q", "v", "transposed(k)", "low(3)", "24", "32", "2", "none", "1"))
			}
		case 6:
			fmt.Fprintf(&b, "sweep { %s = [%s, %s]  train.seed = 1..%d }\n", "model.width", d.of("16", "32", "48"), d.of("64", "16", "128"), d.IntN(4))
		default:
			row := all[d.IntN(len(all))]
			fmt.Fprintf(&b, "%s = %s\n", row.Path, d.value(row))
		}
	}
	return b.String()
}

// value draws a value for an attribute or an argument, which need not fit.
func (d *drawn) value(row dsl.Row) string {
	number := func() string {
		x := []float64{row.Min, row.Max, row.Usual.Lo, row.Usual.Hi, 1, 2, float64(d.IntN(100))}[d.IntN(7)]
		return strconv.FormatFloat(x+[]float64{0, 0, 1, -1}[d.IntN(4)], 'g', -1, 64)
	}
	if row.Default != "" && d.IntN(4) == 0 {
		return strings.TrimPrefix(row.Default, "=")
	}
	switch row.Type {
	case dsl.Int:
		return number()
	case dsl.Real:
		return d.of(number(), "0", "0.5", "1e-3", "1", "sqrt(width)", "-1")
	case dsl.Fraction:
		return d.of("0%", "1%", "10%", "50%", "99%", "100%", "101%", "0.1")
	case dsl.Bool:
		return d.of("true", "false", "1")
	case dsl.IntRange:
		return d.of("1..4", "2..2", "0..3", "5..1", "1..100", "7")
	case dsl.IntList:
		return d.of("[6, 10]", "1..20", "[]", "[3, 3]", "[0]", "5", "[1]")
	case dsl.RealList:
		return d.of("[0.9, 0.98]", "[0.5]", "[1, 0]", "[]", "[0.1, 0.2, 0.7]")
	case dsl.ShareList:
		return d.of("[10%, 50%]", "[100%]", "[0%]", "[]", "[50%, 10%]")
	case dsl.Grid:
		return d.of("[1..20, 1..20]", "[1..3, 2..5]", "[2..2, 9..9]", "[1..4]", "1..4")
	case dsl.Condition:
		return d.condition(2)
	case dsl.Bias:
		return d.number(3)
	case dsl.Table:
		return d.of("n + c", "cos(n * c)", "n - c", "1", "i")
	case dsl.Weight:
		return d.of("low(2)", "low(0)", "q", "k", "v", "o", "transposed(v)", "self.v", "own()")
	case dsl.Budget:
		return d.of("1000steps", "0steps", "20kexamples", "1m", "8EFLOP", "10", "1h")
	case dsl.Steps:
		return d.of("100steps", "0steps", "1steps", "10", "1m", "50%")
	case dsl.Directions:
		return d.of("[1, -1]", "[[1, -1], [1, 1]]", "[0, 0]", "[2, 1]")
	case dsl.Statistic:
		return d.of("value > mean", "value > mean + 2 * std", "std", "value > 1")
	case dsl.Recurrences:
		return d.of("4", "1", "0", "digits", "2 * digits - 1", "first + second", "3 * digits + 100")
	case dsl.Choice:
		o := row.Choices[d.IntN(len(row.Choices))]
		if len(o.Args) == 0 || d.IntN(3) == 0 {
			return o.Name
		}
		arg := o.Args[d.IntN(len(o.Args))]
		return fmt.Sprintf("%s(%s = %s)", o.Name, arg.Path, d.value(arg))
	}
	return d.of("none", "0", "auto")
}

// condition draws a mask of some depth.
func (d *drawn) condition(depth int) string {
	if depth > 0 && d.IntN(2) == 0 {
		return fmt.Sprintf("(%s %s %s)", d.condition(depth-1), d.of("&&", "||"), d.condition(depth-1))
	}
	if d.IntN(3) == 0 {
		return d.of("causal()", "window(2, 1)", "window(0)", "antiwindow(left = 1, right = 1)", "antiwindow(1, 0, step = 2)", "true", "!causal()", "false")
	}
	return fmt.Sprintf("%s %s %s", d.number(1), d.of("<", "<=", "==", "!=", ">", ">="), d.number(1))
}

// number draws a bias, or an operand, of some depth.
func (d *drawn) number(depth int) string {
	if depth == 3 && d.IntN(2) == 0 {
		return d.of("alibi()", "kerple()", "fire(hidden = 2)", "t5()", "rpe()", "alibi", "fire(hidden = 0)", "t5(max = 3)", "kerple + alibi", "2 * rpe()")
	}
	if depth == 0 || d.IntN(3) == 0 {
		return d.of("i", "j", "i", "j", "I", "J", "h", "H", "0", "1", "2", "3", "0.5", "1000", "100000", "(J - 1 - i)")
	}
	a, b := d.number(depth-1), d.number(depth-1)
	return fmt.Sprintf(d.of("(%s + %s)", "(%s - %s)", "(%s - %s)", "%s * %s", "%s / (1 + abs(%s))", "%s / %s", "min(%s, %s)", "max(%s, %s)", "mod(floor(%s / 2), 3) * %s", "abs(%s - %s)",
		"floor(%s / 4) * %s", "clip(%s, 0, %s)", "where(%s < %s, 1, 0)", "exp(%s - %s)", "log(1 + abs(%s * %s))", "-abs(%s - %s)", "sqrt(abs(%s * %s))"), a, b)
}
