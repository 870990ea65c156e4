package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// one resolves a spec of one file and fails on findings.
func one(t *testing.T, src string) *Spec {
	t.Helper()
	files := map[string]string{"a.arith": "arith 2\n" + src}
	spec, list := resolve(files, "a.arith")
	if len(list) > 0 {
		t.Fatal(textOf(list, files))
	}
	return spec
}

// evaluate returns a bias at a head, query and key. params gives parameters constant
// values.
func evaluate(bias *expr.Expr, heads, h, i, j int, params map[string]float64) float64 {
	env := cellEnv{vars: map[string]int{"h": h, "i": i, "j": j, "pi": i, "pj": j, "H": heads, "I": 100, "J": 100}, params: params}
	return expr.Eval64(bias, env).F
}

type cellEnv struct {
	vars   map[string]int
	params map[string]float64
}

func (e cellEnv) Var(name string) expr.Value { return expr.Value{I: int64(e.vars[name])} }

// Elem returns a parameter's constant, or else its last index.
func (e cellEnv) Elem(name string, idx []int) expr.Value {
	if v, ok := e.params[name]; ok {
		return expr.Value{F: v}
	}
	return expr.Value{F: float64(idx[len(idx)-1])}
}

// TestPreludeBiases compares biases of the prelude with their papers' formulas. The
// elements of parameter tables are their own last index.
func TestPreludeBiases(t *testing.T) {
	fire := map[string]float64{"fire.scale": 0.1, "fire.reach": 1, "fire.w1": 1, "fire.b1": 0, "fire.w2": 1.0 / 32, "fire.b2": 0}
	for _, c := range []struct {
		bias    string
		heads   int
		h, i, j int
		params  map[string]float64
		want    float64
	}{
		{"alibi", 8, 0, 7, 4, nil, -0.5 * 3},
		{"alibi()", 8, 7, 4, 9, nil, -5.0 / 256},
		{"alibi", 4, 0, 9, 8, nil, -0.25},
		{"kerple", 4, 1, 9, 2, map[string]float64{"kerple.r1": 2, "kerple.r2": 0.5}, -2 * math.Log(1+0.5*7)},
		{"sandwich", 4, 0, 5, 5, nil, 0},
		{"sandwich(pairs = 2)", 4, 1, 5, 2, nil, (math.Cos(3/100.0) + math.Cos(3/10000.0) - 2) / 4},
		{"t5", 4, 0, 3, 9, nil, 0},   // after the query
		{"t5", 4, 0, 15, 0, nil, 15}, // exact
		{"t5", 4, 0, 16, 0, nil, 16},
		{"t5", 4, 0, 40, 0, nil, 16 + math.Floor(math.Log(2.5)/math.Log(8)*16)},
		{"t5", 4, 0, 5000, 0, nil, 31},
		{"t5(8, max = 16)", 4, 0, 9, 0, nil, 4 + math.Floor(math.Log(9.0/4)/math.Log(4)*4)},
		{"rpe", 4, 0, 3, 5, nil, 16 - 2},
		{"rpe(clip = 4)", 4, 0, 50, 5, nil, 8},
		{"rpe(4)", 4, 0, 5, 50, nil, 0},
		{"fire", 4, 0, 63, 62, fire, 0.024098},
		{"fire", 4, 0, 63, 53, fire, 0.175255},
		{"fire()", 4, 0, 63, 0, fire, 0.502613},
	} {
		spec := one(t, fmt.Sprintf("task successor {}\nmodel.heads = %d\nmodel.decoder.cross.bias = %s\n", c.heads, c.bias))
		if got := evaluate(spec.Model.Decoder.Cross.Bias, c.heads, c.h, c.i, c.j, c.params); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%s at h = %d, i = %d, j = %d is %v, want %v", c.bias, c.h, c.i, c.j, got, c.want)
		}
	}
}

