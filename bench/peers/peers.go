// Package peers has the models of the embedded specs in PyTorch and JAX. It holds the scripts
// that train them, their problem files, and their command lines. Command bench and package beside
// of prove let the scripts compete with compiled programs.
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

// Write writes the scripts and requirements.txt into a folder.
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

// Version asks a Python for a module's version, without the build suffix.
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

// A Way is a way to run a model.
type Way struct {
	Peer      string // eager, compile, cudagraph or packed in PyTorch; export for the file that mlc export writes; jax
	Device    string // cpu or cuda; only for PyTorch
	Precision string // precision of products: fp32, tf32 or bf16; only for PyTorch
	Threads   int    // of the processor
}

// OnCPU returns the way of a peer in float32 on the processor.
func OnCPU(peer string, threads int) Way { return Way{peer, "cpu", "fp32", threads} }

// Command returns the command that runs the scripts in dir on a problem file. Without more
// arguments, rounds.Process can start it.
func (w Way) Command(python, dir, problem string, more ...string) []string {
	return append([]string{python, "-B", filepath.Join(dir, "peer.py"), problem, "--peer", w.Peer, "--device", w.Device,
		"--precision", w.Precision, "--threads", fmt.Sprint(w.Threads)}, more...)
}
