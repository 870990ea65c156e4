//go:build linux && (amd64 || arm64)

// Package fakecuda builds a driver library that imitates a GPU, for tests of package libcuda and
// of its users. The library copies, clears, notes launches, and fails on demand. It is written in
// C (testdata/fake.c), so that tests cross the same boundary as programs with the real one.
package fakecuda

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/arithlang/mlc/internal/full"
)

//go:embed testdata/fake.c
var source []byte

// Prebuilt is the environment variable with the path of a library that is already built. A program
// that is linked with the library needs it.
const Prebuilt = "FAKE_LIBCUDA"

// A Library is a fake driver. Copies in one process share their state.
type Library struct {
	Path   string
	handle uintptr
	t      testing.TB
}

// Build compiles the library with the machine's C compiler, and skips the test if it has no
// compiler. With the macro NO_GRAPHS the library lacks functions.
func Build(t testing.TB, macros ...string) *Library {
	t.Helper()
	l := &Library{t: t, Path: os.Getenv(Prebuilt)}
	if l.Path == "" || len(macros) > 0 {
		l.Path = compile(t, macros)
	}
	var err error
	if l.handle, err = purego.Dlopen(l.Path, purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		t.Fatal(err)
	}
	l.Reset()
	return l
}

func compile(t testing.TB, macros []string) string {
	t.Helper()
	cc := full.Needs(t, full.CC)
	dir := t.TempDir()
	path, src := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "fake.c")
	if err := os.WriteFile(src, source, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-shared", "-fPIC", "-o", path, src}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

//go:uintptrescapes
func (l *Library) call(name string, args ...uintptr) int {
	l.t.Helper()
	f, err := purego.Dlsym(l.handle, name)
	if err != nil {
		l.t.Fatalf("%s is not the fake driver: %v", l.Path, err)
	}
	r, _, _ := purego.SyscallN(f, args...)
	return int(int32(r))
}

// Reset makes a new device and forgets the old one with its contents.
func (l *Library) Reset() { l.call("fake_reset") }

// Set sets a property of the device: version, devices, major or minor; fill, the byte that fills
// new memory; or moves. With moves 1 it runs the kernels of package cuda's Machine except settle.
func (l *Library) Set(what string, value int) {
	l.t.Helper()
	if l.call("fake_set", uintptr(unsafe.Pointer(cString(what))), uintptr(value)) != 0 {
		l.t.Fatalf("the fake driver cannot set %s", what)
	}
}

// Fail makes a function of the library fail once, after that many successful calls.
func (l *Library) Fail(function string, code, after int) {
	l.t.Helper()
	if l.call("fake_fail", uintptr(unsafe.Pointer(cString(function))), uintptr(code), uintptr(after)) != 0 {
		l.t.Fatal("the fake driver cannot hold so many failures")
	}
}

// Poison makes the next kernel lose the device with a code.
func (l *Library) Poison(code int) { l.call("fake_poison", uintptr(code)) }

// Live returns the number of objects made and not freed.
func (l *Library) Live() int { return l.call("fake_live") }

// Calls counts the calls of a function of the library, failed ones included.
func (l *Library) Calls(function string) int {
	return l.call("fake_calls", uintptr(unsafe.Pointer(cString(function))))
}

// A Launch is a kernel that has run.
type Launch struct {
	Name        string
	Grid, Block [3]int
	Shared      int
	Args        []byte
}

// Launches returns the kernels that have run, in order.
func (l *Library) Launches() []Launch {
	all := make([]Launch, l.call("fake_launches"))
	for i := range all {
		var name [64]byte
		var dims [7]uint32
		args := make([]byte, 4096)
		n := l.call("fake_launch", uintptr(i), uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&dims)),
			uintptr(unsafe.Pointer(&args[0])), uintptr(len(args)))
		end := 0
		for name[end] != 0 {
			end++
		}
		a := &all[i]
		*a = Launch{Name: string(name[:end]), Shared: int(dims[6]), Args: args[:n]}
		for j := range 3 {
			a.Grid[j], a.Block[j] = int(dims[j]), int(dims[3+j])
		}
	}
	return all
}

// cString adds the NUL that ends a string in C.
func cString(s string) *byte { return &append([]byte(s), 0)[0] }
