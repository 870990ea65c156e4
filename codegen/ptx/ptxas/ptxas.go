// Package ptxas runs NVIDIA's assembler, if it is installed, on printed modules. The assembler
// accepts a module or not, and reports the usage of each kernel on an architecture. mlc explain
// shows the usage; tests of package codegen/ptx check every module.
package ptxas

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Usage is the resources that a kernel needs.
type Usage struct {
	Registers   int // a thread
	Shared      int // bytes of static shared memory, a block
	Stack       int // bytes, a thread
	SpillStores int // bytes, a thread
	SpillLoads  int // bytes, a thread
}

// ErrMissing reports that ptxas is missing, and where to get it.
var ErrMissing = errors.New("no ptxas found, in $MLC_PTXAS or $PATH: tools/install-cuda-tools brings it, as does NVIDIA's CUDA toolkit (no GPU is needed)")

// Find looks for the assembler that MLC_PTXAS names, else for ptxas in PATH.
func Find() (string, error) {
	path, err := exec.LookPath(cmp.Or(os.Getenv("MLC_PTXAS"), "ptxas"))
	if err != nil {
		return "", ErrMissing
	}
	return path, nil
}

// Assemble returns the usage of each kernel of a module on an architecture such as "sm_80". If
// ptxas rejects the module, the error has its message.
func Assemble(text []byte, arch string) (map[string]Usage, error) {
	_, said, err := run(text, arch)
	if err != nil {
		return nil, err
	}
	return parse(string(said))
}

// Code returns the optimised machine code of a module.
func Code(text []byte, arch string) ([]byte, error) {
	code, _, err := run(text, arch)
	return code, err
}

func run(text []byte, arch string) (code, said []byte, err error) {
	path, err := Find()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "ptxas-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "kernels.ptx"), text, 0o600); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(path, "-v", "-arch="+arch, "kernels.ptx", "-o", "kernels.cubin")
	cmd.Dir = dir // so that its name is not in the code
	if said, err = cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("ptxas for %s: %w\n%s", arch, err, bytes.TrimSpace(said))
	}
	code, err = os.ReadFile(filepath.Join(dir, "kernels.cubin"))
	return code, said, err
}

// needs matches the usage of a kernel in the output of ptxas -v. Shared memory may be left out.
var needs = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n` +
	`.*Used (\d+) registers(?:.* (\d+) bytes smem)?`)

func parse(text string) (map[string]Usage, error) {
	all := map[string]Usage{}
	for _, said := range strings.Split(text, "Compiling entry function '")[1:] {
		name, _, _ := strings.Cut(said, "'")
		m := needs.FindStringSubmatch(said)
		if m == nil {
			return nil, fmt.Errorf("ptxas says nothing of the registers of %s:\n%s", name, text)
		}
		var n [5]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[1+i]) // digits, or "", which is 0
		}
		all[name] = Usage{Stack: n[0], SpillStores: n[1], SpillLoads: n[2], Registers: n[3], Shared: n[4]}
	}
	return all, nil
}
