// Package peers has models of the shipped specs in PyTorch and JAX: the scripts of this
// folder that train them, what they are told of a spec, and how they are called. Package
// compiler/check resolves the specs before it; command bench and package prove/beside,
// after it, let the scripts compete with compiled programs.
package peers

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/bench/rounds"
)

//go:embed peer.py models.py torch_peer.py *_torch.py export_peer.py jax_peer.py requirements.txt
var scripts embed.FS

// Write writes the scripts, and what they require, into a folder.
func Write(dir string) error {
	return fs.WalkDir(scripts, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	})
}

// Version asks a Python for a module's version, without what says how it was built.
func Version(ctx context.Context, python, module string) (string, error) {
	out, err := Ask(ctx, python, "import "+module+" as m; print(m.__version__)")
	version, _, _ := strings.Cut(out, "+")
	return version, err
}

// Ask runs a line of Python and returns what it prints.
func Ask(ctx context.Context, python, line string) (string, error) {
	var complaint strings.Builder
	cmd := exec.CommandContext(ctx, python, "-c", line)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", python, err, rounds.LastLines(complaint.String(), 1))
	}
	return strings.TrimSpace(string(out)), nil
}

// A Way is one of doing it.
type Way struct {
	Peer      string // eager, compile, cudagraph or packed, with PyTorch; export, the file that mlc export writes; jax
	Device    string // cpu or cuda; only PyTorch's
	Precision string // fp32, tf32 or bf16: of products; only PyTorch's
	Threads   int    // of the processor
}

// OnCPU is a way of doing it in float32 on the processor.
func OnCPU(peer string, threads int) Way { return Way{peer, "cpu", "fp32", threads} }

// Command calls the scripts in dir for a problem file. Without more arguments it is what
// rounds.Process starts.
func (w Way) Command(python, dir, problem string, more ...string) []string {
	return append([]string{python, "-B", filepath.Join(dir, "peer.py"), problem, "--peer", w.Peer, "--device", w.Device,
		"--precision", w.Precision, "--threads", fmt.Sprint(w.Threads)}, more...)
}
