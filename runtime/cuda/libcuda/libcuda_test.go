//go:build !nogpu && linux && (amd64 || arm64)

package libcuda_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// The kernels of the fake driver. It runs add1 itself.
const kernels = `.version 7.8
.target sm_80
.address_size 64
.visible .entry add1(.param .u64 p, .param .u32 n) { ret; }
.visible .entry mixed(.param .u32 a, .param .u64 b, .param .f32 c) { ret; }
.visible .entry none() { ret; }
`

// open opens a fake device, which must be empty after the test.
func open(t *testing.T) (cuda.Driver, *fakecuda.Library) {
	t.Helper()
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := lib.Live(); n != 0 {
			t.Errorf("%d things were not freed", n)
		}
	})
	return d, lib
}

// ok ends the test if there is an error.
func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func alloc(t *testing.T, d cuda.Driver, bytes int64) cuda.Ptr {
	t.Helper()
	p, err := d.Alloc(bytes)
	ok(t, err)
	return p
}

func function(t *testing.T, d cuda.Driver, name string) cuda.Function {
	t.Helper()
	m, err := d.Load(kernels)
	ok(t, err)
	f, err := m.Function(name)
	ok(t, err)
	return f
}

// add1 returns the parameters of kernel add1.
func add1(p cuda.Ptr, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(p)), n)
}

func words(t *testing.T, d cuda.Driver, p cuda.Ptr, n int) []uint32 {
	t.Helper()
	b, w := make([]byte, 4*n), make([]uint32, n)
	ok(t, d.ToHost(b, p))
	if _, err := binary.Decode(b, binary.LittleEndian, w); err != nil {
		t.Fatal(err)
	}
	return w
}

var one = [3]int{1, 1, 1}