// TestPreludeMasks draws the windows of arXiv:2310.11984, figure 8, and similar ones.
func TestPreludeMasks(t *testing.T) {
	for _, c := range []struct {
		mask string
		keys int
		want string
	}{
		{"causal", 4, "0--- 00-- 000- 0000"},
		{"window()", 4, "0--- 00-- -00- --00"},
		{"window(left = 0, right = 1)", 4, "00-- -00- --00 ---0"},
		{"window(0, step = 2)", 8, "00------ --00---- ----00-- ------00"},
		{"window(0, 0, 1, shift = 1)", 5, "-0--- --0-- ---0- ----0"},
		{"antiwindow(1, 1)", 5, "--000 -000- 000-- 00---"},
		{"antiwindow()", 5, "--000 -000- 000-- 00---"},
		{"antiwindow(0, 1)", 5, "---00 --00- -00-- 00---"},
		{"antiwindow(0, 0, shift = -1)", 5, "----0 ---0- --0-- -0---"},
		{"antiwindow(step = 2)", 9, "-----0000 ---0000-- -0000---- 000------"},
		{"antiwindow(left = 0, right = 0, step = 2)", 9, "------00- ----00--- --00----- 00-------"},
		{"!(causal || window(0, 1))", 4, "--00 ---0 ---- ----"},
	} {
		spec := one(t, "task successor {}\nvet { no_key = off  blind_window = off }\nmodel.decoder.cross.mask = "+c.mask)
		if got := draw(spec, spec.Model.Decoder.Cross.Mask, 4, c.keys); got != c.want {
			t.Errorf("%s is %s, want %s", c.mask, got, c.want)
		}
	}
}

// TestWindowsWrittenOut compares the windows of shipped specs with conditions, cell by cell.
func TestWindowsWrittenOut(t *testing.T) {
	for mask, written := range map[string]string{
		"window(left = 1)":                             "j <= i && i - j <= 1",
		"antiwindow(left = 0, right = 1)":              "0 <= J - 1 - i - j && J - 1 - i - j <= 1",
		"antiwindow(left = 1, right = 1)":              "abs(J - 2 - i - j) <= 1",
		"antiwindow(left = 1, right = 1, step = 2)":    "J - 4 - 2 * i <= j && j <= J - 1 - 2 * i",
		"antiwindow(left = 0, right = 0, step = 2)":    "J - 3 - 2 * i <= j && j <= J - 2 - 2 * i",
		"window(left = 0, right = 1) && !window(0, 0)": "j == i + 1",
	} {
		a := one(t, "task successor {}\nvet { no_key = off  blind_window = off }\nmodel.decoder.cross.mask = "+mask)
		b := one(t, "task successor {}\nvet { no_key = off  blind_window = off }\nmodel.decoder.cross.mask = "+written)
		for queries := 1; queries <= 12; queries++ {
			for keys := 1; keys <= 24; keys++ {
				is, want := draw(a, a.Model.Decoder.Cross.Mask, queries, keys), draw(b, b.Model.Decoder.Cross.Mask, queries, keys)
				if is != want {
					t.Fatalf("%s is %s at %d queries and %d keys, and %s is %s", mask, is, queries, keys, written, want)
				}
			}
		}
	}
}

// TestInstances checks the parameter names of definitions that are used in several ways.
func TestInstances(t *testing.T) {
	spec := one(t, `task addition {}
bias fire3 { w = learned([H])  value = w[h] }
bias mine {
  c     = 2
  n     = 2 * c
  w     = learned([n], init = c, shared = true)
  value = w[0] + 0 * c
}
model {
  encoder {
    layers    = 1
    self.bias = fire(8) + fire(c = 0.2, hidden = 4) * kerple + fire3 + fire(threshold = 9)
  }
  decoder.self.bias  = mine(3) + mine(c = 2) - mine
  decoder.cross.bias = fire(hidden = 8) + fire()
}
`)
	names := func(s *Site) string {
		var out []string
		for _, l := range s.Params {
			prefix, _, _ := strings.Cut(l.Name, ".")
			if len(out) == 0 || out[len(out)-1] != prefix {
				out = append(out, prefix)
			}
		}
		return strings.Join(out, " ")
	}
	m := spec.Model
	for n, c := range []struct{ got, want string }{
		{names(m.Encoder.Self), "fire fire2 kerple fire3 fire4"},
		{names(m.Decoder.Self), "mine mine2"},
		{names(m.Decoder.Cross), "fire fire5"},
	} {
		if c.got != c.want {
			t.Errorf("site %d has the parameters of %s, want %s", n, c.got, c.want)
		}
	}
	want := []BiasParam{
		{Name: "mine.w", Shape: []int{6}, Init: Init{Kind: "const", A: 3, B: 0}, Shared: true},
		{Name: "mine2.w", Shape: []int{4}, Init: Init{Kind: "const", A: 2, B: 0}, Shared: true},
	}
	if diff := cmp.Diff(want, m.Decoder.Self.Params, sameSpec); diff != "" {
		t.Error(diff)
	}
}

