package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/device/treetest"
	"github.com/arithlang/mlc/sim/simulated"
)

// foldPTX has one kernel, fold. It multiplies the first R elements of Grads by the layer and adds
// Work's and the example. Each replica has its R and example.
const foldPTX = `
.version 7.8
.target sm_80
.address_size 64

.visible .entry fold(.param .u64 g, .param .u64 gStep, .param .u64 x, .param .u64 xStep, .param .u64 shapes, .param .u32 layer)
.reqntid 32
{
	.reg .pred %p;
	.reg .b32 %i, %n, %r, %e, %l;
	.reg .b64 %g, %x, %s, %o, %shape;
	.reg .f32 %f, %v, %ex, %layer;
	mov.u32 %r, %ctaid.y;
	ld.param.u64 %shape, [shapes];
	mad.wide.u32 %shape, %r, 32, %shape;
	ld.global.u32 %n, [%shape+12];
	ld.global.u32 %e, [%shape+20];
	cvt.rn.f32.u32 %ex, %e;
	ld.global.u32 %r, [%shape+28];
	cvt.u64.u32 %o, %r;
	ld.param.u64 %g, [g];
	ld.param.u64 %s, [gStep];
	mad.lo.u64 %g, %o, %s, %g;
	ld.param.u64 %x, [x];
	ld.param.u64 %s, [xStep];
	mad.lo.u64 %x, %o, %s, %x;
	ld.param.u32 %l, [layer];
	cvt.rn.f32.u32 %layer, %l;
	mov.u32 %i, %tid.x;
LOOP:
	setp.ge.u32 %p, %i, %n;
	@%p bra END;
	mul.wide.u32 %o, %i, 4;
	add.u64 %s, %x, %o;
	ld.global.f32 %v, [%s];
	add.rn.f32 %v, %v, %ex;
	add.u64 %s, %g, %o;
	ld.global.f32 %f, [%s];
	mul.rn.f32 %f, %f, %layer;
	add.rn.f32 %f, %f, %v;
	st.global.f32 [%s], %f;
	add.u32 %i, %i, 32;
	bra LOOP;
END:
	ret;
}
`

// scarce is a driver that always reports the same free memory. It records the launches of fold and
// the most replicas of one.
type scarce struct {
	cuda.Driver
	free             int64
	replicas, folded int
}

func (s *scarce) MemInfo() (free, total int64, err error) { return s.free, 0, nil }

func (s *scarce) Load(ptx string) (cuda.Module, error) {
	m, err := s.Driver.Load(ptx)
	return scarceModule{m, s}, err
}

type scarceModule struct {
	cuda.Module
	s *scarce
}

func (m scarceModule) Function(name string) (cuda.Function, error) {
	f, err := m.Module.Function(name)
	if name != "fold" {
		return f, err
	}
	return scarceFunction{f, m.s}, err
}

type scarceFunction struct {
	cuda.Function
	s *scarce
}

func (f scarceFunction) Launch(grid, block [3]int, shared int, args []byte) error {
	f.s.replicas = max(f.s.replicas, grid[1])
	f.s.folded++
	return f.Function.Launch(grid, block, shared, args)
}

