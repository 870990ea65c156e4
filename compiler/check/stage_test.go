package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/runtime/calibrate"
)

// TestStages checks the resolved stages of a spec.
func TestStages(t *testing.T) {
	spec := one(t, `task addition {
  interleave = true
  pad        = zero(to = 20)
  operands      = below(1k)
}
stage first {}
calibrate calibrate {
  from            = first
  samples         = 32
  extend          = 19
  self.rows       = 6
  self.keep       = value > mean - std
  cross.direction = [[1, -1], [1, 0]]
}
stage second {
  from                     = first
  model.decoder.self.bias  = calibrate.self + calibrate.self
  model.decoder.cross.bias = 2 * calibrate.cross
  train { budget = 200steps }
}
`)
	f := func(name string) *Calibration { return spec.stage(name).Calibration }
	want := &Calibration{
		Capture: Capture{Layer: 2}, Samples: 32, Heads: 4, Extend: 19,
		Self:  Lines{Directions: [][2]int{{1, 1}}, Rows: 6, Queries: 21, Keys: 21},
		Cross: Lines{Directions: [][2]int{{1, -1}, {1, 0}}, Rows: 3, Queries: 21, Keys: 43},
	}
	if diff := cmp.Diff(want, f("calibrate"), cmpopts.IgnoreFields(Lines{}, "Keep")); diff != "" {
		t.Error(diff)
	}
	if got := f("calibrate").Self.Keep.String(); got != "mean - std < value" {
		t.Errorf("keep %s", got)
	}
	if got := f("calibrate").Cross.Keep.String(); got != "mean + 4.5 * std <= value" {
		t.Errorf("keep %s by default", got)
	}
	first, second := spec.stage("first"), spec.stage("second")
	if first.From != "" || first.Spec.Train.Budget.Steps != 1000 || first.Spec.Model.Decoder.Self.Bias != nil {
		t.Errorf("first %+v", first.Spec)
	}
	if second.From != "first" || second.Spec.Train.Budget.Steps != 200 {
		t.Errorf("second from %s, %d steps", second.From, second.Spec.Train.Budget.Steps)
	}
	params := append(second.Spec.Model.Decoder.Self.Params, second.Spec.Model.Decoder.Cross.Params...)
	wantParams := []BiasParam{
		{Name: "calibrated.self0", Shape: []int{4, 43}, Init: Init{Kind: "stage"}, From: "calibrate", Tensor: "self.line.1.1"},
		{Name: "calibrated.cross0", Shape: []int{4, 65}, Init: Init{Kind: "stage"}, From: "calibrate", Tensor: "cross.line.1.-1"},
		{Name: "calibrated.cross1", Shape: []int{4, 45}, Init: Init{Kind: "stage"}, From: "calibrate", Tensor: "cross.line.1.0"},
	}
	if diff := cmp.Diff(wantParams, params, sameSpec); diff != "" {
		t.Error(diff)
	}
	self := "calibrated.self0[h, min(max(j - i + 21, 0), 42)]"
	for want, bias := range map[string]*expr.Expr{
		self + " + " + self: second.Spec.Model.Decoder.Self.Bias,
		"2.0 * max(calibrated.cross0[h, min(max(j + i - J + 44, 0), 64)], calibrated.cross1[h, min(max(j - J + 44, 0), 44)])": second.Spec.Model.Decoder.Cross.Bias,
	} {
		if got := bias.String(); got != want {
			t.Errorf("bias %s, want %s", got, want)
		}
	}
	if got := first.Spec.Capture; got == nil || *got != (Capture{Layer: 2}) || second.Spec.Capture != nil {
		t.Errorf("reading %+v from the first stage, and %+v from the second", got, second.Spec.Capture)
	}
}

