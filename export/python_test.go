package export

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/task"
)

// missing is a program that prints the modules that are not installed. It does not import
// them, which would take seconds in each test.
const missing = "import importlib.util as u, sys; print(*(m for m in sys.argv[1:] if u.find_spec(m) is None))"

// pythonWith finds a Python that has the modules, or skips the test.
func pythonWith(t *testing.T, modules ...string) string {
	t.Helper()
	python := full.Needs(t, full.Python)
	out, err := exec.Command(python, append([]string{"-c", missing}, modules...)...).CombinedOutput()
	if lacks := strings.TrimSpace(string(out)); err != nil || lacks != "" {
		t.Skipf("%s lacks %s (%v)", python, lacks, err)
	}
	return python
}

// small returns settings for small decoder-only models.
func small(more ...string) []string {
	return append([]string{"model.width=16", "model.heads=2", "model.ffn=geglu(hidden=24)", "model.head=geglu(hidden=20)"}, more...)
}

// short returns settings for small encoder-decoders with short problems.
func short(more ...string) []string {
	return narrow(append([]string{"task.pad=zero(to=8, step=3)", "eval.pad=zero(to=8, step=3)", "eval.digits=[5]"}, more...)...)
}

// narrow returns settings for small encoder-decoders.
func narrow(more ...string) []string {
	return append([]string{"model.width=16", "model.heads=2", "model.ffn=relu(hidden=24)", "model.decoder.layers=2"}, more...)
}

