package beside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/simulated"
)

// python writes a program that imitates Python. about is its answer about PyTorch. serve runs with
// the problem, its third argument.
func python(t *testing.T, about, serve string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = -c ]; then %s; exit; fi\n%s\n", about, serve)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	withGPU    = "echo 2.7.1+cu128 True"
	withoutGPU = "echo 2.7.1+cpu False"
	noTorch    = "echo 'Traceback' >&2; echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1"
	fast       = `while read n; do echo 0.000001; done`
)

func TestFind(t *testing.T) {
	none, cpu, gpu := python(t, noTorch, ""), python(t, withoutGPU, ""), python(t, withGPU, "")
	odd := python(t, "echo hello", "")
	if got, err := Find(t.Context(), []string{"/no/such/python", none, cpu, odd, gpu}, "cuda"); err != nil || *got != (Torch{gpu, "2.7.1", true}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Find(t.Context(), []string{none, cpu, gpu}, "cpu"); err != nil || got.Python != cpu || got.CUDA {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := Find(t.Context(), []string{"/no/such/python", none, cpu, odd}, "cuda")
	for _, want := range []string{"no Python with PyTorch", "/no/such/python is not installed", "No module named 'torch'", "PyTorch 2.7.1 sees no GPU", `reports the version "hello"`, "MLC_PYTHON"} {
		if !errors.Is(err, ErrNoTorch) || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	t.Setenv("MLC_PYTHON", gpu)
	if all := Pythons(); all[0] != gpu || len(all) != 3 {
		t.Errorf("%v", all)
	}
}

// TestContests checks that the scripts and the embedded specs know each contest.
func TestContests(t *testing.T) {
	names, compiled := map[string]bool{}, map[string]bool{}
	for _, c := range Contests("cuda", 2) {
		names[c.String()] = true
		if c.Way.Device != "cuda" || c.Way.Threads != 2 {
			t.Errorf("%+v", c)
		}
		if compiled[c.Case.Name] {
			continue
		}
		compiled[c.Case.Name] = true
		if _, err := compile(c.Case, nil); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
	for name, want := range map[string]bool{"abs eager tf32": true, "successor compile bf16": true, "looped8x2-bf16 eager bf16": true, "looped8x2-bf16 eager fp32": false,
		"abs-bf16 compile bf16": true, "abs-bf16 compile tf32": false, "successor cudagraph tf32": true,
		"looped8x2-bf16 packed bf16": true, "looped packed bf16": true, "looped packed tf32": false, "abs packed bf16": false} {
		if names[name] != want {
			t.Errorf("%s: %v", name, names[name])
		}
	}
	if len(names) != 54 {
		t.Errorf("%d contests", len(names))
	}
	if n := len(Contests("cpu", 2)); n != 25 {
		t.Errorf("%d contests on a processor", n)
	}
}

func open(t *testing.T) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func successor(peer, precision string) Contest {
	for _, c := range Contests("cpu", runtime.NumCPU()) {
		if c.Case.Name == "successor" && c.Way.Peer == peer && c.Way.Precision == precision {
			return c
		}
	}
	panic("no such contest")
}

// fewer makes a model small enough that the simulator runs a step in a second or two.
var fewer = []string{"train.batch=2", "train.microbatch=2", "model.width=16", "model.heads=2", "model.ffn.hidden=16", "model.decoder.layers=1"}

// built is the case successor with fewer, compiled once.
var built = sync.OnceValue(func() (b struct {
	spec  *check.Spec
	model *live.Model
	err   error
}) {
	b.spec, b.model, b.err = build(successor("eager", "fp32").Case, fewer)
	return b
})

// small returns options for the case successor.
func small(rounds int) Options {
	return Options{Set: fewer, Rounds: rounds, build: func(c peers.Case, set []string) (*check.Spec, *live.Model, error) {
		if c.Name != "successor" || !slices.Equal(set, fewer) {
			return build(c, set)
		}
		return built().spec, built().model, built().err
	}}
}

func TestRun(t *testing.T) {
	keep := filepath.Join(t.TempDir(), "problem.json")
	torch := &Torch{Python: python(t, withGPU, `cp "$3" `+keep+"; echo \"$@\" >"+keep+".args; "+reports+fast), Version: "2.7.1"}
	o := small(3)
	o.Backend = "aot_eager"
	r, err := Run(t.Context(), successor("eager", "fp32"), torch, open(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Torch != "2.7.1" || r.Batch != 2 || r.Rounds != 3 || r.Ours <= 0 || r.Peers != 1e-6 || r.Ratio <= 0 || r.Ratio >= 1 || r.Start <= 0 || r.Cut || r.Failed != "" {
		t.Errorf("%+v", r)
	}
	var p peers.Problem
	text, err := os.ReadFile(keep)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Kind != "successor" || p.Width != 16 || p.Layers != 1 || len(p.Batches) != batches ||
		len(p.Batches[0].Source) != 2 || p.Vocab == 0 || p.Tensors["head.out.w"][0] != 16 {
		t.Errorf("%v: %.300s", err, text)
	}
	args, err := os.ReadFile(keep + ".args")
	if err != nil || !strings.Contains(string(args), "--peer eager --device cpu --precision fp32") || !strings.Contains(string(args), "--backend aot_eager") {
		t.Errorf("%s, %v", args, err)
	}
	if want := (Graphs{Compiled: 4, Recompiled: 1, Why: []string{"T changes"}, Loss: 2.5}); r.Graphs == nil || !cmp.Equal(*r.Graphs, want) {
		t.Errorf("%+v, want %+v", r.Graphs, want)
	}
}

// reports writes a peer's report of its graphs into the file that --report names.
const reports = `while [ "$1" != --report ]; do shift; done
echo '{"compiled": 4, "recompiled": 1, "why": ["T changes"], "captured": 0, "loss": 2.5}' >"$2"
`

// TestFill asks a peer to compile, with the given cache and workers, and reports each failure.
func TestFill(t *testing.T) {
	keep := filepath.Join(t.TempDir(), "said")
	fill := func(serve string, ctx context.Context) (*Result, error) {
		o := small(1)
		o.Cache, o.Workers = "/somewhere", 3
		return Fill(ctx, successor("compile", "fp32"), &Torch{Python: python(t, withGPU, serve), Version: "2.7.1"}, o)
	}
	r, err := fill(`echo "$@ $TORCHINDUCTOR_CACHE_DIR $TRITON_CACHE_DIR $TORCHINDUCTOR_COMPILE_THREADS" >`+keep+"\n"+reports, t.Context())
	if err != nil || r.Graphs.Compiled != 4 || r.Rounds != 0 || r.Batch != 2 || r.Torch != "2.7.1" {
		t.Errorf("%+v, %v", r, err)
	}
	if said, err := os.ReadFile(keep); err != nil || !strings.HasSuffix(string(said), " --fill /somewhere/inductor /somewhere/triton 3\n") {
		t.Errorf("%s, %v", said, err)
	}
	for serve, want := range map[string]string{"echo no compiler >&2; exit 1": "exit status 1: no compiler", "exit 0": "no report"} {
		if _, err := fill(serve, t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", serve, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := fill("exec sleep 600", ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hangs: %v", err)
	}
}

// TestPeersFail has peers that never begin, and peers that end half way.
func TestPeersFail(t *testing.T) {
	for name, c := range map[string]struct {
		serve, want string
		rounds      int
	}{
		"at once": {"echo no kernel image >&2; exit 1", "exit status 1: no kernel image", 0},
		"later":   {"read n; echo 1; read n; echo 1; read n; echo out of memory >&2; exit 2", "exit status 2: out of memory", 1},
		"garbage": {"read n; echo nan", "NaN seconds", 0},
	} {
		r, err := Run(t.Context(), successor("eager", "fp32"), &Torch{Python: python(t, withGPU, c.serve)}, open(t), small(2))
		if err != nil || !strings.Contains(r.Failed, c.want) || r.Rounds != c.rounds || (r.Ratio > 0) != (c.rounds > 0) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestEnds lets the time end while the peer works.
func TestEnds(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := python(t, withGPU, "read n; echo 1; read n; echo 1; read n; exec sleep 600")
	o := small(3)
	o.Say = func(format string, args ...any) {
		if strings.Contains(fmt.Sprintf(format, args...), "successor eager fp32         1.0000 s a step") {
			cancel(why)
		}
	}
	r, err := Run(ctx, successor("eager", "fp32"), &Torch{Python: slow}, open(t), o)
	if err != nil || !r.Cut || r.Rounds != 1 || r.Failed != "" || r.Ratio <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Run(ctx, successor("eager", "fp32"), &Torch{Python: slow}, open(t), o); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// TestPyTorch tests the real PyTorch on the processor, if it is installed.
func TestPyTorch(t *testing.T) {
	full.Only(t)
	torch, err := Find(t.Context(), []string{full.Needs(t, full.Python)}, "cpu")
	if err != nil {
		t.Skip(err)
	}
	for _, precision := range []string{"fp32", "bf16"} {
		r, err := Run(t.Context(), successor("eager", precision), torch, open(t), small(1))
		if err != nil || r.Failed != "" || r.Rounds != 1 || r.Peers <= 0 {
			t.Errorf("%s: %+v, %v", precision, r, err)
		}
	}
}

// TestPeersAgree checks that a step of PyTorch's ways has the result of a step of the compiled
// program, from equal parameters and on the same batch.
func TestPeersAgree(t *testing.T) {
	full.Only(t)
	torch, err := Find(t.Context(), []string{full.Needs(t, full.Python)}, "cpu")
	if err != nil {
		t.Skip(err)
	}
	certain := []string{"train.batch=8", "train.schedule=constant", "model.dropout=0%"}
	narrow := []string{"model.width=32", "model.heads=2", "model.ffn=geglu(hidden = 32)", "model.head=geglu(hidden = 32)"}
	for name, set := range map[string][]string{"successor": small(1).Set, "looped": narrow} {
		i := slices.IndexFunc(peers.Cases(), func(c peers.Case) bool { return c.Name == name })
		c := peers.Cases()[i]
		program, err := compile(c, slices.Concat(set, c.Certain, certain))
		if err != nil {
			t.Fatal(err)
		}
		m, err := live.New(program)
		if err != nil {
			t.Fatal(err)
		}
		first, last, loss := twoSteps(t, m)
		dir := t.TempDir()
		problem := filepath.Join(dir, "problem.json")
		if err := errors.Join(peers.Write(dir), writeProblem(problem, c, program.Spec, m, 1)); err != nil {
			t.Fatal(err)
		}
		for _, peer := range []string{"cudagraph", "packed"} {
			if peer == "packed" && c.Kind != "looped" {
				continue
			}
			argv := peers.OnCPU(peer, 1).Command(torch.Python, dir, problem, "--backend", "eager", "--follow", first, last)
			said, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
			var apart struct{ Loss, Gradient, Step float64 }
			if err != nil || json.Unmarshal(said, &apart) != nil {
				t.Fatalf("%s %s: %v, %s", name, peer, err, said)
			}
			if math.Abs(apart.Loss-loss) > 1e-5*loss || apart.Gradient > 1e-3 || apart.Step > 1e-2 {
				t.Errorf("%s %s has loss %g, want %g, and the distances %s", name, peer, apart.Loss, loss, said)
			}
		}
	}
}

// twoSteps returns the checkpoints after two steps, and the loss of the second.
func twoSteps(t *testing.T, m *live.Model) (first, last string, loss float64) {
	t.Helper()
	machine, err := m.Machine(open(t))
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := m.Trainer(machine)
	if err != nil {
		t.Fatal(err)
	}
	trainer.Dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(trainer.Dir, train.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	var paths [2]string
	for i := range paths {
		outcome, err := trainer.Step(trainer.Config.LR)
		if err == nil {
			paths[i], err = trainer.Save()
		}
		if err != nil {
			t.Fatal(err)
		}
		loss = outcome.Loss
	}
	return paths[0], paths[1], loss
}