func TestInfo(t *testing.T) {
	d, _ := open(t)
	want := cuda.Info{Name: "Fake GPU 0", Major: 8, Version: 12040, SMs: 108, Memory: 64 << 20, Shared: 48 << 10, SharedOptIn: 163 << 10,
		Clock: 1410000, MemoryClock: 1215000, BusWidth: 5120, L2: 40 << 20, SMShared: 164 << 10, SMRegisters: 65536, SMThreads: 2048, SMBlocks: 32, Place: 0x10701}
	if got := d.Info(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMemory(t *testing.T) {
	d, _ := open(t)
	p, q := alloc(t, d, 1000), alloc(t, d, 1000)
	text := []byte("copied from Go memory")
	got := make([]byte, len(text))
	ok(t, d.ToDevice(p+7, text), d.Copy(q+500, p+7, int64(len(text))), d.ToHost(got, q+500))
	if !bytes.Equal(got, text) {
		t.Errorf("got %q, want %q", got, text)
	}
	ok(t, d.Zero(q+500, 6), d.ToHost(got, q+500))
	if want := append(make([]byte, 6), text[6:]...); !bytes.Equal(got, want) {
		t.Errorf("after Zero: got %q, want %q", got, want)
	}
	free, total, err := d.MemInfo()
	if ok(t, err); total != 64<<20 || free != total-2000 {
		t.Errorf("%d of %d bytes are free", free, total)
	}
	ok(t, d.Free(p), d.Free(0), d.ToDevice(q, nil), d.ToHost(nil, q), d.Copy(q, q, 0), d.Zero(q, 0))
	for name, err := range map[string]error{
		"freed twice":            d.Free(p),
		"free of an inner place": d.Free(q + 1),
		"copy to freed memory":   d.ToDevice(p, text),
		"copy beyond the end":    d.ToHost(got, q+990),
		"clearing beyond":        d.Zero(q, 1001),
		"copy from nowhere":      d.Copy(q, 0, 4),
		"host memory not pinned": d.FreeHost(text),
	} {
		if e := (*cuda.Error)(nil); !errors.As(err, &e) || e.Code != 1 || e.Lost() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int64{0, -1} {
		if _, err := d.Alloc(n); err == nil {
			t.Errorf("Alloc(%d) gave no error", n)
		}
		if _, err := d.AllocHost(int(n)); err == nil {
			t.Errorf("AllocHost(%d) gave no error", n)
		}
	}
}

// TestPinned checks when a copy happens. The fake driver copies as late as it may.
func TestPinned(t *testing.T) {
	d, _ := open(t)
	p := alloc(t, d, 8)
	h, err := d.AllocHost(64)
	ok(t, err)
	copy(h[10:], "ABCDEFGH")
	ok(t, d.ToDevice(p, h[10:18]))
	copy(h[10:], "abcd")
	ok(t, d.ToHost(h[30:38], p))
	if string(h[30:38]) == "abcdEFGH" {
		t.Error("a copy to pinned memory was waited for")
	}
	ok(t, d.Synchronize())
	if got := string(h[30:38]); got != "abcdEFGH" {
		t.Errorf("got %q after Synchronize: a copy from pinned memory was not queued, or in another order", got)
	}
	ok(t, d.FreeHost(h))
	if err := d.FreeHost(h); err == nil {
		t.Error("pinned memory was freed twice")
	}
}

func TestLaunch(t *testing.T) {
	d, lib := open(t)
	m, err := d.Load(kernels)
	ok(t, err)
	f, err := m.Function("mixed")
	ok(t, err)
	args := make([]byte, 20)
	for i := range args {
		args[i] = byte(i)
	}
	ok(t, f.Launch([3]int{2, 3, 4}, [3]int{5, 6, 7}, 8, args))
	args[0] = 99
	none, err := m.Function("none")
	ok(t, err)
	ok(t, none.Launch(one, one, 0, nil), d.Synchronize())
	args[0] = 0
	want := []fakecuda.Launch{
		{Name: "mixed", Grid: [3]int{2, 3, 4}, Block: [3]int{5, 6, 7}, Shared: 8, Args: args},
		{Name: "none", Grid: one, Block: one, Args: []byte{}},
	}
	same := func(a, b fakecuda.Launch) bool {
		return a.Name == b.Name && a.Grid == b.Grid && a.Block == b.Block && a.Shared == b.Shared && bytes.Equal(a.Args, b.Args)
	}
	if got := lib.Launches(); !slices.EqualFunc(got, want, same) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, err := range map[string]error{
		"too few parameters":  f.Launch(one, one, 0, args[:16]),
		"too many parameters": f.Launch(one, one, 0, make([]byte, 24)),
		"far too many":        f.Launch(one, one, 0, make([]byte, 5000)),
		"no blocks":           f.Launch([3]int{0, 1, 1}, one, 0, args),
		"too many threads":    f.Launch(one, [3]int{1025, 1, 1}, 0, args),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "launch kernel mixed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Function("absent"); !isCode(err, cuda.NotFound) || !strings.Contains(err.Error(), "find kernel absent in the PTX") {
		t.Errorf("Function(absent): %v", err)
	}
	ok(t, m.Unload(), m.Unload())
}

func isCode(err error, c cuda.Code) bool {
	var e *cuda.Error
	return errors.As(err, &e) && e.Code == c
}

func TestSharedMemory(t *testing.T) {
	d, _ := open(t)
	f := function(t, d, "none")
	a, err := f.Attributes()
	if ok(t, err); a != (cuda.Attributes{Registers: 32, Local: 16, Shared: 256, MaxThreads: 1024}) {
		t.Errorf("Attributes: %+v", a)
	}
	if err := f.Launch(one, one, 100<<10, nil); !isCode(err, 1) {
		t.Errorf("100 KiB of shared memory without asking: %v", err)
	}
	ok(t, f.AllowShared(100<<10), f.Launch(one, one, 100<<10, nil))
	if err := f.AllowShared(200 << 10); !isCode(err, 1) || !strings.Contains(err.Error(), "let kernel none take 200.0 KiB of shared memory") {
		t.Errorf("more shared memory than there is: %v", err)
	}
}

// TestOrder checks that work runs in the order of the calls.
func TestOrder(t *testing.T) {
	d, _ := open(t)
	p, q := alloc(t, d, 16), alloc(t, d, 16)
	f := function(t, d, "add1")
	ok(t, d.Zero(p, 16), f.Launch(one, one, 0, add1(p, 4)), d.Copy(q, p, 16), f.Launch(one, one, 0, add1(p, 2)))
	if got := words(t, d, p, 4); !slices.Equal(got, []uint32{2, 2, 1, 1}) {
		t.Errorf("p is %v", got)
	}
	if got := words(t, d, q, 4); !slices.Equal(got, []uint32{1, 1, 1, 1}) {
		t.Errorf("q is %v", got)
	}
}

// TestGoroutines calls from threads without a current context.
func TestGoroutines(t *testing.T) {
	d, _ := open(t)
	runtime.LockOSThread() // so that the goroutines get other threads
	defer runtime.UnlockOSThread()
	p := alloc(t, d, 4)
	f := function(t, d, "add1")
	ok(t, d.Zero(p, 4))
	const n = 50
	for range n {
		done := make(chan error)
		go func() { done <- f.Launch(one, one, 0, add1(p, 1)) }()
		ok(t, <-done)
	}
	if got := words(t, d, p, 1); got[0] != n {
		t.Errorf("%d of %d launches counted", got[0], n)
	}
}

func TestGraph(t *testing.T) {
	d, lib := open(t)
	p := alloc(t, d, 8)
	f := function(t, d, "add1")
	h, err := d.AllocHost(16)
	ok(t, err)
	clear(h)
	g, err := d.Capture(func() error {
		return errors.Join(d.ToDevice(p, h[:8]), f.Launch(one, one, 0, add1(p, 2)), d.ToHost(h[8:], p))
	})
	ok(t, err, d.Synchronize())
	if n := len(lib.Launches()); n != 0 {
		t.Errorf("%d kernels ran during the capture", n)
	}
	for i := range 3 {
		h[0] = byte(10 * i)
		ok(t, g.Launch(), d.Synchronize())
		if h[8] != byte(10*i+1) || h[12] != 1 {
			t.Errorf("replay %d gave %v", i, h[8:])
		}
	}
	ok(t, g.Close(), g.Close())
}

func TestCaptureFails(t *testing.T) {
	d, lib := open(t)
	p := alloc(t, d, 8)
	f := function(t, d, "add1")
	other, err := d.Capture(func() error { return nil })
	e := event(t, d)
	ok(t, err, e.Record())
	for name, inside := range map[string]func() error{
		"waiting":           d.Synchronize,
		"allocating":        func() error { _, err := d.Alloc(8); return err },
		"freeing":           func() error { return d.Free(p) },
		"pinning":           func() error { _, err := d.AllocHost(8); return err },
		"copying Go memory": func() error { return d.ToDevice(p, make([]byte, 8)) },
		"reading Go memory": func() error { return d.ToHost(make([]byte, 8), p) },
		"loading":           func() error { _, err := d.Load(kernels); return err },
		"capturing":         func() error { _, err := d.Capture(func() error { return nil }); return err },
		"replaying":         other.Launch,
		"making an event":   func() error { _, err := d.NewEvent(); return err },
		"recording one":     e.Record,
		"reading one":       func() error { _, err := e.Since(e); return err },
		"freeing one":       e.Close,
		"own error":         func() error { return &cuda.Error{Code: cuda.CaptureUnsupported} },
	} {
		g, err := d.Capture(func() error {
			return errors.Join(f.Launch(one, one, 0, add1(p, 2)), inside())
		})
		if g != nil || !isCode(err, cuda.CaptureUnsupported) {
			t.Errorf("%s while a graph is recorded: %v", name, err)
		}
	}
	ok(t, d.Synchronize())
	if n := len(lib.Launches()); n != 0 {
		t.Errorf("%d kernels of failed captures ran", n)
	}
	lib.Fail("cuGraphInstantiateWithFlags", 2, 0)
	if _, err := d.Capture(func() error { return f.Launch(one, one, 0, add1(p, 2)) }); !isCode(err, cuda.OutOfMemory) {
		t.Errorf("a graph that cannot be made: %v", err)
	}
}
