package cuda_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/device/treetest"
	"github.com/arithlang/mlc/sim/simulated"
)

// testPTX has two kernels. accumulate adds N elements of Work, times the step's scale, and the
// example to Grads. mirror reverses N elements through a tile, in shared or scratch memory.
const testPTX = `
.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];

.visible .entry accumulate(.param .u64 g, .param .u64 gStep, .param .u64 x, .param .u64 xStep, .param .u32 n, .param .u32 example, .param .u32 apart, .param .u64 step)
.reqntid 32
{
	.reg .pred %p;
	.reg .b32 %i, %n, %r, %e, %a;
	.reg .b64 %g, %x, %s, %o, %at, %step;
	.reg .f32 %f, %v, %ex, %scale;
	mov.u32 %r, %ctaid.y;
	cvt.u64.u32 %o, %r;
	ld.param.u64 %g, [g];
	ld.param.u64 %s, [gStep];
	mad.lo.u64 %g, %o, %s, %g;
	ld.param.u64 %x, [x];
	ld.param.u64 %s, [xStep];
	mad.lo.u64 %x, %o, %s, %x;
	ld.param.u32 %e, [example];
	ld.param.u32 %a, [apart];
	mad.lo.u32 %e, %r, %a, %e;
	cvt.rn.f32.u32 %ex, %e;
	ld.param.u64 %step, [step];
	ld.global.f32 %scale, [%step+12];
	ld.param.u32 %n, [n];
	mov.u32 %i, %tid.x;
LOOP:
	setp.ge.u32 %p, %i, %n;
	@%p bra END;
	mul.wide.u32 %o, %i, 4;
	add.u64 %at, %x, %o;
	ld.global.f32 %v, [%at];
	mul.rn.f32 %v, %v, %scale;
	add.rn.f32 %v, %v, %ex;
	add.u64 %at, %g, %o;
	ld.global.f32 %f, [%at];
	add.rn.f32 %f, %f, %v;
	st.global.f32 [%at], %f;
	add.u32 %i, %i, 32;
	bra LOOP;
END:
	ret;
}

.visible .entry mirror(.param .u64 x, .param .u64 xStep, .param .u32 n, .param .u64 scratch, .param .u64 room)
.reqntid 32
{
	.reg .pred %p;
	.reg .b32 %i, %n, %r, %k, %v;
	.reg .b64 %x, %s, %o, %at, %tile, %room;
	mov.u32 %r, %ctaid.y;
	cvt.u64.u32 %o, %r;
	ld.param.u64 %x, [x];
	ld.param.u64 %s, [xStep];
	mad.lo.u64 %x, %o, %s, %x;
	ld.param.u64 %tile, [scratch];
	ld.param.u64 %room, [room];
	mov.u32 %k, %nctaid.x;
	mul.lo.u32 %r, %r, %k;
	mov.u32 %k, %ctaid.x;
	setp.ne.u32 %p, %k, 0;
	@%p bra END;
	cvt.u64.u32 %o, %r;
	setp.ne.u64 %p, %tile, 0;
	mad.lo.u64 %tile, %o, %room, %tile;
	@%p bra READY;
	mov.u64 %tile, dynamic;
	cvta.shared.u64 %tile, %tile;
READY:
	ld.param.u32 %n, [n];
	mov.u32 %i, %tid.x;
LOAD:
	setp.ge.u32 %p, %i, %n;
	@%p bra LOADED;
	mul.wide.u32 %o, %i, 4;
	add.u64 %at, %x, %o;
	ld.global.u32 %v, [%at];
	add.u64 %at, %tile, %o;
	st.u32 [%at], %v;
	add.u32 %i, %i, 32;
	bra LOAD;
LOADED:
	bar.sync 0;
	mov.u32 %i, %tid.x;
STORE:
	setp.ge.u32 %p, %i, %n;
	@%p bra END;
	mul.wide.u32 %o, %i, 4;
	add.u64 %at, %x, %o;
	sub.u32 %k, %n, %i;
	sub.u32 %k, %k, 1;
	mul.wide.u32 %o, %k, 4;
	add.u64 %o, %tile, %o;
	ld.u32 %v, [%o];
	st.global.u32 [%at], %v;
	add.u32 %i, %i, 32;
	bra STORE;
END:
	ret;
}
`

const (
	accumulate = iota
	mirror
)

// program returns testPTX. A launch of mirror has the given blocks and needs room for more
// elements than it has, by more.
func program(blocks, more int) cuda.Program {
	return cuda.Program{PTX: testPTX, Kernels: []cuda.Kernel{
		accumulate: {Name: "accumulate", Threads: 32, Scalars: []string{"N", "example"}, Step: true,
			Blocks: func(e *device.Env) int { return min(e.N, 1) }},
		mirror: {Name: "mirror", Threads: 32, Scalars: []string{"N"}, Blocks: func(*device.Env) int { return blocks },
			Scratch: func(e *device.Env) int { return 4 * (e.N + more) }},
	}}
}

