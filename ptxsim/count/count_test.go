package count_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// text has a kernel of at most 64 threads with 1000 bytes of static shared memory.
const text = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n)
.maxntid 64
{
	.shared .align 4 .b8 tile[1000];
	ret;
}
`

// newDevice returns a device and the kernel scale, which computes 3000 FLOP per block. Each
// multiprocessor computes 10⁹ FLOP/s and the memory moves 10⁹ bytes/s.
func newDevice(t *testing.T) (*count.Device, *count.Entry) {
	t.Helper()
	c, err := card.Find("A100 SXM 40GB")
	if err != nil {
		t.Fatal(err)
	}
	c.SMs, c.FP32, c.Bandwidth, c.Memory = 10, 10e9, 1e9, 1<<20
	d := count.New(c, 3)
	m, err := d.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := m.Entry("scale")
	if e == nil || m.Entry("scale") != e || m.Entry("other") != nil {
		t.Fatalf("scale is %p", e)
	}
	e.Registers = 40
	e.Cost = func(grid [3]int, args []byte) (count.Cost, error) {
		if args[0] != 0 {
			return count.Cost{}, errors.New("not at this place")
		}
		return count.Cost{Flops: 3000 * float64(grid[0]*grid[1]), Bytes: 8}, nil
	}
	return d, e
}

var args = make([]byte, 12)

// TestDevice counts launches one by one, and in a graph.
func TestDevice(t *testing.T) {
	d, e := newDevice(t)
	launches := func() error {
		return errors.Join(e.Launch([3]int{1, 1, 1}, [3]int{64, 1, 1}, 0, args), e.Launch([3]int{2, 3, 1}, [3]int{32, 1, 1}, 100, args), e.Launch([3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, args))
	}
	if err := launches(); err != nil {
		t.Fatal(err)
	}
	d.Wait()
	c := d.Take()
	// A block takes 3 µs on its multiprocessor, and six blocks at the same time take as long, up
	// to rounding of a nanosecond each.
	want := count.Kernel{Name: "scale", Registers: 40, Static: 1000, Tally: count.Tally{Launches: 3, Replicas: 5, Blocks: 8, Least: 1, Most: 6,
		Threads: 64, Dynamic: 100, Flops: 8 * 3000, Bytes: 24, Weighted: (1 + 36 + 1) * 3000, Bound: 9 * time.Microsecond}}
	if len(c.Kernels) == 1 && want.Bound-c.Kernels[0].Bound <= 3 {
		want.Bound = c.Kernels[0].Bound
	}
	if len(c.Kernels) != 1 || c.Kernels[0] != want || c.Direct != 3 || c.Launched() != 3 || c.Waits != 1 || c.Misses != 1 {
		t.Errorf("%+v\nwant %+v", c, want)
	}
	g, err := d.Record(launches)
	if err != nil {
		t.Fatal(err)
	}
	g.Launch()
	g.Launch()
	d.Wait()
	if c := d.Take(); c.Launched() != 6 || c.Direct != 0 || c.Replays != 2 || c.Captures != 1 || c.Misses != 0 || c.Graphs != 1 || c.Kernels[0].Bound != 2*want.Bound {
		t.Errorf("in a graph: %+v", c)
	}
	g.Close()
	broken := errors.New("broken")
	if _, err := d.Record(func() error { return broken }); err != broken || d.Recording() {
		t.Errorf("a recording that fails: %v", err)
	}
	if c := d.Take(); len(c.Kernels) > 0 || c.Graphs != 0 || c.MostGraphs != 1 || c.Captures != 0 {
		t.Errorf("nothing more: %+v", c)
	}
}

// TestMemory counts allocations and copies.
func TestMemory(t *testing.T) {
	d, _ := newDevice(t)
	a, err := d.Alloc(1000)
	if err != nil || a%256 != 0 {
		t.Fatalf("%#x, %v", a, err)
	}
	var full *count.MemoryError
	if _, err := d.Alloc(1 << 20); !errors.As(err, &full) || *full != (count.MemoryError{Asked: 1 << 20, Free: 1<<20 - 1000, Total: 1 << 20}) {
		t.Errorf("too much: %v", err)
	}
	d.Pin(64)
	if err := errors.Join(d.Move(count.ToDevice, 10, a), d.Move(count.Within, 100, a, a+900), d.Free(a)); err != nil {
		t.Error(err)
	}
	d.Pin(-64)
	c := d.Counts()
	if c.Memory != 0 || c.MostMemory != 1000 || c.Pinned != 0 || c.MostPinned != 64 || c.ToDevice != (count.Traffic{Times: 1, Bytes: 10}) || c.Within != (count.Traffic{Times: 1, Bytes: 100}) {
		t.Errorf("%+v", c)
	}
}

// TestRefused checks requests that a driver refuses.
func TestRefused(t *testing.T) {
	d, e := newDevice(t)
	a, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	one, most := [3]int{1, 1, 1}, d.Card().SharedOptIn()-1000
	wrong := append([]byte{1}, args[1:]...)
	for name, err := range map[string]error{
		"no blocks":             e.Launch([3]int{}, one, 0, args),
		"too many blocks":       e.Launch([3]int{1, 1 << 16, 1}, one, 0, args),
		"too many threads":      e.Launch(one, [3]int{65, 1, 1}, 0, args),
		"shared memory":         e.Launch(one, one, 48<<10-999, args),
		"parameters":            e.Launch(one, one, 0, args[1:]),
		"what has no cost":      e.Launch(one, one, 0, wrong),
		"more shared memory":    e.AllowShared(most + 1),
		"nothing":               failed(d.Alloc(0)),
		"memory that is not":    d.Free(a + 1),
		"beyond the allocation": d.Move(count.Cleared, 100, a+1),
		"a graph in a graph":    failed(d.Record(func() error { return failed(d.Record(func() error { return nil })) })),
		"a newer card":          failed(d.Load([]byte(".version 8.0\n.target sm_90\n.address_size 64\n"))),
	} {
		if err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if _, err := d.Load([]byte("what")); !errors.As(err, new(*ptx.Error)) {
		t.Errorf("no PTX: %v", err)
	}
	if err := errors.Join(e.AllowShared(most), e.Launch(one, one, most, args)); err != nil {
		t.Error(err)
	}
	if c := d.Counts(); c.Launched() != 1 || c.Allowed != 1 || c.Captures != 0 {
		t.Errorf("what was refused is counted: %+v", c)
	}
}

func failed[T any](_ T, err error) error { return err }

func TestBound(t *testing.T) {
	c := card.Card{SMs: 100, FP32: 100e9, TF32: 500e9, BF16: 1000e9, Bandwidth: 1e9}
	for _, x := range []struct {
		blocks int
		count.Cost
		want time.Duration
	}{
		{1, count.Cost{}, time.Microsecond},
		{1, count.Cost{Flops: 1e6}, time.Millisecond}, // one multiprocessor
		{100, count.Cost{Flops: 1e6}, 10 * time.Microsecond},
		{1000, count.Cost{Flops: 1e6}, 10 * time.Microsecond}, // there are no more multiprocessors
		{100, count.Cost{Flops: 1e6, Bytes: 1e6}, time.Millisecond},
		{100, count.Cost{Flops: 1e7, Narrow: 1e7}, 10 * time.Microsecond},             // on tensor cores
		{100, count.Cost{Flops: 3e6, Narrow: 1e6}, 20 * time.Microsecond},             // at the same time as fp32
		{50, count.Cost{Flops: 1.1e7, Narrow: 1e7}, 20 * time.Microsecond},            // on half of the multiprocessors
		{100, count.Cost{Flops: 1e7, Split: 1e7}, 20 * time.Microsecond},              // in TF32
		{100, count.Cost{Flops: 2e7, Narrow: 1e7, Split: 1e7}, 30 * time.Microsecond}, // consecutive
	} {
		if got := count.Bound(&c, x.blocks, x.Cost, time.Microsecond); math.Abs(float64(got-x.want)) > 1 {
			t.Errorf("%+v: %s", x, got)
		}
	}
}