// TestInvented resolves biases that the prelude does not have.
func TestInvented(t *testing.T) {
	for _, c := range []struct {
		name, block string
		i, j        int
		want        float64
	}{
		{"mod", "w = learned([7])  value = w[mod(i, 7)]", 20, 0, 6},
		{"mod of negatives", "w = learned([7])  value = w[mod(i - j, 7)]", 0, 1, 6},
		{"floor", "w = learned([3])  value = w[clip(floor(i / 7), 0, 2)]", 13, 0, 1},
		{"mod by floor", "w = learned([7])  value = w[clip(i - 7 * floor(i / 7), 0, 6)]", 20, 0, 6},
		{"negative floor", "w = learned([4])  value = w[clip(-floor((j - i) / 2), 0, 3)]", 5, 2, 2},
		{"masks in biases", "near = window(2)  value = where(near, 0, i - j)", 9, 3, 6},
		{"other biases", "value = alibi * t5(max = 64)", 2, 1, -0.25},
		{"halves", "value = sum(m = 0..H / 2, m) * sum(n = -1..1, n * i)", 3, 0, 0},
		{"numbers of the prelude", "value = t5 }  bias.t5.max = 64  vet { unused_definition = off", 40, 0, 16 + math.Floor(math.Log(2.5)/math.Log(4)*16)},
		{"trigonometry", "value = sin(0 * i) + cos(0 * j)", 1, 1, 1},
	} {
		spec := one(t, "task successor {}\nbias b { "+c.block+" }\nmodel.decoder.cross.bias = b")
		if got := evaluate(spec.Model.Decoder.Cross.Bias, 4, 0, c.i, c.j, nil); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v at i = %d, j = %d, want %v", c.name, got, c.i, c.j, c.want)
		}
	}
}

// TestPreludeChanged changes parts of the prelude by their paths, and replaces
// definitions by blocks. The resolved spec must mean the same.
func TestPreludeChanged(t *testing.T) {
	const use = "task successor {}\nvet { no_key = off  blind_window = off }\nmodel.decoder.cross.mask = window(right = 0)\n"
	for _, c := range []struct{ name, src, want string }{
		{"untouched", "", "0--- 00-- -00- --00"},
		{"by a path", "mask.window.left = 2\n", "0--- 00-- 000- -000"},
		{"on the command line", "--set mask.window.left=0\n", "0--- -0-- --0- ---0"},
		{"the last wins", "mask.window.left = 2\n--set mask.window.left=0\n", "0--- -0-- --0- ---0"},
		{"what others are of no use without", "mask.window.first = 1\n", "00-- 00-- 00-- 00--"},
		{"with an attribute of its own", "mask.window { more = 1  left = more  right = 0  value = i - left <= j && j <= i + right }\n", "0--- 00-- -00- --00"},
		{"a block", "mask window { right = 1  value = j == right }\n", "0--- 0--- 0--- 0---"},
		{"a block, then a path", "mask window { right = 1  value = j == right + 1 }\n--set mask.window.right=0\n--set mask.window.value=j == right + i\n", "0--- -0-- --0- ---0"},
		{"in a sweep", "sweep { mask.window.left = [0, 1] }\n", "0--- -0-- --0- ---0"},
		{"a block in a case", "sweep { axis a { mask window { right = 3  value = j == right } }\naxis b {} }\n", "0--- 0--- 0--- 0---"},
		{"a block over an included path", "sweep { axis a { include \"b.arith\" } }\nmask window { left = 1  right = 0  value = j == right + left }\n", "-0-- -0-- -0-- -0--"},
	} {
		files := map[string]string{"a.arith": "arith 2\n" + use + c.src, "b.arith": "arith 2\ntask successor {}\nmask.window.left = 3\n"}
		spec, list := resolve(files, "a.arith")
		if len(list) > 0 {
			t.Errorf("%s: %s", c.name, textOf(list, files))
			continue
		}
		if got := draw(spec, spec.Model.Decoder.Cross.Mask, 4, 4); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if again := one(t, strings.TrimPrefix(spec.Resolved, "arith 2\n")); again.Resolved != spec.Resolved {
			t.Errorf("%s: resolved again:\n%s", c.name, cmp.Diff(spec.Resolved, again.Resolved))
		}
	}
}

