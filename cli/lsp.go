package cli

import (
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/lsp"
	"github.com/arithlang/mlc/runtime/interrupt"
)

// lspCmd is the verb lsp.
type lspCmd struct{}

// Run serves one editor until it exits.
func (lspCmd) Run(sh *shell.Shell) error {
	_, err := interrupt.Await(sh.Context, func() (struct{}, error) { return struct{}{}, lsp.Serve(sh.In, sh.Out) })
	return err
}
