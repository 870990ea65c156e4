package peak

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

func open(t *testing.T) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestProbesWork runs the probes on the simulator, which checks each access. The results show that
// they do the work that is counted.
func TestProbesWork(t *testing.T) {
	d := open(t)
	m, err := d.Load(source())
	if err != nil {
		t.Fatal(err)
	}
	const blocks, iterations = 2, 3
	out, err := d.Alloc(blocks * threads * 4)
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("multiply_add")
	if err != nil {
		t.Fatal(err)
	}
	args := binary.LittleEndian.AppendUint64(nil, uint64(out))
	for _, x := range []uint32{iterations, math.Float32bits(0.5), math.Float32bits(2)} {
		args = binary.LittleEndian.AppendUint32(args, x)
	}
	words := make([]byte, blocks*threads*4)
	if err := errors.Join(f.Launch([3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, 0, args), d.ToHost(words, out)); err != nil {
		t.Fatal(err)
	}
	for i := range blocks * threads {
		thread := float32(i % threads)
		want := thread
		for c := range chains {
			a := thread + float32(c)
			for range iterations * links / chains {
				a = a*0.5 + 2 // exact: halves and small integers
			}
			want += a
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(words[4*i:])); math.Abs(float64(got-want)) > 1e-4*float64(want) {
			t.Fatalf("thread %d: %g, want %g", i, got, want)
		}
	}

	for i, pair := range []float32{0.25 + 4, 0.25} { // each product adds this eight times: x x + y y, and x x
		if f, err = m.Function(cores()[i].name); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Launch([3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, 0, args), d.ToHost(words, out)); err != nil {
			t.Fatal(err)
		}
		for i := range blocks * threads {
			if got, want := math.Float32frombits(binary.LittleEndian.Uint32(words[4*i:])), 4*iterations*products*8*pair; got != want {
				t.Fatalf("thread %d: %g, want %g", i, got, want)
			}
		}
	}

	src, err1 := d.Alloc(2 * tile)
	dst, err2 := d.Alloc(2 * tile)
	f, err3 := m.Function("copy_tiles")
	from, to := make([]byte, 2*tile), make([]byte, 2*tile)
	for i := range from {
		from[i] = byte(i ^ i>>8 ^ i>>13)
	}
	args = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(dst)), uint64(src))
	if err := errors.Join(err1, err2, err3, d.ToDevice(src, from), f.Launch([3]int{2, 1, 1}, [3]int{threads, 1, 1}, 0, args), d.ToHost(to, dst)); err != nil {
		t.Fatal(err)
	}
	if string(from) != string(to) {
		t.Error("a copy is none")
	}
}

func TestMeasure(t *testing.T) {
	d := open(t)
	free, _, err := d.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Measure(d)
	if err != nil || p.Flops <= 0 || p.Narrow <= 0 || p.TF32 <= 0 || p.Bytes <= 0 || math.IsInf(p.Flops+p.Bytes, 0) {
		t.Errorf("%+v, %v", p, err)
	}
	if left, _, err := d.MemInfo(); err != nil || left != free {
		t.Errorf("%d of %d bytes are free afterwards, %v", left, free, err)
	}
}

// clock is a driver that launches nothing. Its events report a launch's time, since any start.
type clock struct {
	cuda.Driver
	now  time.Duration
	per  func(blocks int) time.Duration
	fail error // of the next launch
}

func (c *clock) Load(string) (cuda.Module, error)            { return clockModule{c: c}, nil }
func (c *clock) NewEvent() (cuda.Event, error)               { return &clockEvent{c: c}, nil }
func (c *clock) Zero(cuda.Ptr, int64) error                  { return nil }
func (m clockModule) Function(string) (cuda.Function, error) { return clockFunction{c: m.c}, nil }
func (m clockModule) Unload() error                          { return nil }
func (e *clockEvent) Record() error                          { e.at = e.c.now; return nil }
func (e *clockEvent) Since(s cuda.Event) (time.Duration, error) {
	return e.at - s.(*clockEvent).at, nil
}
func (e *clockEvent) Wait() error  { return nil }
func (e *clockEvent) Close() error { return nil }
func (f clockFunction) Launch(grid, _ [3]int, _ int, _ []byte) error {
	f.c.now += f.c.per(grid[0])
	return f.c.fail
}

type (
	clockModule struct {
		cuda.Module
		c *clock
	}
	clockFunction struct {
		cuda.Function
		c *clock
	}
	clockEvent struct {
		c  *clock
		at time.Duration
	}
)

// TestRates checks that the fastest of the longest launches sets the rate.
func TestRates(t *testing.T) {
	launches := 0
	c := &clock{Driver: open(t), per: func(blocks int) time.Duration {
		if launches++; launches%2 == 0 {
			return time.Duration(blocks) * time.Millisecond
		}
		return time.Duration(blocks) * 2 * time.Millisecond
	}}
	p, err := Measure(c)
	if want := 2.0 * links * threads * 1000; err != nil || p.Flops != want {
		t.Errorf("%g, %v, want %g", p.Flops, err, want)
	}
	if want := 2.0 * tile * 1000; p.Bytes != want {
		t.Errorf("%g, want %g", p.Bytes, want)
	}
}

func TestNoClock(t *testing.T) {
	c := &clock{Driver: open(t), per: func(int) time.Duration { return 0 }}
	if p, err := Measure(c); err != nil || p != (Peak{}) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	c := &clock{Driver: open(t), per: func(int) time.Duration { return 0 }, fail: broken}
	free, _, _ := c.MemInfo()
	if _, err := Measure(c); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if left, _, err := c.MemInfo(); err != nil || left != free {
		t.Errorf("%d of %d bytes are free afterwards, %v", left, free, err)
	}
}

// TestFull checks that a multiprocessor can hold all of a probe's blocks: 65536 registers for 2048
// threads.
func TestFull(t *testing.T) {
	full.Needs(t, full.Ptxas)
	for _, arch := range []string{"sm_80", "sm_90"} {
		usage, err := ptxas.Assemble([]byte(source()), arch)
		if err != nil {
			t.Fatal(err)
		}
		for name, u := range usage {
			if u.Registers > 32 || u.Stack+u.SpillStores+u.Shared > 0 {
				t.Errorf("%s, %s: %+v", arch, name, u)
			}
		}
		if len(usage) != 4 {
			t.Errorf("%s: %+v", arch, usage)
		}
	}
}