// TestStagePrelude changes the prelude in one stage, and replaces it in another.
func TestStagePrelude(t *testing.T) {
	spec := one(t, `task successor {}
vet { no_key = off  blind_window = off }
model.decoder.cross.mask = window
stage plain {}
stage wide { from = plain  mask.window.left = 2 }
stage own { from = wide  mask window { value = i == j } }
`)
	for name, want := range map[string]string{"plain": "0--- 00-- -00- --00", "wide": "0--- 00-- 000- -000", "own": "0--- -0-- --0- ---0"} {
		s := spec.stage(name).Spec
		if got := draw(s, s.Model.Decoder.Cross.Mask, 4, 4); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if again := one(t, strings.TrimPrefix(spec.Resolved, "arith 2\n")); again.Resolved != spec.Resolved {
		t.Error(cmp.Diff(spec.Resolved, again.Resolved))
	}
}

// TestTable reads the shapes of tables from safetensors headers.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		file string // its header; "": no file
		call string
		want string // the bias, or part of the message
	}{
		{`{"__metadata__":{"a":"b"},"t":{"dtype":"F32","shape":[4,8,9],"data_offsets":[0,1]}}`, `table("t.st")`, "table.values[h, min(i, 7), min(j, 8)]"},
		{`{"t":{"dtype":"F32","shape":[8,9]}}`, `table("t.st") + 0 * table("./t.st")`, "table.values[min(i, 7), min(j, 8)] + 0.0 * table.values[min(i, 7), min(j, 8)]"},
		{`{"a":{"dtype":"F32","shape":[2,2]},"b":{"dtype":"F32","shape":[3,3]}}`, `table("t.st", tensor = "b") + table("t.st", "a")`,
			"table.values[min(i, 2), min(j, 2)] + table2.values[min(i, 1), min(j, 1)]"},
		{`{"a":{"dtype":"F32","shape":[2,2]},"b":{"dtype":"F32","shape":[3,3]}}`, `table("t.st")`, "tensor: a, b"},
		{`{"a":{"dtype":"F32","shape":[2,2]}}`, `table("t.st", tensor = "b")`, "tensor: a"},
		{`{"t":{"dtype":"F32","shape":[3,8,9]}}`, `table("t.st")`, "has the shape [3, 8, 9]"},
		{`{"t":{"dtype":"F32","shape":[8]}}`, `table("t.st")`, "has the shape [8]"},
		{`{"t":{"dtype":"F32","shape":[8,-1]}}`, `table("t.st")`, "axis of length -1"},
		{`{"t":{"dtype":"I64","shape":[8,8]}}`, `table("t.st")`, "not of type F32"},
		{`[1]`, `table("t.st")`, "no JSON object"},
		{`{}`, `table("t.st")`, "0 tensors"},
		{"", `table("t.st")`, "cannot read"},
	} {
		files := map[string]string{"d/a.arith": "arith 2\ntask successor {}\nmodel.decoder.cross.bias = " + c.call}
		if c.file != "" {
			files["d/t.st"] = safetensors(c.file)
		}
		spec, list := resolve(files, "d/a.arith")
		got := textOf(list, files)
		if spec != nil {
			got = spec.Model.Decoder.Cross.Bias.String()
			for _, l := range spec.Model.Decoder.Cross.Params {
				if l.Init.Kind != "file" || l.From != "d/t.st" {
					t.Errorf("parameter %+v", l)
				}
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s of %s: %s, want %s", c.call, c.file, got, c.want)
		}
	}
	for _, src := range []string{"", "1234567", strings.Repeat("\xff", 20)} {
		if _, err := readTensors([]byte(src)); err == nil {
			t.Errorf("%q is a safetensors file", src)
		}
	}
}

