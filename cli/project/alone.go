package project

import (
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// Alone resolves a spec of attention alone and prints its findings. If some are errors, it
// returns shell.ErrShown. The result is nil for any other spec.
func Alone(sh *shell.Shell, s Source, set []string) (*check.Attention, error) {
	type resolved struct {
		attention *check.Attention
		found     diag.List
	}
	r, err := shell.Await(sh, func() (r resolved, _ error) {
		if opts := s.Asks(set); check.IsAttention(opts) {
			r.attention, r.found = check.ResolveAttention(opts)
		}
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	if err := PrintFindings(sh, s, r.found); err != nil {
		return nil, err
	}
	if r.found.HasErrors() {
		return nil, shell.ErrShown
	}
	return r.attention, nil
}
