package cli

import (
	"github.com/arithlang/mlc/lsp"
	"github.com/arithlang/mlc/runtime/interrupt"
)

// lspCmd is the verb lsp.
type lspCmd struct{}

// Run serves one editor until it says goodbye.
func (lspCmd) Run(a *app) error {
	_, err := interrupt.Await(a.ctx, func() (struct{}, error) { return struct{}{}, lsp.Serve(a.in, a.out) })
	return err
}
