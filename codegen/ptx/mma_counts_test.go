package ptx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxrun"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// A multiplied is a product of BF16, or of halves of F32, with a launch of it. One of its
// sizes is B in the kernel, which then has the tiles of large launches.
type multiplied struct {
	name, op             string
	rows, cols, products int
	open                 string // the size that is B: rows or products
	tileRows, tileCols   int
	split                bool
}

var multiplications = []multiplied{
	{"linear", "x * w", 256, 1024, 256, "rows", 128, 128, false},
	{"linear_t", "x * w'", 256, 1024, 256, "rows", 128, 128, false},
	{"outer", "x' * w", 2048, 1024, 40, "products", 128, 128, false},
	{"middle", "x * w", 200, 512, 512, "rows", 128, 64, false},
	{"middle_t", "x * w'", 200, 512, 144, "rows", 128, 64, false},
	{"middle_outer", "x' * w", 512, 512, 77, "products", 128, 64, false},
	{"small", "x * w", 200, 256, 272, "rows", 64, 64, false},
	{"small_outer", "x' * w", 256, 512, 77, "products", 64, 64, false},
	{"least", "x * w'", 72, 40, 272, "rows", 32, 32, false},
	{"least_outer", "x' * w", 128, 128, 333, "products", 32, 32, false},
}

// inFormats returns the products in both formats; of halves, which take thrice the
// instructions, with shorter sums.
func inFormats() []multiplied {
	all := slices.Clone(multiplications)
	for _, m := range multiplications {
		m.name, m.split, m.products = m.name+"_split", true, m.products/4
		if m.open != "products" {
			m.products = padded(m.products, 8)
		}
		all = append(all, m)
	}
	return all
}

// bytes returns the size of an element of a factor.
func (m multiplied) bytes() int {
	if m.split {
		return 4
	}
	return 2
}

// kernel returns the kernel, which adds to its output.
func (m multiplied) kernel(t *testing.T) *kernel.Kernel {
	sizes := map[string]string{"rows": fmt.Sprint(m.rows), "cols": fmt.Sprint(m.cols), "products": fmt.Sprint(m.products)}
	sizes[m.open] = "B"
	x, w := "ROWS, PRODUCTS|i, k", "PRODUCTS, COLS|k, j"
	if strings.HasPrefix(m.op, "x'") {
		x = "PRODUCTS, ROWS|k, i"
	}
	if strings.HasSuffix(m.op, "w'") {
		w = "COLS, PRODUCTS|j, k"
	}
	xShape, xAt, _ := strings.Cut(x, "|")
	wShape, wAt, _ := strings.Cut(w, "|")
	text := fmt.Sprintf(`kernel %s matmul
  in     x TYPE[%s]
  in     w TYPE[%s]
  inout  y f32[ROWS, COLS]
  scalar B
  dot    y[i, j] += x[%s] * w[%s] for i < ROWS, j < COLS, k < PRODUCTSSPLIT
end
`, m.name, xShape, wShape, xAt, wAt)
	typ, split := "bf16", ""
	if m.split {
		typ, split = "f32", "; split"
	}
	r := strings.NewReplacer("ROWS", sizes["rows"], "COLS", sizes["cols"], "PRODUCTS", sizes["products"], "TYPE", typ, "SPLIT", split)
	return parsed(t, r.Replace(text))
}

func (m multiplied) scalars() kernel.Scalars {
	size := map[string]int{"rows": m.rows, "products": m.products}[m.open]
	return kernel.Scalars{"B": float64(size)}
}

// x and w are the places of elements in the factors.
func (m multiplied) x(i, k int) int {
	if strings.HasPrefix(m.op, "x'") {
		return k*m.rows + i
	}
	return i*m.products + k
}

func (m multiplied) w(k, j int) int {
	if strings.HasSuffix(m.op, "w'") {
		return j*m.products + k
	}
	return k*m.cols + j
}

