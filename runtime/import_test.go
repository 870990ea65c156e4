package runtime

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/track"
)

// foreign writes the weights of a run under another program's names: square matrices
// transposed, no checksum, no metadata.
func foreign(t *testing.T, run string) string {
	t.Helper()
	f, err := ckpt.Read(lastCheckpoint(run))
	if err != nil {
		t.Fatal(err)
	}
	var out ckpt.File
	for _, w := range f.Tensors {
		if strings.HasPrefix(w.Name, "moment") {
			continue
		}
		data := slices.Clone(w.Data)
		if len(w.Shape) == 2 {
			n := w.Shape[0]
			for i := range n {
				for j := range n {
					data[j*n+i] = w.Data[i*n+j]
				}
			}
		}
		out.Tensors = append(out.Tensors, ckpt.Tensor{Name: "net." + w.Name + ".weight", Shape: w.Shape, Data: data})
	}
	out.Tensors = append(out.Tensors, ckpt.Tensor{Name: "net.other", Shape: []int{1}, Data: []float32{1}})
	path := filepath.Join(t.TempDir(), "theirs.safetensors")
	if err := ckpt.Write(path, out); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	plainRule = "*=net.*.weight"
	flipRule  = "input=transpose(net.input.weight)"
	flipOther = "before=transpose(net.before.weight)"
)

// TestWeightsOfAFile answers and tests with another program's weights, with the same results as
// the run that trained them.
func TestWeightsOfAFile(t *testing.T) {
	run := trained(t, toyModel(), "--steps", "150")
	path := foreign(t, run)
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("# of another program\n"+flipRule+"\n\n"+flipOther+" # too\n"+plainRule+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, maps := range [][]string{{"--map", flipRule, "--map", flipOther, "--map", plainRule}, {"--map", "@" + rules}} {
		for _, verb := range [][]string{{"eval"}, {"solve", "123456", "99"}} {
			want := call(t, toyModel(), "", append([]string{verb[0], run}, verb[1:]...)...)
			got := call(t, toyModel(), "", slices.Concat([]string{verb[0], "--weights", path}, maps, verb[1:])...)
			if want.code != 0 || got.code != 0 || want.out != got.out {
				t.Errorf("%s: exit %d and %d\n%s\n%s\n%s", verb, want.code, got.code, want.out, got.out, got.err)
			}
		}
	}
	own := call(t, toyModel(), "", "eval", "--weights", lastCheckpoint(run), "--json") // the names are the same; moments are ignored
	if own.code != 0 || !strings.Contains(own.out, `"by_length"`) || strings.Contains(own.out, `"run"`) {
		t.Errorf("exit %d: %s%s", own.code, own.out, own.err)
	}
}

// TestInit trains from another program's weights. The loss begins where their run ended, and a
// resumed run does not need the file.
func TestInit(t *testing.T) {
	run := trained(t, toyModel(), "--steps", "150")
	path := foreign(t, run)
	maps := []string{"--map", flipRule, "--map", flipOther, "--map", plainRule}
	begin := func(args ...string) string {
		return trained(t, toyModel(), slices.Concat([]string{"--init", path}, maps, args)...)
	}
	whole := begin("--steps", "8")
	if s := call(t, toyModel(), "", "train", "--resume", "--out", whole); s.code != 0 || !strings.Contains(s.err, "nothing is left to train") {
		t.Errorf("exit %d: %s", s.code, s.err)
	}
	rec, err := record.Read(whole)
	weights, _ := os.ReadFile(path)
	if want := fmt.Sprintf("%s, sha256 %x", path, sha256.Sum256(weights)); err != nil || rec.Init != want {
		t.Errorf("%q, %v", rec.Init, err)
	}
	random := trained(t, toyModel(), "--steps", "8")
	if a, b := lossOf(t, whole), lossOf(t, random); a > b/2 {
		t.Errorf("loss %g from weights of a trained model, %g from random ones", a, b)
	}

	m := toyModel()
	at(&m, 3, ctrlC)
	half := filepath.Join(t.TempDir(), "half")
	if s := call(t, m, "", slices.Concat([]string{"train", "--steps", "8", "--out", half, "--init", path}, maps)...); s.code != exitInterrupted {
		t.Fatalf("exit %d: %s", s.code, s.err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if s := call(t, toyModel(), "", "train", "--resume", "--out", half); s.code != 0 {
		t.Fatalf("exit %d: %s", s.code, s.err)
	}
	sameRun(t, whole, half)

	if err := os.RemoveAll(filepath.Join(half, "ckpt")); err != nil {
		t.Fatal(err)
	}
	if s := call(t, toyModel(), "", "train", "--resume", "--out", half); s.code != 1 || !strings.Contains(s.err, "was interrupted before it had the first weights") {
		t.Errorf("exit %d: %s", s.code, s.err)
	}
}

// lossOf returns the last loss of a run.
func lossOf(t *testing.T, run string) float64 {
	t.Helper()
	last, err := track.Last(run)
	if err != nil || last == nil {
		t.Fatalf("%s has no report: %v", run, err)
	}
	return last.Loss
}

// TestEndlessWeights wants an error for weights that are not finite, whatever program wrote
// them.
func TestEndlessWeights(t *testing.T) {
	run := trained(t, toyModel(), "--steps", "1")
	path := lastCheckpoint(run)
	whole, err := ckpt.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	delete(whole.Meta, "sha256")
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		at := slices.IndexFunc(whole.Tensors, func(x ckpt.Tensor) bool { return x.Name == "bias" })
		whole.Tensors[at].Data[3] = float32(x)
		if err := ckpt.Write(path, whole); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"solve", run, "1"}, {"eval", run}, {"train", "--resume", "--out", run, "--steps", "5"}} {
			want := fmt.Sprintf(`%s: tensor "bias" is not finite: its element 3 is %v`, path, x)
			if s := call(t, toyModel(), "", args...); s.code != 1 || !strings.Contains(s.err, want) {
				t.Errorf("%s: exit %d, want %s\n%s%s", args[0], s.code, want, s.out, s.err)
			}
		}
	}
}

