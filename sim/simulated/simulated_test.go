package simulated_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/sim/simulated"
)

// ptx has a kernel that adds 1 to n words from an offset on, through dynamic shared memory.
const ptx = `
.version 7.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry increment(.param .u64 x, .param .u32 n)
.reqntid 32
{
	.shared .align 4 .b8 fixed[4096];
	.reg .pred %p;
	.reg .b32 %i, %n, %v, %s;
	.reg .b64 %x, %o;
	mov.u32 %i, %tid.x;
	ld.param.u32 %n, [n];
	setp.ge.u32 %p, %i, %n;
	@%p bra END;
	ld.param.u64 %x, [x];
	mul.wide.u32 %o, %i, 4;
	add.u64 %x, %x, %o;
	ld.global.u32 %v, [%x];
	mov.u32 %s, tile;
	mad.lo.u32 %s, %i, 4, %s;
	st.shared.u32 [%s], %v;
	ld.shared.u32 %v, [%s];
	add.u32 %v, %v, 1;
	st.global.u32 [%x], %v;
END:
	ret;
}
`

func open(t *testing.T, o ptxsim.Options) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fixture is a device with the kernel, 32 words and 32 words of pinned memory.
type fixture struct {
	cuda.Driver
	f    cuda.Function
	x    cuda.Ptr
	host []byte
}

func start(t *testing.T) fixture {
	t.Helper()
	return loaded(t, open(t, ptxsim.Options{}))
}

func loaded(t *testing.T, d cuda.Driver) fixture {
	t.Helper()
	mod, err := d.Load(ptx)
	if err != nil {
		t.Fatal(err)
	}
	f, err1 := mod.Function("increment")
	x, err2 := d.Alloc(128)
	host, err3 := d.AllocHost(128)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return fixture{d, f, x, host}
}

func (f fixture) increment(n int) error {
	args := binary.LittleEndian.AppendUint64(nil, uint64(f.x))
	args = binary.LittleEndian.AppendUint32(args, uint32(n))
	err := f.f.Launch([3]int{1, 1, 1}, [3]int{32, 1, 1}, 128, args)
	clear(args) // it was copied
	return err
}

func wantCode(t *testing.T, err error, code cuda.Code, text string) {
	t.Helper()
	var e *cuda.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want code %d with %q", err, code, text)
	}
}

// TestLaziness changes pinned memory before waiting for the device, which is a mistake, and
// expects to see its effect.
func TestLaziness(t *testing.T) {
	f := start(t)
	f.host[0] = 10
	err := errors.Join(f.ToDevice(f.x, f.host), f.increment(32))
	f.host[0] = 20
	err = errors.Join(err, f.ToHost(f.host, f.x))
	if f.host[0] != 20 {
		t.Error("the copy back did not wait for its turn")
	}
	if err = errors.Join(err, f.Synchronize()); err != nil || f.host[0] != 21 || f.host[4] != 1 {
		t.Errorf("%d, %d, %v", f.host[0], f.host[4], err)
	}
	pageable := make([]byte, 128)
	if err := f.ToHost(pageable, f.x); err != nil || pageable[0] != 21 {
		t.Errorf("pageable memory: %d, %v", pageable[0], err)
	}
}

