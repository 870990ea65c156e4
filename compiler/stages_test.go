package compiler_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// stages is a model of two layers and two heads. Tests add a stage whose attention is
// read, and one that gets the result as biases.
const stages = `arith 2

task successor {
  operands = digits(1..3)
  pad    = zero(to = 5)
}

model {
  width   = 8
  heads   = 2
  ffn     = relu(hidden = 12)
  dropout = 20%
  embed.position = sinusoidal
}

train.batch = 4
eval.pad    = zero(to = 5)
`

const calibrated = stages + `
stage first {}

calibrate lines {
  from            = first
  extend          = 4
  self.direction  = [[1, 1], [1, 0]]
  cross.direction = [[1, -1], [1, 0], [1, 1]]
}

stage second {
  model.decoder.self.bias  = lines.self
  model.decoder.cross.bias = 2 * lines.cross
}
`

const tabled = stages + `
model.decoder.self.bias  = table("self.st")
model.decoder.cross.bias = 2 * table("cross.st")
`

func compileText(t *testing.T, files map[string]string) *compiler.Program {
	t.Helper()
	read := func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	p, found, err := compiler.Compile(check.Options{Path: "a.arith", Read: read})
	if err != nil || found.HasErrors() {
		found.Text(t.Output(), read, false)
		t.Fatal(err)
	}
	return p
}

// safetensors returns a file with one tensor.
func safetensors(shape []int, values []float32) string {
	header, _ := json.Marshal(map[string]any{"t": map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{0, 4 * len(values)}}})
	src := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	src, _ = binary.Append(src, binary.LittleEndian, values)
	return string(src)
}

const closed = -1e4

// lines draws the parameter of a direction, laid out as a calibration does. In the first
// head most lines and the outside are closed. The second head adds nothing.
func lines(r *rand.Rand, shape []int) []float32 {
	row := slices.Repeat([]float32{closed}, shape[1])
	for k := 1; k < shape[1]-1; k++ {
		if r.IntN(3) == 0 {
			row[k] = float32(r.NormFloat64())
		}
	}
	return append(row, make([]float32, shape[1])...)
}

// extended returns the bias of lines with the parameters [2, L], from the definition of
// line numbers. Along direction (1, b) the number is j-bi, counted from the first column
// for diagonals and from the last for all others.
func extended(l check.Lines, params [][]float32, rows, keys int) []float32 {
	var out []float32
	for h := range 2 {
		for i := range rows {
			for j := range keys {
				largest := math.Inf(-1)
				for d, step := range l.Directions {
					row := params[d][h*len(params[d])/2:][:len(params[d])/2]
					at := j - step[1]*i + l.Keys - keys
					if step[1] > 0 {
						at = j - i + l.Queries - 1
					}
					largest = max(largest, float64(row[min(max(at+1, 0), len(row)-1)]))
				}
				out = append(out, float32(largest))
			}
		}
	}
	return out
}

// A trial is a machine with a batch.
type trial struct {
	*lower.Machine
	p    *compiler.Program
	dims kernel.Scalars
}

func newTrial(p *compiler.Program, source, target int) trial {
	return trial{lower.NewMachine(p.Lowered), p, kernel.Scalars{"B": 2, "S": float64(source), "T": float64(target), "C": float64(target),
		"P": 0, "step": 1, "example": 0, "seed0": 3, "seed1": 0, "scale": 0.1}}
}

