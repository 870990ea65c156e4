package live_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/device"
)

// cases are trainings that a Model and a generated program have in common: encoder-decoders with
// learned and costly biases, and loops with progressive loss that start from the input or from
// noise. Others have different optimizers, one of them matrixwise, or rounded factors. In a
// pipeline, one stage leaves its attention, and one has fixed parameters.
var cases = []struct {
	name, spec string
	training   int // number of the stage, if the spec has stages
	set        []string
}{
	{"tiny", "tiny", 0, []string{"train.batch=7", "train.microbatch=2"}},
	{"successor", "successor", 0, nil},
	{"addition", "addition", 0, []string{"model.embed.position=shifted(learned)"}},
	{"lion", "tiny", 0, []string{"train.optimizer=lion", "train.batch=5"}},
	{"muon", "tiny", 0, []string{"train.optimizer=muon", "train.batch=5"}},
	{"kerple", "kerple", 0, []string{"model.encoder.layers=2"}},
	{"embedded", "small/looped", 0, []string{"train.loss=progressive(alpha = 0.5)", "model.decoder_only.state=embed"}},
	{"noise", "looped8x2", 0, nil},
	{"rounded", "tiny", 0, []string{"train.precision=bf16", "train.batch=7"}},
	{"split", "tiny", 0, []string{"train.precision=tf32x3", "train.batch=7"}},
	{"rounded_loop", "small/looped", 0, []string{"train.precision=bf16", "model.width=32", "train.loss=progressive(alpha = 0.5)"}},
	{"before", "small/successor_abc", 0, nil},
	{"after", "small/successor_abc", 1, nil},
}

func compile(t *testing.T, spec string, set []string) *compiler.Program {
	t.Helper()
	p, found, err := compiler.Compile(check.Options{Path: "../../specs/" + spec + ".arith", Read: os.ReadFile, Set: set})
	if err != nil || found.HasErrors() {
		t.Fatal(spec, err, found)
	}
	return p
}

// TestModelsAreTheGeneratedOnes generates the trainings as packages. Next to them it runs a test
// that compares each with its Model: settings, parameters, every launch of every program, sizes
// and costs of kernels, and three steps of training.
func TestModelsAreTheGeneratedOnes(t *testing.T) {
	full.Only(t)
	dir := full.Folder(t, "testdata/programs-live")
	whole := &compiler.Program{Source: "cases", Spec: &check.Spec{Name: "cases"}} // a pipeline of all cases
	var imports, table strings.Builder
	for _, c := range cases {
		p := compile(t, c.spec, c.set).Trainings()[c.training]
		p.Stage = c.name
		whole.Stages = append(whole.Stages, p)
		fmt.Fprintf(&imports, "import %q\n", "github.com/arithlang/mlc/codegen/live/"+filepath.ToSlash(dir)+"/"+c.name)
		fmt.Fprintf(&table, "\t{%q, %q, %d, %#v, &%s.Model},\n", c.name, c.spec, c.training, c.set, c.name)
	}
	files, err := codegen.Generate(whole, codegen.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	agree, err := os.ReadFile("testdata/agree_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, codegen.File{Path: "agree_test.go", Data: agree}, codegen.File{Path: "cases_test.go", Data: []byte("package programs\n\n" +
		imports.String() + "\nvar cases = []oracle{\n" + table.String() + "}\n")})
	for _, f := range files {
		if f.Path == "main.go" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNewWantsOneTraining checks that a spec with several stages has no model.
func TestNewWantsOneTraining(t *testing.T) {
	p := compile(t, "small/successor_abc", nil)
	if _, err := live.New(p); err == nil || !strings.Contains(err.Error(), "2 stages") {
		t.Errorf("a model of a spec with stages: %v", err)
	}
}

// TestTablesAreGiven checks that a table's elements reach the parameter.
func TestTablesAreGiven(t *testing.T) {
	const header = `{"t":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`
	table := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	table, _ = binary.Append(table, binary.LittleEndian, []float32{3, -4})
	files := map[string][]byte{
		"a.arith": []byte("arith 2\ntask successor {}\nmodel.decoder.self.bias = table(\"one\")\nmodel.width = 8\nmodel.ffn = relu(hidden = 8)"),
		"one":     table,
	}
	p, found, err := compiler.Compile(check.Options{Path: "a.arith", Read: func(path string) ([]byte, error) { return files[path], nil }})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	m, err := live.New(p)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.Params, func(p device.Param) bool { return p.Init.Kind == "given" })
	if i < 0 || len(m.Given) != 1 {
		t.Fatalf("%v is given to the parameters %+v", m.Given, m.Params)
	}
	machine := simulatedTrainer(t, m).Machine
	got := make([]float32, 2)
	machine.Root().GetFloats(got, device.Ref{Space: device.Params, Off: m.Params[i].Off})
	if err := machine.Err(); err != nil || !slices.Equal(got, []float32{3, -4}) {
		t.Errorf("%s starts as %v: %v", m.Params[i].Name, got, err)
	}
}
