//go:build !nogpu && linux && (amd64 || arm64)

package mpi

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// variable names the library if it is not found by itself.
const variable = "MLC_LIBMPI"

// A candidate is a name that the loader may know, or a path, with the matching constants.
type candidate struct {
	file string
	abi  *abi
}

// candidates lists the libraries to try for a launcher, in order. A rank must communicate with
// its launcher, so the launcher's own library comes first.
func candidates(launcher string, lookPath func(string) (string, error)) []candidate {
	open := []candidate{{"libmpi.so.40", &openMPI}}
	others := []candidate{{"libmpi_abi.so.1", &standard}, {"libmpich.so.12", &mpich}, {"libmpi.so.12", &mpich}}
	all := append(open, others...)
	if !strings.Contains(launcher, "Open MPI") && !strings.Contains(launcher, "PMIx") {
		all = append(others, open...)
	}
	prefix := ""
	for _, name := range []string{"mpiexec", "mpirun"} {
		if path, err := lookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			prefix = filepath.Dir(filepath.Dir(path)) // Python packages have the library next to their launcher
			break
		}
	}
	var beside []candidate
	for _, c := range all {
		if prefix != "" {
			beside = append(beside, candidate{filepath.Join(prefix, "lib", c.file), c.abi})
		}
	}
	return append(beside, all...)
}

// find opens the first library that exists, or the named one.
func find(launcher, named string) (*library, error) {
	if named != "" {
		return openNamed(named)
	}
	var tried []string
	for _, c := range candidates(launcher, exec.LookPath) {
		l, err := open(c.file, c.abi)
		if err == nil {
			return l, nil
		}
		tried = append(tried, c.file)
	}
	return nil, fmt.Errorf("%s has started this program as one of several ranks, but no library of MPI is found (%s): install Open MPI or MPICH, "+
		"name the library of the launcher in %s, or use --ranks none to let each process train by itself", launcher, strings.Join(tried, ", "), variable)
}

// openNamed opens a library. Its name or its functions tell the family.
func openNamed(path string) (*library, error) {
	family := &mpich
	base := filepath.Base(path)
	if strings.HasPrefix(base, "libmpi_abi.so") {
		family = &standard
	}
	l, err := open(path, family)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", variable, path, err)
	}
	if l.has("ompi_mpi_comm_world") {
		l.abi = &openMPI
		err = l.resolve()
	}
	return l, err
}
