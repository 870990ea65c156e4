// Package libraries finds NVIDIA's shared libraries that are not part of the driver: in folders of
// the system's loader, in CUDA toolkits and in Python's packages. Packages cublaslt and nccl open
// them.
package libraries

import (
	"path/filepath"
)

// A Place is where a library may be: names for the system's loader, or patterns of folders.
type Place struct {
	What    string   // for people
	Loader  bool     // the loader finds it by name
	names   []string // of the library, the newest first
	folders []string // patterns, without the loader
}

// Places returns where to look for a library with one of some names, in order. It knows Python's
// folders for packages and does not run Python: python is the path of one, or "".
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

// packages returns the folders of NVIDIA's wheels in a Python with a prefix.
func packages(prefix string) []string {
	var all []string
	for _, folder := range []string{"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages"} {
		all = append(all, filepath.Join(prefix, folder, "nvidia", "*", "lib"))
	}
	return append(all, filepath.Join(prefix, "lib")) // of a Conda environment
}

// Candidates returns the paths or names of a place to open, the newest first.
func (p Place) Candidates() []string {
	if p.Loader {
		return p.names
	}
	var found []string
	for _, name := range p.names {
		for _, dir := range p.folders {
			paths, _ := filepath.Glob(filepath.Join(dir, name)) // only a bad pattern is an error
			found = append(found, paths...)
		}
	}
	return found
}