// folding returns a machine for fold, on a device that always has free bytes left.
func folding(t *testing.T, params int, free int64) (*cuda.Machine, *scarce) {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Order: ptxsim.Reversed})
	if err != nil {
		t.Fatal(err)
	}
	s := &scarce{Driver: d, free: free}
	fold := cuda.Kernel{Name: "fold", Threads: 32, Shapes: true, Scalars: []string{"layer"}, Blocks: func(*device.Env) int { return 1 }}
	m, err := cuda.NewMachine(cuda.NewDevice(s), cuda.Program{PTX: foldPTX, Kernels: []cuda.Kernel{fold}}, &device.Plan{NumParams: params}, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// A piece of work is folds with these layers, on the first rows elements.
type piece struct {
	rows   int
	layers []int
	clear  int // the fold before which Work is cleared; -1: no fold
	back   []float32
}

// TestPiecesOfDifferentForms gives the machine pieces that differ in their rows and ops, with
// memory for one, some and all. The sums are the processor's, to the last bit, with fewer launches
// than folds.
func TestPiecesOfDifferentForms(t *testing.T) {
	const params, room = 40, 40
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 12 {
		all := make([]piece, 9)
		folds := 0
		for i := range all {
			all[i] = piece{rows: 1 + r.IntN(room), clear: -1, back: make([]float32, room)}
			for range 1 + r.IntN(8) {
				all[i].layers = append(all[i].layers, 1+r.IntN(3))
			}
			if r.IntN(3) == 0 {
				all[i].clear = r.IntN(len(all[i].layers))
			}
			folds += len(all[i].layers)
		}
		if round == 0 { // all differ only in their rows
			for i := range all {
				all[i].layers, all[i].clear = all[0].layers, -1
			}
			folds = len(all) * len(all[0].layers)
		}
		work := make([]float32, room)
		for i := range work {
			work[i] = float32(r.NormFloat64()) * float32(r.IntN(100))
		}
		want := make([][]float32, len(all))
		for i, p := range all {
			want[i] = p.onTheProcessor(work, params, i)
		}
		for to, from := range treetest.Tree(len(all)) {
			cpu.AddTo(want[to], want[from])
		}
		launches := folds
		for _, free := range []int64{0, 1200, 1 << 20} { // the Work and Ints of a piece take 384 bytes
			m, s := folding(t, params, free)
			got := make([]float32, params)
			m.Sum(len(all), func(w device.Worker, i int) { all[i].record(w, work, i) })
			m.Root().GetFloats(got, ref(device.Grads, 0))
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want[0]) {
				t.Errorf("round %d, %d bytes free: sums are\n%v, not\n%v", round, free, got, want[0])
			}
			for i, p := range all {
				if x := p.remains(work); !slices.Equal(p.back, x) {
					t.Errorf("round %d, %d bytes free: piece %d left\n%v, not\n%v", round, free, i, p.back, x)
				}
			}
			switch {
			case s.folded > launches:
				t.Errorf("round %d, %d bytes free: %d launches, and %d with less memory", round, free, s.folded, launches)
			case free == 0 && (s.folded != folds || s.replicas != 1):
				t.Errorf("round %d: %d launches of up to %d pieces without memory for two", round, s.folded, s.replicas)
			case free == 1<<20 && s.folded >= folds*2/3:
				t.Errorf("round %d: %d launches for %d folds with memory for all", round, s.folded, folds)
			case round == 0 && free == 1<<20 && (s.folded != len(all[0].layers) || s.replicas != len(all)):
				t.Errorf("%d launches of %d pieces at most, of %d that are alike but for their rows", s.folded, s.replicas, len(all))
			}
			launches = s.folded
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// record records the piece on a worker.
func (p *piece) record(w device.Worker, work []float32, number int) {
	w.Fit(len(work), 1)
	w.PutFloats(ref(device.Work, 0), work)
	for i, layer := range p.layers {
		if i == p.clear {
			w.Queue().Zero(ref(device.Work, 0), p.rows)
		}
		e := w.Env()
		*e = device.Env{B: 1, T: len(work), R: len(work), Layer: layer, Example: uint32(number), Actual: device.Extent{B: 1, T: p.rows, R: p.rows}}
		w.Queue().Launch(0, e, ref(device.Grads, 0), ref(device.Work, 0))
	}
	w.GetFloats(p.back, ref(device.Work, 0))
}

// remains returns the content of Work after the piece.
func (p *piece) remains(work []float32) []float32 {
	work = slices.Clone(work)
	if p.clear >= 0 {
		clear(work[:p.rows])
	}
	return work
}

// onTheProcessor returns the piece's gradient.
func (p *piece) onTheProcessor(work []float32, params, number int) []float32 {
	g := make([]float32, params)
	work = slices.Clone(work)
	for i, layer := range p.layers {
		if i == p.clear {
			clear(work[:p.rows])
		}
		for j := range p.rows {
			v := work[j] + float32(number)
			g[j] = float32(g[j]*float32(layer)) + v
		}
	}
	return g
}

// TestManyForms has more pieces than a group may have forms.
func TestManyForms(t *testing.T) {
	const n = 70
	m, _ := folding(t, 1, 1<<20)
	all := make([]piece, n)
	var want [n][]float32
	for i := range all {
		all[i] = piece{rows: 1, layers: slices.Repeat([]int{1}, i+1), clear: -1, back: make([]float32, 1)}
		want[i] = all[i].onTheProcessor([]float32{1}, 1, i)
	}
	m.Sum(n, func(w device.Worker, i int) { all[i].record(w, []float32{1}, i) })
	got := make([]float32, 1)
	m.Root().GetFloats(got, ref(device.Grads, 0))
	for to, from := range treetest.Tree(n) {
		cpu.AddTo(want[to], want[from])
	}
	if err := m.Err(); err != nil || got[0] != want[0][0] {
		t.Errorf("%v, %v; want %v", got, err, want[0])
	}
}

// TestSameHash merges ops that all have the same hash. Only equal ops become one item.
func TestSameHash(t *testing.T) {
	a, b, c := ref(device.Work, 0), ref(device.Work, 16), ref(device.Grads, 0)
	for _, x := range []struct {
		first, second []device.Ref
		items         int
	}{
		{[]device.Ref{a}, []device.Ref{b}, 2},
		{[]device.Ref{a, b}, []device.Ref{b, a}, 3},
		{[]device.Ref{a, b, c}, []device.Ref{a, c}, 3},
		{[]device.Ref{b}, []device.Ref{a, b, c}, 3},
	} {
		if n := cuda.Merged(x.first, x.second); n != x.items {
			t.Errorf("%v and %v become %d items, not %d", x.first, x.second, n, x.items)
		}
	}
}

// TestMovesJoin clears gradients, uses and ranges in one launch, up to its most sets, and gets
// results in another. A copy after a meeting of ranks stays there.
func TestMovesJoin(t *testing.T) {
	for _, c := range []struct {
		ranges int
		meets  bool
		want   []string
	}{
		{3, false, []string{"copy 1", "clear 5", "copy 4"}},
		{3, true, []string{"copy 1", "clear 5", "copy 3", "copy 1"}},
		{11, false, []string{"copy 1", "clear 12", "clear 1", "copy 12"}},
		{0, false, []string{"copy 1", "clear 2", "copy 1"}},
	} {
		if got := cuda.CommandsOf(c.ranges, c.meets); !slices.Equal(got, c.want) {
			t.Errorf("%d ranges, meets %v: %q, want %q", c.ranges, c.meets, got, c.want)
		}
	}
}

// TestMovedLie compares within and apart with the sets' words. Both may be false if the answer is
// unknown.
func TestMovedLie(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := map[[2]bool]int{}
	for range 4000 {
		var dst, step, n, replicas [2]int
		var words [2]map[int]bool
		for i := range 2 {
			dst[i], step[i], n[i], replicas[i] = 4*r.IntN(40), 4*(8+r.IntN(3)), 1+r.IntN(8), 1+r.IntN(4)
			if r.IntN(2) == 0 {
				step[i], replicas[i] = step[0], replicas[0]
			}
			words[i] = map[int]bool{}
			for replica := range replicas[i] {
				for w := range n[i] {
					words[i][dst[i]+replica*step[i]+4*w] = true
				}
			}
		}
		shared := 0
		for w := range words[0] {
			if words[1][w] {
				shared++
			}
		}
		within, apart := cuda.Lie(dst, step, n, replicas)
		if within && shared < len(words[0]) || apart && shared > 0 {
			t.Fatalf("from %d, %d bytes apart, %d words of %d replicas: within %v, apart %v, and %d words of %d are shared", dst, step, n, replicas, within, apart, shared, len(words[0]))
		}
		found[[2]bool{within, apart}]++
	}
	if found[[2]bool{true, false}] < 50 || found[[2]bool{false, true}] < 1000 {
		t.Errorf("within, apart: %v", found)
	}
}