// exported lists models of every architecture, scheme of positions, bias, mask and task.
var exported = []struct {
	name, spec, stage string
	set               []string
	cell              [2]int // lengths of the problems
}{
	{"successor", "specs/successor.arith", "", narrow(), [2]int{5, 0}},
	{"tiny", "specs/tiny.arith", "", nil, [2]int{3, 0}},
	{"addition_abs", "specs/bias/addition_abs.arith", "", short(), [2]int{5, 3}},
	{"addition_rope", "specs/bias/addition_rope.arith", "", short(), [2]int{5, 5}},
	{"addition_rpe", "specs/bias/addition_rpe.arith", "", short(), [2]int{5, 4}},
	{"addition_alibi", "specs/bias/addition_alibi.arith", "", short(), [2]int{5, 5}},
	{"nx1_window", "specs/bias/nx1_window.arith", "", short(), [2]int{4, 1}},
	{"parity_abs", "specs/bias/parity_abs.arith", "", short(), [2]int{12, 0}},
	{"parity_classify", "specs/bias/parity_classify.arith", "", narrow(`task.pad=zero(to=20, answer=1)`, `eval.pad=zero(to=20, answer=1)`, "eval.digits=[5]"), [2]int{12, 0}},
	{"calibrated", "specs/small/successor_abc.arith", "extrapolate", nil, [2]int{5, 0}},
	{"adder", "testdata/adder.arith", "", nil, [2]int{7, 10}},
	{"bases", "specs/successor.arith", "", narrow("task.base=16", "task.operands=digits(1..5)", "task.pad=none", "eval.pad=none", "model.encoder.layers=2", "model.encoder.times=2", "model.decoder.times=2", "model.norm=rmsnorm(place=pre)",
		"model.embed.norm=layernorm()", "model.bias=false", "model.output=linear(tied=true)"), [2]int{4, 0}},
	{"used", "specs/addition.arith", "", short("task.vocabulary=used", "model.output=linear(tied=true)"), [2]int{5, 3}},
	{"causal", "specs/adders/causal.arith", "", nil, [2]int{7, 10}},
	{"tables", "specs/addition.arith", "", short("model.embed.token=learned(value = dots)", "table.dots.tilt=learned([16])", "table.dots.value=tilt[c] * n", "model.output=linear(value = sin(n + 1))", "task.vocabulary=used", "task.start=true"), [2]int{5, 3}},
	{"tied", "specs/addition.arith", "", short("model.decoder.self.k=q", "model.decoder.self.o=transposed(v)", "model.decoder.cross.k=none", "model.decoder.cross.q=none", "model.decoder.cross.v=self.v", "model.head_width=5",
		"model.decoder.self.qk_norm=rmsnorm()", "model.norm=layernorm(gain = shared, at = [self, output])", "model.ffn=swiglu(hidden = 6, rank = 2)", "task.end=false"), [2]int{5, 3}},
	{"sums", "specs/small/sum.arith", "", narrow("model.heads=4", "task.pad=zero(to=8)", "eval.digits=[5]", "model.decoder.cross.mask=added(w=9)", "model.decoder.self.mask=written(w=9)"), [2]int{5, 3}},
	{"sum", "specs/small/sum.arith", "", short("model.heads=4", "task.scratchpad=false", "eval.terms=[3]", "model.decoder.self.mask=i - j <= 1", "model.decoder.cross.mask=mod(J - 2 - i - j, I) <= 1"), [2]int{5, 3}},
	{"abacus", "specs/small/looped.arith", "", small(), [2]int{4, 5}},
	{"products", "specs/small/nxm.arith", "", []string{"model.width=24", "model.ffn=relu(hidden=32)"}, [2]int{4, 3}},
	{"partial products", "specs/small/nxm.arith", "", []string{"model.width=24", "model.ffn=relu(hidden=32)", "task.partial_products=true"}, [2]int{4, 3}},
	{"places", "specs/small/coupled.arith", "", nil, [2]int{4, 5}},
	{"places of source and target", "specs/addition.arith", "", short("task.order=reversed", "model.encoder.layers=1", "model.encoder.self.mask=dj <= di", "model.decoder.self.mask=true", "model.decoder.cross.mask=j <= di + 4", "model.decoder.cross.bias=-0.5 * di * j * h"), [2]int{4, 3}},
	{"fire", "specs/small/looped.arith", "", small("model.embed.position=none", "model.decoder_only.self.bias=fire(hidden=6, c=0.1, threshold=64)"), [2]int{4, 5}},
	{"t5", "specs/small/looped.arith", "", small("model.embed.position=none", "model.decoder_only.self.bias=t5(buckets=8, max=16)", "model.decoder_only.times=3"), [2]int{9, 9}},
	{"by length", "specs/small/parity_loop.arith", "", small("model.width=16", "model.decoder_only.times=2 * digits + operands - 3"), [2]int{9, 0}},
	{"copy", "specs/small/copy.arith", "", small("model.width=16", "model.decoder_only.times=prompt + 1"), [2]int{4, 0}},
	{"rpe", "specs/small/looped.arith", "", small("model.embed.position=learned(max=64)", "model.decoder_only.self.bias=rpe(clip=4)", "model.decoder_only.layers=1"), [2]int{3, 8}},
	{"kerple", "specs/kerple.arith", "", short(), [2]int{4, 0}},
	{"sandwich", "specs/small/looped.arith", "", small("model.embed.position=cyclic(learned, period=5)", "model.decoder_only.self.bias=sandwich(pairs=4) + alibi()", "model.norm=rmsnorm()"), [2]int{3, 4}},
	{"lengths", "specs/small/looped.arith", "", small("model.embed.position=sinusoidal", "model.decoder_only.self.bias=-0.5 * softplus(abs(I - 1 - i - j) - 2) / J", "model.decoder_only.inject=add(before=block)"), [2]int{3, 4}},
	{"rotary", "specs/small/sort.arith", "", small("model.decoder_only.self.rotary=rope(base=100, fraction=50%)", "model.embed.norm=rmsnorm()"), [2]int{2, 5}},
	{"noise", "specs/small/or.arith", "", small("model.decoder_only.state=normal(std=0.7)", "model.decoder_only.inject=none", "model.ffn=gelu(hidden=24)"), [2]int{5, 3}},
	{"noise again", "specs/small/settle.arith", "", small("model.width=10", "model.decoder_only.state=normal(std=0.7)", "model.decoder_only.inject=add(before=every_layer)"), [2]int{5, 3}},
	{"file", "specs/small/file.arith", "", []string{"model.width=16", "model.heads=2", "model.ffn=swiglu(hidden=24)"}, [2]int{4, 0}},
	{"words", "testdata/words.arith", "", nil, [2]int{3, 0}},
	{"mixed", "specs/small/mixed.arith", "", small("model.embed.position=coupling(max_offset=3, table=20, learned=false)"), [2]int{3, 4}},
	{"multiplication", "specs/small/multiplication.arith", "", small("model.embed.position=shifted(learned, max_offset=5, max=40)"), [2]int{2, 3}},
	{"hints", "specs/small/looped.arith", "", small("task.hints=cyclic", "task.order=reversed", "task.pad=zero(to=12)", "model.embed.position=random(learned, max=200)"), [2]int{4, 5}},
	{"bf16", "specs/small/looped.arith", "", small("train.precision=bf16", "train.report=full()", "eval.during=tests(every = 10steps)", "train.average=ema(decay=0.9)", "task.order=reversed", "task.interleave=true", "model.embed.position=random(none, max=64)", "model.decoder_only.self.bias=-0.25 * abs(pi - pj)"), [2]int{4, 5}},
	{"heads of keys", "specs/addition.arith", "", short("model.heads=4", "model.decoder.self.key_heads=2", "model.decoder.cross.key_heads=1", "model.decoder.self.qk_norm=rmsnorm()", "model.decoder.self.rotary=rope()"), [2]int{5, 3}},
	{"shared layers", "specs/addition.arith", "", short("model.decoder.layers=4", "model.decoder.share=attention(group = 2)", "model.encoder.layers=2", "model.encoder.share=all", "model.decoder.times=2"), [2]int{5, 3}},
}

