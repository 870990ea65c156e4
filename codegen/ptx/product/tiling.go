package product

import (
	"math/bits"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A tiling is how a block computes a product: rows x cols outputs at a time, over depth products
// at a time from shared memory. Each thread has high x wide outputs in registers.
type tiling struct{ rows, cols, depth, high, wide int }

// tilings are for blocks of productThreads, and tried in order: the first that fits the known
// bounds of the output.
var tilings = []struct {
	maxRows, maxCols int // 0: any
	tiling
}{
	{32, 16, tiling{32, 16, 16, 2, 1}},
	{32, 0, tiling{32, 64, 16, 2, 4}},
	{0, 16, tiling{256, 16, 8, 4, 4}},
	{0, 32, tiling{128, 32, 16, 4, 4}},
	{0, 0, tiling{64, 64, 16, 4, 4}},
}

// gridTilings are for kernels that are one product, and tried in order: the first that
// gives enough blocks in a launch, over all replicas. The more outputs a thread has, the less it
// reads for each. A smaller tile has fewer threads to hide the latency of memory, so they read
// more at a time.
var gridTilings = []struct {
	blocks int
	tiling
}{
	{2 * someBlocks, tiling{128, 64, 8, 8, 8}},
	{someBlocks, tiling{128, 64, 16, 8, 4}},
	{someBlocks, tiling{64, 64, 16, 4, 4}},
	{someBlocks, tiling{64, 32, 32, 4, 4}},
	{someBlocks, tiling{32, 32, 32, 4, 4}},
	{someBlocks, tiling{16, 32, 32, 2, 4}},
	{0, tiling{16, 16, 64, 1, 4}},
}

const (
	// someBlocks are about as many as a large card has multiprocessors.
	someBlocks = 128
	// stagePad keeps the columns of a staged matrix in different banks.
	stagePad = 4
)

// bytes returns the shared memory that a tiling takes for its operands.
func (t tiling) bytes() int {
	return kernel.Bytes(expr.F32) * t.depth * (t.rows + t.cols + 2*stagePad)
}

// threads returns how many threads compute a tile.
func (t tiling) threads() int { return t.rows / t.high * (t.cols / t.wide) }

// share returns a thread's share of a tile: columns in fours, so that adjacent threads read
// adjacent elements.
func (t tiling) share(p *emit.Builder, n flat.Product) share {
	return share{
		Builder: p, n: n, sizeM: p.Value(n.M), sizeN: p.Value(n.N),
		rows: t.rows, cols: t.cols, high: t.high, wide: t.wide, down: 1, apart: t.cols / t.wide * emit.VectorMost,
	}
}

// upTo returns a tiling for sums of depth products.
func (t tiling) upTo(depth *expr.Expr) tiling {
	if depth.IsConst() {
		t.depth = min(t.depth, powerOfTwo(int(depth.I)))
	}
	return t
}

// StageBytes returns the shared memory of the largest product of a body.
func StageBytes(body []kernel.Stmt) int {
	most := 0
	for n := range kernel.All(body) {
		if d, ok := n.(*kernel.Dot); ok && InTiles(d) {
			most = max(most, tilingOf(d).bytes())
		}
	}
	return most
}

// A Stage is the shared memory of products: two halves, filled alternately.
type Stage struct {
	*emit.Builder
	at   emit.Address
	half int       // in bytes
	turn asm.Value // 0 or half: where the next products go
}

func NewStage(p *emit.Builder, half int) *Stage {
	p.Launch.Static += 2 * half
	at := emit.Address{Address: asm.Shared.At(emit.StageName, p.F.SharedArray(emit.StageName, 2*half)), Typ: expr.F32}
	return &Stage{p, at, half, p.F.Variable(asm.Int(0))}
}

// InTiles reports whether a whole block computes a product.
func InTiles(n *kernel.Dot) bool { return len(n.Axes) > 2 && !expr.IsInt(n.Axes[0].Size, 1) }

// tilingOf chooses by the known bounds of the output.
func tilingOf(n *kernel.Dot) tiling {
	for _, t := range tilings {
		if fits(n.MostRows, t.maxRows) && fits(n.MostCols, t.maxCols) {
			return t.upTo(n.Axes[len(n.Axes)-1].Size)
		}
	}
	panic("BUG: no tiling")
}

// gridTilingOf chooses by the number of blocks.
func gridTilingOf(n *kernel.Dot, g kernel.Geometry) tiling {
	for _, t := range gridTilings {
		if tiles(n, g, t.rows, t.cols) >= t.blocks {
			return t.upTo(n.Axes[len(n.Axes)-1].Size)
		}
	}
	panic("BUG: no tiling")
}

// tiles estimates the number of tiles of rows x cols in the outputs of a product, in all
// replicas.
func tiles(n *kernel.Dot, g kernel.Geometry, rows, cols int) int {
	of := func(most, size int) int {
		if most == 0 {
			most = g.Rows
		}
		return (most + size - 1) / size
	}
	return g.Replicas * of(n.MostRows, rows) * of(n.MostCols, cols)
}

// powerOfTwo returns the least power of two >= n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// fits reports whether a size is surely at most a bound. 0 is an unknown size, or no bound.
func fits(size, most int) bool { return most == 0 || size > 0 && size <= most }

// An mmaTiling is how a block computes a product on tensor cores: rows x cols outputs, high x
// wide of them per warp. Shared memory holds stages tiles of the factors, in flight or read. A
// multiprocessor has registers for beside blocks.
type mmaTiling struct{ rows, cols, high, wide, stages, beside int }

// mmaTilings are tried in order: the first that gives enough blocks in a launch, over all
// replicas. The more outputs a warp has, the less shared memory it reads for each. Stages fit
// into 48 KiB of static shared memory, and two such blocks into every card's multiprocessor.
var mmaTilings = []struct {
	blocks int
	mmaTiling
}{
	{someBlocks, mmaTiling{128, 128, 64, 64, 3, 2}},
	{someBlocks, mmaTiling{128, 64, 64, 32, 4, 2}},
	{someBlocks, mmaTiling{64, 64, 32, 32, 4, 3}},
	{0, mmaTiling{32, 32, 16, 16, 4, 4}},
}

func (t mmaTiling) threads() int { return t.rows / t.high * (t.cols / t.wide) * emit.WarpThreads }

// bytes returns the shared memory of a stage.
func (t mmaTiling) bytes() int { return emit.StageUnits * emit.UnitBytes * (t.rows + t.cols) }

// mmaTilingOf chooses a tiling by the number of blocks.
func mmaTilingOf(n *kernel.Dot, g kernel.Geometry) mmaTiling {
	for _, t := range mmaTilings {
		if tiles(n, g, t.rows, t.cols) >= t.blocks {
			return t.mmaTiling
		}
	}
	panic("BUG: no tiling")
}