// TestTableValues: specs that differ only in a table's elements have different hashes.
func TestTableValues(t *testing.T) {
	const spec = "arith 2\ntask successor {}\nmodel.decoder.cross.bias = table(\"t.st\", \"b\")"
	const header = `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1,2],"data_offsets":[4,12]}}`
	resolved := func(b ...float32) (*Spec, diag.List) {
		src := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		src, _ = binary.Append(append(src, header...), binary.LittleEndian, append([]float32{7}, b...))
		return resolve(map[string]string{"a.arith": spec, "t.st": string(src)}, "a.arith")
	}
	one, _ := resolved(0.5, -1e4)
	if param := one.Given()[0]; !slices.Equal(param.Values, []float32{0.5, -1e4}) || param.Tensor != "b" || !param.Fixed() {
		t.Errorf("parameter %+v", param)
	}
	if two, _ := resolved(0.5, -1e5); two.Hash == one.Hash || two.Resolved != one.Resolved {
		t.Errorf("specs of two tables have the hashes %s and %s", one.Hash, two.Hash)
	}
	for _, x := range []float64{math.Inf(-1), math.NaN()} {
		if _, list := resolved(float32(x), 1); !list.HasErrors() || list[0].Code != "E0219" {
			t.Errorf("a table with %v: %v", x, list)
		}
	}
	for _, b := range [][]float32{nil, {1}, {1, 2, 3}} {
		if _, list := resolved(b...); list.HasErrors() != (len(b) < 2) {
			t.Errorf("%d elements of 2: %v", len(b), list)
		}
	}
}

// TestBiasParamsHaveOwnNames: the parameters of a bias differ in name from the parameters
// of its site and of the compiler.
func TestBiasParamsHaveOwnNames(t *testing.T) {
	spec := one(t, `task addition {}
bias q { w = learned([H])  value = w[h] * j }
bias norm { gamma = learned([H])  value = gamma[h] * j }
bias calibrated { self0 = learned([H])  value = self0[h] * j }
bias calibrated2 { self0 = learned([H])  value = self0[h] * i }
stage first {}
calibrate cal { from = first  samples = 8 }
stage second { model.decoder.self.bias = cal.self + calibrated + calibrated2 + q + norm }
`)
	var names []string
	for _, l := range spec.stage("second").Spec.Model.Decoder.Self.Params {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	want := []string{"calibrated.self0", "calibrated2.self0", "calibrated3.self0", "norm2.gamma", "q2.w"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// TestTensors reads safetensors files, and says what is wrong with others.
func TestTensors(t *testing.T) {
	file := func(header string, data ...float32) []byte {
		src := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		for _, x := range data {
			src = binary.LittleEndian.AppendUint32(src, math.Float32bits(x))
		}
		return src
	}
	entry := func(shape string, lo, hi int) string {
		return fmt.Sprintf(`{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, shape, lo, hi)
	}
	got, err := readTensors(file(`{"__metadata__":{"stage":"s"},"a":`+entry("[2]", 0, 8)+`,"b":`+entry("[1,1]", 8, 12)+`,"c":`+entry("[0]", 12, 12)+`}`, 1, 2, 3))
	if err != nil || len(got) != 3 || !slices.Equal(got["a"].values(), []float32{1, 2}) || !slices.Equal(got["b"].values(), []float32{3}) || len(got["c"].values()) != 0 || got["b"].stage != "s" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := readTensors(file("{}")); err != nil || len(got) != 0 {
		t.Errorf("without tensors: %v, %v", got, err)
	}
	if _, err := readTensor("t", []byte(entry(fmt.Sprintf("[%d]", maxElements), 0, 4*maxElements)), make([]byte, 4*maxElements)); err != nil {
		t.Errorf("the largest tensor: %v", err)
	}
	for _, c := range []struct {
		src  []byte
		want string
	}{
		{make([]byte, 7), "it has no header"},
		{append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...), "its header has 3 bytes"},
		{binary.LittleEndian.AppendUint64(nil, 1<<20+1), "its header has 1048577 bytes"},
		{file(`{"t":`+entry("[2]", 0, 8)+`}`, 1), "has 8 bytes of elements, from 0 to 8, and the file 4"},
		{file(`{"t":`+entry("[1]", 0, 8)+`}`, 1, 2), "has 4 bytes of elements, from 0 to 8"},
		{file(`{"t":`+entry("[1]", -4, 0)+`}`, 1), "has 4 bytes of elements, from -4 to 0"},
		{file(`{"t":` + entry(fmt.Sprintf("[%d]", maxElements+1), 0, 0) + `}`), "has an axis of length"},
		{file(`{"t":` + entry(fmt.Sprintf("[2,%d]", maxElements), 0, 0) + `}`), "has an axis of length"},
	} {
		if _, err := readTensors(c.src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.src, err, c.want)
		}
	}
}
