package runtime

import (
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/world"
	"github.com/arithlang/mlc/sim/simulated"
)

// toyProduct is the toy with a sum of squares that a library can compute as a product.
func toyProduct() program.Model {
	m := toyOnGPU()
	m.GPU.Kernels[toySumSquares].Gemm = &cuda.Gemm{
		Size: func(e *device.Env) [3]int { return [3]int{1, 1, e.N} }, Left: cuda.Operand{Buffer: 0}, Right: cuda.Operand{Buffer: 0}, Out: cuda.Operand{Buffer: 1}, Plus: -1,
	}
	return m
}

// aNamed is a library with another name.
type aNamed struct {
	*simulated.Multiplier
	name string
}

func (l aNamed) Name() string { return l.name }

// TestGemm trains the toy with a library's products. The run's record and the line about the
// training name the library. A run continues only with the library that it began with.
func TestGemm(t *testing.T) {
	m := toyProduct()
	var libraries []aNamed
	asked, version := "", "cuBLASLt 12.9.3"
	alone := func() world.App {
		return world.App{Model: m, In: strings.NewReader(""),
			GPU: func() (cuda.Driver, error) { return simulatedGPU(t), nil },
			Library: func(d cuda.Driver, path string) (cuda.Multiplier, error) {
				if path == "missing" {
					return nil, errors.New("there is none")
				}
				asked = path
				libraries = append(libraries, aNamed{simulated.NewMultiplier(d), version})
				return libraries[len(libraries)-1], nil
			}}
	}
	toy := func(args ...string) said { return callApp(t, alone(), append([]string{"./toy"}, args...)) }
	dir, own := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	s := toy("train", "--out", dir, "--steps", "2", "--device", "cuda", "--gemm", "cublaslt=/opt/libcublasLt.so.12")
	if s.code != 0 || !strings.Contains(s.err, ", products by cuBLASLt 12.9.3\n") || asked != "/opt/libcublasLt.so.12" {
		t.Fatalf("exit %d, asked for %q\n%s", s.code, asked, s.err)
	}
	if n := libraries[0].Calls; n != 2 {
		t.Errorf("%d products in 2 steps", n)
	}
	if s := toy("train", "--out", own, "--steps", "2"); s.code != 0 || len(libraries) != 1 {
		t.Fatalf("exit %d, a library without being asked for: %t\n%s", s.code, len(libraries) > 1, s.err)
	}
	for path, want := range map[string]string{dir: version, own: ""} {
		if rec, err := rundir.Open(path, rundir.IdentityOf(&m)); err != nil || rec.Gemm != want {
			t.Errorf("run.json: %+v, %v", rec, err)
		}
	}
	for want, args := range map[string][]string{
		"uses products by cuBLASLt 12.9.3: resume it with --gemm cublaslt": {"train", "--resume", "--out", dir, "--steps", "3"},
		"uses mlc's products: resume it without --gemm cublaslt":           {"train", "--resume", "--out", own, "--steps", "3", "--gemm", "cublaslt"},
		`unknown --gemm "cublas": want mlc, cublaslt or cublaslt=PATH`:     {"bench", "--gemm", "cublas"},
		`unknown --gemm "cublaslt="`:                                       {"bench", "--gemm", "cublaslt="},
		`unknown --gemm "mlc=x"`:                                           {"eval", dir, "--gemm", "mlc=x"},
		"the device is cpu: use --device cuda, or --gemm mlc":              {"solve", dir, "1", "--gemm", "cublaslt", "--device", "cpu"},
		"the device is sim: use --device cuda, or --gemm mlc":              {"bench", "--gemm", "cublaslt", "--device", "sim"},
	} {
		if s := toy(args...); s.code != world.ExitUsage || !strings.Contains(s.err, want) {
			t.Errorf("%v: exit %d, no %q in\n%s", args, s.code, want, s.err)
		}
	}
	if s := toy("bench", "--gemm", "cublaslt=missing"); s.code != world.ExitFailed || !strings.Contains(s.err, "--gemm cublaslt=missing: there is none") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	none := alone()
	none.GPU = func() (cuda.Driver, error) { return nil, cuda.ErrUnavailable }
	if s := callApp(t, none, []string{"./toy", "bench", "--gemm", "cublaslt"}); s.code != world.ExitFailed || !strings.Contains(s.err, "no usable NVIDIA GPU") {
		t.Errorf("without a GPU: exit %d\n%s", s.code, s.err)
	}
	version = "cuBLASLt 13.0.0"
	s = toy("train", "--resume", "--out", dir, "--steps", "3", "--gemm", "cublaslt")
	if s.code != 0 || asked != "" || !strings.Contains(s.err, " used products by cuBLASLt 12.9.3 and continues with cuBLASLt 13.0.0: bits may differ") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestGemmIsTheSameSum steps with a library and without. The library computes the norm of the
// gradient: it is the same up to rounding, and so is the clipped gradient.
func TestGemmIsTheSameSum(t *testing.T) {
	m := toyProduct()
	var norms [2][]float64
	for i, by := range []bool{false, true} {
		d := simulatedGPU(t)
		var library cuda.Multiplier
		if by {
			library = simulated.NewMultiplier(d)
		}
		machine, err := cuda.NewMachine(cuda.NewDevice(d), m.GPU, &m.Plan, cuda.Options{About: device.About{Device: "cuda"}, Multiplier: library})
		if err != nil {
			t.Fatal(err)
		}
		tr := trainerOf(t, m, machine)
		for range 3 {
			out, err := tr.Step(0.01)
			if err != nil {
				t.Fatal(err)
			}
			norms[i] = append(norms[i], out.GradNorm)
		}
	}
	for i, want := range norms[0] {
		if got := norms[1][i]; got == 0 || math.Abs(got-want) > 1e-6*want {
			t.Errorf("step %d: the norm is %g, by the library %g", i+1, want, got)
		}
	}
}

// TestBenchComparesProducts has a table of the kernels that a library can replace.
func TestBenchComparesProducts(t *testing.T) {
	world := world.App{Model: toyProduct(), In: strings.NewReader(""), GPU: func() (cuda.Driver, error) { return simulatedGPU(t), nil },
		Library: func(d cuda.Driver, _ string) (cuda.Multiplier, error) { return simulated.NewMultiplier(d), nil }}
	cost := func(e *device.Env) cpu.Cost { return cpu.Cost{Flops: float64(2 * e.N)} }
	world.Model.CPU[toySumSquares].Cost = cost
	s := callApp(t, world, []string{"./toy", "bench", "--gemm", "cublaslt", "--steps", "2"})
	want := `\nproducts by simulated products take [0-9.]+ ms a step, by mlc's kernels [0-9.]+ ms for the same FLOP: [0-9.]+ times as long\n` +
		`kernel +library GFLOP/s  mlc GFLOP/s +ratio\nsum_squares +[0-9.]+ +[0-9.]+ +[0-9.]+\n$`
	if s.code != 0 || !regexp.MustCompile(want).MatchString(s.out) {
		t.Errorf("exit %d, no match of %s in\n%s%s", s.code, want, s.out, s.err)
	}
}