// drawn returns the buffers, of numbers of many sizes.
func (m multiplied) drawn() []kernel.Buffer {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64() * math.Exp(2*r.NormFloat64()))
		}
		return x
	}
	factor := func(n int) kernel.Buffer {
		x := draw(n)
		if m.split {
			return kernel.Buffer{F: x}
		}
		h := make([]uint16, n)
		for i, v := range x {
			h[i] = uint16(math.Float32bits(v) >> 16)
		}
		return kernel.Buffer{H: h}
	}
	return []kernel.Buffer{factor(m.rows * m.products), factor(m.products * m.cols), {F: draw(m.rows * m.cols)}}
}

func padded(n, by int) int { return (n + by - 1) / by * by }

// TestMMACounts launches products once each, and checks their counts and sums.
func TestMMACounts(t *testing.T) {
	for i, m := range full.Some(inFormats(), 2) {
		t.Run(m.name, func(t *testing.T) {
			k, bufs, arch := m.kernel(t), m.drawn(), []int{80, 90}[i%2]
			start := slices.Clone(bufs[2].F)
			stats := m.run(t, k, arch, bufs)
			m.checkCounts(t, k, stats.Counts)
			m.checkSums(t, arch, start, bufs)
		})
	}
}

// checkCounts wants minimal counts. Accesses to shared memory have no conflicts, and sums take
// only the instructions of padded tiles. Each tile reads its rows and columns once. Sums are read
// and written once. Caches transfer at most the buffers' bytes.
func (m multiplied) checkCounts(t *testing.T, k *kernel.Kernel, c *ptxsim.Counts) {
	if n := c.Shared().Conflicts; n != 0 {
		t.Errorf("%d of %d wavefronts of shared memory are conflicts", n, c.Shared().Wavefronts)
	}
	rows, cols := padded(m.rows, m.tileRows), padded(m.cols, m.tileCols)
	products := rows * cols * padded(m.products, 64/m.bytes())
	if m.split {
		products *= 3
	}
	if got, want := c.Instructions[ptxsim.Product], int64(products/(16*8*32/m.bytes())); got != want {
		t.Errorf("%d multiplications, want %d", got, want)
	}
	if got, want := 32*c.Copies.Sectors, int64(m.bytes()*m.products*(m.rows*cols/m.tileCols+m.cols*rows/m.tileRows)); got != want {
		t.Errorf("tiles copy %d bytes, want %d", got, want)
	}
	if got, want := 32*(c.Loads.Sectors+c.Stores.Sectors), int64(2*4*m.rows*m.cols); got != want {
		t.Errorf("sums are read and written as %d bytes, want %d", got, want)
	}
	if got, want := c.Fetched+c.Kept, int64(cost.Value(cost.Bytes(k), m.scalars())); got > want {
		t.Errorf("%d bytes leave or enter a cache, the buffers have %d", got, want)
	}
}

// run launches the kernel on a simulated GPU, which changes the buffers.
func (m multiplied) run(t *testing.T, k *kernel.Kernel, arch int, bufs []kernel.Buffer) ptxsim.Stats {
	t.Helper()
	o := ptx.Options{Aligned: always}
	if m.open == "products" { // launches have several sums of a size that is known
		o.Geometry = func(*kernel.Kernel) kernel.Geometry { return kernel.Geometry{Rows: 2048, Replicas: 4} }
	}
	if got, want := ptx.Choose(k, o).Pieces, fmt.Sprintf("%d x %d outputs, 4 warps", m.tileRows, m.tileCols); !strings.HasPrefix(got, want) {
		t.Fatalf("%s, want %s", got, want)
	}
	return launched(t, k, o, arch, m.scalars(), bufs)
}

// launched launches a kernel on a simulated GPU, which changes the buffers.
func launched(t *testing.T, k *kernel.Kernel, o ptx.Options, arch int, scalars kernel.Scalars, bufs []kernel.Buffer) ptxsim.Stats {
	t.Helper()
	code, err := ptx.Module([]*kernel.Kernel{k}, o)
	if err != nil {
		t.Fatal(err)
	}
	var stats ptxsim.Stats
	machine, err := ptxrun.New(func() (cuda.Driver, error) {
		return simulated.OpenWatched(ptxsim.Options{Arch: arch, Count: true, NoRaces: true, NoInit: true}, func(_ string, s ptxsim.Stats) { stats = s })
	}, code)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	if err := machine.Run(k.Name, scalars, bufs); err != nil {
		t.Fatal(err)
	}
	return stats
}

