package main

import (
	_ "embed"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
)

//go:embed testdata/kernels.ptx
var kernels string

// opened is a driver with two devices, the context of the first, and the module on it.
type opened struct {
	*driver
	context, module handle
}

func open(t *testing.T) opened {
	t.Helper()
	d := new(driver)
	if err := d.open(2, 90); err != nil {
		t.Fatal(err)
	}
	c, err1 := d.retain(0)
	m, err2 := d.load(c, kernels)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return opened{d, c, m}
}

func (o opened) kernel(t *testing.T, name string) *function {
	t.Helper()
	h, err1 := o.find(o.module, name)
	f, err2 := o.function(h)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return f
}

// run launches a kernel with 128 threads a block and a pointer to each argument.
func (o opened) run(t *testing.T, name string, grid [3]int, shared int, pointers ...unsafe.Pointer) error {
	t.Helper()
	f := o.kernel(t, name)
	var all list
	if len(pointers) > 0 {
		all.base = unsafe.Pointer(&pointers[0])
	}
	args, err := gather(f.Params(), all, list{})
	if err != nil {
		return err
	}
	return o.launch(o.context, f, ptxsim.Launch{Grid: grid, Block: [3]int{128, 1, 1}, Shared: shared, Args: args})
}

// register makes floats known as a range.
func (o opened) register(floats []float32) {
	o.ranges.add(unsafe.Slice((*byte)(unsafe.Pointer(&floats[0])), 4*len(floats)))
}

func wantCode(t *testing.T, err error, code cuda.Code, text string) {
	t.Helper()
	var e *cuda.Error
	if !errors.As(err, &e) || e.Code != code || e.Name == "" || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want code %d with %q", err, code, text)
	}
}