// counting is a driver that counts.
type counting struct {
	cuda.Driver
	graphs, open, captures int
	scratch                int64 // the largest allocation
}

func (c *counting) Alloc(bytes int64) (cuda.Ptr, error) {
	c.scratch = max(c.scratch, bytes)
	return c.Driver.Alloc(bytes)
}

func (c *counting) Capture(record func() error) (cuda.Graph, error) {
	g, err := c.Driver.Capture(record)
	c.captures++
	c.open++
	return countingGraph{g, c}, err
}

type countingGraph struct {
	cuda.Graph
	c *counting
}

func (g countingGraph) Launch() error {
	g.c.graphs++
	return g.Graph.Launch()
}

func (g countingGraph) Close() error {
	g.c.open--
	return g.Graph.Close()
}

func newMachine(t *testing.T, p cuda.Program, params int) (*cuda.Machine, *counting) {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Order: ptxsim.Reversed})
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Driver: d}
	m, err := cuda.NewMachine(cuda.NewDevice(c), p, &device.Plan{NumParams: params, States: []string{"a", "b"}}, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m, c
}

func ref(s device.Space, off int) device.Ref { return device.Ref{Space: s, Off: off} }

// A gradient of a piece is lumps of values. Their sum depends on the order.
type gradient struct {
	lumps   [][]float32
	example uint32
}

// pieces returns gradients with different lengths and numbers of lumps, so that not all are
// replicas.
func pieces(r *rand.Rand, params int) []gradient {
	var all []gradient
	for i := range 11 {
		n, lumps := params, 2
		if i == 4 {
			n = params / 2
		}
		if i == 10 {
			lumps = 1
		}
		g := gradient{example: uint32(5 * i)}
		for range lumps {
			x := make([]float32, n)
			for j := range x {
				x[j] = float32(r.NormFloat64()) * float32(r.IntN(1000))
			}
			x[0] = float32(math.Copysign(0, -1))
			g.lumps = append(g.lumps, x)
		}
		all = append(all, g)
	}
	return all
}

func sumOf(m device.Machine, all []gradient, scale float32, back [][]float32) {
	m.Sum(len(all), func(w device.Worker, i int) {
		e := w.Env()
		for k, x := range all[i].lumps {
			*e = device.Env{N: len(x), Example: all[i].example + uint32(k), Scale: scale}
			w.Fit(len(x)+7, 3)
			w.PutFloats(ref(device.Work, 7), x)
			w.Queue().Launch(accumulate, e, ref(device.Grads, 0), ref(device.Work, 7))
			w.GetFloats(back[i][k*len(x):][:len(x)], ref(device.Work, 7))
		}
	})
}

// TestSum compares with the sum of the processor's machine, to the last bit, several times:
// replayed as a graph, and with another scale.
func TestSum(t *testing.T) {
	const params = 75
	r := rand.New(rand.NewPCG(1, 2))
	m, c := newMachine(t, program(1, 0), params)
	for round := range 6 {
		all := pieces(r, params)
		back := make([][]float32, len(all))
		for i := range back {
			back[i] = make([]float32, 2*params)
		}
		scale := float32(1 + round/3)
		sumOf(m, all, scale, back)
		sums := make([][]float32, len(all))
		for i, g := range all {
			own := make([]float32, params)
			sums[i] = own
			for k, x := range g.lumps {
				for j, v := range x {
					own[j] += float32(v*scale) + float32(g.example+uint32(k))
				}
				if !slices.Equal(back[i][k*len(x):][:len(x)], x) {
					t.Errorf("what was read back of piece %d differs", i)
				}
			}
		}
		for to, from := range treetest.Tree(len(all)) {
			cpu.AddTo(sums[to], sums[from])
		}
		want := sums[0]
		got := make([]float32, params)
		m.Root().GetFloats(got, ref(device.Grads, 0))
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if math.Float32bits(got[j]) != math.Float32bits(want[j]) {
				t.Fatalf("round %d, element %d: %g, want %g", round, j, got[j], want[j])
			}
		}
	}
	if c.captures != 1 || c.graphs != 5 {
		t.Errorf("%d captures, %d launches of graphs; want 1 and 5", c.captures, c.graphs)
	}
}