// TestPairedLines reads the lines of ^ a + b $ at widths below, at and above the width
// that they are extended to. A cell has the value of the line through it, which belongs
// to the operand where the line begins. Lines are counted from the operand's end,
// diagonals from its beginning.
func TestPairedLines(t *testing.T) {
	const extended = 20
	bias := one(t, `task addition {
  operands = digits(1..6)
  pad    = zero(to = 20)
}
stage first {}
calibrate lines {
  from            = first
  extend          = 19
  cross.direction = [[1, -1], [1, 0], [1, 1]]
}
stage second { model.decoder.cross.bias = lines.cross }
`).stage("second").Spec.Model.Decoder.Cross.Bias
	const first = 21 // index of diagonal 0, in as many rows
	for direction, bias := range map[int]*expr.Expr{-1: bias.Args[0].Args[0], 0: bias.Args[0].Args[1], 1: bias.Args[1]} {
		for _, width := range []int{1, 5, extended, 21, 50} {
			columns := 2*width + 3
			for i := range 4 {
				for j := range columns {
					line := j - direction*i
					want := int64(0) // no such line
					switch place := line - width; {
					case direction == 1 && line == columns-1:
						want = first + 2*extended + 2
					case direction == 1 && place <= 0 && line <= extended:
						want = int64(first + line)
					case direction == 1 && place > 0 && place <= extended+1:
						want = int64(first + extended + place)
					case direction == 1:
						// longer than the extended operands
					case line == 0 || line >= columns:
						continue // ^, and lines that begin after the text
					case place <= 1 && place > -extended:
						want = int64(place + extended + 1)
					case place > 1 && line-columns >= -extended-1:
						want = int64(line - columns + 2*extended + 4)
					}
					if place := line - width; direction < 1 && place == -extended {
						want = 1 // the column of ^, which has no value
					}
					if got := expr.Eval64(bias, matrixCell{i, j, columns}).F; got != float64(want) {
						t.Fatalf("direction %d, width %d: cell (%d, %d) takes line %g, want %d", direction, width, i, j, got, want)
					}
				}
			}
		}
	}
}

// TestLinesAsCalibrated reads the lines of every slope in an extended matrix, and finds in each cell
// the bias that the calibration has there.
func TestLinesAsCalibrated(t *testing.T) {
	for _, c := range []struct {
		task   string
		paired bool
	}{{"task successor {\n", false}, {"task addition {\n  interleave = true\n", false}, {"task addition {\n", true}} {
		for slope := -3; slope <= 3; slope++ {
			k := one(t, c.task+fmt.Sprintf(`  operands = digits(1..6)
  pad    = zero(to = 8)
}
stage first {}
calibrate lines {
  from            = first
  extend          = 9
  cross.direction = [1, %d]
}
stage second { model.decoder.cross.bias = lines.cross }
`, slope))
			bias, l := k.stage("second").Spec.Model.Decoder.Cross.Bias, k.stage("lines").Calibration.Cross
			if l.Paired != c.paired || !slices.Equal(l.Directions, [][2]int{{1, slope}}) {
				t.Fatalf("%s: %+v", c.task, l)
			}
			read := calibrate.Attention{Heads: 1, Rows: 4, Columns: l.Keys - 4}
			for n := range read.Rows * read.Columns {
				read.Values = append(read.Values, 1+float64(n*n%97))
			}
			keep := func(value, mean, _ float64) bool { return value > mean }
			lines := calibrate.Lines{Directions: l.Directions, Rows: 4, M: l.Queries, N: l.Keys, Paired: l.Paired, Keep: keep}
			r, err := (&calibrate.Config{}).Calibrate(lines, read)
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range r.Matrix() {
				i, j := n/l.Keys, n%l.Keys
				number := int(expr.Eval64(bias, matrixCell{i, j, l.Keys}).F)
				if got := r.Tables()[0].Values[number]; got != want {
					t.Fatalf("%s: slope %d: cell (%d, %d) has line %d with %g, and the calibration %g", c.task, slope, i, j, number, got, want)
				}
			}
		}
	}
}

// A matrixCell is an environment in which every element equals its own number.
type matrixCell [3]int

func (c matrixCell) Var(name string) expr.Value {
	return expr.Value{I: int64(map[string]int{"i": c[0], "j": c[1], "J": c[2]}[name])}
}

func (c matrixCell) Elem(_ string, at []int) expr.Value { return expr.Value{F: float64(at[1])} }

// TestCalibrationReadsStage: a calibration uses the problems of the stage that it reads.
func TestCalibrationReadsStage(t *testing.T) {
	spec := one(t, `task addition { operands = digits(1..20) }
stage first {
  task.operands = digits(1..6)
  eval.pad    = zero(to = 41)
}
calibrate calibrate {
  from   = first
  extend = 30
}
stage second { model.decoder.cross.bias = calibrate.cross }
`)
	k := spec.stage("calibrate").Calibration
	if l := k.Cross; l.Rows != 6 || k.Self.Rows != 6 || l.Queries != 42 || l.Keys != 85 {
		t.Errorf("%d and %d rows of %d queries and %d keys", k.Self.Rows, l.Rows, l.Queries, l.Keys)
	}
}

