//go:build !nogpu && linux && (amd64 || arm64)

package cublaslt

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
)

// sonames are what the library is called, by the version of CUDA, the newest first.
var sonames = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}

// A place is where a library may be: the system's loader knows names, the file system
// patterns.
type place struct {
	what    string   // for people
	names   []string // for the loader
	folders []string // patterns, where there are no names
}

// places are where the library is looked for, in order. A Python's packages are found by
// where Pythons have them, without running one.
func places(env func(string) string, python string) []place {
	all := []place{{what: "the loader's folders and $LD_LIBRARY_PATH", names: sonames}}
	add := func(what string, patterns ...string) { all = append(all, place{what: what, folders: patterns}) }
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := env(name); dir != "" {
			add("$"+name, filepath.Join(dir, "lib64"))
		}
	}
	add("CUDA toolkits", "/usr/local/cuda*/lib64", "/opt/cuda/lib64")
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := env(name); dir != "" {
			add("$"+name, packages(dir)...)
		}
	}
	if python != "" { // PREFIX/bin/python3
		add("packages of "+python, packages(filepath.Dir(filepath.Dir(python)))...)
	}
	system := append(packages("/usr/local"), packages("/usr")...)
	if home := env("HOME"); home != "" {
		system = append(system, packages(filepath.Join(home, ".local"))...)
	}
	add("packages of Python in /usr/local, /usr and ~/.local", system...)
	return all
}

// packages are where a Python with a prefix has the libraries of NVIDIA's wheels.
func packages(prefix string) []string {
	var all []string
	for _, folder := range []string{"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages"} {
		all = append(all, filepath.Join(prefix, folder, "nvidia", "*", "lib"))
	}
	return append(all, filepath.Join(prefix, "lib")) // of a Conda environment
}

// candidates are the paths or names of a place to open, the newest first.
func (p place) candidates() []string {
	if p.names != nil {
		return p.names
	}
	var found []string
	for _, soname := range sonames {
		for _, dir := range p.folders {
			paths, _ := filepath.Glob(filepath.Join(dir, soname)) // the only error is of the pattern
			found = append(found, paths...)
		}
	}
	return found
}

// missing says that there is no library, and what to do.
func missing(places []place) error {
	var where []string
	for _, p := range places {
		where = append(where, p.what)
	}
	return fmt.Errorf("cuBLASLt is not found: there is no %s in %s; install it (pip install nvidia-cublas-cu12, or the CUDA toolkit), "+
		"name its file with MLC_CUBLASLT or --gemm cublaslt=PATH, or leave products to mlc's kernels with --gemm mlc", strings.Join(sonames, ", "), strings.Join(where, "; "))
}

// notGPU says that a device has no stream for the library.
func notGPU(d cuda.Driver) error {
	return fmt.Errorf("cuBLASLt needs a GPU of NVIDIA's, and the device is %s: use --gemm mlc", d.Info().Name)
}