// TestHandedOn refuses Python files whose decoder would read the encoder's token counts.
func TestHandedOn(t *testing.T) {
	spec := specOf(t, pathOf("specs/addition.arith"), "", short("task.order=reversed", "model.decoder.cross.mask=abs(dj - di - 1) <= 1")...)
	m, err := New(randomRun(t, spec, "", 1))
	if err != nil {
		t.Fatal(err)
	}
	const want = "cross attention reads places of the source"
	for _, numpy := range []bool{false, true} {
		if _, err := m.Python(PythonForm{NumPy: numpy, Path: "x.py", Store: Beside}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := m.ONNX(); err != nil {
		t.Error(err)
	}
}

// A pyCase is the input of testdata/compare.py for a model.
type pyCase struct {
	Name     string      `json:"name"`
	Encoder  bool        `json:"encoder"`
	Batches  []pyBatch   `json:"batches"`
	Problems []pyProblem `json:"problems"`
}

type pyBatch struct {
	Source [][]int64 `json:"source"`
	Target [][]int64 `json:"target"`
	Times  int       `json:"times"` // 0: those of the model
	Logits []float64 `json:"logits"`
	Shape  []int     `json:"shape"`
}

// A pyProblem is a problem: its tokens, the largest length of an answer, the model's
// answer, and the text of some tokens as an answer.
type pyProblem struct {
	Text   string  `json:"text"`
	Prompt []int64 `json:"prompt"`
	Right  []int64 `json:"right"`
	Room   int     `json:"room"`
	Answer string  `json:"answer"`
	Reply  []int64 `json:"reply"`
	Reads  string  `json:"reads"`
}

// TestAgainstPython runs exports in PyTorch, NumPy, transformers and onnxruntime, and
// compares them with the tensor functions in float64 and with package task.
func TestAgainstPython(t *testing.T) {
	python := pythonWith(t, "numpy", "torch", "transformers", "onnxruntime")
	dir := t.TempDir()
	var cases []pyCase
	for n, c := range exported {
		start := time.Now()
		spec := specOf(t, pathOf(c.spec), c.stage, c.set...)
		run := randomRun(t, spec, c.stage, uint64(n))
		m, err := New(run)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		name := strings.ReplaceAll(c.name, " ", "_")
		writeAll(t, m, dir, name)
		cases = append(cases, caseOf(t, m, name, c.cell))
		t.Log(name, time.Since(start))
	}
	data, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-B", "testdata/compare.py", dir)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+filepath.Join(dir, "hf"), "OMP_NUM_THREADS=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errOutput(err))
	}
	var found []struct {
		Name, Form, Wrong string
		Apart             float64
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	compared := map[string]int{}
	for _, f := range found {
		compared[f.Form]++
		if f.Wrong != "" || !(f.Apart <= tolerance) {
			t.Errorf("%s, %s: logits are %.2g apart. %s", f.Name, f.Form, f.Apart, f.Wrong)
		}
		t.Logf("%-16s %-12s %.2g", f.Name, f.Form, f.Apart)
	}
	for _, form := range []string{"torch", "numpy", "transformers", "onnx"} {
		if compared[form] != len(exported) {
			t.Errorf("%s: %d models of %d were compared", form, compared[form], len(exported))
		}
	}
}

// tolerance is the largest distance of logits in float32 from float64, relative to the
// largest logit of a batch or to 1.
const tolerance = 2e-5

func pathOf(spec string) string {
	if strings.HasPrefix(spec, "testdata") {
		return "export/" + spec
	}
	return spec
}

func errOutput(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}

// writeAll exports a model in all forms.
func writeAll(t *testing.T, m *Model, dir, name string) {
	t.Helper()
	write := func(name string, data []byte) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, numpy := range []bool{false, true} {
		store := []Store{Beside, Base64}[len(name)%2]
		if numpy && m.Parameters() <= MostLiterals {
			store = Literals
		}
		form := PythonForm{NumPy: numpy, Path: map[bool]string{false: "torch_", true: "numpy_"}[numpy] + name + ".py", Store: store}
		files, err := m.Python(form)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range files {
			write(f.Path, f.Data)
		}
	}
	files, err := m.HuggingFace()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, f := range files {
		write("hf_"+name+"/"+f.Path, f.Data)
	}
	model, err := m.ONNX()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	write(name+".onnx", model)
}

// caseOf evaluates a model for problems and random tokens.
func caseOf(t *testing.T, m *Model, name string, cell [2]int) pyCase {
	t.Helper()
	c := pyCase{Name: name, Encoder: m.program.memory != ""}
	src := rand.New(rand.NewPCG(3, 4))
	for i, p := range m.task.Cell(cell[0], cell[1], 3) {
		if m.task.Listed() {
			p = m.task.HeldOut(int64(i))
		}
		p.Fillers = nil
		if !m.task.Listed() { // as people type it, without names of entries
			var err error
			if p, err = m.task.Parse(m.task.Text(p)); err != nil {
				t.Fatal(err)
			}
		}
		c.Problems = append(c.Problems, problemOf(t, m, p, src, i == 0))
	}
	b, err := m.task.One(m.task.Cell(cell[0], cell[1], 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	source, target := wide(b.Source), wide(b.Target)
	c.Batches = append(c.Batches, m.batch(t, rowsOf(source, min(len(source), 1), nil), rowsOf(target, 1, nil), 0))
	random := func(int) int64 { return src.Int64N(int64(m.task.Vocab())) }
	times := 0
	if m.runs > 0 {
		times = m.runs + 1
	}
	c.Batches = append(c.Batches, m.batch(t, rowsOf(source, min(len(source), 3), random), rowsOf(target, 3, random), times))
	return c
}

// rowsOf returns n copies of tokens, or n rows of other tokens.
func rowsOf(tokens []int64, n int, other func(int) int64) [][]int64 {
	var all [][]int64
	for range n {
		row := slices.Clone(tokens)
		for i := range row {
			if other != nil {
				row[i] = other(i)
			}
		}
		all = append(all, row)
	}
	return all
}

func wide(tokens []int32) []int64 {
	out := make([]int64, len(tokens))
	for i, x := range tokens {
		out[i] = int64(x)
	}
	return out
}

func (m *Model) batch(t *testing.T, source, target [][]int64, times int) pyBatch {
	t.Helper()
	r := m.Run
	r.Times = times
	x := evaluated(t, r, source, target)
	return pyBatch{Source: source, Target: target, Times: times, Logits: x.F, Shape: x.Shape}
}

// problemOf returns a problem as package task encodes it and, if wanted, with the model's
// answer.
func problemOf(t *testing.T, m *Model, p task.Problem, src *rand.Rand, answered bool) pyProblem {
	t.Helper()
	b, err := m.task.One(p)
	if err != nil {
		t.Fatal(err)
	}
	out := pyProblem{Text: m.task.Text(p)}
	first := 0
	if out.Prompt = wide(b.Source); b.S == 0 {
		first = m.task.Prompt(p) - 1
		out.Prompt = wide(b.Target[:first+1])
	}
	right := b.Labels[first:]
	out.Right, out.Room = wide(right[:len(right)-1]), len(right)
	if !m.task.Ends() {
		right = right[:len(right)-1]
		out.Room--
	}
	if slices.ContainsFunc(right, m.task.IsHint) {
		out.Room++
	}
	reply := make([]int32, len(right)+1)
	for i := range reply {
		reply[i] = int32(src.IntN(m.task.Vocab()))
		if src.IntN(2) == 0 {
			reply[i] = right[min(i, len(right)-1)]
		}
	}
	if end := slices.Index(reply, m.task.EOS()); end >= 0 {
		reply = reply[:end]
	}
	out.Reply, out.Reads = wide(reply), m.task.Decode(p, reply)
	if answered {
		asked := *m
		if m.task.ByLength() {
			asked.Times = m.task.Recurrences(p)
		}
		out.Answer = m.task.Decode(p, greedy(t, &asked, wide(b.Source), wide(b.Target[:first+1]), out.Room))
	}
	return out
}

// greedy decodes all rows that an answer may have, whether or not it has ended.
func greedy(t *testing.T, m *Model, source, target []int64, room int) []int32 {
	t.Helper()
	var reply []int32
	first := len(target) - 1
	all := append(slices.Clone(target), make([]int64, room)...)[:len(target)+room-1]
	for len(reply) < room {
		x := evaluated(t, m.Run, rowsOf(source, min(len(source), 1), nil), [][]int64{all})
		v := x.Shape[2]
		at := first + len(reply)
		scores := x.F[at*v : (at+1)*v]
		best := slices.Index(scores, slices.Max(scores))
		reply = append(reply, int32(best))
		if int32(best) == m.task.EOS() {
			break
		}
		if at+1 < len(all) {
			all[at+1] = int64(best)
		}
	}
	return reply
}

// TestSeedsOfAFolder wants the seed of initial weights in the configuration if the run has
// one.
func TestSeedsOfAFolder(t *testing.T) {
	r := randomRun(t, specOf(t, "specs/tiny.arith", ""), "", 1)
	for _, initial := range []*uint64{nil, new(uint64(0))} {
		r.InitSeed = initial
		m, err := New(r)
		if err != nil {
			t.Fatal(err)
		}
		files, err := m.HuggingFace()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(files, func(f File) bool { return f.Path == "config.json" })
		if text := string(files[at].Data); strings.Contains(text, `"init_seed": 0`) != (initial != nil) || !strings.Contains(text, `"seed": 7`) {
			t.Error(text)
		}
	}
}

// TestEvaluated wants the oracle to depend on its inputs.
func TestEvaluated(t *testing.T) {
	spec := specOf(t, "specs/tiny.arith", "")
	r := randomRun(t, spec, "", 1)
	source := [][]int64{{16, 6, 7, 8, 9, 0}}
	a, b := evaluated(t, r, source, [][]int64{{16, 5}}), evaluated(t, r, source, [][]int64{{16, 6}})
	v := a.Shape[2]
	if !slices.Equal(a.F[:v], b.F[:v]) || slices.Equal(a.F[v:], b.F[v:]) || math.IsNaN(a.F[0]) {
		t.Error("a row must depend on exactly the tokens up to it")
	}
}