// TestStageFollows: a stage prints attributes that follow from those it sets.
func TestStageFollows(t *testing.T) {
	spec := one(t, `task addition {
  operands = digits(1..6)
  pad    = zero(to = 9)
}
stage first { task.pad = zero(to = 41, answer = 8) }
stage second {
  from          = first
  task.pad      = zero(to = 12)
  eval.pad      = zero(to = 20)
  model.dropout = 20%
}
`)
	_, first, ok := strings.Cut(spec.Resolved, "stage first {")
	if !ok {
		t.Fatalf("no stage in\n%s", spec.Resolved)
	}
	first, second, _ := strings.Cut(first, "stage second {")
	for _, c := range []struct{ text, want string }{
		{first, "\n  eval.pad = zero(to = 41, step = 1, answer = 8)\n"},
		{second, "\n  eval.pad                    = zero(to = 20, step = 1, answer = none)\n"},
		{second, "\n  model.decoder.self.dropout  = 20%\n"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("no %q in\n%s", c.want, c.text)
		}
	}
}

// TestStageOrder: the order of a stage's attributes does not matter.
func TestStageOrder(t *testing.T) {
	const a, b = "  train.budget = 100steps\n", "  model.embed.position = none\n"
	x, y := one(t, "task successor {}\nstage s {\n"+a+b+"}\n"), one(t, "task successor {}\nstage s {\n"+b+a+"}\n")
	if x.Hash != y.Hash {
		t.Errorf("two specs:\n%s\n%s", x.Resolved, y.Resolved)
	}
}

// TestStageFolders: names of stages must be valid folders on all systems.
func TestStageFolders(t *testing.T) {
	for names, want := range map[string]string{
		"one two":       "",
		"com come con1": "",
		"one con":       "3:7 Windows has a device CON",
		"Aux":           "2:7 Windows has a device AUX",
		"LPT1":          "2:7 Windows has a device LPT1",
		"eval":          "2:7 a run has a folder eval",
		"one Plots":     "3:7 a run has a folder plots",
		"ckpt launches": "2:7 a run has a folder ckpt",
		"launch":        "2:7 a run has a folder launch",
		"one two One":   "4:7 the stages one and One would share a folder",
	} {
		src := "arith 2\n"
		for _, name := range strings.Fields(names) {
			src += "stage " + name + " {}\n"
		}
		_, list := resolve(map[string]string{"a.arith": src + "task successor {}\nvet.unused_stage = off\n"}, "a.arith")
		got := ""
		for _, d := range list {
			got += fmt.Sprintf("%d:%d %s", d.Range.Start.Line, d.Range.Start.Col, d.Message)
		}
		if len(list) > 1 || (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}

// TestExtendedWidth: lines are extended to the full width for extend, even if the stage
// that is read has narrower answers.
func TestExtendedWidth(t *testing.T) {
	for _, c := range []struct {
		pad           string
		queries, keys int
	}{
		{"zero(to = 61)", 62, 125},
		{"zero(to = 61, answer = 8)", 62, 125},
		{"zero(to = 7, step = 3)", 62, 125},
		{"zero(to = 30, step = 30, answer = 8)", 91, 183},
	} {
		spec := one(t, "task addition {}\nstage first { task { operands = digits(1..6)  pad = "+c.pad+" } }\ncalibrate calibrate { from = first  extend = 61 }\nstage second { model.decoder.cross.bias = calibrate.cross }\n")
		if l := spec.stage("calibrate").Calibration.Cross; l.Queries != c.queries || l.Keys != c.keys {
			t.Errorf("%s: %d rows and %d columns, want %d and %d", c.pad, l.Queries, l.Keys, c.queries, c.keys)
		}
	}
}

// TestCalibratedWidth refuses calibrated matrices whose width differs from the problems'.
func TestCalibratedWidth(t *testing.T) {
	for _, c := range []struct{ site, pad, digits, stage, want string }{
		{"cross", "zero(to = 20)", "6, 19", "calibrate", ""},
		{"cross", "zero(to = 20, step = 1)", "6, 20", "calibrate", "calibrated 21 rows and 22 columns, but a problem here has 22 and 23"},
		{"cross", "zero(to = 19)", "6", "calibrate", "stage calibrate calibrated 21 rows and 22 columns, but a problem here has 20 and 21"},
		{"cross", "zero(to = 19)", "6", "", ""}, // a table, not a calibration
		{"self", "zero(to = 19)", "6", "calibrate", ""},
		{"self", "zero(to = 21)", "6", "calibrate", "calibrated 21 rows and 22 columns, but a problem here has 22 and 22"},
	} {
		about := `{"__metadata__":{"stage":"` + c.stage + `"},"x":{"dtype":"F32","shape":[4,21,22]}}`
		files := map[string]string{"x.st": safetensors(about), "a.arith": "arith 2\ntask successor { operands = digits(1..6)  pad = " + c.pad + " }\neval.digits = [" + c.digits +
			"]\nmodel.decoder." + c.site + ".bias = table(\"x.st\")\n"}
		_, list := resolve(files, "a.arith")
		if got := textOf(list, files); list.HasErrors() != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %s, want %q", c.site, c.pad, got, c.want)
		}
	}
}