// run runs an entry on random tokens.
func (r trial) run(t *testing.T, entry string) *lower.Entry {
	t.Helper()
	e := r.p.Lowered.Entry(entry)
	if e == nil {
		t.Fatal("there is no program ", entry)
	}
	r.Prepare(e, r.dims)
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{model.SourceTokens, model.TargetTokens, model.Labels} {
		if e.Memory.Buffer(name) != nil {
			for k := range r.Ints(e, name, 0) {
				r.Ints(e, name, 0)[k] = int32(5 + random.IntN(10))
			}
		}
	}
	if err := r.Run(e, r.dims); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCalibratedLines compares biases that are read as lines with the same biases as
// tables: predictions, losses and gradients, at the length of the calibration and at
// others.
func TestCalibratedLines(t *testing.T) {
	p := compileText(t, map[string]string{"a.arith": calibrated})
	second := p.Stages[1]
	fixed := second.Plan.Group(plan.Fixed)
	if fixed == nil || fixed.Off != second.Plan.Trained() || len(fixed.Params) != 5 {
		t.Fatalf("fixed parameters %+v", fixed)
	}
	k := p.Spec.Stages[1].Calibration
	random := rand.New(rand.NewPCG(3, 4))
	values := map[string][]float32{}
	var given []float32
	for _, param := range fixed.Params {
		values[param.Name] = lines(random, param.Shape)
		given = append(given, values[param.Name]...)
	}
	paramsOf := func(site string, n int) (out [][]float32) {
		for d := range n {
			out = append(out, values[fmt.Sprintf("calibrated.%s%d", site, d)])
		}
		return out
	}
	trained := make([]float32, fixed.Off)
	for n := range trained {
		trained[n] = float32(0.4 * random.NormFloat64())
	}
	for _, longer := range []int{0, -1, 2} {
		source, target := k.Cross.Keys+longer, k.Cross.Queries+longer
		self := extended(k.Self, paramsOf("self", 2), target, target)
		cross := extended(k.Cross, paramsOf("cross", 3), target, source)
		q := compileText(t, map[string]string{"a.arith": tabled,
			"self.st": safetensors([]int{2, target, target}, self), "cross.st": safetensors([]int{2, target, source}, cross)})
		a, b := newTrial(second, source, target), newTrial(q, source, target)
		copy(a.Params, slices.Concat(trained, given))
		copy(b.Params, trained)
		for _, param := range q.Spec.Given() {
			at, _ := q.Plan.Group(plan.Fixed).ParamOff(param.Name)
			copy(b.Params[q.Plan.Group(plan.Fixed).Off+at:], param.Values)
		}
		for _, entry := range []string{"forward", "gradients"} {
			e, f := a.run(t, entry), b.run(t, entry)
			if x, y := a.Ints(e, model.Pred, 0), b.Ints(f, model.Pred, 0); !slices.Equal(x, y) {
				t.Errorf("%d rows more: %s predicts %v with lines, %v with tables", longer, entry, x, y)
			}
			if entry == "gradients" && !slices.Equal(a.Floats(e, model.Loss, 0), b.Floats(f, model.Loss, 0)) {
				t.Errorf("%d rows more: the losses are %v with lines, %v with tables", longer, a.Floats(e, model.Loss, 0), b.Floats(f, model.Loss, 0))
			}
		}
		for n := range fixed.Off {
			if x, y := a.Grads[n], b.Grads[n]; !(math.Abs(float64(x-y)) <= 1e-6) {
				t.Fatalf("%d rows more: gradient %d is %v with lines, %v with tables", longer, n, x, y)
			}
		}
		if rest := a.Grads[fixed.Off:]; slices.ContainsFunc(rest, func(x float32) bool { return x != 0 }) {
			t.Errorf("the fixed parameters have the gradients %v", rest)
		}
	}
}

// captured runs the program attention of the first stage with additional settings, and
// adds noise to the parameters of one layer unless noisy is -1.
func captured(t *testing.T, settings string, noisy int) (self, cross []float32, dims [2]int) {
	t.Helper()
	p := compileText(t, map[string]string{"a.arith": strings.Replace(calibrated, "extend ", settings+"\n  extend ", 1)})
	first, k := p.Stages[0], p.Spec.Stages[1].Calibration
	r := newTrial(first, k.Cross.Keys, k.Cross.Queries)
	random := rand.New(rand.NewPCG(5, 6))
	for n := range r.Params {
		r.Params[n] = float32(0.4 * random.NormFloat64())
	}
	g := first.Plan.Group("decoder")
	for n := range g.Stride {
		if noisy >= 0 {
			r.Params[g.Off+noisy*g.Stride+n] += float32(random.NormFloat64())
		}
	}
	e := r.run(t, "attention")
	return r.Floats(e, model.Self, 0), r.Floats(e, model.Cross, 0), [2]int{k.Cross.Queries, k.Cross.Keys}
}

// TestAttentionProgram checks that each row of weights is a causal softmax, and that it
// depends on the chosen layer and on no later one.
func TestAttentionProgram(t *testing.T) {
	self, cross, dims := captured(t, "", -1)
	for site, weights := range map[string][]float32{"self": self, "cross": cross} {
		keys := map[string]int{"self": dims[0], "cross": dims[1]}[site]
		if len(weights) != 2*2*dims[0]*keys {
			t.Fatalf("%s has %d weights", site, len(weights))
		}
		for n := range len(weights) / keys {
			row, sum := weights[n*keys:][:keys], 0.0
			for j, w := range row {
				sum += float64(w)
				if open := site == "cross" || j <= n%dims[0]; open != (w > 0) {
					t.Fatalf("%s, row %d: the weight of key %d is %v", site, n, j, w)
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("%s, row %d: the weights add up to %v", site, n, sum)
			}
		}
	}
	for settings, decides := range map[string][2]bool{"layer = 1": {true, false}, "layer = 2": {true, true}, "layer = last": {true, true}} {
		quiet, _, _ := captured(t, settings, -1)
		for layer, want := range decides {
			if noisy, _, _ := captured(t, settings, layer); slices.Equal(quiet, noisy) == want {
				t.Errorf("%s: layer %d decides: %v", settings, layer+1, !want)
			}
		}
	}
}

// TestLogits compares the logits of a program with its weights.
func TestLogits(t *testing.T) {
	weights, _, dims := captured(t, "", -1)
	logits, _, _ := captured(t, "of = logits", -1)
	for n := range len(weights) / dims[0] {
		sum := 0.0
		for _, x := range logits[n*dims[0]:][:dims[0]] {
			sum += math.Exp(float64(x))
		}
		for j, x := range logits[n*dims[0]:][:dims[0]] {
			if w := math.Exp(float64(x)) / sum; math.Abs(w-float64(weights[n*dims[0]+j])) > 1e-5 {
				t.Fatalf("row %d: the logit of key %d is %v, of %v its weight is %v", n, j, x, w, weights[n*dims[0]+j])
			}
		}
	}
}

// TestWeightsFit: a stage that begins with another's weights must have parameters of the
// same shapes.
func TestWeightsFit(t *testing.T) {
	text := stages + `
stage first {}
stage same {
  from = first
  model.decoder.self.bias = t5(4, 8)
}
stage wide {
  from = first
  model.width = 16
}
stage dozen {
  from = same
  task.base = 12
}
stage single { model.decoder.layers = 1 }
stage deeper {
  from = single
  model.ffn = relu(hidden = 24)
}
`
	want := []string{
		"25:10 wide cannot begin with the weights of first: their embed.token has the shape [17 8], and here it is [17 16]",
		"29:10 dozen cannot begin with the weights of same: their embed.token has the shape [17 8], and here it is [19 8]",
		"34:10 deeper cannot begin with the weights of single: their decoder.ffn.in.w has the shape [8 12], and here it is [8 24]",
	}
	given := func(text string) check.Options {
		return check.Options{Path: "a.arith", Read: func(string) ([]byte, error) { return []byte(text), nil }}
	}
	misfits := func(found diag.List, err error) (got []string) {
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			if d.Code == "E0314" {
				got = append(got, fmt.Sprintf("%d:%d %s", d.Range.Start.Line, d.Range.Start.Col, d.Message))
			}
		}
		return got
	}
	p, found, err := compiler.Compile(given(text))
	if got := misfits(found, err); p != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := misfits(compiler.Vet(given(text))); !slices.Equal(got, want) {
		t.Errorf("vet: %q, want %q", got, want)
	}
	if got := misfits(compiler.Vet(given(stages + "stage first {}\nstage same { from = first }\n"))); got != nil {
		t.Errorf("weights that fit: %q", got)
	}
	swept := stages + "stage first {}\nstage other {\n  from = first\n  model.width = 8\n}\nsweep { model.width = [8, 16] }\n"
	if got := misfits(compiler.Vet(given(swept))); len(got) != 1 || !strings.HasPrefix(got[0], "20:10 other cannot") {
		t.Errorf("a sweep: %q", got)
	}
}

// TestVetReadsOnce: a sweep reads its files equally often for 2 trainings and for 1,000,
// because trainings share what they found.
func TestVetReadsOnce(t *testing.T) {
	reads := func(seeds int) (n int) {
		text := fmt.Sprintf("%ssweep {\n  train.optimizer.lr = [1e-3, 2e-3]\n  train.seed = 1..%d\n}\n", stages, seeds)
		found, err := compiler.Vet(check.Options{Path: "a.arith", Read: func(string) ([]byte, error) {
			n++
			return []byte(text), nil
		}})
		if err != nil || found.HasErrors() {
			t.Fatal(found, err)
		}
		return n
	}
	if few, many := reads(1), reads(500); few != many {
		t.Errorf("a sweep of 2 trainings is read %d times, one of 1,000 %d times", few, many)
	}
}
