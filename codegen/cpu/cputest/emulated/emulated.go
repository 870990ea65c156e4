// Package emulated runs tests of generated code as another processor has it, on an emulator.
// Tests of packages that print code for ARM64 use it.
package emulated

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// ARM64 returns an emulator of linux/arm64, or skips the test where there is none. On an
// ARM64 processor it is "": programs run as they are.
func ARM64(t testing.TB) string {
	t.Helper()
	if runtime.GOARCH == "arm64" {
		return ""
	}
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("left out: there is no qemu-aarch64, an emulator of ARM64 (tools/install-qemu)")
	return ""
}

// Environ is the environment for building programs for linux/arm64.
func Environ() []string { return append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0") }

// Test builds the tests of the package in a folder for linux/arm64 and runs them there.
func Test(t testing.TB, dir string, args ...string) {
	t.Helper()
	emulator := ARM64(t)
	program := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.Command("go", "test", "-vet=off", "-c", "-o", program, ".")
	build.Dir, build.Env = dir, Environ()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building for linux/arm64: %v\n%s", err, out)
	}
	args = append([]string{program}, args...)
	if emulator != "" {
		args = append([]string{emulator}, args...)
	}
	run := exec.Command(args[0], args[1:]...)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("linux/arm64: %v\n%s", err, out)
	}
}
