// Package libraries says where a machine has the shared libraries of NVIDIA's that are no
// part of the driver: in folders of the system's loader, in CUDA toolkits, in packages of
// Python. Packages cublaslt and nccl, after it, open what is found.
package libraries

import (
	"path/filepath"
)

// A Place is where a library may be: the system's loader knows names, the file system
// patterns.
type Place struct {
	What    string   // for people
	Loader  bool     // it is found by its name alone
	names   []string // of the library, the newest first
	folders []string // patterns, where there is no loader
}

// Places are where a library of one of some names is looked for, in order. A Python's
// packages are found by where Pythons have them, without running one: python is the path
// of one, or nothing.
func Places(names []string, env func(string) string, python string) []Place {
	all := []Place{{What: "the loader's folders and $LD_LIBRARY_PATH", Loader: true, names: names}}
	add := func(what string, patterns ...string) {
		all = append(all, Place{What: what, names: names, folders: patterns})
	}
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

// Candidates are the paths or names of a place to open, the newest first.
func (p Place) Candidates() []string {
	if p.Loader {
		return p.names
	}
	var found []string
	for _, name := range p.names {
		for _, dir := range p.folders {
			paths, _ := filepath.Glob(filepath.Join(dir, name)) // the only error is of the pattern
			found = append(found, paths...)
		}
	}
	return found
}
