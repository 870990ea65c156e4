package export

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
)

// specOf resolves a shipped spec, or a stage of it, with settings.
func specOf(t *testing.T, path, stage string, set ...string) *check.Spec {
	t.Helper()
	spec, found := check.Resolve(check.Options{Path: "../" + path, Read: os.ReadFile, Set: set})
	if found.HasErrors() {
		for _, d := range found {
			t.Log(d.Range, d.Message)
		}
		t.Fatalf("%s %q has errors", path, set)
	}
	for _, s := range spec.Stages {
		if s.Name == stage {
			return s.Spec
		}
	}
	if stage != "" {
		t.Fatalf("%s has no stage %s", path, stage)
	}
	return spec
}

// randomRun returns a run with random parameters, none of them 0 or 1.
func randomRun(t *testing.T, spec *check.Spec, stage string, seed uint64) Run {
	t.Helper()
	built, err := forward(spec)
	if err != nil {
		t.Fatal(err)
	}
	var groups []*device.Group
	for _, g := range built.Groups {
		groups = append(groups, (*device.Group)(g))
	}
	src := rand.New(rand.NewPCG(seed, 1))
	r := Run{Spec: spec, Stage: stage, Text: spec.Resolved, Params: map[string][]float32{}, Seed: 7, Command: "mlc export RUN --format FORM --out OUT"}
	for _, p := range device.Flat(groups...) {
		x := make([]float32, p.Elems())
		for i := range x {
			v := 0.25 * src.NormFloat64()
			if p.Init.Kind == "const" && p.Init.A != 0 {
				v = p.Init.A * (1 + 0.3*v)
			}
			if p.Min != nil {
				v = math.Abs(v)
			}
			x[i] = float32(v)
		}
		r.Params[p.Name] = x
	}
	return r
}

// evaluated runs a model's plan call by call, with its buffers and with functions in
// float64. It returns logits [B, T, V].
func evaluated(t *testing.T, r Run, source, target [][]int64) ir.Tensor {
	t.Helper()
	built, err := forward(r.Spec)
	if err != nil {
		t.Fatal(err)
	}
	times := max(r.Times, 1)
	if l := r.Spec.Model.Loop; l != nil && r.Times == 0 {
		times = l.Times
	}
	e := &evaluator{t: t, plan: built, run: r, times: times, memory: map[string]ir.Tensor{
		ref(model.TargetTokens, 0): ints(target), ref(model.SourceTokens, 0): ints(source)}}
	e.env = ir.Env{Dims: map[string]int{"B": len(target), "T": len(target[0]), "C": len(target[0]), "P": 0}, Seed: r.Seed}
	if len(source) > 0 {
		e.env.Dims["S"] = len(source[0])
	}
	for _, p := range built.Programs {
		if p.Name != "forward" {
			continue
		}
		for _, s := range p.Body {
			switch s := s.(type) {
			case *plan.Call:
				e.call(s, 0)
			case *plan.Loop:
				for l := range s.N * once(s.Runs, times) {
					for _, c := range s.Body {
						e.call(c, l)
					}
				}
			}
		}
	}
	return e.memory[logits]
}

type evaluator struct {
	t      *testing.T
	plan   *plan.Plan
	run    Run
	times  int
	env    ir.Env
	memory map[string]ir.Tensor
}

func ref(buffer string, i int) string { return fmt.Sprint(buffer, " ", i) }

func ints(rows [][]int64) ir.Tensor {
	if len(rows) == 0 {
		return ir.Tensor{}
	}
	x := ir.Tensor{Shape: []int{len(rows), len(rows[0])}}
	for _, r := range rows {
		x.I = append(x.I, r...)
	}
	return x
}

func (e *evaluator) call(c *plan.Call, l int) {
	e.t.Helper()
	f := *c.Func
	f.Results = append([]ir.Result{}, f.Results...)
	for i, r := range f.Results {
		if r.Name == "pred" {
			f.Results[i] = ir.Result{Name: logits, Value: r.Value.Args[0]}
		}
	}
	var args []ir.Tensor
	for i, p := range f.Params {
		if f.Roles[i] == ir.Input {
			r := c.Args[p.Attr.Name]
			args = append(args, e.memory[ref(r.Buffer, r.Index(l, once(r.Runs, e.times)))])
			continue
		}
		args = append(args, e.param(c.Group, l, p))
	}
	e.env.Layer = l
	out, err := ir.Eval(&f, e.env, args)
	if err != nil {
		e.t.Fatal(err)
	}
	for i, r := range f.Results {
		if r.Name == logits {
			e.memory[logits] = out[i]
		} else if to, ok := c.Results[r.Name]; ok {
			e.memory[ref(to.Buffer, to.Index(l, once(to.Runs, e.times)))] = out[i]
		}
	}
}

func (e *evaluator) param(group string, l int, p *ir.Value) ir.Tensor {
	for _, name := range []string{group, plan.Common(group), plan.Shared, plan.Fixed} {
		g := e.plan.Group(name)
		if g == nil {
			continue
		}
		if _, ok := g.ParamOff(p.Attr.Name); !ok {
			continue
		}
		full := g.Name + "." + p.Attr.Name
		if g.Stack {
			span := max(g.Span, 1)
			full = fmt.Sprintf("%s.%d.%s", g.Name, l%(g.Layers*span)/span, p.Attr.Name)
		}
		x := ir.Tensor{Shape: []int{}}
		for _, d := range p.Type.Shape {
			x.Shape = append(x.Shape, d.N)
		}
		for _, v := range e.run.Params[full] {
			x.F = append(x.F, float64(v))
		}
		return x
	}
	e.t.Fatalf("no parameter %s", p.Attr.Name)
	return ir.Tensor{}
}

// TestLiterals reads numbers as Python does, as float64, and wants the same bits of
// float32.
func TestLiterals(t *testing.T) {
	src := rand.New(rand.NewPCG(5, 6))
	bits := []uint32{0, 1 << 31, 1, 1<<23 - 1, 1 << 23, 0x3f800000, 0x7f7fffff, 0xff7fffff}
	for range 200_000 {
		bits = append(bits, src.Uint32())
	}
	for _, b := range bits {
		x := math.Float32frombits(b)
		if x != x || math.IsInf(float64(x), 0) {
			continue
		}
		text := literal(x)
		read, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float32bits(float32(read)) != b || !strings.ContainsAny(text, ".e") {
			t.Fatalf("%08x is written %s, which is %08x", b, text, math.Float32bits(float32(read)))
		}
	}
}

// TestLiteralsAreBounded refuses too many parameters, and parameters that are not finite.
func TestLiteralsAreBounded(t *testing.T) {
	for want, data := range map[string][]float32{
		"10001 parameters, and at most 10000": make([]float32, MostLiterals+1),
		"parameter w has NaN":                 {1, float32(math.NaN())},
		"parameter w has +Inf":                {float32(math.Inf(1))},
	} {
		m := &Model{tensors: []ckpt.Tensor{{Name: "w", Shape: []int{len(data)}, Data: data}}}
		if _, err := m.literals(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
