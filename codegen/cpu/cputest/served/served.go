// Package served runs generated kernels in other processes, also on an emulator of another
// processor. The kernel interpreter runs in the test's process, which is fast, and checks the
// kernels on all instruction sets at once.
package served

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/arithlang/mlc/codegen/cpu/cputest"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/compiler/kernel/remote"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/cpu"
)

// Emulator returns the program that runs programs for linux/arm64. ok is false without one.
// Tests on an ARM64 processor need no emulator and get none.
func Emulator() (path string, ok bool) {
	if runtime.GOARCH == "arm64" {
		return "", false
	}
	path, _ = full.QEMU.Find()
	return path, path != ""
}

// ForARM64 returns the environment of builds for linux/arm64.
func ForARM64() []string { return append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0") }

// Native builds the main package in a folder, which ends in cputest.Serve. It starts it on
// each of the sets that this machine has. sets are names that cpu.ParseISA takes.
func Native(t testing.TB, dir string, sets ...string) []kerneltest.Backend {
	t.Helper()
	program := build(t, dir, nil)
	var ends []kerneltest.Backend
	for _, name := range sets {
		isa, err := cpu.ParseISA(name)
		if err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		ends = append(ends, kerneltest.Backend{Name: name, Run: start(t, program, name), BF16: cputest.Sums(isa)})
	}
	return ends
}

// ARM64 does the same for linux/arm64 on an emulator, if there is one.
func ARM64(t testing.TB, dir string, sets ...string) []kerneltest.Backend {
	t.Helper()
	emulator, ok := Emulator()
	if !ok {
		t.Log("left out: linux/arm64 needs qemu-aarch64")
		return nil
	}
	program := build(t, dir, ForARM64())
	var ends []kerneltest.Backend
	for _, isa := range sets {
		ends = append(ends, kerneltest.Backend{Name: "arm64/" + isa, Run: start(t, emulator, program, isa)})
	}
	return ends
}

func build(t testing.TB, dir string, env []string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kernels")
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", program, ".")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// start runs a program until the test ends.
func start(t testing.TB, command ...string) kerneltest.Runner {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", command, err, &said)
		}
	})
	return kerneltest.Runner(remote.Dial(out, in))
}
