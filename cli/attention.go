package cli

import (
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
)

// attentionCmd is the verb attention.
type attentionCmd struct {
	build.Attention `embed:""`
}

// Help is printed below the usage.
func (attentionCmd) Help() string {
	return `Writes a folder for Python with the kernels of an attention and its gradients. The spec has a
block attention, and the bias and mask that it names. The package needs PyTorch and, on a GPU,
NVIDIA's driver; nothing is compiled. Without a GPU it computes with PyTorch's operations.

Examples:
  mlc attention kerple.arith -o kerple
  python3 -c "from kerple import attention, Bias"
  mlc attention kerple.arith -o wide --set attention.width=128`
}

// Run writes the package.
func (c *attentionCmd) Run(sh *shell.Shell) error { return c.Write(sh) }