// floats returns the numbers of a factor.
func floats(b kernel.Buffer) []float64 {
	var all []float64
	for _, h := range b.H {
		all = append(all, float64(math.Float32frombits(uint32(h)<<16)))
	}
	for _, x := range b.F {
		all = append(all, float64(x))
	}
	return all
}

// steps returns an upper bound of the steps of a tensor core. A step adds at least 8 products of
// BF16. Halves take three times as many steps, of 4 products each, or 8 from sm_90 on.
func (m multiplied) steps(arch int) float64 {
	if !m.split {
		return float64(m.products) / 8
	}
	of := 4
	if arch >= 90 {
		of = 8
	}
	return float64(3*m.products) / float64(of)
}

// checkSums compares sums with float64. The bound is a unit in the last place, and 2^-23 of the
// sum of sizes for each step of a tensor core and two more. Halves lose 4 * 2^-23 of each
// product: 2^-23 of either factor, and the product of the low halves, each at most 2^-11 of its
// factor. Without the low halves of one factor some sum must exceed the bound.
func (m multiplied) checkSums(t *testing.T, arch int, start []float32, bufs []kernel.Buffer) {
	x, w := floats(bufs[0]), floats(bufs[1])
	high := slices.Clone(x)
	lost := 2 + m.steps(arch)
	if m.split {
		lost += 4
		for i, v := range x {
			h, _ := kernel.Halves(float32(v))
			high[i] = float64(h)
		}
	}
	worst, rough := 0.0, 0.0
	for i := range m.rows {
		for j := range m.cols {
			sum, low := float64(start[i*m.cols+j]), 0.0
			size := math.Abs(sum)
			for k := range m.products {
				a, b := x[m.x(i, k)], w[m.w(k, j)]
				sum, size, low = sum+a*b, size+math.Abs(a*b), low+(a-high[m.x(i, k)])*b
			}
			got := bufs[2].F[i*m.cols+j]
			ulp := math.Abs(float64(math.Nextafter32(got, float32(math.Inf(1)))) - float64(got))
			bound := 0x1p-23*lost*size + ulp
			worst, rough = max(worst, math.Abs(float64(got)-sum)/bound), max(rough, math.Abs(low)/bound)
		}
	}
	if !(worst <= 1) {
		t.Errorf("a sum is off by %.3g of the bound", worst)
	}
	if m.split && rough <= 1 {
		t.Errorf("low halves are %.3g of the bound at most", rough)
	}
}

// TestMMARegisters wants no spills from NVIDIA's assembler, and registers for two concurrent
// blocks.
func TestMMARegisters(t *testing.T) {
	var ks []*kernel.Kernel
	for _, text := range []string{narrow, splitOf(narrow)} {
		ks = append(ks, parsed(t, text))
		for _, cols := range []string{"256", "512", "1024"} {
			ks = append(ks, parsed(t, strings.NewReplacer("72", cols, "kernel narrow", "kernel narrow"+cols).Replace(text)))
		}
	}
	for _, m := range inFormats() {
		ks = append(ks, m.kernel(t))
	}
	twoBeside(t, "testdata/assembled_mma.txt", ks, nil)
}

// twoBeside assembles kernels with blocks of four warps if their PTX is not on a committed list.
// It wants room for two blocks, and limits the spilled bytes of a thread.
func twoBeside(t *testing.T, path string, ks []*kernel.Kernel, spilled map[string]int) {
	t.Helper()
	list := ptxtest.ReadAssembled(t, path)
	t.Run("assembled", func(t *testing.T) {
		for _, arch := range ptxtest.Archs {
			t.Run(arch, func(t *testing.T) {
				t.Parallel()
				usage, err := list.Usage(ks, ptx.Options{Aligned: always}, arch, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range ks {
					const file, blocks = 65536, 2 // registers of a multiprocessor
					if u := usage[k.Name]; max(u.SpillStores, u.SpillLoads, u.Stack) > spilled[k.Name] || blocks*128*padded(u.Registers, 8) > file || u.Shared > 48<<10 {
						t.Errorf("%s: %+v", k.Name, u)
					}
				}
			})
		}
	})
	list.Update(t)
}