// TestBadWeights names the parameters that do not fit, and makes no run directory.
func TestBadWeights(t *testing.T) {
	run := trained(t, toyModel(), "--steps", "1")
	path := foreign(t, run)
	out := filepath.Join(t.TempDir(), "out")
	shape := filepath.Join(t.TempDir(), "shape.safetensors")
	if err := ckpt.Write(shape, ckpt.File{Tensors: []ckpt.Tensor{{Name: "bias", Shape: []int{2, 2}, Data: make([]float32, 4)}}}); err != nil {
		t.Fatal(err)
	}
	endless := filepath.Join(t.TempDir(), "endless.safetensors")
	if err := ckpt.Write(endless, ckpt.File{Tensors: []ckpt.Tensor{{Name: "bias", Shape: []int{toyV}, Data: append(make([]float32, toyV-1), float32(math.NaN()))}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"train", "--out", out, "--init", endless, "--map", "here=", "--map", "before=", "--map", "input="}, 1, `tensor "bias" is not finite: its element 16 is NaN`},
		{[]string{"train", "--out", out, "--init", path}, 1, "bias [17]: the file has no bias; name another by --map 'bias=…', or leave it new by --map 'bias='\nnot used of the file: net.here.weight, net.before.weight"},
		{[]string{"train", "--out", out, "--init", shape, "--map", "here=", "--map", "before=", "--map", "input="}, 1, "bias [17]: bias has shape [2 2]"},
		{[]string{"train", "--out", out, "--init", path, "--map", "nothing"}, 2, `"nothing": want OURS=THEIRS`},
		{[]string{"train", "--out", out, "--init", path, "--map", "a*=b**"}, 2, "more stars than ours"},
		{[]string{"train", "--out", out, "--init", path, "--map", "a=transpose(b"}, 2, "transpose( is not closed"},
		{[]string{"train", "--out", out, "--init", path, "--map", "@nowhere"}, 2, "--map @nowhere: open nowhere"},
		{[]string{"train", "--out", out, "--init", "nowhere"}, 1, "nowhere: no such file"},
		{[]string{"train", "--out", out, "--init", filepath.Join(run, "run.json")}, 1, "run.json: not a checkpoint"},
		{[]string{"train", "--out", out, "--map", "a=b"}, 2, "it goes with --init"},
		{[]string{"train", "--resume", "--out", run, "--init", path}, 2, "a resumed run continues with its weights"},
		{[]string{"eval"}, 2, "which run?"},
		{[]string{"eval", run, "--weights", path}, 2, "a test takes only one of them"},
		{[]string{"eval", run, "--map", "a=b"}, 2, "it goes with --weights"},
		{[]string{"eval", "--weights", path, "--map", "*=net.*.weight", "--map", "x="}, 0, ""},
		{[]string{"eval", "--weights", path, "--map", "bias=", "--map", "*=net.*.weight"}, 1, "has no bias, and a test needs all parameters"},
		{[]string{"solve"}, 2, "which run?"},
		{[]string{"solve", run, "1", "--map", "a=b"}, 2, "it goes with --weights"},
	} {
		if s := call(t, toyModel(), "", c.args...); s.code != c.code || !strings.Contains(s.err, c.want) {
			t.Errorf("%q: exit %d, want %d and %q\n%s", c.args[2:], s.code, c.code, c.want, s.err)
		}
		if rundir.Exists(out) {
			t.Fatalf("%q made a directory", c.args[2:])
		}
	}
}