func TestGraphs(t *testing.T) {
	f := start(t)
	if err := f.Zero(f.x, 128); err != nil {
		t.Fatal(err)
	}
	g, err := f.Capture(func() error {
		return errors.Join(f.ToDevice(f.x, f.host[:4]), f.increment(32), f.increment(1), f.ToHost(f.host, f.x))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Synchronize(); err != nil || f.host[4] != 0 {
		t.Errorf("recording did something: %d, %v", f.host[4], err)
	}
	for round := range 3 {
		f.host[0] = byte(50 * round)
		if err := errors.Join(g.Launch(), f.Synchronize()); err != nil || f.host[0] != byte(50*round+2) || f.host[4] != byte(round+1) {
			t.Errorf("round %d: %d, %d, %v", round, f.host[0], f.host[4], err)
		}
	}
	for name, forbidden := range map[string]func() error{
		"pageable memory": func() error { return f.ToDevice(f.x, make([]byte, 4)) },
		"waiting":         f.Synchronize,
		"allocating":      func() error { _, err := f.Alloc(4); return err },
		"an event":        func() error { _, err := f.NewEvent(); return err },
	} {
		_, err := f.Capture(forbidden)
		if err == nil {
			t.Errorf("%s is possible while recording", name)
			continue
		}
		wantCode(t, err, cuda.CaptureUnsupported, "")
	}
	if err := f.Synchronize(); err != nil {
		t.Errorf("after a failed recording: %v", err)
	}
}

// TestFaults reads words that nobody wrote. The launch is accepted, and afterwards the device is
// lost.
func TestFaults(t *testing.T) {
	f := start(t)
	if err := f.increment(32); err != nil {
		t.Fatalf("the launch itself: %v", err)
	}
	const text = "launch kernel increment: CUDA_ERROR_LAUNCH_FAILED (719): uninitialised memory: kernel increment, line "
	wantCode(t, f.Synchronize(), cuda.LaunchFailed, text)
	_, err := f.Alloc(4)
	wantCode(t, err, cuda.LaunchFailed, text)
	wantCode(t, f.increment(1), cuda.LaunchFailed, text)
	var e *cuda.Error
	if !errors.As(err, &e) || !e.Lost() {
		t.Error("the device is not lost")
	}
}

func TestSharedMemory(t *testing.T) {
	f := start(t)
	i := f.Info()
	a, err := f.f.Attributes()
	if err != nil || a.Shared != 4096 || a.MaxThreads != 32 || i.Shared != 48<<10 || i.SharedOptIn != 163<<10 {
		t.Errorf("%+v, %+v, %v", a, i, err)
	}
	launch := func(shared int) error {
		return f.f.Launch([3]int{1, 1, 1}, [3]int{32, 1, 1}, shared, make([]byte, 12))
	}
	if err := errors.Join(launch(i.Shared-4096), f.Synchronize()); err != nil {
		t.Error(err)
	}
	wantCode(t, launch(i.Shared-4095), 1, "dynamic shared memory")
	wantCode(t, f.f.AllowShared(i.SharedOptIn-4095), 1, "")
	if err := errors.Join(f.f.AllowShared(i.SharedOptIn-4096), launch(i.SharedOptIn-4096), f.Synchronize()); err != nil {
		t.Error(err)
	}
}

func TestMemory(t *testing.T) {
	d := open(t, ptxsim.Options{Memory: 1000})
	p, err := d.Alloc(600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Alloc(500)
	var m *cuda.MemoryError
	if !errors.As(err, &m) || m.Asked != 500 || m.Free != 400 || m.Total != 1000 {
		t.Errorf("%v", err)
	}
	wantCode(t, errors.Join(d.Zero(p, 601), d.Synchronize()), cuda.IllegalAddress, "601 bytes at offset 0")
	if _, err := simulated.Open(ptxsim.Options{Arch: 70}); err == nil {
		t.Error("the simulator takes sm_70")
	}
	d = open(t, ptxsim.Options{})
	_, err = d.Load("rubbish")
	wantCode(t, err, cuda.InvalidPTX, "sim: load: line 1")
}

// TestEvents checks that a mark reads the host's clock when the queue reaches it, not earlier.
func TestEvents(t *testing.T) {
	f := start(t)
	events := make([]cuda.Event, 3)
	for i := range events {
		var err error
		if events[i], err = f.NewEvent(); err != nil {
			t.Fatal(err)
		}
	}
	a, b, fresh := events[0], events[1], events[2]
	const pause = 20 * time.Millisecond
	err := errors.Join(f.Zero(f.x, 128), a.Record(), f.increment(32), b.Record())
	time.Sleep(pause)
	got, since := b.Since(a)
	if err := errors.Join(err, since); err != nil || got <= 0 || got >= pause {
		t.Errorf("a launch took %v, %v", got, err)
	}
	if back, err := a.Since(b); err != nil || back != -got {
		t.Errorf("backwards %v, %v, want %v", back, err, -got)
	}
	time.Sleep(pause)
	err = b.Record() // the mark before is forgotten
	if again, since := b.Since(a); err != nil || since != nil || again < pause {
		t.Errorf("recorded again after %v: %v, %v, %v", pause, again, err, since)
	}
	_, err = b.Since(fresh)
	wantCode(t, err, 400, "the time between two events")
	if err := errors.Join(a.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	wantCode(t, a.Record(), 400, "record an event")
	if err := f.increment(32); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, b.Record(), 1, "closed")
}

// TestCapacities opens every architecture. A block's limits fit into a multiprocessor.
func TestCapacities(t *testing.T) {
	for _, arch := range []int{80, 86, 89, 90} {
		i := open(t, ptxsim.Options{Arch: arch}).Info()
		if i.SMShared != i.SharedOptIn+1<<10 || i.SMThreads < 1536 || i.SMBlocks < 16 || i.SMRegisters != 65536 {
			t.Errorf("sm_%d: %+v", arch, i)
		}
	}
}

// TestLibrary loads a text on two devices of one library. Each has its own memory and results,
// and keeps them when the other is closed. A wrong text and a device that is too old are refused
// every time.
func TestLibrary(t *testing.T) {
	library := new(simulated.Library)
	var fixtures []fixture
	for range 2 {
		d, err := library.Open(ptxsim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixtures = append(fixtures, loaded(t, d))
		_, err = d.Load("rubbish")
		wantCode(t, err, cuda.InvalidPTX, "load PTX")
		_, err = d.Load(strings.Replace(ptx, "sm_80", "sm_90", 1))
		wantCode(t, err, cuda.InvalidPTX, "load PTX")
	}
	for i, f := range fixtures {
		f.host[0] = byte(10 * i)
		if err := errors.Join(f.ToDevice(f.x, f.host), f.increment(32), f.increment(32), f.ToHost(f.host, f.x), f.Synchronize(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := fixtures[0].host[0], fixtures[1].host[0]; a != 2 || b != 12 {
		t.Errorf("two increments of 0 and of 10 are %d and %d", a, b)
	}
}
