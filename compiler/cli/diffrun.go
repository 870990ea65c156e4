package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel/remote"
)

// kernelsMain is the main file of the program around generated kernels.
const kernelsMain = `package main

import "github.com/arithlang/mlc/codegen/cpu/cputest"

func main() { cputest.Serve(kernels) }
`

// served is a process that holds generated kernels.
type served struct {
	dir   string // of its files
	cmd   *exec.Cmd
	input io.Closer
	run   remote.Runner
}

// startKernels builds and starts a program around the kernels of another. While
// it is built, its files lie in a folder of the module at root, where imports are
// resolved as they are for trainers; go's patterns pass over a leading underscore.
func (a *app) startKernels(p *compiler.Program, root string) (*served, error) {
	dir, err := os.MkdirTemp("", "mlc-diff-")
	if err != nil {
		return nil, err
	}
	s := &served{dir: dir}
	binary := filepath.Join(dir, "kernels"+exeSuffix)
	if err = a.buildKernels(p, root, binary); err == nil {
		err = s.start(a, binary)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (a *app) buildKernels(p *compiler.Program, root, binary string) error {
	const otherwise = "compare the kernel interpreter with --device ref"
	src, err := os.MkdirTemp(root, "_mlc-diff-")
	if err != nil {
		return fmt.Errorf("cannot build the kernels: %w; or %s", err, otherwise)
	}
	defer os.RemoveAll(src)
	code, err := codegen.Kernels(p)
	if err != nil {
		return err
	}
	for _, f := range append(code, codegen.File{Path: "main.go", Data: []byte(kernelsMain)}) {
		if err := os.WriteFile(filepath.Join(src, f.Path), f.Data, 0o600); err != nil {
			return err
		}
	}
	return a.goBuild(root, otherwise, "-o", binary, "./"+filepath.Base(src))
}

func (s *served) start(a *app, binary string) error {
	s.cmd = exec.CommandContext(a.ctx, binary)
	s.cmd.Stderr = a.err
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.input, s.run = in, remote.Dial(out, in)
	return s.cmd.Start()
}

// stop ends the process and removes its files.
func (s *served) stop() {
	s.input.Close()
	s.cmd.Wait() // how it ends no longer matters
	os.RemoveAll(s.dir)
}
