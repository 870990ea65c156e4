//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/cublaslt"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// A library is testdata/fake.c, built for one test.
type library struct {
	path   string
	handle uintptr
}

func build(t *testing.T, path string, macros ...string) *library {
	t.Helper()
	cc := full.Needs(t, full.CC)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-o", path, "testdata/fake.c"}, macros...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	l := &library{path: path}
	var err error
	if l.handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *library) call(name string, args ...uintptr) int {
	f, err := purego.Dlsym(l.handle, name)
	if err != nil {
		panic(err)
	}
	r, _, _ := purego.SyscallN(f, args...)
	return int(int32(r))
}

// gpu opens a fake device, which must be empty after the test.
func gpu(t *testing.T) cuda.Driver {
	t.Helper()
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if n := lib.Live(); n != 0 {
			t.Errorf("%d things of the driver were not freed", n)
		}
	})
	return d
}

func open(t *testing.T, d cuda.Driver, path string) cuda.Multiplier {
	t.Helper()
	m, err := cublaslt.Open(d, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestMultiply computes exact products of small integers, for all orders and types of factors,
// with and without an addend, and in batches.
func TestMultiply(t *testing.T) {
	d, lib := gpu(t), build(t, filepath.Join(t.TempDir(), "libcublasLt.so.12"))
	by := open(t, d, lib.path)
	if by.Name() != "cuBLASLt 12.9.3" {
		t.Errorf("it is called %q", by.Name())
	}
	shapes := 0
	for form := range 1 << 6 {
		bit := func(n int) bool { return form>>n&1 == 1 }
		c := product{d: d, m: 3, n: 5, k: 4, batch: 1 + 2*form>>5&2, transLeft: bit(0), transRight: bit(1), narrow: bit(2), narrowOut: bit(2) && bit(3), plus: bit(4), itself: bit(3)}
		shapes++
		for range 2 { // the second time with the same plan
			if diff := c.run(t, by); diff != "" {
				t.Errorf("%+v: %s", c, diff)
			}
		}
	}
	if plans := lib.call("fake_plans"); plans > shapes || plans < shapes/2 {
		t.Errorf("%d plans of %d shapes", plans, shapes)
	}
	if err := by.Close(); err != nil {
		t.Error(err)
	}
	if n := lib.call("fake_live"); n != 0 {
		t.Errorf("%d things of the library were not freed", n)
	}
}

// A product is a test case.
type product struct {
	d                                                      cuda.Driver
	m, n, k, batch                                         int
	transLeft, transRight, narrow, narrowOut, plus, itself bool
}

// matrices have small integers as elements. They have a gap between them, and are aligned to 4
// bytes only.
type matrices struct {
	cuda.Matrix
	rows, cols int
	elements   [][]float64 // by row and column, one matrix after the other
}

func (c *product) matrices(t *testing.T, rows, cols, seed int, trans, narrow bool) matrices {
	t.Helper()
	const gap = 2
	x := matrices{rows: rows, cols: cols, elements: make([][]float64, c.batch)}
	var words []byte
	for b := range c.batch {
		x.elements[b] = make([]float64, rows*cols)
		for i := range rows*cols + gap {
			v := float64((i*7+b*5+seed)%9 - 4)
			if i < rows*cols {
				at := i
				if trans {
					at = i%rows*cols + i/rows
				}
				x.elements[b][at] = v
			}
			bits := math.Float32bits(float32(v))
			if narrow {
				words = binary.LittleEndian.AppendUint16(words, uint16(bits>>16))
			} else {
				words = binary.LittleEndian.AppendUint32(words, bits)
			}
		}
	}
	at, err := c.d.Alloc(int64(len(words)) + 4)
	if err == nil {
		t.Cleanup(func() { c.d.Free(at) })
		err = c.d.ToDevice(at+4, words)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.Matrix = cuda.Matrix{At: at + 4, Trans: trans, Narrow: narrow}
	if c.batch > 1 {
		x.Step = int64(len(words) / c.batch)
	}
	return x
}

// run returns the first difference from the product.
func (c *product) run(t *testing.T, by cuda.Multiplier) string {
	t.Helper()
	left, right := c.matrices(t, c.m, c.k, 1, c.transLeft, c.narrow), c.matrices(t, c.k, c.n, 2, c.transRight, c.narrow)
	out := c.matrices(t, c.m, c.n, 3, false, c.narrowOut)
	p := cuda.Product{M: c.m, N: c.n, K: c.k, Batch: c.batch, Left: left.Matrix, Right: right.Matrix, Out: out.Matrix}
	plus := matrices{}
	if c.plus && !c.narrowOut {
		if plus = out; !c.itself {
			plus = c.matrices(t, c.m, c.n, 4, false, false)
		}
		p.Plus = plus.Matrix
	}
	if err := errors.Join(c.d.Synchronize(), by.Multiply(&p), c.d.Synchronize()); err != nil {
		return err.Error()
	}
	size := 4
	if c.narrowOut {
		size = 2
	}
	for b := range c.batch {
		got := make([]byte, c.m*c.n*size)
		if err := c.d.ToHost(got, out.At+cuda.Ptr(int64(b)*out.Step)); err != nil {
			return err.Error()
		}
		for i := range c.m {
			for j := range c.n {
				want := 0.0
				if plus.elements != nil {
					want = plus.elements[b][i*c.n+j]
				}
				for k := range c.k {
					want += left.elements[b][i*c.k+k] * right.elements[b][k*c.n+j]
				}
				at := i*c.n + j
				bits := uint32(0)
				if c.narrowOut {
					bits = uint32(binary.LittleEndian.Uint16(got[2*at:])) << 16
				} else {
					bits = binary.LittleEndian.Uint32(got[4*at:])
				}
				if x := float64(math.Float32frombits(bits)); x != want {
					return fmt.Sprintf("[%d][%d, %d] is %g, want %g", b, i, j, x, want)
				}
			}
		}
	}
	return ""
}

// TestMultiplyFails checks that the error names the product which the library refuses.
func TestMultiplyFails(t *testing.T) {
	d, lib := gpu(t), build(t, filepath.Join(t.TempDir(), "libcublasLt.so.12"))
	by := open(t, d, lib.path)
	c := product{d: d, m: 3, n: 5, k: 4, batch: 1}
	const noAlgorithm, unfit, failed = 1, 2, 3
	for how, want := range map[int]string{noAlgorithm: "CUBLAS_STATUS_NOT_SUPPORTED", unfit: "CUBLAS_STATUS_NOT_SUPPORTED", failed: "CUBLAS_STATUS_EXECUTION_FAILED"} {
		c.m++ // needs another plan
		lib.call("fake_fail", uintptr(how))
		want = fmt.Sprintf("cuBLASLt 12.9.3 (libcublasLt.so.12): multiply [%d, 4] by [4, 5]: %s", c.m, want)
		if got := c.run(t, by); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		lib.call("fake_fail", 0)
	}
	if got := c.run(t, by); got != "" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestSearch finds libraries in the folders of Pythons and toolkits, the newest first. If one does
// not start, it tries the next.
func TestSearch(t *testing.T) {
	d, root := gpu(t), t.TempDir()
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME"} {
		t.Setenv(name, filepath.Join(root, "nowhere"))
	}
	t.Setenv("MLC_CUBLASLT", "")
	if m, err := cublaslt.Open(d, ""); err == nil {
		m.Close()
		t.Skip("this machine has the library")
	} else if text := err.Error(); !strings.Contains(text, "cuBLASLt is not found") || !strings.Contains(text, "$VIRTUAL_ENV") || !strings.Contains(text, "--gemm cublaslt=PATH") {
		t.Error(err)
	}
	named := build(t, filepath.Join(root, "named.so"), "-DVERSION=120001")
	t.Setenv("MLC_CUBLASLT", named.path)
	wantFound(t, d, "cuBLASLt 12.0.1")
	t.Setenv("MLC_CUBLASLT", "")
	for i, x := range []struct{ name, value, at string }{
		{"CONDA_PREFIX", "conda", "conda/lib/libcublasLt.so.11"},
		{"VIRTUAL_ENV", "venv", "venv/lib/python3.12/site-packages/nvidia/cublas/lib/libcublasLt.so.12"},
		{"CUDA_PATH", "toolkit", "toolkit/lib64/libcublasLt.so.13"},
	} {
		build(t, filepath.Join(root, x.at), fmt.Sprintf("-DVERSION=%d", 110000+10000*i))
		t.Setenv(x.name, filepath.Join(root, x.value))
		wantFound(t, d, fmt.Sprintf("cuBLASLt %d.0.0", 11+i))
	}
	build(t, filepath.Join(root, "broken/lib64/libcublasLt.so.13"), "-DBROKEN")
	t.Setenv("CUDA_HOME", filepath.Join(root, "broken"))
	wantFound(t, d, "cuBLASLt 13.0.0") // after one that does not start
	for _, name := range []string{"CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(name, "")
	}
	if _, err := cublaslt.Open(d, ""); err == nil || !strings.Contains(err.Error(), "CUBLAS_STATUS_NOT_INITIALIZED") || !strings.Contains(err.Error(), "--gemm mlc") {
		t.Errorf("of one that does not start: %v", err)
	}
}

func wantFound(t *testing.T, d cuda.Driver, want string) {
	t.Helper()
	m, err := cublaslt.Open(d, "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != want {
		t.Errorf("%s is found, want %s", m.Name(), want)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenFails distinguishes files that are no library from devices that are no GPU.
func TestOpenFails(t *testing.T) {
	d := gpu(t)
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "missing.so"): "cuBLASLt cannot be loaded: ",
		fakecuda.Build(t).Path:                   "has no function cublasLtCreate: it is no cuBLASLt",
	} {
		if _, err := cublaslt.Open(d, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	none, err := simulated.Open(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cublaslt.Open(none, ""); err == nil || !strings.Contains(err.Error(), "the device is simulated sm_80: use --gemm mlc") {
		t.Error(err)
	}
}
