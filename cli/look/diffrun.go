package look

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/remote"
)

// served is a process that runs generated kernels.
type served struct {
	dir   string // of its files
	input io.Closer
	ask   remote.Runner
	end   func() error // waits for the process
}

// startKernels builds and starts a program with the kernels of p. During the build its
// files are in a folder of the module at root, so that imports resolve as for trainers. The
// go command's patterns ignore the folder, whose name begins with an underscore.
func startKernels(sh *shell.Shell, build func(dir, pkg, binary string) error, p *compiler.Program, root string) (*served, error) {
	dir, err := os.MkdirTemp("", "mlc-diff-")
	if err != nil {
		return nil, err
	}
	s := &served{dir: dir}
	binary := filepath.Join(dir, "kernels"+shell.ExeSuffix)
	if err = buildKernels(sh, build, p, root, binary); err == nil {
		err = s.start(sh, binary)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func buildKernels(sh *shell.Shell, build func(dir, pkg, binary string) error, p *compiler.Program, root, binary string) error {
	if !project.HasRuntime(project.ModuleRoot(root)) {
		return fmt.Errorf("%s is in no Go module that requires mlc, to build the kernels with: go to a clone of mlc, or make a module with mlc init; or compare the kernel interpreter with --device ref", paths.FromHere(root))
	}
	src, err := os.MkdirTemp(root, "_mlc-diff-")
	if err != nil {
		return fmt.Errorf("cannot build the kernels: %w; or compare the kernel interpreter with --device ref", err)
	}
	defer os.RemoveAll(src)
	code, err := shell.Await(sh, func() ([]codegen.File, error) { return codegen.Kernels(p) })
	if err != nil {
		return err
	}
	for _, f := range code {
		if err := os.WriteFile(filepath.Join(src, f.Path), f.Data, 0o600); err != nil {
			return err
		}
	}
	return build(root, "./"+filepath.Base(src), binary)
}

func (s *served) start(sh *shell.Shell, binary string) error {
	cmd := sh.Command(binary)
	cmd.Stderr = sh.Err
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.input, s.ask = in, remote.Dial(out, in)
	s.end = sync.OnceValue(func() error { return sh.Ended(cmd.Wait()) })
	return cmd.Start()
}

// run runs a kernel in the process. If the process has ended, it reports how.
func (s *served) run(name string, k kernel.Scalars, bufs []kernel.Buffer) error {
	err := s.ask(name, k, bufs)
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, fs.ErrClosed} {
		if errors.Is(err, broken) {
			return fmt.Errorf("the process that holds the kernels has ended: %w", cmp.Or(s.end(), err))
		}
	}
	return err
}

// stop ends the process and removes its files.
func (s *served) stop() {
	s.input.Close()
	s.end() // how it ends no longer matters
	os.RemoveAll(s.dir)
}