// TestTree sums many numbers of chunks in the order of treetest.Tree, to the last bit.
func TestTree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, params := range []int{1, 7, 2050} {
		m, _ := newMachine(t, program(1, 0), params)
		for _, n := range []int{1, 2, 3, 5, 7, 8, 9, 11, 15, 16, 17, 23, 24, 25, 40, 44, 63, 64, 65, 73, 100, 128, 129} {
			chunks := make([][]float32, n)
			for i := range chunks {
				chunks[i] = make([]float32, params)
				for j := range chunks[i] {
					chunks[i][j] = float32(r.NormFloat64()) * float32(r.IntN(1000))
				}
				chunks[i][0] = float32(math.Copysign(0, -1))
			}
			m.Sum(n, func(w device.Worker, i int) {
				w.Fit(1, 1)
				w.PutFloats(ref(device.Grads, 0), chunks[i])
			})
			got := make([]float32, params)
			m.Root().GetFloats(got, ref(device.Grads, 0))
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			for to, from := range treetest.Tree(n) {
				cpu.AddTo(chunks[to], chunks[from])
			}
			for j, want := range chunks[0] {
				if math.Float32bits(got[j]) != math.Float32bits(want) {
					t.Fatalf("%d chunks, element %d of %d: %g, want %g", n, j, params, got[j], want)
				}
			}
		}
	}
}

// TestGraphsAreForgotten sums more shapes than a machine keeps graphs for, twice each.
func TestGraphsAreForgotten(t *testing.T) {
	m, c := newMachine(t, program(1, 0), 100)
	grads := make([]float32, 100)
	for n := 100; n > 40; n-- { // growing memory would drop them too
		x := make([]float32, n)
		for range 2 {
			sumOf(m, []gradient{{lumps: [][]float32{x, x, x}}}, 1, [][]float32{make([]float32, 3*n)})
			m.Root().GetFloats(grads, ref(device.Grads, 0))
		}
	}
	if err := m.Err(); err != nil || c.captures != 60 || c.open == 0 || c.open > 32 {
		t.Errorf("%d captures, %d of them open, %v", c.captures, c.open, err)
	}
}

// TestListsThatComeOnce sums shapes, one of them twice. Only this one is kept.
func TestListsThatComeOnce(t *testing.T) {
	m, c := newMachine(t, program(1, 0), 100)
	for _, n := range []int{100, 50, 60, 70, 60} {
		x := make([]float32, n)
		sumOf(m, []gradient{{lumps: [][]float32{x, x, x}}}, 1, [][]float32{make([]float32, 3*n)})
		if bytes, _ := m.Kept(); bytes > 0 && c.captures == 0 {
			t.Errorf("%d bytes are kept of lists without a graph", bytes)
		}
	}
	if bytes, lists := m.Kept(); m.Err() != nil || c.captures != 1 || lists != 4 || bytes == 0 {
		t.Errorf("%d captures, %d lists, %d bytes, %v", c.captures, lists, bytes, m.Err())
	}
}

// TestMoves puts and gets more words than are moved at once.
func TestMoves(t *testing.T) {
	const n = 5<<18 + 3
	m, _ := newMachine(t, program(1, 0), n)
	x := make([]float32, n)
	ints := make([]int32, n)
	for i := range x {
		x[i], ints[i] = float32(i), int32(-i)
	}
	m.Root().PutFloats(ref(device.State+1, 0), x)
	m.Each(1, func(w device.Worker, _ int) {
		w.Fit(0, n)
		w.PutInts(ref(device.Ints, 0), ints)
		got := make([]int32, n)
		w.GetInts(got, ref(device.Ints, 0))
		if !slices.Equal(got, ints) {
			t.Error("integers differ")
		}
	})
	got := make([]float32, n)
	m.Root().GetFloats(got, ref(device.State+1, 0))
	if err := m.Err(); err != nil || !slices.Equal(got, x) {
		t.Errorf("floats differ, %v", err)
	}
	m.Root().Zero(ref(device.State+1, 2), n-3)
	m.Root().GetFloats(got, ref(device.State+1, 0))
	if err := m.Err(); err != nil || got[0] != 0 || got[1] != 1 || slices.Max(got[2:n-1]) != 0 || got[n-1] != n-1 {
		t.Errorf("after clearing the middle: %v …, %g, %v", got[:3], got[n-1], err)
	}
}

