package look

import (
	"fmt"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx/ptxrun"
	"github.com/arithlang/mlc/compiler/lower"
)

// startPTX prints the kernels of a program as PTX and loads them on a device, in this process.
func startPTX(sh *shell.Shell, p *lower.Program, device string) (*ptxrun.Machine, error) {
	open := ptxrun.Simulator
	if device == "cuda" {
		open = ptxrun.GPU
	}
	m, err := shell.Await(sh, func() (*ptxrun.Machine, error) {
		code, err := codegen.Module(p, "")
		if err != nil {
			return nil, err
		}
		return ptxrun.New(open, code)
	})
	if err != nil {
		if device == "cuda" {
			return nil, fmt.Errorf("--device cuda: %w\nthe same kernels can be compared without a GPU: --device sim", err)
		}
		return nil, err
	}
	if device == "cuda" {
		i := m.About()
		fmt.Fprintf(sh.Err, "on %s, compute capability %d.%d\n", i.Name, i.Major, i.Minor)
	}
	return m, nil
}
