package counted_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/counted"
)

// text has a kernel of 64 threads with 1000 bytes of static shared memory.
const text = `
.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry scale(.param .u64 x, .param .u64 xStep, .param .u32 n)
.maxntid 64
{
	.shared .align 4 .b8 tile[1000];
	ret;
}
.visible .entry other()
.reqntid 32
{
	ret;
}
`

// program gives the cost of scale: 3 FLOP and 8 bytes an element.
var program = cuda.Program{PTX: text, Kernels: []cuda.Kernel{
	{Name: "other", Threads: 32, Blocks: func(*device.Env) int { return 1 }},
	{Name: "scale", Threads: 64, Scalars: []string{"N"}, Blocks: func(*device.Env) int { return 1 }},
}}

var costs = []func(*device.Env) cpu.Cost{
	nil, func(e *device.Env) cpu.Cost { return cpu.Cost{Flops: 3 * float64(e.N), Bytes: 8 * float64(e.N)} },
}

// A rig is a device with multiprocessors of 10⁹ FLOP/s and memory of 10⁹ bytes/s.
type rig struct {
	*counted.Driver
	t            *testing.T
	scale, other cuda.Function
}

func newRig(t *testing.T) rig {
	t.Helper()
	c, err := card.Find("A100 SXM 40GB")
	if err != nil {
		t.Fatal(err)
	}
	c.SMs, c.FP32, c.Bandwidth, c.Memory = 10, 10e9, 1e9, 1<<20
	d, err := counted.Open(counted.Options{Card: c, Program: program, Costs: costs, Registers: map[string]int{"scale": 40}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	r := rig{Driver: d, t: t}
	for name, f := range map[string]*cuda.Function{"scale": &r.scale, "other": &r.other} {
		if *f, err = m.Function(name); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r rig) must(errs ...error) {
	r.t.Helper()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// launch launches scale for n elements.
func (r rig) launch(n, blocks, replicas, shared int) error {
	args := binary.LittleEndian.AppendUint32(make([]byte, 16), uint32(n))
	return r.scale.Launch([3]int{blocks, replicas, 1}, [3]int{64, 1, 1}, shared, args)
}

func TestLaunches(t *testing.T) {
	r := newRig(t)
	// 3000 FLOP on 2 of 10 multiprocessors are 1.5 µs: less than the launch. 8 MB are
	// 8 ms. 3·10⁷ FLOP on all of them are 3 ms; their 8·10⁷ bytes 80 ms.
	r.must(r.launch(1000, 2, 1, 0), r.launch(1000_000, 1, 1, 100), r.launch(1000_000, 5, 10, 0))
	r.must(r.other.Launch([3]int{7, 1, 1}, [3]int{32, 1, 1}, 0, nil), r.Synchronize())
	c := r.Take()
	if len(c.Kernels) != 2 || c.Direct != 4 || c.Launched() != 4 || c.Waits != 1 || c.Misses != 0 {
		t.Fatalf("%+v", c)
	}
	got := c.Kernels[slices.IndexFunc(c.Kernels, func(k count.Kernel) bool { return k.Name == "scale" })]
	want := count.Kernel{Name: "scale", Registers: 40, Static: 1000, Tally: count.Tally{Launches: 3, Replicas: 12, Blocks: 53, Least: 1, Most: 50,
		Threads: 64, Dynamic: 100, Flops: 3e3 + 3e6 + 3e7, Bytes: 8e3 + 8e6 + 8e7, Weighted: 2*3e3 + 3e6 + 50*3e7,
		Bound: 8*time.Microsecond + 8*time.Millisecond + 80*time.Millisecond}}
	if got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if worst := c.Worst(); worst[0].Name != "scale" || worst[1].Bound != card.Launch {
		t.Errorf("the worst first: %+v", worst)
	}
	if again := r.Take(); len(again.Kernels) > 0 || again.Direct != 0 {
		t.Errorf("counted twice: %+v", again)
	}
}

func TestGraphs(t *testing.T) {
	r := newRig(t)
	mem, err := r.AllocHost(1000)
	r.must(err)
	p, err := r.Alloc(500)
	r.must(err)
	nine := func() error {
		for range cuda.WorthGraph + 1 {
			if err := r.launch(1000, 1, 1, 0); err != nil {
				return err
			}
		}
		return errors.Join(r.ToHost(mem[100:200], p), r.Copy(p, p+256, 100))
	}
	r.must(nine(), r.Synchronize())
	g, err := r.Capture(nine)
	r.must(err)
	c := r.Take()
	if c.Direct != 9 || c.Launched() != 9 || c.Misses != 1 || c.Captures != 1 || c.Replays != 0 || c.Graphs != 1 || c.ToHost != (count.Traffic{Times: 1, Bytes: 100}) {
		t.Errorf("one by one, and recorded: %+v", c)
	}
	mem[150] = 1
	r.must(g.Launch(), r.Synchronize(), g.Launch(), r.Synchronize())
	c = r.Take()
	// 8000 bytes are 8 µs a launch, in a graph too.
	if c.Direct != 0 || c.Launched() != 18 || c.Replays != 2 || c.Misses != 0 || c.Kernels[0].Bound != 18*8*time.Microsecond ||
		c.ToHost != (count.Traffic{Times: 2, Bytes: 200}) || c.Within != (count.Traffic{Times: 2, Bytes: 200}) {
		t.Errorf("replayed twice: %+v", c)
	}
	if mem[150] != 0 {
		t.Error("a replay leaves what was there")
	}
	r.must(g.Close())
	if c := r.Take(); c.Graphs != 0 || c.MostGraphs != 1 {
		t.Errorf("closed: %+v", c)
	}
	r.must(r.launch(0, 1, 1, 0))
	g, err = r.Capture(func() error { return r.launch(0, 1, 1, 0) })
	r.must(err, g.Launch())
	if c := r.Take(); c.Kernels[0].Bound != card.Launch+card.Node {
		t.Errorf("a launch and a node of nothing: %s", c.Kernels[0].Bound)
	}
}

func TestMemory(t *testing.T) {
	r := newRig(t)
	a, err := r.Alloc(1000)
	r.must(err)
	b, err := r.Alloc(1 << 19)
	r.must(err)
	if a%256 != 0 || b%256 != 0 {
		t.Errorf("addresses %#x and %#x", a, b)
	}
	var memory *cuda.MemoryError
	if _, err := r.Alloc(1 << 19); !errors.As(err, &memory) || memory.Free != 1<<19-1000 || memory.Total != 1<<20 {
		t.Errorf("too much: %v", err)
	}
	r.must(r.Free(b), r.Free(0))
	if free, total, err := r.MemInfo(); err != nil || free != 1<<20-1000 || total != 1<<20 {
		t.Errorf("%d of %d are free, %v", free, total, err)
	}
	pinned, err := r.AllocHost(64)
	r.must(err)
	back := []byte{1, 2, 3}
	r.must(r.ToDevice(a, pinned[:10]), r.ToDevice(a+1, pinned[:20]), r.ToDevice(a, make([]byte, 5)), r.ToHost(back, a), r.Zero(a, 1000))
	if !slices.Equal(back, []byte{0, 0, 0}) {
		t.Errorf("it leaves %v", back)
	}
	r.must(r.FreeHost(pinned))
	c := r.Take()
	if c.Memory != 1000 || c.MostMemory != 1000+1<<19 || c.Pinned != 0 || c.MostPinned != 64 || c.ToDevice != (count.Traffic{Times: 2, Bytes: 30}) ||
		c.ToDevicePageable != (count.Traffic{Times: 1, Bytes: 5}) || c.ToHostPageable != (count.Traffic{Times: 1, Bytes: 3}) || c.Cleared != (count.Traffic{Times: 1, Bytes: 1000}) {
		t.Errorf("%+v", c)
	}
}

// TestRefusals lists the calls that a driver refuses.
func TestRefusals(t *testing.T) {
	r := newRig(t)
	p, err := r.Alloc(256)
	r.must(err)
	optIn := r.Info().SharedOptIn
	g, err := r.Capture(func() error { return nil })
	r.must(err)
	const invalid cuda.Code = 1
	for name, x := range map[string]struct {
		err  error
		code cuda.Code
	}{
		"no blocks":             {r.launch(1, 0, 1, 0), invalid},
		"too many replicas":     {r.launch(1, 1, 1<<16, 0), invalid},
		"too many threads":      {r.scale.Launch([3]int{1, 1, 1}, [3]int{65, 1, 1}, 0, make([]byte, 20)), invalid},
		"other threads":         {r.other.Launch([3]int{1, 1, 1}, [3]int{31, 1, 1}, 0, nil), invalid},
		"parameters":            {r.scale.Launch([3]int{1, 1, 1}, [3]int{64, 1, 1}, 0, make([]byte, 16)), invalid},
		"shared memory":         {r.launch(1, 1, 1, 48<<10-999), invalid},
		"more shared memory":    {r.scale.AllowShared(optIn - 999), invalid},
		"memory that is not":    {r.Free(p + 1), invalid},
		"pinned memory, not":    {r.FreeHost(make([]byte, 3)), invalid},
		"nothing":               {second(r.Alloc(0)), invalid},
		"no pinned memory":      {second(r.AllocHost(0)), invalid},
		"beyond the allocation": {r.Zero(p+1, 256), invalid},
		"no such kernel":        {second(mustLoad(r).Function("scal")), cuda.NotFound},
		"no PTX":                {second(r.Load("what")), cuda.InvalidPTX},
		"a capture in a capture": {second(r.Capture(func() error {
			_, err := r.Capture(func() error { return nil })
			return err
		})), cuda.CaptureUnsupported},
		"an allocation in one": {second(r.Capture(func() error { return second(r.Alloc(1)) })), cuda.CaptureUnsupported},
		"a wait in one":        {second(r.Capture(r.Synchronize)), cuda.CaptureUnsupported},
		"a graph in one":       {second(r.Capture(g.Launch)), cuda.CaptureUnsupported},
		"pageable memory":      {second(r.Capture(func() error { return r.ToDevice(p, []byte{1}) })), cuda.CaptureUnsupported},
	} {
		var e *cuda.Error
		if !errors.As(x.err, &e) || e.Code != x.code || e.Name == "" || e.Doing == "" {
			t.Errorf("%s: %v", name, x.err)
		}
	}
	r.must(r.scale.AllowShared(optIn-1000), r.launch(1, 1, 1, optIn-1000), r.Synchronize())
	if c := r.Take(); c.Launched() != 1 || c.Captures != 1 || c.Allowed != 1 {
		t.Errorf("refused calls are counted: %+v", c)
	}
	r.must(r.Close())
	if err := r.launch(1, 1, 1, 0); err == nil {
		t.Error("the closed device works")
	}
	if _, err := counted.Open(counted.Options{SMs: -1}); err == nil {
		t.Error("a card without multiprocessors")
	}
}

func second[T any](_ T, err error) error { return err }

func mustLoad(r rig) cuda.Module {
	m, err := r.Load(text)
	r.must(err)
	return m
}

func TestEvents(t *testing.T) {
	r := newRig(t)
	a, err := r.NewEvent()
	r.must(err)
	b, err := r.NewEvent()
	r.must(err, a.Record())
	if _, err := b.Since(a); err == nil {
		t.Error("time of what was not recorded")
	}
	r.must(b.Record())
	if took, err := b.Since(a); err != nil || took != 0 {
		t.Errorf("%s, %v", took, err)
	}
	r.must(a.Close())
	if err := a.Record(); err == nil {
		t.Error("a closed event is recorded")
	}
	if c := r.Take(); c.Waits != 1 {
		t.Errorf("%d waits", c.Waits)
	}
}
