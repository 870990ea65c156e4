package ptxtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/internal/golden"
)

// Archs are the architectures that every module must run on.
var Archs = []string{"sm_80", "sm_89", "sm_90", "sm_120"}

// Assembled is a committed list of the usage of kernels as NVIDIA's assembler reports it.
// Assembling all kernels takes minutes, and equal texts have equal usage: only kernels whose
// text is not on the list are assembled.
type Assembled struct {
	path, version string

	mu     sync.Mutex
	hashes map[*kernel.Kernel]string
	known  map[string]string // usage by architecture and hash
	seen   map[string]string // entries that were asked for
}

// ReadAssembled reads a list, which may be missing. It skips the test if the list is from
// another assembler, except with -update.
func ReadAssembled(t testing.TB, path string) *Assembled {
	t.Helper()
	said, err := exec.Command(full.Needs(t, full.Ptxas), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	a := &Assembled{path: path, version: lines[len(lines)-1], hashes: map[*kernel.Kernel]string{}, known: map[string]string{}, seen: map[string]string{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), a.head()) {
		if !golden.Updating() {
			t.Skipf("%s is not from this assembler, %s", path, a.version)
		}
		return a
	}
	for line := range strings.Lines(string(text)) {
		if key, usage, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			a.known[key] = usage
		}
	}
	return a
}

// Usage returns the usage of each kernel on an architecture. It assembles the kernels that are
// not on the list, or all kernels with again, as one module.
func (a *Assembled) Usage(ks []*kernel.Kernel, o ptx.Options, arch string, again bool) (map[string]ptxas.Usage, error) {
	keys, all := map[string]string{}, map[string]ptxas.Usage{}
	var fresh []*kernel.Kernel
	for _, k := range ks {
		hash, err := a.hash(k, o)
		if err != nil {
			return nil, err
		}
		keys[k.Name] = arch + " " + hash
		var u ptxas.Usage
		_, err = fmt.Sscanf(a.known[keys[k.Name]], form, &u.Registers, &u.Shared, &u.Stack, &u.SpillStores, &u.SpillLoads)
		if err != nil || again {
			fresh = append(fresh, k)
		}
		all[k.Name] = u
	}
	if len(fresh) > 0 {
		code, err := ptx.Module(fresh, o)
		if err != nil {
			return nil, err
		}
		said, err := ptxas.Assemble(code.Text, arch)
		if err != nil {
			return nil, err
		}
		for _, k := range fresh {
			u, ok := said[k.Name]
			if !ok {
				return nil, fmt.Errorf("ptxas says nothing of %s", k.Name)
			}
			if known := a.known[keys[k.Name]]; known != "" && known != row(u) {
				return nil, fmt.Errorf("%s on %s: %s, and the list has %s", k.Name, arch, row(u), known)
			}
			all[k.Name] = u
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range ks {
		a.seen[keys[k.Name]] = row(all[k.Name])
	}
	return all, nil
}

// hash returns the hash of a kernel's text without the kernel's name and origin.
func (a *Assembled) hash(k *kernel.Kernel, o ptx.Options) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hashes[k] == "" {
		code, err := ptx.Module([]*kernel.Kernel{k}, o)
		if err != nil {
			return "", err
		}
		own := strings.ReplaceAll(string(origin.ReplaceAll(code.Text, nil)), k.Name, "")
		a.hashes[k] = fmt.Sprintf("%x", sha256.Sum256([]byte(own)))[:16]
	}
	return a.hashes[k], nil
}

// origin matches the lines that say where a text comes from.
var origin = regexp.MustCompile(`(?m)^(//|\.file|\t\.loc) .*\n`)

// form is the format of a row after the architecture and the hash.
const form = "%d %d %d %d %d"

// head returns the head of a list, with the assembler's version.
func (a *Assembled) head() string {
	return "Written by go test -update, never by hand: registers, bytes of shared memory and of stack, bytes stored and loaded of spilled registers,\n" +
		"by architecture and hash of a kernel's PTX. From " + a.version + "\n"
}

func row(u ptxas.Usage) string {
	return fmt.Sprintf(form, u.Registers, u.Shared, u.Stack, u.SpillStores, u.SpillLoads)
}

// Update writes the list of the kernels that were asked for, with -update.
func (a *Assembled) Update(t testing.TB) {
	if !golden.Updating() {
		return
	}
	text := []byte(a.head())
	for _, key := range slices.Sorted(maps.Keys(a.seen)) {
		text = fmt.Appendf(text, "%s: %s\n", key, a.seen[key])
	}
	golden.Compare(t, a.path, string(text))
}