// TestNeighboursGoTogether puts tokens of consecutive tensors, with and without a gap between
// them. Words in a gap do not change, and neighbours are one copy.
func TestNeighboursGoTogether(t *testing.T) {
	for _, c := range []struct {
		offs   []int // of tensors of 10 words
		copies int   // copies of the puts, the first fill and the last read
	}{
		{[]int{0, 16, 32}, 3},
		{[]int{0, 32, 48}, 4},
		{[]int{16, 0}, 4},
		{[]int{0, 10, 20}, 5},
	} {
		m, _ := newMachine(t, program(1, 0), 1)
		const n = 64
		want := slices.Repeat([]int32{7}, n)
		got := make([]int32, n)
		before := m.Calls()
		m.Each(1, func(w device.Worker, _ int) {
			w.Fit(0, n)
			w.PutInts(ref(device.Ints, 0), want)
			for i, off := range c.offs {
				tokens := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, int32(10 + i)}
				w.PutInts(ref(device.Ints, off), tokens)
				copy(want[off:], tokens)
			}
			w.GetInts(got, ref(device.Ints, 0))
		})
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		for i, off := range c.offs { // padding between tensors may have any content
			if i > 0 && device.Aligned(c.offs[i-1]+10) == off {
				copy(want[off-6:off], got[off-6:off])
			}
		}
		if copies := m.Calls().Kernels - before.Kernels; copies != c.copies || !slices.Equal(got, want) {
			t.Errorf("tensors at %v: %d copies, want %d; %v", c.offs, copies, c.copies, got)
		}
	}
}

// TestRoom runs tiles in default shared memory, in more shared memory and in scratch memory, with
// several replicas.
func TestRoom(t *testing.T) {
	for _, more := range []int{0, 20 << 10, 60 << 10} {
		const n, replicas, blocks = 50, 3, 200
		m, c := newMachine(t, program(blocks, more), 1)
		got := make([][]float32, replicas)
		m.Sum(replicas, func(w device.Worker, i int) {
			x := make([]float32, n)
			for j := range x {
				x[j] = float32(100*i + j)
			}
			e := w.Env()
			*e = device.Env{N: n}
			w.Fit(n, 0)
			w.PutFloats(ref(device.Work, 0), x)
			w.Queue().Launch(mirror, e, ref(device.Work, 0))
			got[i] = make([]float32, n)
			w.GetFloats(got[i], ref(device.Work, 0))
		})
		if err := m.Err(); err != nil {
			t.Fatalf("%d more elements: %v", more, err)
		}
		for i, x := range got {
			if x[0] != float32(100*i+n-1) || x[n-1] != float32(100*i) {
				t.Errorf("%d more elements: replica %d holds %v", more, i, x)
			}
		}
		room := int64(4*(n+more)+15) / 16 * 16
		if scratch := c.scratch > max(room, 1<<12); scratch != (more == 60<<10) {
			t.Errorf("%d more elements: the largest allocation has %d bytes", more, c.scratch)
		} else if scratch && (c.scratch%(3*room) != 0 || c.scratch/room >= 3*blocks) {
			t.Errorf("%d bytes of scratch for tiles of %d bytes", c.scratch, room)
		}
	}
}

// TestNothingAfterAnError makes a kernel read beyond its arena.
func TestNothingAfterAnError(t *testing.T) {
	m, _ := newMachine(t, program(1, 0), 4)
	r := m.Root()
	r.PutFloats(ref(device.Params, 0), []float32{1, 2, 3, 4})
	e := r.Env()
	*e = device.Env{N: 4}
	r.Queue().Launch(mirror, e, ref(device.Params, 512))
	got := []float32{-1}
	r.GetFloats(got, ref(device.Params, 0))
	err := m.Err()
	if err == nil || !strings.Contains(err.Error(), "out of bounds: kernel mirror, line ") {
		t.Fatalf("error: %v", err)
	}
	var report *ptxsim.Report
	if !errors.As(err, &report) || report.Kind != ptxsim.OutOfBounds {
		t.Errorf("the report is lost: %v", err)
	}
	called := 0
	m.Sum(3, func(w device.Worker, _ int) { called++; w.Fit(9, 9); w.GetFloats(got, ref(device.Work, 0)) })
	m.Each(2, func(w device.Worker, _ int) { called++; w.Fit(1<<30, 9); w.GetFloats(got, ref(device.Work, 0)) })
	if m.Err() != err || got[0] != -1 || called != 5 {
		t.Errorf("after an error: %v, %v, %d calls", m.Err(), got, called)
	}
}

// TestModulesAreLoadedOnce makes two machines on a device.
func TestModulesAreLoadedOnce(t *testing.T) {
	d, err := simulated.Open(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &loads{Driver: d}
	dev := cuda.NewDevice(c)
	for range 2 {
		if _, err := cuda.NewMachine(dev, program(1, 0), &device.Plan{NumParams: 3}, cuda.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if c.n != 2 { // the program's and the Machine's own
		t.Errorf("%d modules were loaded", c.n)
	}
}

type loads struct {
	cuda.Driver
	n int
}

func (l *loads) Load(ptx string) (cuda.Module, error) {
	l.n++
	return l.Driver.Load(ptx)
}