func count(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

var one = [3]int{1, 1, 1}

// TestAdd adds two replicas of 200 floats. Both arguments point into the same range, behind its
// start.
func TestAdd(t *testing.T) {
	o := open(t)
	x := count(1000)
	o.register(x)
	from, to := &x[100], &x[500]
	step, n := uint64(4*200), uint32(200)
	run := func(far unsafe.Pointer) error {
		return o.run(t, "add", [3]int{2, 2, 1}, 0, unsafe.Pointer(&from), unsafe.Pointer(&step), unsafe.Pointer(&to),
			unsafe.Pointer(&step), far, unsafe.Pointer(&n))
	}
	if err := run(unsafe.Pointer(&from)); err != nil {
		t.Fatal(err)
	}
	for i, got := range x {
		want := float32(i)
		if i >= 500 && i < 900 {
			want += float32(i - 400)
		}
		if got != want {
			t.Fatalf("x[%d] is %v, want %v", i, got, want)
		}
	}
	if o.launches != 1 {
		t.Errorf("%d launches, want 1", o.launches)
	}
	// The second replica of the sum reaches beyond the range.
	to = &x[700]
	kept := x[700]
	wantCode(t, run(unsafe.Pointer(&from)), cuda.IllegalAddress, "out of bounds: kernel add")
	if x[700] != kept {
		t.Error("a launch with a fault wrote to memory")
	}
	other := count(1)
	to = &other[0]
	wantCode(t, run(unsafe.Pointer(&from)), cuda.IllegalAddress, "out of bounds")
	if o.launches != 1 {
		t.Errorf("%d launches, want 1: those with a fault do not count", o.launches)
	}
}

// TestOnlyPointers looks at the words that move.
func TestOnlyPointers(t *testing.T) {
	o := open(t)
	x := count(8)
	o.register(x)
	at := &x[2]
	n := uint32(1)
	p := unsafe.Pointer(&at)
	pointers := []unsafe.Pointer{p, p, p, p, p, unsafe.Pointer(&n)}
	f := o.kernel(t, "add")
	args, err := gather(f.Params(), list{unsafe.Pointer(&pointers[0])}, list{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := o.ranges.move(o.devices[0].Device, f.Params(), args)
	if err != nil {
		t.Fatal(err)
	}
	defer m.free(o.devices[0].Device)
	for i, want := range []uint64{uint64(m.at[0]) + 8, uint64(m.at[0]) + 8, uint64(m.at[0]) + 8, uint64(m.at[0]) + 8, uint64(uintptr(unsafe.Pointer(at)))} {
		if got := *(*uint64)(unsafe.Pointer(&args[8*i])); got != want {
			t.Errorf("word %d is %#x, want %#x", i, got, want)
		}
	}
	if len(m.at) != 1 {
		t.Errorf("%d ranges moved, want 1", len(m.at))
	}
}

func TestRanges(t *testing.T) {
	var all ranges
	x := make([]byte, 100)
	all.add(x[:40])
	all.add(x[40:60])
	all.add(x[60:])
	all.add(nil)
	find := func(i int) int { return all.find(address(x) + uint64(i)) }
	if a, b, c := find(39), find(40), find(99); len(all) != 3 || a != 0 || b != 1 || c != 2 {
		t.Errorf("found %d, %d and %d of %d ranges", a, b, c, len(all))
	}
	if i := find(100); i >= 0 {
		t.Errorf("the end of a range is in range %d", i)
	}
	if err := all.forget(address(x) + 40); err != nil || find(50) >= 0 || find(39) != 0 || find(60) != 1 {
		t.Errorf("forget: %v", err)
	}
	wantCode(t, all.forget(address(x)+61), invalidValue, "where no range starts")
	all.add(x[30:50]) // replaces the first
	if find(29) >= 0 || find(49) < 0 || len(all) != 2 {
		t.Errorf("%d ranges after one was replaced, want 2", len(all))
	}
}

// TestShared needs more shared memory than a kernel may take without being allowed.
func TestShared(t *testing.T) {
	o := open(t)
	x := count(128)
	o.register(x)
	p := &x[0]
	f := o.kernel(t, "reverse")
	const bytes = 64 << 10
	args, err := gather(f.Params(), list{}, extra(unsafe.Pointer(&p), 8))
	if err != nil {
		t.Fatal(err)
	}
	l := ptxsim.Launch{Grid: one, Block: [3]int{128, 1, 1}, Shared: bytes, Args: args}
	wantCode(t, o.launch(o.context, f, l), invalidValue, "65536 bytes of dynamic shared memory, 48896 are allowed")
	if err := f.setAttribute(dynamicShared, bytes); err != nil {
		t.Fatal(err)
	}
	if err := o.launch(o.context, f, l); err != nil {
		t.Fatal(err)
	}
	if x[0] != 127 || x[127] != 0 {
		t.Errorf("got %v … %v, want 127 … 0", x[0], x[127])
	}
	for n, want := range map[int]int{0: 128, 1: 256, dynamicShared: bytes} {
		if got, err := f.attribute(n); err != nil || got != want {
			t.Errorf("attribute %d is %d, %v, want %d", n, got, err, want)
		}
	}
	_, err = f.attribute(77)
	wantCode(t, err, invalidValue, "attribute 77")
	if err := f.setAttribute(dynamicShared, 227<<10-256); err != nil {
		t.Error(err)
	}
	wantCode(t, f.setAttribute(dynamicShared, 227<<10-255), invalidValue, "256 bytes of static shared memory")
}

// extra is the list that cuLaunchKernel takes for a block of parameters.
func extra(block unsafe.Pointer, bytes uintptr) list {
	words := &struct {
		key1  uintptr
		block unsafe.Pointer
		key2  uintptr
		bytes *uintptr
		end   uintptr
	}{1, block, 2, &bytes, 0}
	return list{unsafe.Pointer(words)}
}

func TestGather(t *testing.T) {
	params := open(t).kernel(t, "add").Params()
	block := make([]byte, 64)
	for bytes, fits := range map[uintptr]bool{43: false, 44: true, 48: true, 49: false} {
		got, err := gather(params, list{}, extra(unsafe.Pointer(&block[0]), bytes))
		if fits && (err != nil || len(got) != 44) {
			t.Errorf("%d bytes: %d, %v", bytes, len(got), err)
		}
		if !fits {
			wantCode(t, err, invalidValue, "the kernel has 44")
		}
	}
	_, err := gather(params, list{}, list{})
	wantCode(t, err, invalidValue, "which has none")
	_, err = gather(params, list{unsafe.Pointer(&block[0])}, extra(unsafe.Pointer(&block[0]), 44))
	wantCode(t, err, invalidValue, "kernelParams and extra")
}

func TestRace(t *testing.T) {
	o := open(t)
	x := count(1)
	o.register(x)
	p := &x[0]
	wantCode(t, o.run(t, "race", one, 0, unsafe.Pointer(&p)), cuda.LaunchFailed, "data race: kernel race")
	if err := o.run(t, "nothing", one, 0); err != nil {
		t.Errorf("after a fault: %v", err)
	}
}

func TestMistakes(t *testing.T) {
	o := open(t)
	f := o.kernel(t, "nothing")
	l := ptxsim.Launch{Grid: one, Block: one}
	second, err := o.retain(1)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, o.launch(0, f, l), invalidContext, "is no context")
	wantCode(t, o.launch(second, f, l), invalidHandle, "loaded in another context")
	wantCode(t, o.launch(o.context, f, ptxsim.Launch{Block: one}), invalidValue, "grid [0 0 0]")
	_, err = o.retain(2)
	wantCode(t, err, cuda.InvalidDevice, "device 2 of 2")
	if err := o.release(1); err != nil {
		t.Error(err)
	}
	wantCode(t, o.release(1), invalidContext, "which nobody retains")
	_, err = o.load(second, kernels)
	wantCode(t, err, invalidContext, "nobody retains it")
	_, err = o.load(o.context, "no PTX")
	wantCode(t, err, cuda.InvalidPTX, "line 1")
	_, err = o.find(o.module, "missing")
	wantCode(t, err, cuda.NotFound, "no kernel missing, it has [add reverse race nothing]")
	_, err = o.find(1, "add")
	wantCode(t, err, invalidHandle, "no module")
	h, err1 := o.find(o.module, "add")
	if err := errors.Join(err1, o.unload(o.module)); err != nil {
		t.Fatal(err)
	}
	_, err = o.function(h)
	wantCode(t, err, invalidHandle, "no kernel of a loaded module")
	wantCode(t, o.unload(o.module), invalidHandle, "no module")

	old := new(driver)
	if err := old.open(1, 80); err != nil {
		t.Fatal(err)
	}
	c, _ := old.retain(0)
	_, err = old.load(c, strings.Replace(kernels, "sm_80", "sm_90", 1))
	wantCode(t, err, cuda.InvalidPTX, "the module is for sm_90, the device is sm_80")
	wantCode(t, new(driver).open(0, 90), cuda.NoDevice, "start the simulator")
	wantCode(t, new(driver).open(1, 75), invalidValue, "sm_75")
}

func TestAttributes(t *testing.T) {
	o := open(t)
	all := attributes(o.info)
	for n, want := range map[int]int{75: 9, 76: 0, 97: 227 << 10, 8: 48 << 10, 1: 1024, 10: 32} {
		if all[n] != want {
			t.Errorf("attribute %d is %d, want %d", n, all[n], want)
		}
	}
	for code, c := range codes {
		if (code == 0) != (c.name == "CUDA_SUCCESS") || c.text == "" {
			t.Errorf("code %d is %+v", code, c)
		}
	}
}

// TestReport checks what reaches the log of a compilation.
func TestReport(t *testing.T) {
	for size, want := range map[uintptr]string{5: "some\x00", 40: "some text\x00", 0: ""} {
		log := make([]byte, 40)
		values := &struct {
			level uintptr
			bytes uintptr
			log   unsafe.Pointer
		}{7, size, unsafe.Pointer(&log[0])}
		report([]int32{12, 6, 5}, list{unsafe.Pointer(values)}, "some text\n")
		if got := string(log[:values.bytes]); got != want || values.level != 7 {
			t.Errorf("with %d bytes: %q, want %q", size, got, want)
		}
		report([]int32{12}, list{unsafe.Pointer(values)}, "no log is asked for")
	}
}
